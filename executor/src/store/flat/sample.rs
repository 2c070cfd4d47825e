//! A state in flat files, open for one sample. The base's files are only read. The sample's commits
//! are kept in memory and in a log. `reader.rs` has its reads.

#[cfg(feature = "io-uring")]
use std::sync::atomic::{AtomicU64, Ordering};
use std::{
    fmt,
    fs::File,
    io::{self, Write},
    sync::{Arc, Mutex},
};

use workload::{
    Layout, NetChanges,
    layout::{ACCOUNT_VALUE_BYTES, encode_account, encode_slot},
};

#[cfg(feature = "io-uring")]
use super::ring::{BlockRing, Queue};
use super::{
    files::Files,
    settings::{FlatSettings, NAME, failed_io},
};
use crate::{
    error::StoreError,
    lock::lock,
    state::{BuiltState, SampleDir},
    store::{hashed_overlay::HashedOverlay, overlay::Overlay},
    tries::NodeChanges,
};
use variant::{CacheMode, Durability};

/// Indices of the files of slots and accounts in a [`Queue`]. The ring of a reader has only the
/// file of slots.
#[cfg(feature = "io-uring")]
pub(super) const QUEUED_SLOTS: u32 = 0;
#[cfg(feature = "io-uring")]
pub(super) const QUEUED_ACCOUNTS: u32 = 1;

/// A state open for one sample.
pub(super) struct FlatSample<'s> {
    state: &'s BuiltState,
    pub(super) files: &'s Files,
    pub(super) layout: Layout,
    pub(super) cache: CacheMode,
    pub(super) settings: FlatSettings,
    pub(super) overlay: Overlay,
    /// Committed rows by hashed keys and committed nodes, for a state with tries.
    pub(super) tries: Option<HashedOverlay>,
    /// Number of this store's readers for which the kernel refused a ring.
    #[cfg(feature = "io-uring")]
    refused_rings: &'s AtomicU64,
    log: Mutex<File>,
    dir: SampleDir,
}

impl fmt::Debug for FlatSample<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlatSample").field("dir", &self.dir.path()).finish_non_exhaustive()
    }
}

impl<'s> FlatSample<'s> {
    pub(super) fn open(
        state: &'s BuiltState,
        files: &'s Files,
        settings: FlatSettings,
        cache: CacheMode,
        #[cfg(feature = "io-uring")] refused_rings: &'s AtomicU64,
    ) -> Result<Self, StoreError> {
        let dir = state.sample_dir_of(NAME)?;
        let log = File::create(dir.path().join("log")).map_err(failed_io("make a log"))?;
        Ok(Self {
            state,
            files,
            layout: state.manifest().layout,
            cache,
            settings,
            overlay: Overlay::default(),
            tries: files.nodes.as_ref().map(|_| HashedOverlay::default()),
            #[cfg(feature = "io-uring")]
            refused_rings,
            log: Mutex::new(log),
            dir,
        })
    }

    /// Writes a batch to the log by one call, and then adds it to the overlay.
    pub(super) fn write(
        &self,
        changes: &NetChanges,
        nodes: &[NodeChanges],
    ) -> Result<(), StoreError> {
        let durability = self.settings.durability;
        if durability != Durability::Unlogged {
            let mut bytes = encode(changes);
            nodes.iter().for_each(|changes| encode_nodes(changes, &mut bytes));
            let mut log = lock(&self.log);
            log.write_all(&bytes).map_err(failed_io("write the log"))?;
            if durability == Durability::Synced {
                log.sync_data().map_err(failed_io("make the log durable"))?;
            }
        }
        self.overlay.add(changes);
        if let Some(tries) = &self.tries {
            tries.add(changes, nodes);
        }
        Ok(())
    }

    /// Waits until the device has the log.
    pub(super) fn sync_commits(&self) -> Result<(), StoreError> {
        let log = lock(&self.log);
        log.sync_data().map_err(failed_io("make the log durable"))
    }

    /// Makes a ring for a reader; `None` if the kernel refuses it.
    #[cfg(feature = "io-uring")]
    pub(super) fn ring(&self) -> Option<Box<BlockRing>> {
        self.ring_over(&[self.files.slots.file.for_cache(self.cache)])
    }

    /// Makes a ring over `files`; `None` if the kernel refuses it.
    #[cfg(feature = "io-uring")]
    pub(super) fn ring_over(&self, files: &[&File]) -> Option<Box<BlockRing>> {
        self.granted(BlockRing::new(files, self.settings.depth.max(1))).map(Box::new)
    }

    /// Makes a queue for the readers of `fiber_count` fibers; `None` if the kernel refuses its
    /// ring.
    #[cfg(feature = "io-uring")]
    pub(super) fn queue(&self, fiber_count: usize) -> Option<Arc<Mutex<Queue>>> {
        let files =
            [&self.files.slots, &self.files.accounts].map(|rows| rows.file.for_cache(self.cache));
        let queue = self.granted(Queue::new(&files, fiber_count))?;
        Some(Arc::new(Mutex::new(queue)))
    }

    /// Returns the requested ring or queue. Counts the refusal if there is none.
    #[cfg(feature = "io-uring")]
    fn granted<T>(&self, made: io::Result<T>) -> Option<T> {
        if made.is_err() {
            self.refused_rings.fetch_add(1, Ordering::Relaxed);
        }
        made.ok()
    }

    pub(super) fn close(self) -> Result<(), StoreError> {
        self.dir.close(NAME)?;
        self.state.verify_restored(NAME)
    }
}

/// Encodes a batch for the log: the counts of accounts, slots and codes, then the accounts, slots
/// and codes themselves. The log is never read; it is deleted with the sample.
fn encode(changes: &NetChanges) -> Vec<u8> {
    // Sizes of the encoded counts, accounts and slots.
    let mut bytes = Vec::with_capacity(24 + changes.accounts.len() * 93 + changes.slots.len() * 84);
    for count in [changes.accounts.len(), changes.slots.len(), changes.codes.len()] {
        bytes.extend((count as u64).to_le_bytes());
    }
    for (address, account) in &changes.accounts {
        bytes.extend(address.as_slice());
        bytes.push(u8::from(account.is_some()));
        bytes.extend(account.as_ref().map(encode_account).unwrap_or([0; ACCOUNT_VALUE_BYTES]));
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

/// Encodes changes of nodes, which follow the rows of a batch in the log. Each node is preceded by
/// the lengths of its key and of itself in bytes. A node of length 0 means a deletion.
fn encode_nodes(changes: &NodeChanges, bytes: &mut Vec<u8>) {
    let NodeChanges { trie, put, deleted } = changes;
    for (key, node) in put.iter().chain(deleted.iter().map(|key| (key, &[][..]))) {
        let key = trie.slots_first_key(key);
        bytes.extend((key.len() as u32).to_le_bytes());
        bytes.extend((node.len() as u32).to_le_bytes());
        bytes.extend(key);
        bytes.extend(node);
    }
}
