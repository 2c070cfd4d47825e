//! Turns measurements into figures: `cells` sums up the samples of a variant, `claims` judges
//! claims on the cells, `counters` has the exact counts of a sample. `facts` describes workload,
//! machine and state for a result, and `metrics` writes the file of metrics. Runs, sweeps, gates
//! and workers call this module.

pub mod cells;
pub mod claims;
pub mod counters;
pub mod facts;
pub mod metrics;
