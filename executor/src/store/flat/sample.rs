//! A state open for one sample: the base's files, which nobody writes, below what the sample's
//! batches have committed, in memory and in a log.

use std::{
    fmt, fs,
    fs::File,
    io::Write,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use workload::{
    Layout, NetChanges,
    layout::{encode_account, encode_slot},
};

use super::{FlatReader, FlatSettings, FlatStore, NAME, StoreError, failed_io, files::Files};
use crate::store::{Sample, overlay::Overlay};
use variant::{CacheMode, Durability};

/// A state open for one sample.
pub struct FlatSample {
    pub(super) files: Arc<Files>,
    pub(super) layout: Layout,
    pub(super) cache: CacheMode,
    pub(super) settings: FlatSettings,
    pub(super) overlay: Overlay,
    /// Readers that were refused a ring, of this store.
    #[cfg(feature = "io-uring")]
    pub(super) refused_rings: Arc<std::sync::atomic::AtomicU64>,
    log: Mutex<File>,
    dir: SampleDir,
}

impl fmt::Debug for FlatSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlatSample").field("dir", &self.dir.0).finish_non_exhaustive()
    }
}

/// Removed when dropped, also by a panic that unwinds.
struct SampleDir(PathBuf);

impl Drop for SampleDir {
    fn drop(&mut self) {
        // Where this fails, the next run with the state removes it.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl FlatSample {
    pub(super) fn open(store: &FlatStore, cache: CacheMode) -> Result<Self, StoreError> {
        let dir = store.state.new_sample_dir().map_err(|error| StoreError::Failed {
            store: NAME,
            action: "make a sample".to_owned(),
            reason: error.to_string(),
        })?;
        let dir = SampleDir(dir);
        let log = File::create(dir.0.join("log")).map_err(failed_io("make a log"))?;
        Ok(Self {
            files: Arc::clone(&store.files),
            layout: store.state.manifest().layout,
            cache,
            settings: store.settings,
            overlay: Overlay::default(),
            #[cfg(feature = "io-uring")]
            refused_rings: Arc::clone(&store.refused_rings),
            log: Mutex::new(log),
            dir,
        })
    }

    pub(super) fn close(self) -> Result<(), StoreError> {
        let dir = &self.dir.0;
        fs::remove_dir_all(dir).map_err(failed_io(format!("remove sample {}", dir.display())))
    }
}

impl Sample for FlatSample {
    type Reader<'a> = FlatReader<'a>;

    fn reader(&self) -> Result<FlatReader<'_>, StoreError> {
        Ok(FlatReader::new(self))
    }

    fn row_layout(&self) -> Option<Layout> {
        Some(self.layout)
    }

    /// One write to the log, then the overlay.
    fn commit(&self, changes: &NetChanges) -> Result<(), StoreError> {
        let durability = self.settings.durability;
        if durability != Durability::Unlogged {
            let bytes = encode(changes);
            let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            log.write_all(&bytes).map_err(failed_io("write the log"))?;
            if durability == Durability::Synced {
                log.sync_data().map_err(failed_io("make the log durable"))?;
            }
        }
        self.overlay.add(changes);
        Ok(())
    }
}

/// A batch as the log has it: numbers of accounts, slots and codes, then each of them. Nobody
/// reads it: a sample's log goes with the sample.
fn encode(changes: &NetChanges) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(24 + changes.accounts.len() * 93 + changes.slots.len() * 84);
    for count in [changes.accounts.len(), changes.slots.len(), changes.codes.len()] {
        bytes.extend((count as u64).to_le_bytes());
    }
    for (address, account) in &changes.accounts {
        bytes.extend(address.as_slice());
        bytes.push(u8::from(account.is_some()));
        bytes.extend(account.as_ref().map(encode_account).unwrap_or([0; 72]));
    }
    for (address, key, value) in &changes.slots {
        bytes.extend(address.as_slice());
        bytes.extend(key.to_be_bytes::<32>());
        bytes.extend(encode_slot(value));
    }
    for (hash, code) in &changes.codes {
        bytes.extend(hash.as_slice());
        bytes.extend((code.len() as u64).to_le_bytes());
        bytes.extend(code);
    }
    bytes
}
