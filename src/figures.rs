//! Figures of samples: the cells of a result, claims about the cells, counters, facts, and the file
//! of metrics.

pub mod cells;
pub mod claims;
pub mod counters;
pub mod facts;
pub mod metrics;
