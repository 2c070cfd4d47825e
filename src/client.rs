//! A real client on an exported block, by its Engine API (`docs/client.md`). `export` has the block
//! and its siblings, `engine` sends one, `refusal` says why there is no sample. `start_file` says how
//! a client is started, `home` where its database is and how cold, `process` and `log` are the client
//! that runs. `subject` takes its samples, `run` those of all clients in turn, beside our designs;
//! `deadline` judges all of them.

mod deadline;
mod engine;
mod export;
mod home;
mod log;
mod process;
mod refusal;
mod run;
mod start_file;
mod subject;
mod token;

pub use export::{Export, workload_path};
pub use run::{ClientInput, Clients};
pub use start_file::StartFile;
pub use subject::{Source, Subject, Task, passing_dir};
