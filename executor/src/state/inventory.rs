//! Lists, verifies and removes the states of a data directory, for `stress state`. Opens a state by
//! its name, to measure its device again.

use std::{
    collections::{BTreeSet, HashSet},
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::{SystemTime, UNIX_EPOCH},
};

use super::{
    directory::{BuiltState, DataDir},
    error::StateError,
    format::{BuildOutput, BuildPhase, BuildProgress, ScanInput, StateFormat, Watch},
    lock::{Purpose, StateLock, current_holder, last_used_unix_s},
    manifest::{Manifest, NodeCounts},
    names::{BUILDING, base_name, is_marked, is_state_name, make_marked, mark, remove_marked},
};

/// Facts of one state of the data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateInfo {
    /// Name of the state.
    pub name: String,
    /// Number of bytes of the state's files and of its samples' files. A file with several hard
    /// links counts once.
    pub byte_count: u64,
    /// Manifest of a complete state. `None` if the state is half built or damaged, or if only
    /// directories of its samples are left.
    pub manifest: Option<Manifest>,
    /// Reason why the state cannot be used; `None` for a complete state.
    pub fault: Option<String>,
    /// True for a half-built state, and for samples without a state.
    pub is_unfinished: bool,
    /// True if `stress` surely made the directory. False if another program may have made a
    /// directory with the name of a state.
    pub is_ours: bool,
    /// The process that uses the state now; `None` if it is not in use.
    pub holder: Option<String>,
    /// Time of the last run that opened the state, in seconds since 1970; `None` if no time is
    /// recorded.
    pub last_used_unix_s: Option<u64>,
    /// Time of the state's build, in seconds since 1970. If the state is not complete, the latest
    /// change of its directory and of its samples' directories.
    pub created_unix_s: Option<u64>,
}

impl StateInfo {
    /// Returns the time of the state's last use or, if no use is recorded, of its creation. The
    /// state may have been used without a record.
    pub fn last_needed_unix_s(&self) -> Option<u64> {
        self.last_used_unix_s.or(self.created_unix_s)
    }
}

/// Result of [`DataDir::verify`]: a state whose files agree with its manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedState {
    /// Manifest of the state.
    pub manifest: Manifest,
    /// Counts of the stored nodes; `None` for a state without tries.
    pub nodes: Option<NodeCounts>,
}

impl DataDir {
    /// Lists all states by name: complete states, incomplete states, and states of which only
    /// samples are left.
    ///
    /// # Errors
    /// [`StateError::Io`].
    pub fn list(&self) -> Result<Vec<StateInfo>, StateError> {
        let mut names: BTreeSet<_> = self.entries(self.path())?.into_iter().collect();
        names.retain(|name| is_state_name(name) && self.state(name).is_dir());
        let samples = self.sample_dirs()?;
        names.extend(samples.iter().map(|(owner, _)| owner.clone()));
        names.into_iter().map(|name| self.info(name, &samples)).collect()
    }

    fn info(&self, name: String, samples: &[(String, PathBuf)]) -> Result<StateInfo, StateError> {
        let dir = self.state(&name);
        let samples =
            samples.iter().filter(|(owner, _)| *owner == name).map(|(_, path)| path.as_path());
        let base = base_name(&name);
        let half_built = base != name;
        let lock = self.lock(base);
        let has_dir = dir.is_dir();
        let checked = match (half_built, has_dir) {
            (true, _) => Err("half built".to_owned()),
            (false, false) => Err("only samples of killed runs are left".to_owned()),
            (false, true) => checked_manifest(&dir, &name).map_err(|error| error.to_string()),
        };
        let (manifest, fault) = match checked {
            Ok(manifest) => (Some(manifest), None),
            Err(fault) => (None, Some(fault)),
        };
        let all: Vec<_> = samples.chain([dir.as_path()]).collect();
        let created_unix_s = match &manifest {
            Some(manifest) => Some(manifest.created_unix_s),
            None => all.iter().filter_map(|path| modified_unix_s(path)).max(),
        };
        Ok(StateInfo {
            byte_count: byte_count(&all)?,
            manifest,
            fault,
            is_unfinished: half_built || !has_dir,
            is_ours: !has_dir || self.is_ours(&name),
            holder: current_holder(&lock),
            last_used_unix_s: last_used_unix_s(&lock),
            created_unix_s,
            name,
        })
    }

    /// Opens and locks the complete state `name`, to read its files.
    ///
    /// # Errors
    /// [`StateError::Untrusted`], [`StateError::InUse`], [`StateError::NotFound`],
    /// [`StateError::HalfBuilt`], [`StateError::Foreign`], [`StateError::Io`].
    pub fn open_complete(
        &self,
        name: &str,
        formats: &[&dyn StateFormat],
    ) -> Result<BuiltState, StateError> {
        let dir = self.complete_dir(name)?;
        let lock = StateLock::acquire(&self.lock(name), name, Purpose::Measuring)?;
        let manifest = checked_manifest(&dir, name)?;
        let row_extension = format_of(&manifest, name, formats)?.row_extension();
        self.built_state(manifest, row_extension, lock, name)
    }

    /// Reads every row, node and file of state `name`, and compares them with the manifest.
    ///
    /// # Errors
    /// [`StateError::Untrusted`] with the first difference, [`StateError::InUse`],
    /// [`StateError::NotFound`], [`StateError::HalfBuilt`], [`StateError::Foreign`],
    /// [`StateError::Io`], [`StateError::Cancelled`].
    pub fn verify(
        &self,
        name: &str,
        formats: &[&dyn StateFormat],
        progress: &dyn BuildProgress,
        cancel: &AtomicBool,
    ) -> Result<VerifiedState, StateError> {
        let dir = self.complete_dir(name)?;
        let _lock = StateLock::acquire(&self.lock(name), name, Purpose::Verifying)?;
        let manifest = checked_manifest(&dir, name)?;
        let format = format_of(&manifest, name, formats)?;
        if let Some(note) = format.recover(name, &dir)? {
            progress.note(&note);
        }
        let scratch = self.samples().join(format!("{name}.verify"));
        if is_marked(&scratch) {
            remove_marked(&scratch)?;
        }
        if !make_marked(&scratch)? {
            return Err(StateError::Foreign { path: scratch });
        }
        progress.begin(BuildPhase::Verifying, manifest.rows.total());
        let input = ScanInput { name, dir: &dir, scratch: &scratch, manifest: &manifest };
        let watch = Watch { progress, cancel };
        let scanned = format.scan(&input, &watch);
        remove_marked(&scratch)?;
        let found = scanned?;
        if let Some(reason) = difference(&found, &manifest) {
            return Err(StateError::untrusted(name, reason));
        }
        // The scan leaves out some bytes that a run may read: filters, keys of branch pages,
        // padding of blocks. The hashes of the files cover them.
        for file in &manifest.files {
            watch.check()?;
            let Some(expected) = file.hash else { continue };
            let path = dir.join(&file.name);
            let hash = format.file_hash(&path).map_err(StateError::io("read", &path))?;
            if hash != expected {
                let reason = format!("file {} differs from the file that was built", file.name);
                return Err(StateError::untrusted(name, reason));
            }
        }
        Ok(VerifiedState { manifest, nodes: found.tries.map(|tries| tries.nodes) })
    }

    /// Removes state `name`, complete or not, and the samples that killed runs left. These samples
    /// hold hard links to the state's files, which would keep the disk space in use.
    ///
    /// # Errors
    /// [`StateError::InUse`], [`StateError::NotFound`], [`StateError::Foreign`] if `stress` may not
    /// have made the directory, [`StateError::Io`].
    pub fn remove(&self, name: &str) -> Result<(), StateError> {
        let dir = match self.existing(name) {
            Ok(dir) if !self.is_ours(name) => return Err(StateError::Foreign { path: dir }),
            Ok(dir) => Some(dir),
            Err(_) if self.has_samples(name)? => None,
            Err(error) => return Err(error),
        };
        let base = base_name(name);
        self.check_not_foreign(base)?;
        let lock = StateLock::acquire(&self.lock(base), base, Purpose::Removing)?;
        if let Some(dir) = dir {
            // The rename is first, so that an interrupted removal leaves no incomplete directory
            // with the state's name.
            let gone = self.path().join(format!("{base}{BUILDING}removed-{}", std::process::id()));
            // The mark may fail on a full device.
            let _ = mark(&dir);
            fs::rename(&dir, &gone).map_err(StateError::io("rename", &dir))?;
            remove_marked(&gone)?;
        }
        // If `name` is a half-built state, the complete state `base` or its samples may exist, too.
        // Then the lock stays, since they need it.
        if base != name && (self.state(base).exists() || self.has_samples(base)?) {
            return Ok(());
        }
        for (owner, path) in self.sample_dirs()? {
            if owner == name {
                remove_marked(&path)?;
            }
        }
        lock.remove()
    }

    fn has_samples(&self, name: &str) -> Result<bool, StateError> {
        Ok(self.sample_dirs()?.iter().any(|(owner, _)| owner == name))
    }

    /// Returns the directory of the complete state `name`. Its lock need not be held.
    fn complete_dir(&self, name: &str) -> Result<PathBuf, StateError> {
        let dir = self.existing(name)?;
        if name.contains(BUILDING) {
            return Err(StateError::HalfBuilt { name: name.to_owned() });
        }
        self.check_not_foreign(name)?;
        Ok(dir)
    }

    fn existing(&self, name: &str) -> Result<PathBuf, StateError> {
        let dir = self.state(name);
        if is_state_name(name) && dir.is_dir() {
            return Ok(dir);
        }
        Err(StateError::NotFound { name: name.to_owned(), path: self.path().to_path_buf() })
    }
}

/// Reads the manifest of state `name`, and checks that `dir` has exactly its files.
fn checked_manifest(dir: &Path, name: &str) -> Result<Manifest, StateError> {
    let manifest = Manifest::read(dir, name)?;
    manifest.check_files(dir, name)?;
    Ok(manifest)
}

/// Returns the first difference between the scanned rows and nodes and the manifest; `None` if they
/// agree.
fn difference(found: &BuildOutput, manifest: &Manifest) -> Option<String> {
    if found.rows != manifest.rows {
        return Some(format!("it has {:?} and should have {:?}", found.rows, manifest.rows));
    }
    let (digest, wanted) = (found.content_digest, manifest.content_digest);
    if digest != wanted {
        return Some(format!("its rows have digest {digest} and should have {wanted}"));
    }
    let nodes = found.tries.as_ref().map(|tries| tries.nodes.totals);
    if manifest.nodes.is_some() && nodes != manifest.nodes {
        return Some(format!("it has {nodes:?} and should have {:?}", manifest.nodes));
    }
    let state_root = found.tries.as_ref().map(|tries| tries.root);
    if state_root != manifest.state_root {
        let [root, wanted] = [state_root, manifest.state_root]
            .map(|root| root.map_or("none".to_owned(), |root| root.to_string()));
        return Some(format!("its tries have the root {root} and should have {wanted}"));
    }
    None
}

/// Returns the format that state `name` was built in, one of `formats`.
fn format_of<'f>(
    manifest: &Manifest,
    name: &str,
    formats: &[&'f dyn StateFormat],
) -> Result<&'f dyn StateFormat, StateError> {
    let format = formats.iter().find(|format| format.store() == manifest.store);
    format.copied().ok_or_else(|| {
        let reason = format!("this build has no store called {}", manifest.store);
        StateError::untrusted(name, reason)
    })
}

/// Returns the bytes of the files below `dirs`. A file with several hard links counts once. A file
/// that another run removes in the meantime does not count.
fn byte_count(dirs: &[&Path]) -> Result<u64, StateError> {
    let mut bytes = 0;
    let mut seen = HashSet::new();
    let mut unread: Vec<PathBuf> = dirs.iter().map(|dir| dir.to_path_buf()).collect();
    while let Some(dir) = unread.pop() {
        let entries = match fs::read_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.map_err(StateError::io("list", &dir))?,
        };
        for entry in entries {
            let entry = entry.map_err(StateError::io("list", &dir))?;
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => unread.push(entry.path()),
                Ok(metadata) if seen.insert((metadata.dev(), metadata.ino())) => {
                    bytes += metadata.len();
                }
                _ => {}
            }
        }
    }
    Ok(bytes)
}

fn modified_unix_s(path: &Path) -> Option<u64> {
    let modified: SystemTime = fs::metadata(path).ok()?.modified().ok()?;
    Some(modified.duration_since(UNIX_EPOCH).ok()?.as_secs())
}
