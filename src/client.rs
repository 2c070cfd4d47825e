//! Measures a real client on an exported block or chain, through the client's Engine API
//! (`docs/import-export.md`). `export` has the blocks and their siblings, `engine` sends a block,
//! `token` signs requests, `node` asks a node by JSON-RPC. `refusal` has the reason for a missing
//! sample. `start_file` describes how to start a client, `home` holds its database, `database`
//! makes the database. `process` starts and stops the client, `log` keeps its output, and
//! `leftover` ends a client that outlived its run. `sampled` takes the samples, and `measured` sums
//! a sample over its blocks. `run` samples all clients in turn, beside our designs, and `deadline`
//! judges clients and designs. `calibrate` runs clients and designs on many scenarios. The verbs of
//! `cli/` and the gate call this module.

mod calibrate;
mod database;
mod deadline;
mod engine;
pub mod export;
mod home;
mod leftover;
mod log;
mod measured;
pub mod node;
mod process;
mod refusal;
mod run;
mod sampled;
mod start_file;
mod token;

pub use calibrate::CalibrateInput;
pub use export::{Export, workload_path};
pub use home::copy_dir;
pub use leftover::scratch_beside;
pub use run::{ClientInput, Clients};
pub use sampled::{Attached, ClientTask, SampledClient};
pub use start_file::{StartFile, is_plain};
