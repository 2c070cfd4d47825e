//! Settings of a store in RocksDB, its name, its errors, its threads, and its use of `io_uring`.
//! `MultiGet` reads through `io_uring` if it is built in and the kernel allows it. Otherwise
//! `MultiGet` silently reads one block after another.
//!
//! RocksDB also asks the program for permission, through a function that `librocksdb-sys` 0.19
//! exports (`RocksDbIOUringEnable`). The test `io_uring` checks the real behaviour: by system
//! calls, not by names.

use std::fmt;

use ::rocksdb::ErrorKind;
use rayon::{ThreadPool, ThreadPoolBuilder};
use variant::{CacheFill, Checksums, Compaction, Durability, FileAccess, ReadMethod};

use crate::error::StoreError;

/// The store's name in variants and errors.
pub(super) const NAME: &str = "rocksdb";

/// Extension of the files of rows, which RocksDB never writes again.
pub(super) const TABLE_EXTENSION: &str = "sst";

/// Maximal number of reads in flight of a `MultiGet` over `io_uring`: RocksDB splits its keys into
/// groups of this size.
pub const READS_AT_ONCE: usize = 32;

/// Read method in effect where `method` is requested: `Get` if the kernel refuses `io_uring`.
/// Otherwise `MultiGet` would read one key after the other, and RocksDB would write to standard
/// output, which belongs to results.
pub fn effective(method: ReadMethod) -> ReadMethod {
    if io_uring_state() == IoUring::Refused { ReadMethod::Get } else { method }
}

/// Settings of opening and reading a state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RocksSettings {
    /// Whether reads go past the page cache.
    pub access: FileAccess,
    /// Capacity of the block cache of a cold sample, in bytes; empty at its start.
    pub block_cache_bytes: usize,
    /// Capacity of the block cache that warm samples share, in bytes.
    pub warm_cache_bytes: usize,
    /// Method of reading many keys.
    pub read_method: ReadMethod,
    /// Keys in a call of `MultiGet`, at least 1.
    pub multi_get_key_count: usize,
    /// Maximal number of open table files; `None`: all, from the start. A closed file is opened
    /// when it is read, with its index and filter.
    pub open_file_count: Option<u32>,
    /// The end of a commit.
    pub durability: Durability,
    /// Whether blocks are verified.
    pub checksums: Checksums,
    /// Reads that fill the cache.
    pub cache_fill: CacheFill,
    /// Whether files are compacted while a sample's clock runs.
    pub compaction: Compaction,
    /// Size at which a write buffer is flushed, in bytes; each table has its own.
    pub write_buffer_bytes: usize,
    /// Further options of a sample's database, `name=value;name=value`; empty for none.
    pub options: String,
}

impl RocksSettings {
    /// Reason why rows move during a sample; `None` if they stay.
    pub(super) fn moves_rows(&self) -> Option<&'static str> {
        (self.compaction == Compaction::On).then_some("compactions move rows while the sample runs")
    }
}

impl Default for RocksSettings {
    fn default() -> Self {
        Self {
            access: FileAccess::default(),
            block_cache_bytes: 256 << 20,
            warm_cache_bytes: 4 << 30,
            read_method: ReadMethod::Get,
            multi_get_key_count: 4_096,
            open_file_count: None,
            durability: Durability::default(),
            checksums: Checksums::default(),
            cache_fill: CacheFill::default(),
            compaction: Compaction::default(),
            write_buffer_bytes: 512 << 20,
            options: String::new(),
        }
    }
}

/// Whether `MultiGet` reads through `io_uring`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IoUring {
    /// Built without the feature `io-uring`.
    NotBuilt,
    /// The kernel, or a sandbox around this process, refuses it.
    Refused,
    /// In use.
    Available,
}

impl fmt::Display for IoUring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotBuilt => "not built in (feature io-uring)",
            Self::Refused => "refused by the kernel",
            Self::Available => "in use by MultiGet",
        })
    }
}

/// Whether `MultiGet` reads through `io_uring` in this process. Asks the kernel once.
pub fn io_uring_state() -> IoUring {
    #[cfg(feature = "io-uring")]
    {
        static STATE: std::sync::OnceLock<IoUring> = std::sync::OnceLock::new();
        *STATE.get_or_init(probe)
    }
    #[cfg(not(feature = "io-uring"))]
    IoUring::NotBuilt
}

/// Makes a ring like RocksDB's.
#[cfg(feature = "io-uring")]
fn probe() -> IoUring {
    let mut builder = io_uring::IoUring::<io_uring::squeue::Entry>::builder();
    builder.setup_single_issuer().setup_defer_taskrun();
    match builder.build(256) {
        Ok(_) => IoUring::Available,
        Err(_) => IoUring::Refused,
    }
}

/// A pool of `count` threads, one at least.
pub(super) fn pool(count: usize) -> Result<ThreadPool, StoreError> {
    let pool = ThreadPoolBuilder::new().num_threads(count.max(1)).build();
    pool.map_err(|error| StoreError::failed(NAME, format!("start {count} threads"), error))
}

/// Makes the error of a call into RocksDB, for `map_err`.
pub(super) fn failed(action: impl Into<String>) -> impl FnOnce(::rocksdb::Error) -> StoreError {
    // The text is made only for an error: every row's read and write has this closure.
    move |error| {
        let (action, kind, reason) = (action.into(), error.kind(), error.into_string());
        match kind {
            ErrorKind::Corruption => StoreError::damaged(NAME, action, reason),
            _ => StoreError::failed(NAME, action, reason),
        }
    }
}

/// Makes the error of a file operation, for `map_err`.
pub(super) fn failed_io(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> StoreError {
    let action = action.into();
    move |error| StoreError::failed(NAME, action, error)
}
