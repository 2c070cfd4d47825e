//! The crate as others use it.

mod diff;
mod file;
mod full_list;
mod json;
mod list;
mod random;
mod vectors;
