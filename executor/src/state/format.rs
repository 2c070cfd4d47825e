//! The interface of stores to builds and scans of a state's files ([`StateFormat`]), with its
//! inputs, outputs and progress. The stores with files implement it; `build.rs` and `inventory.rs` call
//! it.

use std::{
    fmt, fs, io, mem,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use alloy_primitives::B256;
use workload::{Genesis, Layout};

use super::{
    error::StateError,
    manifest::{FORMAT_VERSION, Manifest, NodeCounts, RowCounts},
};

/// A phase of building or verifying a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildPhase {
    /// Preparing the sorted rows.
    Sorting,
    /// Writing rows to the store's files.
    Writing,
    /// Writing rows, and hashing the tries of these rows.
    WritingAndHashing,
    /// Writing a share of the rows again, so that the state resembles a database that has been in
    /// use.
    Ageing,
    /// Hashing the tries of all rows.
    Tries,
    /// Making files durable and checking them.
    Finishing,
    /// Reading all rows again to compare them.
    Verifying,
}

/// A receiver of a build's progress. Several threads call its functions.
pub trait BuildProgress: Sync {
    /// Begins a phase, or the next table of a phase. `row_count` is the number of rows of this
    /// phase or table; 0 if the progress is not counted in rows.
    fn begin(&self, phase: BuildPhase, row_count: u64);

    /// Reports that `rows` more rows of the phase are done.
    fn advance(&self, rows: u64);

    /// Shows a message to the user.
    fn note(&self, text: &str);
}

/// A receiver that discards all progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl BuildProgress for NoProgress {
    fn begin(&self, _phase: BuildPhase, _row_count: u64) {}
    fn advance(&self, _rows: u64) {}
    fn note(&self, _text: &str) {}
}

/// The receiver of a build's progress, and the flag to cancel the build.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Receiver of the progress.
    pub progress: &'a dyn BuildProgress,
    /// Flag that another thread sets to cancel the build.
    pub cancel: &'a AtomicBool,
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("cancel", &self.cancel).finish_non_exhaustive()
    }
}

impl Watch<'_> {
    /// Checks that the work is not cancelled.
    ///
    /// # Errors
    /// [`StateError::Cancelled`].
    pub fn check(&self) -> Result<(), StateError> {
        if self.cancel.load(Ordering::Relaxed) { Err(StateError::Cancelled) } else { Ok(()) }
    }

    /// Makes a counter of rows that reports to this receiver.
    pub(crate) const fn rows(&self) -> WatchedRows<'_> {
        WatchedRows { watch: self, unreported: 0 }
    }
}

/// A function that takes the key and the value of a row.
pub(crate) type RowSink<'a> = dyn FnMut(&[u8], &[u8]) -> Result<(), StateError> + 'a;

/// Number of rows between two reports, each with a check of the cancel flag.
const REPORT_ROWS: u64 = 1 << 16;

/// Counts rows one by one and reports them in groups of [`REPORT_ROWS`]. Reports the last rows on
/// drop.
pub(crate) struct WatchedRows<'a> {
    watch: &'a Watch<'a>,
    unreported: u64,
}

impl WatchedRows<'_> {
    /// Counts a row.
    ///
    /// # Errors
    /// [`StateError::Cancelled`].
    pub(crate) fn add_one(&mut self) -> Result<(), StateError> {
        self.unreported += 1;
        if self.unreported < REPORT_ROWS {
            return Ok(());
        }
        self.watch.progress.advance(mem::take(&mut self.unreported));
        self.watch.check()
    }
}

impl Drop for WatchedRows<'_> {
    fn drop(&mut self) {
        self.watch.progress.advance(self.unreported);
    }
}

/// Input of a store's builder.
#[derive(Clone, Copy, Debug)]
pub struct BuildInput<'a> {
    /// The recipe.
    pub genesis: &'a Genesis,
    /// Layout of the keys of rows.
    pub layout: Layout,
    /// An empty directory for the store's files. After the build it may hold no other files.
    pub dir: &'a Path,
    /// An empty directory for scratch files, removed after the build.
    pub scratch: &'a Path,
    /// Number of threads that make and write rows.
    pub threads: usize,
}

/// Output of a store's builder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildOutput {
    /// Digest of the rows.
    pub content_digest: B256,
    /// Number of rows of each table.
    pub rows: RowCounts,
    /// Facts of the tries; `None` for a state without tries.
    pub tries: Option<BuiltTries>,
}

/// Facts of the tries of a state that was built or scanned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltTries {
    /// The state root.
    pub root: B256,
    /// Counts of the stored nodes.
    pub nodes: NodeCounts,
}

/// A format in which a store keeps states in files. Builds and scans states.
pub trait StateFormat: Sync {
    /// Name of the store, the first part of its states' names.
    fn store(&self) -> &'static str;

    /// Extension of the files that hold rows. The device's speed is measured on these files.
    fn row_extension(&self) -> &'static str;

    /// Version of the store's library.
    fn store_version(&self) -> String;

    /// Returns the settings that decide the content of the files, as text. States of different
    /// shapes have different names.
    fn shape(&self) -> String;

    /// Returns an upper estimate of the bytes of state and scratch files.
    fn byte_estimate(&self, genesis: &Genesis, layout: Layout) -> u64;

    /// Writes all rows. Files need not be durable on return.
    ///
    /// # Errors
    /// [`StateError`]; the caller removes the directory.
    fn build(&self, input: &BuildInput<'_>, watch: &Watch<'_>) -> Result<BuildOutput, StateError>;

    /// Reads every row of the state in `input.dir`, without writes to that directory. Returns the
    /// same output as the build.
    ///
    /// # Errors
    /// [`StateError::Untrusted`] naming the first damaged file, [`StateError::Cancelled`].
    fn scan(&self, input: &ScanInput<'_>, watch: &Watch<'_>) -> Result<BuildOutput, StateError>;

    /// Returns the hash of a state's file for the manifest. Leaves out bytes that no reader of the
    /// state uses, since samples may change them.
    ///
    /// # Errors
    /// The file cannot be read, or differs from the store's format.
    fn file_hash(&self, path: &Path) -> io::Result<B256> {
        file_hash(path)
    }

    /// Restores the files in `dir` to their content after the build, if a process died while its
    /// sample had changed them. Returns a message if a file was restored. The caller holds the
    /// lock. Does nothing for a store whose samples do not change the files.
    ///
    /// # Errors
    /// [`StateError::Untrusted`]: the files cannot be restored.
    fn recover(&self, name: &str, dir: &Path) -> Result<Option<String>, StateError> {
        let _ = (name, dir);
        Ok(None)
    }
}

/// Returns the BLAKE3 hash of all bytes of a file.
pub(crate) fn file_hash(path: &Path) -> io::Result<B256> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(fs::File::open(path)?)?;
    Ok(B256::from(*hasher.finalize().as_bytes()))
}

/// Input of a store's scan.
#[derive(Clone, Copy, Debug)]
pub struct ScanInput<'a> {
    /// The state's name, for errors.
    pub name: &'a str,
    /// The state's files, which must not be written.
    pub dir: &'a Path,
    /// An empty directory on the file system of the state's files, which the caller removes
    /// afterwards.
    pub scratch: &'a Path,
    /// The state's manifest.
    pub manifest: &'a Manifest,
}

impl ScanInput<'_> {
    /// Makes the error of a state whose shape this build does not know.
    pub(crate) fn unknown_shape(&self) -> StateError {
        let reason = format!("this build does not know the shape {:?}", self.manifest.shape);
        StateError::untrusted(self.name, reason)
    }
}

/// The state that a run requests.
#[derive(Clone, Copy)]
pub struct StateSpec<'a> {
    /// The recipe.
    pub genesis: &'a Genesis,
    /// Layout of the keys of rows.
    pub layout: Layout,
    /// The store's format, with its settings.
    pub format: &'a dyn StateFormat,
    /// Name of the scenario, which the manifest keeps as a label.
    pub scenario: &'a str,
    /// Number of threads for a build.
    pub threads: usize,
}

impl fmt::Debug for StateSpec<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateSpec").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl StateSpec<'_> {
    /// Returns the state's name: the store's name, `-` and 16 hex digits.
    pub fn name(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.genesis.digest().as_slice());
        hasher.update(&FORMAT_VERSION.to_le_bytes());
        for part in [self.layout.name(), self.format.store(), &self.format.shape()] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        let hex = hasher.finalize().to_hex();
        format!("{}-{}", self.format.store(), &hex[..16])
    }
}
