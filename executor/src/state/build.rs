//! Opens a state of the data directory for a run. Builds the state first if it does not exist.
//! Removes half-built states and samples that dead processes left.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::Instant,
};

use super::{
    directory::{BuiltState, DataDir},
    error::StateError,
    format::{BuildInput, BuildOutput, BuildPhase, BuildProgress, StateSpec, Watch},
    lock::{Purpose, StateLock, is_lock, unix_now_s},
    manifest::{FORMAT_VERSION, FileEntry, MANIFEST, Manifest, files_of},
    names::{BUILDING, MARK, is_marked, is_state_name, make_marked, remove_marked},
};

impl DataDir {
    /// Opens and locks the state that `spec` names. Builds the state first if it does not exist.
    ///
    /// # Errors
    /// [`StateError`]: the state is in use or untrusted, the space is too small, a write failed,
    /// the user cancelled, or the store failed. A failed build is removed.
    pub fn open_or_build(
        &self,
        spec: &StateSpec<'_>,
        progress: &dyn BuildProgress,
        cancel: &AtomicBool,
    ) -> Result<BuiltState, StateError> {
        let watch = Watch { progress, cancel };
        let name = spec.name();
        self.check_not_foreign(&name)?;
        let lock = StateLock::acquire(&self.lock(&name), &name, Purpose::Measuring)?;
        self.remove_leftovers(&name, progress);
        let dir = self.state(&name);
        if !dir.exists() {
            lock.set_purpose(Purpose::Building)?;
            self.check_space(spec, &name)?;
            self.build(spec, &name, &watch)?;
            lock.set_purpose(Purpose::Measuring)?;
        }
        let manifest = Manifest::read(&dir, &name)?;
        check_is_wanted(&manifest, spec, &name)?;
        manifest.check_files(&dir, &name)?;
        if let Some(note) = spec.format.recover(&name, &dir)? {
            progress.note(&note);
        }
        self.built_state(manifest, spec.format.row_extension(), lock, &name)
    }

    /// Removes half-built states and samples of dead processes. Nobody uses a state whose lock is
    /// free, so its leftovers are of dead processes. The caller holds the lock of state `name`.
    /// Reports a path that has no mark of `stress` or cannot be removed, and goes on.
    fn remove_leftovers(&self, name: &str, progress: &dyn BuildProgress) {
        for (owner, paths) in self.leftovers() {
            let mut lock = None;
            if owner != name {
                let acquired = self.check_not_foreign(&owner).and_then(|()| {
                    StateLock::acquire(&self.lock(&owner), &owner, Purpose::Removing)
                });
                // Without the lock, the leftovers stay. This run does not need the space.
                let Ok(acquired) = acquired else { continue };
                lock = Some(acquired);
            }
            for path in paths {
                let removed = match is_marked(&path) {
                    true => remove_marked(&path),
                    false if is_lock(&path) => {
                        fs::remove_file(&path).map_err(StateError::io("remove", &path))
                    }
                    false => Err(StateError::Foreign { path: path.clone() }),
                };
                progress.note(&match removed {
                    Ok(()) => format!("removed {}, left by a process that died", path.display()),
                    Err(error) => error.to_string(),
                });
            }
            // If the state does not exist, its lock is removed, too.
            if let Some(lock) = lock
                && !self.state(&owner).exists()
                && let Err(error) = lock.remove()
            {
                progress.note(&error.to_string());
            }
        }
    }

    /// Returns the paths with names of half-built states, of their locks, or of samples, by the
    /// name of their state. The processes that made them may be dead or alive.
    fn leftovers(&self) -> BTreeMap<String, Vec<PathBuf>> {
        let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for entry in self.entries(self.path()).unwrap_or_default() {
            if let Some((owner, _)) = entry.split_once(BUILDING)
                && is_state_name(owner)
            {
                found.entry(owner.to_owned()).or_default().push(self.path().join(&entry));
            }
        }
        for (owner, path) in self.named_as_samples().unwrap_or_default() {
            found.entry(owner).or_default().push(path);
        }
        found
    }

    fn check_space(&self, spec: &StateSpec<'_>, name: &str) -> Result<(), StateError> {
        let stat = rustix::fs::statvfs(self.path())
            .map_err(|errno| errno.into())
            .map_err(StateError::io("look at the free space of", self.path()))?;
        let free_bytes = stat.f_bavail.saturating_mul(stat.f_frsize);
        let need_bytes = spec.format.byte_estimate(spec.genesis, spec.layout);
        if need_bytes > free_bytes {
            let (name, path) = (name.to_owned(), self.path().to_path_buf());
            return Err(StateError::NoSpace { name, need_bytes, free_bytes, path });
        }
        Ok(())
    }

    /// Builds the state in another directory, and then renames the directory to the state's name.
    fn build(&self, spec: &StateSpec<'_>, name: &str, watch: &Watch<'_>) -> Result<(), StateError> {
        let building = self.new_building_dir(name)?;
        let built = self.build_at(spec, name, &building, watch);
        let renamed = built.and_then(|()| {
            let dir = self.state(name);
            fs::rename(&building, &dir).map_err(StateError::io("rename", &building))?;
            // A complete state needs no mark. If the removal fails, the mark does no harm.
            let _ = fs::remove_file(dir.join(MARK));
            sync(self.path())
        });
        renamed.map_err(|error| {
            if let Err(not_removed) = remove_marked(&building) {
                watch.progress.note(&format!("{not_removed}; the next run tries again"));
            }
            if error.is_device_full() {
                let (name, path) = (name.to_owned(), self.path().to_path_buf());
                return StateError::Full { name, path, reason: error.to_string() };
            }
            error
        })
    }

    /// Makes a directory for a half-built state, or for the scratch files of its build.
    fn new_building_dir(&self, name: &str) -> Result<PathBuf, StateError> {
        let mut suffix = std::process::id().to_string();
        loop {
            let dir = self.path().join(format!("{name}{BUILDING}{suffix}"));
            // If the name is taken, the next name is tried.
            if make_marked(&dir)? {
                return Ok(dir);
            }
            suffix.push('x');
        }
    }

    /// Builds the state in `dir`, makes its files durable, and writes its manifest.
    fn build_at(
        &self,
        spec: &StateSpec<'_>,
        name: &str,
        dir: &Path,
        watch: &Watch<'_>,
    ) -> Result<(), StateError> {
        // The scratch directory is not inside the state's directory, which may hold only files of
        // the state.
        let scratch = self.new_building_dir(name)?;
        let start = Instant::now();
        let (genesis, layout, threads) = (spec.genesis, spec.layout, spec.threads.max(1));
        let input = BuildInput { genesis, layout, dir, scratch: &scratch, threads };
        let built = spec.format.build(&input, watch);
        remove_marked(&scratch)?;
        let built = built?;
        watch.check()?;
        watch.progress.begin(BuildPhase::Finishing, 0);
        let mut files = files_of(dir)?;
        for file in &mut files {
            let path = dir.join(&file.name);
            sync(&path)?;
            let hash = spec.format.file_hash(&path).map_err(StateError::io("read back", &path))?;
            file.hash = Some(hash);
            watch.check()?;
        }
        let manifest = manifest_of(spec, &built, files, start);
        manifest.write(dir)?;
        sync(&dir.join(MANIFEST))?;
        sync(dir)?;
        Manifest::read(dir, name)?.check_files(dir, name)
    }
}

/// Makes the manifest of a state whose build began at `start`.
fn manifest_of(
    spec: &StateSpec<'_>,
    built: &BuildOutput,
    files: Vec<FileEntry>,
    start: Instant,
) -> Manifest {
    let build_ms = start.elapsed().as_millis() as u64;
    Manifest {
        format_version: FORMAT_VERSION,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        store: spec.format.store().to_owned(),
        store_version: spec.format.store_version(),
        shape: spec.format.shape(),
        layout: spec.layout,
        recipe_digest: spec.genesis.digest(),
        content_digest: built.content_digest,
        state_root: built.tries.as_ref().map(|tries| tries.root),
        nodes: built.tries.as_ref().map(|tries| tries.nodes.totals),
        scenario: spec.scenario.to_owned(),
        rows: built.rows,
        files,
        created_unix_s: unix_now_s(),
        build_ms,
        rows_per_s: built.rows.total().saturating_mul(1000) / build_ms.max(1),
        recipe: spec.genesis.clone(),
    }
}

/// Checks that the manifest has the values of `spec`. The state's name is a hash of these values,
/// so a difference means a damaged or foreign directory.
fn check_is_wanted(
    manifest: &Manifest,
    spec: &StateSpec<'_>,
    name: &str,
) -> Result<(), StateError> {
    let wanted = [
        ("recipe digest", spec.genesis.digest().to_string(), manifest.recipe_digest.to_string()),
        ("store", spec.format.store().to_owned(), manifest.store.clone()),
        ("settings", spec.format.shape(), manifest.shape.clone()),
        ("layout", spec.layout.name().to_owned(), manifest.layout.name().to_owned()),
    ];
    for (what, want, has) in wanted {
        if want != has {
            let reason = format!("its {what} is {has}, and {want} is wanted");
            return Err(StateError::untrusted(name, reason));
        }
    }
    Ok(())
}

/// Makes a file, or the entries of a directory, durable.
fn sync(path: &Path) -> Result<(), StateError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(StateError::io("sync", path))
}
