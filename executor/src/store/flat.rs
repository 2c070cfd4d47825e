//! State in flat files: rows of one size in blocks of 4 KiB, ordered by key. An index in memory has
//! the beginning of each block's first key. A cold read is one block, past the page cache. A call
//! for many slots reads through `io_uring`, with at most [`FlatSettings::depth`] reads in flight.
//!
//! This store shows how close execution can come to the device's rate: a read costs the device's
//! work and a search in memory, nothing else. No client uses such a database. A sample never writes
//! the files of the base (the built state). Its commits go to a log and to memory, and both are
//! dropped with the sample. The index takes 16 bytes of memory for each block, about 50 MB for a
//! state of 12 GB.
//!
//! Nodes of tries lie in blocks of a file of their own (`nodes.rs`), and are read in the same way
//! as rows.
//!
//! **Invariant**: the files of the base are only ever opened for reading.

mod block;
mod dual_file;
mod files;
mod format;
mod index;
mod nodes;
mod reader;
#[cfg(feature = "io-uring")]
mod ring;
mod sample;
mod settings;
mod trie_verify;
mod tries;

use std::{
    io,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use super::{Sample, Store};
use crate::{device, error::StoreError, state::BuiltState, tries::StateTries};
use variant::{CacheMode, StoreKind};

use files::Files;
pub use format::FlatFormat;
use sample::FlatSample;
pub use settings::FlatSettings;
use settings::{NAME, failed_io};

/// A state in flat files, open for samples.
#[derive(Debug)]
pub struct FlatStore {
    state: BuiltState,
    settings: FlatSettings,
    files: Files,
    /// Reason why `io_uring` is not in use; `None` if it is.
    ring_refused: Option<String>,
    /// Number of readers for which the kernel refused a ring.
    refused_rings: AtomicU64,
    /// Reason why samples cannot be cold; `None` if they can be.
    never_cold_reason: Option<&'static str>,
    /// Time to open the last sample, in nanoseconds.
    open_ns: AtomicU64,
}

impl FlatStore {
    /// Opens the store over `state`, and reads its indices into memory.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if an index does not have its checksum, [`StoreError::Failed`] if a
    /// file cannot be opened.
    pub fn open(state: BuiltState, settings: FlatSettings) -> Result<Self, StoreError> {
        let action = format!("open {}", state.dir().display());
        let format = FlatFormat::of_shape(&state.manifest().shape)
            .ok_or_else(|| state.unknown_shape(NAME))?;
        let files = Files::open(state.dir(), state.manifest().layout, format.tries);
        let files = files.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => StoreError::damaged(NAME, state.name(), error),
            _ => StoreError::failed(NAME, action.as_str(), error),
        })?;
        let never_cold_reason =
            device::never_cold_reason(state.dir()).map_err(failed_io(action))?;
        Ok(Self {
            ring_refused: ring_refusal(&files, settings.depth),
            state,
            settings,
            files,
            refused_rings: AtomicU64::new(0),
            never_cold_reason,
            open_ns: AtomicU64::new(0),
        })
    }

    /// Describes whether reads go through `io_uring`.
    fn describe_io_uring(&self) -> String {
        let refused = self.refused_rings.load(Ordering::Relaxed);
        match &self.ring_refused {
            Some(reason) => reason.clone(),
            None if refused > 0 => format!("in use, refused to {refused} readers"),
            None => "in use".to_owned(),
        }
    }
}

/// Returns the reason why readers can have no ring; `None` if the kernel grants one.
fn ring_refusal(files: &Files, depth: usize) -> Option<String> {
    #[cfg(feature = "io-uring")]
    {
        let file = files.slots.file.for_cache(CacheMode::Cold);
        let refused = ring::BlockRing::new(&[file], depth.max(1)).err()?;
        Some(format!("refused by the kernel: {refused}"))
    }
    #[cfg(not(feature = "io-uring"))]
    {
        let _ = (files, depth);
        Some("not built in (feature io-uring)".to_owned())
    }
}

impl Store for FlatStore {
    fn kind(&self) -> StoreKind {
        StoreKind::Flat
    }

    fn open_sample(&self, cache: CacheMode) -> Result<Box<dyn Sample + '_>, StoreError> {
        let start = Instant::now();
        if cache == CacheMode::Cold && !self.files.is_direct() {
            device::fadvise_dontneed(&self.files.all_paths())
                .map_err(failed_io(format!("drop {} from the page cache", self.state.name())))?;
        }
        let sample = FlatSample::open(
            &self.state,
            &self.files,
            self.settings,
            cache,
            #[cfg(feature = "io-uring")]
            &self.refused_rings,
        )?;
        self.open_ns.store(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        Ok(Box::new(sample))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let manifest = self.state.manifest();
        let reads = if self.files.is_direct() {
            "direct (O_DIRECT) when cold, through the page cache when warm"
        } else {
            "buffered: the file system refuses O_DIRECT"
        };
        let open_ns = match self.open_ns.load(Ordering::Relaxed) {
            0 => "unknown before the first sample".to_owned(),
            value => value.to_string(),
        };
        let rows = &self.files.slots;
        let facts: [(&str, String); 13] = [
            ("state", self.state.name().to_owned()),
            ("flat", manifest.store_version.clone()),
            ("shape", manifest.shape.clone()),
            ("file_bytes", manifest.byte_count().to_string()),
            ("slot_blocks", rows.index.block_count().to_string()),
            ("slots_per_block", rows.row_format.rows_per_block().to_string()),
            ("index_bytes", self.files.index_byte_count().to_string()),
            ("reads", reads.to_owned()),
            ("io_uring", self.describe_io_uring()),
            ("depth", self.settings.depth.to_string()),
            ("keys_per_call", self.settings.keys_per_call.to_string()),
            ("commit", format!("{} (a log, and values in memory)", self.settings.durability)),
            ("open_sample_ns", open_ns),
        ];
        let nodes = self.files.nodes.as_ref();
        let nodes = nodes.map(|nodes| ("node_blocks", nodes.index.block_count().to_string()));
        let facts = facts.into_iter().chain(nodes);
        let facts = facts.map(|(name, value)| (name.to_owned(), value));
        facts.chain(Store::tries(self).map(|tries| tries.fact())).collect()
    }

    fn never_cold_reason(&self) -> Option<&'static str> {
        self.never_cold_reason
    }

    fn tries(&self) -> Option<StateTries> {
        let format = self.files.nodes.as_ref()?.format;
        Some(StateTries { format, root: self.state.manifest().state_root? })
    }

    fn built_state(&self) -> Option<&BuiltState> {
        Some(&self.state)
    }

    fn keeps_blocks(&self) -> bool {
        false
    }

    fn slots_per_block(&self) -> Option<f64> {
        Some(self.files.slots.row_format.rows_per_block() as f64)
    }
}
