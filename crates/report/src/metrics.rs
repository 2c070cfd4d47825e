//! Figures of a run or a gate as metrics in the text format of Prometheus, for the collectors that
//! read it from a file. `exposition` writes the format, `run` and `gate` choose the metrics, `shared`
//! has those of both.
//!
//! Units are base units (seconds, bytes), names of shares end in ratio, those of counters in total:
//! sums over the samples. An unknown figure is left out, and so are all of a run whose designs
//! disagree.

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
