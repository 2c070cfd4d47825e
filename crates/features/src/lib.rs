//! One set of dependency features for all packages of the workspace, so that the build of one
//! package (`-p X`) finds all dependencies compiled. The manifest lists each dependency whose
//! features would differ between packages, with all features that any of them needs. Every package
//! with dependencies depends on this package, which has no code.
