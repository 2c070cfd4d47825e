//! Metrics of a run or a gate in the text format of Prometheus, for collectors that read them from
//! a file. `exposition` writes the format, `run` and `gate` choose the metrics, `shared` has those
//! that both use.
//!
//! Units are base units (seconds, bytes). The names of shares end in "ratio", those of counters in
//! "total": a counter is a sum over the samples. An unknown figure is left out. A run whose designs
//! disagree has only metrics of its end and of its work.

mod exposition;
mod gate;
mod run;
mod shared;

pub use gate::metrics_of_gate;
pub use run::{metrics_of_failure, metrics_of_run};

#[cfg(test)]
#[path = "../../../tests/common/exposed.rs"]
mod exposed;
#[cfg(test)]
mod tests;
