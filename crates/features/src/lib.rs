//! Unites the features of dependencies: one set for all packages of the workspace. The manifest
//! lists each third-party package whose features differ between our packages, with all features
//! that the workspace needs. Every package with dependencies depends on this package. So the build
//! of one package finds all dependencies compiled. This package has no code.
