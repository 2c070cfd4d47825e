//! The worker protocol (`docs/contributing.md`). A driver process (the gate) sends requests to a
//! worker process. Requests and answers are lines of JSON on the worker's standard input and
//! output. The worker loads a workload file and takes samples. So two builds get the same work, and
//! a crash of a worker is an error message of the driver.
//!
//! `message` has the messages, `serve` is the worker, `driver` starts a worker, `confine` restricts
//! it to some CPUs, and `settings` describes a run to it.

pub mod confine;
mod driver;
mod message;
mod serve;
mod settings;

pub use driver::{Driver, Timeouts};
pub use message::{Load, Loaded, Sampled, WorkloadForm};
pub use serve::serve;
pub use settings::{expect_lines, run_settings, run_value};
