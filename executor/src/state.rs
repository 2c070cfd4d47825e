//! State directories: databases built once from a recipe and kept under a data directory.
//!
//! A state's name is its store and a hash of all that shapes it: recipe, layout, store, the
//! store's settings, format version. Blocks are no part of it.
//!
//! **Invariant**: a directory with a state's name is whole. It is built as
//! `<name>.building-<pid>`, synced, described by a manifest, and renamed; what a killed build
//! leaves is removed by the next run and never opened.
//!
//! **Invariant**: whoever builds, measures, verifies or removes a state holds the lock
//! `<name>.lock`. So leftovers found while holding it are those of the dead.

mod build;
mod error;
mod keep;
mod lock;
mod manifest;
mod names;

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::SystemTime,
};

use alloy_primitives::B256;
use workload::{Genesis, Layout};

pub use error::StateError;
pub use keep::{StateInfo, WholeState};
pub use manifest::{FileEntry, GROWING_EXTENSION, Manifest, RowCounts, TABLE_EXTENSION};

use lock::StateLock;
use manifest::FORMAT_VERSION;

/// Where samples lie, below the data directory: on the same file system, for hard links.
const SAMPLES: &str = "samples";

/// Where states are kept, by default.
///
/// # Errors
/// None; without `XDG_CACHE_HOME` and `HOME` there is no default, and the user must name one.
pub fn default_data_dir() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
    cache.map(|cache| cache.join("stress"))
}

/// What is being done to a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildPhase {
    /// Preparing the sorted rows.
    Sorting,
    /// Writing rows to the store's files.
    Writing,
    /// Writing a share of the rows again, so that the state is as one that has lived.
    Ageing,
    /// Making files durable and checking them.
    Finishing,
    /// Reading all rows again to compare them.
    Verifying,
}

/// Who is told how a build goes. Called from several threads.
pub trait BuildProgress: Sync {
    /// A phase begins, once for each table; `row_count` rows are to be done, 0 where that says
    /// nothing.
    fn begin(&self, phase: BuildPhase, row_count: u64);

    /// `rows` more rows of the phase are done.
    fn advance(&self, rows: u64);

    /// Something the user should read.
    fn note(&self, text: &str);
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl BuildProgress for Quiet {
    fn begin(&self, _phase: BuildPhase, _row_count: u64) {}
    fn advance(&self, _rows: u64) {}
    fn note(&self, _text: &str) {}
}

/// Progress out, cancellation in.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Who is told.
    pub progress: &'a dyn BuildProgress,
    /// Set by another thread to stop.
    pub cancel: &'a AtomicBool,
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("cancel", &self.cancel).finish_non_exhaustive()
    }
}

impl Watch<'_> {
    /// # Errors
    /// [`StateError::Cancelled`] once asked to stop.
    pub fn check(&self) -> Result<(), StateError> {
        if self.cancel.load(Ordering::Relaxed) { Err(StateError::Cancelled) } else { Ok(()) }
    }
}

/// What a store's builder is given.
#[derive(Clone, Copy, Debug)]
pub struct BuildInput<'a> {
    /// The state's name, for errors.
    pub name: &'a str,
    /// The recipe.
    pub genesis: &'a Genesis,
    /// How keys are made.
    pub layout: Layout,
    /// An empty directory for the store's files: nothing else may remain in it.
    pub dir: &'a Path,
    /// An empty directory for scratch files, removed after the build.
    pub scratch: &'a Path,
    /// Threads that make and write rows.
    pub threads: usize,
}

/// What a store's builder made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuildOutput {
    /// Digest of the rows.
    pub content_digest: B256,
    /// Rows of each table.
    pub rows: RowCounts,
}

/// A store that keeps its states in files: how they are built and read back.
pub trait StateFormat: Sync {
    /// Name of the store, first part of its states' names.
    fn store(&self) -> &'static str;

    /// Version of the store's library.
    fn store_version(&self) -> String;

    /// The settings that shape the files, as text: another shape is another state.
    fn shape(&self) -> String;

    /// Upper estimate of what state and scratch files take, in bytes.
    fn byte_estimate(&self, genesis: &Genesis, layout: Layout) -> u64;

    /// Writes all rows. Files need not be durable on return.
    ///
    /// # Errors
    /// [`StateError`]; the caller removes the directory.
    fn build(&self, input: &BuildInput<'_>, watch: &Watch<'_>) -> Result<BuildOutput, StateError>;

    /// Reads every row of the state in `dir` without writing there, and digests them as the
    /// row stream does. `scratch` is an empty directory on the same file system, removed after.
    ///
    /// # Errors
    /// [`StateError::Untrusted`] naming the first damaged file, [`StateError::Cancelled`].
    fn scan(&self, input: &ScanInput<'_>, watch: &Watch<'_>) -> Result<BuildOutput, StateError>;

    /// Puts the files in `dir` back as they were built, where a process died while a sample had
    /// them changed; says so where there was something to do. The caller holds the lock. Nothing
    /// to do for a store whose samples leave the files alone.
    ///
    /// # Errors
    /// [`StateError::Untrusted`]: they cannot be put back.
    fn recover(&self, name: &str, dir: &Path) -> Result<Option<String>, StateError> {
        let _ = (name, dir);
        Ok(None)
    }
}

/// What a store's scan is given.
#[derive(Clone, Copy, Debug)]
pub struct ScanInput<'a> {
    /// The state's name, for errors.
    pub name: &'a str,
    /// The state's files, not to be written.
    pub dir: &'a Path,
    /// An empty directory on the same file system.
    pub scratch: &'a Path,
    /// What the state says of itself.
    pub manifest: &'a Manifest,
}

/// A state as a run wants it.
#[derive(Clone, Copy)]
pub struct StateSpec<'a> {
    /// The recipe.
    pub genesis: &'a Genesis,
    /// How keys are made.
    pub layout: Layout,
    /// The store, with its settings.
    pub format: &'a dyn StateFormat,
    /// The scenario that asks, kept as a label.
    pub scenario: &'a str,
    /// Threads for a build.
    pub threads: usize,
}

impl fmt::Debug for StateSpec<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateSpec").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl StateSpec<'_> {
    /// The state's name: `rocksdb-` and 16 hex digits.
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

/// A directory of states.
#[derive(Clone, Debug)]
pub struct DataDir {
    root: PathBuf,
}

impl DataDir {
    /// The data directory at `root`, made where it does not exist.
    ///
    /// # Errors
    /// [`StateError::DataDirNotWritable`].
    pub fn open(root: &Path) -> Result<Self, StateError> {
        let refused = |source| StateError::DataDirNotWritable { path: root.to_path_buf(), source };
        // Making the samples' directory too shows that the root can be written.
        fs::create_dir_all(root.join(SAMPLES)).map_err(refused)?;
        let probe = root.join(format!(".writable-{}", std::process::id()));
        fs::File::create(&probe).and_then(|_| fs::remove_file(&probe)).map_err(refused)?;
        Ok(Self { root: root.to_path_buf() })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.root
    }

    fn state(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn lock(&self, name: &str) -> PathBuf {
        self.root.join(format!("{name}.lock"))
    }

    fn samples(&self) -> PathBuf {
        self.root.join(SAMPLES)
    }
}

/// A whole state, locked for this process until dropped.
#[derive(Debug)]
pub struct BuiltState {
    name: String,
    dir: PathBuf,
    samples: PathBuf,
    next_sample: AtomicU64,
    manifest: Manifest,
    /// When each file of the manifest had last been written when the state was opened.
    modified: Vec<SystemTime>,
    _lock: StateLock,
}

impl BuiltState {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its directory, which nobody may write.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What it says of itself.
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The files that hold the rows, by name.
    pub fn table_files(&self) -> Vec<PathBuf> {
        self.manifest.table_files(&self.dir)
    }

    /// A new empty directory for a sample, on the state's file system. Removed by the next run
    /// when this process dies before it does so itself.
    ///
    /// # Errors
    /// [`StateError::Io`].
    pub fn new_sample_dir(&self) -> Result<PathBuf, StateError> {
        let number = self.next_sample.fetch_add(1, Ordering::Relaxed);
        let path = self.samples.join(format!("{}.{number}", self.name));
        fs::create_dir_all(&path).map_err(StateError::io("make", &path))?;
        Ok(path)
    }

    /// Proof that nobody wrote the state since it was opened: its files have the names and sizes
    /// of the manifest, and the modification times of then. A write through a hard link changes
    /// these as well.
    ///
    /// # Errors
    /// [`StateError::Untrusted`] with the first difference, [`StateError::Io`].
    pub fn verify_untouched(&self) -> Result<(), StateError> {
        self.manifest.check_files(&self.dir, &self.name)?;
        let now = self.manifest.modification_times(&self.dir)?;
        let mut files = self.manifest.files.iter().zip(self.modified.iter().zip(now));
        match files.find(|(_, (before, now))| *before != now) {
            None => Ok(()),
            Some((file, _)) => Err(StateError::Untrusted {
                name: self.name.clone(),
                reason: format!("file {} was written while the state was in use", file.name),
            }),
        }
    }
}
