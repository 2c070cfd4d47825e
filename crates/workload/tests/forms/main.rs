//! Tests of the forms of a workload through the public functions of the crate: its file, JSON and
//! lists.

mod diff;
mod file;
mod full_list;
mod json;
mod list;
mod random;
mod vectors;
