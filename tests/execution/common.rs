//! The common part of several suites: variants and policies, loads, and foreign blocks.

pub(crate) mod agree;
pub(crate) mod loads;
pub(crate) mod policies;
pub(crate) mod redis;
pub(crate) mod vectors;
