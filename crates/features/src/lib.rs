//! One set of features: the manifest lists each third-party package whose features differ from package to
//! package, with the features that the whole workspace needs. Every package with dependencies depends on it, so that a
//! build of one package finds all dependencies compiled. Has no code.
