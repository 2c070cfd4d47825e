//! State in RocksDB: a column family each for accounts, storage (slots) and code. A state with
//! tries has a family for their nodes, too. A family consists of a few large sorted files (table
//! files). Samples read the files with `O_DIRECT` by default.
//!
//! **Invariant**: the base (the built state) is never opened for a sample. Each sample has a
//! directory with hard links to the base's table files and copies of the few small files. The
//! sample opens that directory as its database, so its commits cannot change the base. The
//! directory is removed at the end of the sample.

mod age;
mod build;
mod direct;
mod format;
mod options;
mod places;
mod probe;
mod reader;
mod rows;
mod sample;
mod scan;
mod settings;
mod sst;
mod trie_build;
mod trie_rows;
mod trie_verify;
mod tries;
mod writes;

use std::sync::{
    Mutex, OnceLock,
    atomic::{AtomicU64, Ordering},
};

use ::rocksdb::Cache;
use workload::{Layout, NetChanges};

use super::{Background, Reader, Sample, Store, WarmBlocks};
use crate::{
    device,
    error::StoreError,
    lock::lock,
    place::{Places, RequestedRow},
    state::BuiltState,
    tries::{StateTries, Tries},
};
use variant::{CacheMode, Compaction, FilterKind, IndexShape, ReadMethod, StoreKind};

pub use format::{Filter, PPM, RocksFormat, aged_ppm};
pub use options::check_options;
use places::Blocks;
use reader::RocksReader;
pub use sample::RocksSample;
use sample::SampleInput;
pub use settings::{IoUring, READS_AT_ONCE, RocksSettings, effective_read_method, io_uring_state};
use settings::{NAME, failed_io};
use tries::RocksTries;

/// Approximate number of bytes of a slot's row in a data block.
const ROW_BYTES: f64 = 76.0;

/// A state in RocksDB, open for samples.
pub struct RocksStore {
    state: BuiltState,
    settings: RocksSettings,
    format: RocksFormat,
    access: direct::Access,
    /// Whether `MultiGet` read through `io_uring` in the test at the opening of the store
    /// (`probe.rs`). `None` if that is unknown.
    multi_get_io_uring: Option<bool>,
    /// Block cache of all warm samples; `None` before the first.
    warm_cache: Mutex<Option<Cache>>,
    /// Positions of the blocks of rows in the table files, read on first use.
    blocks: OnceLock<Result<Blocks, String>>,
    /// Number of bytes of index and filters in memory, in the last sample.
    table_memory_bytes: AtomicU64,
    /// Time to open the last sample, in nanoseconds.
    open_ns: AtomicU64,
    /// Share of the files' pages that stayed in the page cache after the last cold sample dropped
    /// them; `None` if it is unknown.
    resident_fraction: Mutex<Option<f64>>,
}

impl std::fmt::Debug for RocksStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RocksStore")
            .field("state", &self.state)
            .field("settings", &self.settings)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

impl RocksStore {
    /// Opens the store over `state`.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if the state's files cannot be opened for reading, or have a shape
    /// that this build does not know.
    pub fn open(state: BuiltState, settings: RocksSettings) -> Result<Self, StoreError> {
        let access = direct::Access::probe(state.dir(), &state.table_files(), settings.access)?;
        let format = RocksFormat::of_shape(&state.manifest().shape)
            .ok_or_else(|| state.unknown_shape(NAME))?;
        let mut store = Self {
            state,
            settings,
            format,
            access,
            multi_get_io_uring: None,
            warm_cache: Mutex::new(None),
            blocks: OnceLock::new(),
            table_memory_bytes: AtomicU64::new(0),
            open_ns: AtomicU64::new(0),
            resident_fraction: Mutex::new(None),
        };
        store.multi_get_io_uring = probe::multi_get_io_uring(store.sample_input())?;
        Ok(store)
    }

    /// Returns whether `MultiGet` read through `io_uring` in a test at the opening of the store.
    /// `None` if the store reads by `Get`, or the test was inconclusive.
    pub const fn multi_get_io_uring(&self) -> Option<bool> {
        self.multi_get_io_uring
    }

    /// Opens a sample as [`Store::open_sample`] does, but returns the concrete type.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn sample(&self, cache: CacheMode) -> Result<RocksSample<'_>, StoreError> {
        let start = std::time::Instant::now();
        let sample = RocksSample::open(self.sample_input(), self.cache(cache), cache)?;
        let drops = cache == CacheMode::Cold && !self.access.is_direct();
        let tables = if drops { self.state.table_files() } else { Vec::new() };
        device::fadvise_dontneed(&tables)
            .map_err(failed_io(format!("drop {} from the page cache", self.state.name())))?;
        self.table_memory_bytes.store(sample.table_memory_bytes()?, Ordering::Relaxed);
        self.open_ns.store(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        if drops {
            // The kernel may keep pages, so the share of kept pages is measured.
            let resident = device::resident_fraction(&tables);
            *lock(&self.resident_fraction) = resident;
        }
        Ok(sample)
    }

    /// Describes the share of the files that was in the page cache at the start of the last cold
    /// sample.
    fn describe_resident(&self) -> String {
        if self.access.is_direct() {
            return "not used".to_owned();
        }
        let resident = *lock(&self.resident_fraction);
        resident.map_or("unknown".to_owned(), |fraction| format!("{fraction:.4} after dropping"))
    }

    const fn sample_input(&self) -> SampleInput<'_> {
        let Self { state, settings, format, access, blocks, .. } = self;
        SampleInput { state, settings, format, access: *access, blocks }
    }

    /// Returns the block cache of a sample: a new one for a cold sample, the shared one for a warm
    /// sample.
    fn cache(&self, mode: CacheMode) -> Cache {
        match mode {
            CacheMode::Cold => options::block_cache(self.settings.block_cache_bytes),
            CacheMode::Warm => {
                let capacity = self.settings.warm_cache_bytes;
                let mut cache = lock(&self.warm_cache);
                cache.get_or_insert_with(|| options::block_cache(capacity)).clone()
            }
        }
    }

    /// Returns the settings that decide the form of the files, as facts.
    fn describe_format(&self) -> [(&'static str, String); 6] {
        let format = &self.format;
        let bits = format.filter.bits();
        let filter = match format.filter.kind() {
            FilterKind::Nothing => "none".to_owned(),
            FilterKind::Bloom => format!("bloom, {bits} bits a key"),
            FilterKind::Ribbon => format!("ribbon, as good as bloom of {bits} bits a key"),
        };
        let index = match format.index {
            IndexShape::Whole => "whole, in memory",
            IndexShape::Partitioned => "partitioned, in the block cache",
        };
        [
            ("block_bytes", format.block_bytes.to_string()),
            ("blocks_aligned", format.is_aligned().to_string()),
            ("filter", filter),
            ("index", index.to_owned()),
            ("file_bytes_max", format.file_bytes.to_string()),
            ("aged_ppm", format.aged_ppm.to_string()),
        ]
    }

    /// Describes whether reads go through `io_uring`.
    fn describe_io_uring(&self) -> String {
        match effective_read_method(self.settings.read_method) {
            ReadMethod::Get => "not used: a Get reads one block".to_owned(),
            ReadMethod::MultiGet => io_uring_state().to_string(),
        }
    }
}

/// Describes the read method and its number of keys per call.
fn describe_reads(settings: &RocksSettings) -> String {
    match effective_read_method(settings.read_method) {
        ReadMethod::Get => ReadMethod::Get.to_string(),
        ReadMethod::MultiGet => {
            format!("{}, {} keys a call", ReadMethod::MultiGet, settings.multi_get_key_count)
        }
    }
}

/// Describes whether compactions run during a sample, and on how many threads at most.
fn describe_compaction(settings: &RocksSettings) -> String {
    let (flushing, compacting) = writes::thread_counts(&settings.options);
    match settings.compaction {
        Compaction::Off => Compaction::Off.to_string(),
        Compaction::On => {
            format!("on, by up to {compacting} thread(s); flushes by up to {flushing} thread(s)")
        }
    }
}

impl Store for RocksStore {
    fn kind(&self) -> StoreKind {
        StoreKind::Rocksdb
    }

    fn open_sample(&self, cache: CacheMode) -> Result<Box<dyn Sample + '_>, StoreError> {
        Ok(Box::new(self.sample(cache)?))
    }

    fn clear_warm_blocks(&self) {
        *lock(&self.warm_cache) = None;
    }

    fn warm_blocks(&self) -> Option<WarmBlocks> {
        lock(&self.warm_cache).clone().map(WarmBlocks)
    }

    fn use_warm_blocks(&self, blocks: &WarmBlocks) {
        lock(&self.warm_cache).get_or_insert_with(|| blocks.0.clone());
    }

    fn facts(&self) -> Vec<(String, String)> {
        let manifest = self.state.manifest();
        let settings = &self.settings;
        let last = |value: &AtomicU64| match value.load(Ordering::Relaxed) {
            0 => "unknown before the first sample".to_owned(),
            value => value.to_string(),
        };
        let reads_through_io_uring =
            self.multi_get_io_uring.map_or("null".to_owned(), |known| known.to_string());
        let options = match settings.options.as_str() {
            "" => "none",
            options => options,
        };
        let mut facts: Vec<(&str, String)> = vec![
            ("state", self.state.name().to_owned()),
            ("rocksdb", manifest.store_version.clone()),
            ("shape", manifest.shape.clone()),
            ("files", manifest.files.len().to_string()),
            ("file_bytes", manifest.byte_count().to_string()),
        ];
        facts.extend(self.describe_format());
        facts.extend([
            ("reads", self.access.describe()),
            ("page_cache_resident", self.describe_resident()),
            ("read_method", describe_reads(settings)),
            ("io_uring", self.describe_io_uring()),
            ("multi_get_io_uring", reads_through_io_uring),
            ("checksums", settings.checksums.to_string()),
            ("cache_fill", settings.cache_fill.to_string()),
            ("compaction", describe_compaction(settings)),
            ("write_buffer_bytes", settings.write_buffer_bytes.to_string()),
            ("block_cache_bytes", settings.block_cache_bytes.to_string()),
            ("warm_cache_bytes", settings.warm_cache_bytes.to_string()),
            ("open_files", settings.open_file_count.map_or("all".to_owned(), |n| n.to_string())),
            ("options", options.to_owned()),
            ("commit", settings.durability.to_string()),
            ("index_and_filter_bytes", last(&self.table_memory_bytes)),
            ("open_sample_ns", last(&self.open_ns)),
        ]);
        let facts = facts.into_iter().map(|(name, value)| (name.to_owned(), value));
        facts.chain(self.tries().map(|tries| tries.fact())).collect()
    }

    fn never_cold_reason(&self) -> Option<&'static str> {
        self.access.never_cold_reason
    }

    fn tries(&self) -> Option<StateTries> {
        let format = self.format.tries?;
        Some(StateTries { format, root: self.state.manifest().state_root? })
    }

    fn built_state(&self) -> Option<&BuiltState> {
        Some(&self.state)
    }

    fn rows_move_reason(&self) -> Option<&'static str> {
        self.settings.rows_move_reason()
    }

    fn reads_absent_rows(&self) -> bool {
        self.format.filter == Filter::NOTHING
    }

    fn merged_block_count_max(&self) -> usize {
        match (effective_read_method(self.settings.read_method), io_uring_state()) {
            (ReadMethod::MultiGet, IoUring::Available) => {
                self.settings.multi_get_key_count.clamp(1, READS_AT_ONCE)
            }
            _ => 1,
        }
    }

    fn slots_per_block(&self) -> Option<f64> {
        Some(f64::from(self.format.block_bytes) / ROW_BYTES)
    }
}

impl Sample for RocksSample<'_> {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, StoreError> {
        Ok(Box::new(RocksReader::new(self)?))
    }

    fn row_layout(&self) -> Option<Layout> {
        Some(self.layout())
    }

    fn commit(&self, changes: &NetChanges) -> Result<(), StoreError> {
        self.write(changes, &[])
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.sync_commits()
    }

    fn tries(&self) -> Option<Box<dyn Tries + '_>> {
        Some(Box::new(RocksTries { sample: self, format: self.trie_format()? }))
    }

    fn background(&self) -> Option<&dyn Background> {
        (self.settings().compaction == Compaction::On).then_some(self)
    }

    fn file_bytes(&self) -> Option<u64> {
        self.bytes_on_disk()
    }

    fn locate(&self, rows: &[RequestedRow]) -> Result<Places, String> {
        self.blocks()?.locate(self.layout(), rows)
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        (*self).close()
    }
}
