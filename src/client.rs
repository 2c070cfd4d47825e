//! A real client on an exported block or chain, by its Engine API (`docs/import-export.md`). `export` has the
//! blocks and their siblings, `engine` sends one, `refusal` says why there is no sample. `start_file`
//! says how a client is started, `home` where its database is and how cold, `making` makes it. `process` and
//! `log` are the client that runs, `leftover` ends one that outlived its run. `sampled` takes its samples, which
//! `measured` sums over blocks. `run` takes those of all clients in turn, beside our designs; `deadline` judges
//! all of them. `calibrate` does so for many scenarios.

mod calibrate;
mod deadline;
mod engine;
pub mod export;
mod home;
mod leftover;
mod log;
mod making;
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
pub use sampled::{Attached, SampledClient, Source, Task};
pub use start_file::{StartFile, is_plain};
