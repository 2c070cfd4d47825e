//! Figures of samples: the cells of a result, claims about them, counters, and facts beside them.

pub mod cells;
pub mod claims;
pub mod counters;
pub mod facts;
pub mod metrics;
