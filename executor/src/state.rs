//! State directories: databases built once from a recipe and kept under a data directory.
//!
//! A state's name is its store and a hash of all that shapes it: recipe, layout, store, the
//! store's settings, format version. Blocks are no part of it.
//!
//! **Invariant**: a directory with a state's name is whole. It is built as
//! `<name>.building-<pid>`, synced, described by a manifest, and renamed; files that a killed build
//! leaves are removed by the next run and never opened. A directory goes only with its mark.
//!
//! **Invariant**: whoever builds, measures, verifies or removes a state holds the lock
//! `<name>.lock`. So leftovers found while holding it are those of the dead.

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
