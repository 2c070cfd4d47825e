//! State directories: databases built once from a recipe and kept under a data directory. Runs open
//! or build states; `stress state` lists, verifies and removes them.
//!
//! A state's name consists of its store and a hash of recipe, layout, the settings that decide the
//! content of its files, and format version. The name does not depend on a workload's blocks.
//!
//! **Invariant**: a directory with a state's name is complete. A build writes to a directory
//! `<name>.building-<pid>`, syncs it, adds a manifest, and renames the directory. The next run
//! removes the directory of a killed build, and never opens it. A directory is removed only if it
//! has the mark of `stress`, a file `.stress`.
//!
//! **Invariant**: a process that builds, measures, verifies or removes a state holds the lock
//! `<name>.lock`. So a half-built directory that a process finds while it holds the lock belongs to
//! a dead process.

mod build;
mod directory;
mod error;
mod format;
mod inventory;
mod lock;
mod manifest;
mod names;

pub use directory::{BuiltState, DataDir, SampleDir, default_data_dir};
pub use error::StateError;
pub use format::{
    BuildInput, BuildOutput, BuildPhase, BuildProgress, BuiltTries, NoProgress, ScanInput,
    StateFormat, StateSpec, Watch,
};
pub(crate) use format::{RowSink, file_hash};
pub use inventory::{StateInfo, VerifiedState};
pub use lock::{is_named, lock_file};
pub use manifest::{FileEntry, GROWING_EXTENSION, Manifest, NodeCounts, NodeTotals, RowCounts};
pub(crate) use names::{is_marked, make_marked, remove_marked};
