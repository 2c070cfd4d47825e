//! The data directory, and the built states in it. A state is locked while it is open.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use super::{
    error::StateError,
    lock::{StateLock, is_lock},
    manifest::Manifest,
    names::{BUILDING, LOCK, is_marked, is_state_name, make_marked, remove_marked},
};
use crate::error::StoreError;

/// Name of the directory of samples in the data directory. Samples need the file system of the
/// states, since they make hard links to a state's files.
const SAMPLES: &str = "samples";

/// Returns the default data directory. `None` if neither `XDG_CACHE_HOME` nor `HOME` has an
/// absolute path; the user must then name a directory.
pub fn default_data_dir() -> Option<PathBuf> {
    let [cache, home] = ["XDG_CACHE_HOME", "HOME"]
        .map(|name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute()));
    let cache = cache.or_else(|| Some(home?.join(".cache")));
    cache.map(|cache| cache.join("stress"))
}

/// A data directory: it holds states, their locks, and the directories of samples.
#[derive(Clone, Debug)]
pub struct DataDir {
    root: PathBuf,
}

impl DataDir {
    /// Opens the data directory at `root`. Creates it if it does not exist.
    ///
    /// # Errors
    /// [`StateError::DataDirNotWritable`].
    pub fn open(root: &Path) -> Result<Self, StateError> {
        let root = root.to_path_buf();
        match check_writable(&root) {
            Ok(()) => Ok(Self { root }),
            Err(source) => Err(StateError::DataDirNotWritable { path: root, source }),
        }
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.root
    }

    pub(super) fn state(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(super) fn lock(&self, name: &str) -> PathBuf {
        self.root.join(format!("{name}{LOCK}"))
    }

    pub(super) fn samples(&self) -> PathBuf {
        self.root.join(SAMPLES)
    }

    /// Makes the [`BuiltState`] of the complete state `name`, whose files the caller has checked.
    pub(super) fn built_state(
        &self,
        manifest: Manifest,
        row_extension: &'static str,
        lock: StateLock,
        name: &str,
    ) -> Result<BuiltState, StateError> {
        let dir = self.state(name);
        Ok(BuiltState {
            name: name.to_owned(),
            samples: self.samples(),
            next_sample: AtomicU64::new(0),
            modified: manifest.modification_times(&dir)?,
            dir,
            manifest,
            row_extension,
            _lock: lock,
        })
    }

    /// Returns the names of a directory's entries, sorted.
    pub(super) fn entries(&self, dir: &Path) -> Result<Vec<String>, StateError> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir).map_err(StateError::io("list", dir))? {
            let entry = entry.map_err(StateError::io("list", dir))?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns whether `stress` surely made the directory of state `name`, which may be half built.
    /// A symbolic link does not count, since it may lead to any directory. A lock file is a proof:
    /// [`Self::check_not_foreign`] is called before a lock is made.
    pub(super) fn is_ours(&self, name: &str) -> bool {
        let dir = self.state(name);
        match name.contains(BUILDING) {
            true => is_marked(&dir),
            false => {
                let is_real = fs::symlink_metadata(&dir).is_ok_and(|metadata| metadata.is_dir());
                is_real && self.has_proof(name)
            }
        }
    }

    /// Returns whether state `name` has a lock or a manifest.
    fn has_proof(&self, name: &str) -> bool {
        is_lock(&self.lock(name)) || Manifest::is_in(&self.state(name))
    }

    /// Checks, before a lock is taken for state `name`, that no directory of another program has
    /// that name.
    pub(super) fn check_not_foreign(&self, name: &str) -> Result<(), StateError> {
        let dir = self.state(name);
        match fs::symlink_metadata(&dir).is_err() || self.has_proof(name) {
            true => Ok(()),
            false => Err(StateError::Foreign { path: dir }),
        }
    }

    /// Returns the directories of samples, each with the name of its state. They are named
    /// `<name>.<number>`, or `<name>.verify` for a verification. Leaves out directories without the
    /// mark of `stress`.
    pub(super) fn sample_dirs(&self) -> Result<Vec<(String, PathBuf)>, StateError> {
        let mut all = self.named_as_samples()?;
        all.retain(|(_, path)| is_marked(path));
        Ok(all)
    }

    /// Returns all paths that are named as directories of samples, each with the name of its state.
    pub(super) fn named_as_samples(&self) -> Result<Vec<(String, PathBuf)>, StateError> {
        let samples = self.samples();
        let entries = self.entries(&samples)?.into_iter();
        let named = entries.filter_map(|entry| {
            let (owner, _) = entry.split_once('.')?;
            is_state_name(owner).then(|| (owner.to_owned(), samples.join(&entry)))
        });
        Ok(named.collect())
    }
}

/// Checks that the data directory at `root` can be written. Creates it if it does not exist.
fn check_writable(root: &Path) -> io::Result<()> {
    // If the directory is new, this shows that `root` can be written. If not, the file below does.
    fs::create_dir_all(root.join(SAMPLES))?;
    let probe = root.join(format!(".writable-{}", std::process::id()));
    match fs::File::create_new(&probe) {
        // Another program made this file, so it is not removed.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.and_then(|_| fs::remove_file(&probe)),
    }
}

/// The directory of a sample, which is removed on drop, also while unwinding.
#[derive(Debug)]
pub struct SampleDir {
    path: PathBuf,
}

impl SampleDir {
    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the directory at the end of a sample of `store`.
    ///
    /// # Errors
    /// The directory cannot be removed.
    pub(crate) fn close(self, store: &'static str) -> Result<(), StoreError> {
        remove_marked(&self.path).map_err(|error| StoreError::failed(store, "end a sample", error))
    }
}

impl Drop for SampleDir {
    fn drop(&mut self) {
        // If this fails, the next run that opens a state removes the directory.
        let _ = remove_marked(&self.path);
    }
}

/// A complete state, which this process holds locked until drop.
#[derive(Debug)]
pub struct BuiltState {
    name: String,
    dir: PathBuf,
    /// Directory of the directories of samples.
    samples: PathBuf,
    next_sample: AtomicU64,
    manifest: Manifest,
    /// Extension of the files that hold rows.
    row_extension: &'static str,
    /// Modification time of each file of the manifest when the state was opened.
    modified: Vec<SystemTime>,
    _lock: StateLock,
}

impl BuiltState {
    /// Name of the state.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Directory of the state, which must not be written.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Manifest of the state.
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the paths of the files that hold rows.
    pub fn table_files(&self) -> Vec<PathBuf> {
        self.manifest.files_with(self.row_extension, &self.dir)
    }

    /// Makes the error of a shape that this build of `store` does not know.
    pub(crate) fn unknown_shape(&self, store: &'static str) -> StoreError {
        let reason = format!("this build does not know the shape {:?}", self.manifest.shape);
        StoreError::failed(store, format!("open {}", self.name), reason)
    }

    /// Makes a directory for a sample, on the state's file system. It has only the mark of
    /// `stress`. If this process dies, the next run removes the directory.
    ///
    /// # Errors
    /// [`StateError::Io`].
    pub fn new_sample_dir(&self) -> Result<SampleDir, StateError> {
        fs::create_dir_all(&self.samples).map_err(StateError::io("make", &self.samples))?;
        loop {
            let number = self.next_sample.fetch_add(1, Ordering::Relaxed);
            let path = self.samples.join(format!("{}.{number}", self.name));
            // If the name is taken, the next number is tried.
            if make_marked(&path)? {
                return Ok(SampleDir { path });
            }
        }
    }

    /// Makes the directory for a sample of `store`.
    pub(crate) fn sample_dir_of(&self, store: &'static str) -> Result<SampleDir, StoreError> {
        self.new_sample_dir().map_err(|error| StoreError::failed(store, "make a sample", error))
    }

    /// Checks that the state was not written since it was opened. Names and sizes of its files must
    /// equal the manifest, and modification times must be those at opening. A write through a hard
    /// link changes these times, too.
    ///
    /// # Errors
    /// [`StateError::Untrusted`] with the first difference, [`StateError::Io`].
    pub fn verify_untouched(&self) -> Result<(), StateError> {
        self.manifest.check_files(&self.dir, &self.name)?;
        let now = self.manifest.modification_times(&self.dir)?;
        let mut files = self.manifest.files.iter().zip(self.modified.iter().zip(now));
        match files.find(|(_, (before, now))| *before != now) {
            None => Ok(()),
            Some((file, _)) => {
                let reason = format!("file {} was written while the state was in use", file.name);
                Err(StateError::untrusted(&self.name, reason))
            }
        }
    }

    /// Checks at the end of a sample of `store` that the sample has not changed the state.
    pub(crate) fn verify_restored(&self, store: &'static str) -> Result<(), StoreError> {
        self.verify_untouched().map_err(|error| match error {
            StateError::Untrusted { .. } => StoreError::NotRestored {
                store,
                what: "the state below the sample".to_owned(),
                reason: error.to_string(),
            },
            error => StoreError::failed(store, "compare the state with its start", error),
        })
    }
}
