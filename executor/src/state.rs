//! State directories: databases built once from a recipe and kept under a data directory.
//!
//! A state's name has its store and a hash of all that shapes the state: recipe, layout, the
//! store's settings, format version. Blocks are no part of it.
//!
//! **Invariant**: a directory with a state's name is complete. A build writes to
//! `<name>.building-<pid>`, syncs it, adds a manifest, and renames it. The next run removes the
//! files that a killed build left, and never opens them. A directory is removed only if it has this
//! program's mark.
//!
//! **Invariant**: a process that builds, measures, verifies or removes a state holds the lock
//! `<name>.lock`. So leftovers found under the lock belong to dead processes.

mod build;
mod directory;
mod error;
mod format;
mod keep;
mod lock;
mod manifest;
mod names;

pub use directory::{BuiltState, DataDir, SampleDir, default_data_dir};
pub use error::StateError;
pub use format::{
    BuildInput, BuildOutput, BuildPhase, BuildProgress, BuiltTries, Quiet, ScanInput, StateFormat,
    StateSpec, Watch,
};
pub(crate) use format::{RowSink, file_hash};
pub use keep::{StateInfo, VerifiedState};
pub use lock::{is_named, lock_file};
pub use manifest::{FileEntry, GROWING_EXTENSION, Manifest, NodeCounts, NodeTotals, RowCounts};
pub(crate) use names::{is_marked, make_marked, remove_marked};
