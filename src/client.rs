//! A real client on an exported block or chain, by its Engine API (`docs/import-export.md`). `export` has the
//! blocks and their siblings, `engine` sends one, `refusal` says why there is no sample. `start_file`
//! says how a client is started, `home` where its database is and how cold, `making` makes it, `scratch`
//! is where databases of one run are, `process` and `log` are the client that runs; `wrapper` finds one that
//! is a script's child, `leftover` ends one that outlived its run. `sampled` takes its
//! samples, which `measured` sums over blocks, `run` those of all clients in turn, beside our designs;
//! `deadline` judges all of them. `calibrate` does so for many scenarios.

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
mod scratch;
mod start_file;
mod token;
mod wrapper;

pub use calibrate::CalibrateInput;
pub use export::{Export, workload_path};
pub use home::copy_dir;
pub use run::{ClientInput, Clients};
pub use sampled::{SampledClient, Source, Task};
pub use scratch::scratch_beside;
pub use start_file::StartFile;
