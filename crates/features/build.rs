//! Does nothing. Cargo unites the features of build dependencies only for a package that has a
//! build script.

fn main() {}
