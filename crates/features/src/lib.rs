//! One set of features for all packages. The manifest lists third-party packages whose features
//! differ from package to package, each with the features that the whole workspace needs. Every
//! package with dependencies depends on it. So a build of one package finds all dependencies
//! compiled. Has no code.
