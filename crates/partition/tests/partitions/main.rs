//! The crate as others use it.

mod laws;
mod simulate;
