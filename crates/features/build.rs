//! Does nothing. A build script must exist: cargo unites features of build dependencies only for a
//! package that has one.

fn main() {}
