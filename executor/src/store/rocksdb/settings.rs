//! Settings of a store in RocksDB, its name, its errors, its pools of threads, and its use of
//! `io_uring`.
//!
//! `MultiGet` reads through `io_uring` on three conditions: `io_uring` is built in, the kernel
//! allows it, and the program permits it. The permission is a function that `librocksdb-sys` 0.19
//! exports (`RocksDbIOUringEnable`). Otherwise `MultiGet` silently reads one block after another.
//! The test `io_uring` counts system calls, to check that reads really go through `io_uring`.

use std::fmt;

use ::rocksdb::ErrorKind;
use rayon::{ThreadPool, ThreadPoolBuilder};
use variant::{CacheFill, Checksums, Compaction, Durability, FileAccess, ReadMethod};

use crate::error::StoreError;

/// The store's name in variants and errors.
pub(super) const NAME: &str = "rocksdb";

/// Extension of table files, which RocksDB never writes to again.
pub(super) const TABLE_EXTENSION: &str = "sst";

/// Maximal number of reads that a `MultiGet` has in flight over `io_uring`. RocksDB splits the keys
/// into groups of this size.
pub const READS_AT_ONCE: usize = 32;

/// Returns the read method that a store uses if its settings have `method`: `Get` if the kernel
/// refuses `io_uring`. There, `MultiGet` would read one key after the other. RocksDB would also
/// write to standard output, which is reserved for results.
pub fn effective_read_method(method: ReadMethod) -> ReadMethod {
    if io_uring_state() == IoUring::Refused { ReadMethod::Get } else { method }
}

/// Settings to open and read a state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RocksSettings {
    /// Whether reads go past the page cache.
    pub access: FileAccess,
    /// Capacity of the block cache of a cold sample, in bytes. The cache is empty at the start.
    pub block_cache_bytes: usize,
    /// Capacity of the block cache that warm samples share, in bytes.
    pub warm_cache_bytes: usize,
    /// Method of reading many keys.
    pub read_method: ReadMethod,
    /// Maximal number of keys in a call of `MultiGet`, at least 1.
    pub multi_get_key_count: usize,
    /// Maximal number of open table files. `None`: all files are open from the start. A read of a
    /// closed file opens the file and loads its index and filter.
    pub open_file_count: Option<u32>,
    /// Durability of a batch at the end of its commit.
    pub durability: Durability,
    /// Whether the checksums of blocks are verified.
    pub checksums: Checksums,
    /// Kinds of reads that put blocks into the cache.
    pub cache_fill: CacheFill,
    /// Whether compactions run while a sample's clock runs.
    pub compaction: Compaction,
    /// Size at which a write buffer is flushed, in bytes; each table has its own.
    pub write_buffer_bytes: usize,
    /// Further options of a sample's database, `name=value;name=value`; empty for none.
    pub options: String,
}

impl RocksSettings {
    /// Returns the reason why rows move during a sample; `None` if rows stay in place.
    pub(super) fn rows_move_reason(&self) -> Option<&'static str> {
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
    /// The kernel, or a sandbox around this process, refuses `io_uring`.
    Refused,
    /// `MultiGet` reads through `io_uring`.
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

/// Returns whether `MultiGet` reads through `io_uring` in this process. Asks the kernel only once.
pub fn io_uring_state() -> IoUring {
    #[cfg(feature = "io-uring")]
    {
        static STATE: std::sync::OnceLock<IoUring> = std::sync::OnceLock::new();
        *STATE.get_or_init(probe)
    }
    #[cfg(not(feature = "io-uring"))]
    IoUring::NotBuilt
}

/// Tries to make a ring with the flags that RocksDB uses.
#[cfg(feature = "io-uring")]
fn probe() -> IoUring {
    let mut builder = io_uring::IoUring::<io_uring::squeue::Entry>::builder();
    builder.setup_single_issuer().setup_defer_taskrun();
    match builder.build(256) {
        Ok(_) => IoUring::Available,
        Err(_) => IoUring::Refused,
    }
}

/// Makes a pool of `count` threads, at least one.
pub(super) fn pool(count: usize) -> Result<ThreadPool, StoreError> {
    let pool = ThreadPoolBuilder::new().num_threads(count.max(1)).build();
    pool.map_err(|error| StoreError::failed(NAME, format!("start {count} threads"), error))
}

/// Returns a function for `map_err` that makes the error of a call of RocksDB.
pub(super) fn failed(action: impl Into<String>) -> impl FnOnce(::rocksdb::Error) -> StoreError {
    // The text is made only after an error, since this closure is made for each row that is read or
    // written.
    move |error| {
        let (action, kind, reason) = (action.into(), error.kind(), error.into_string());
        match kind {
            ErrorKind::Corruption => StoreError::damaged(NAME, action, reason),
            _ => StoreError::failed(NAME, action, reason),
        }
    }
}

/// Returns a function for `map_err` that makes the error of a file operation.
pub(super) fn failed_io(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> StoreError {
    move |error| StoreError::failed(NAME, action, error)
}
