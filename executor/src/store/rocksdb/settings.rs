//! The settings of a store in RocksDB, its name and its errors.

use ::rocksdb::ErrorKind;
use variant::{CacheFill, Checksums, Compaction, Durability, FileAccess, ReadMethod};

use super::uring::{IoUring, io_uring_state};
use crate::error::StoreError;

/// The store's name in variants and errors.
pub(super) const NAME: &str = "rocksdb";

/// Extension of the files of rows, which RocksDB never writes again.
pub(super) const TABLE_EXTENSION: &str = "sst";

/// Reads that a `MultiGet` over `io_uring` has under way at most: RocksDB goes through its keys in
/// groups of so many.
pub const READS_AT_ONCE: usize = 32;

/// The way of reading where `method` is asked for: where the kernel refuses `io_uring`, a
/// `MultiGet` would read one key after the other and RocksDB would complain on standard output,
/// which belongs to results.
pub fn effective(method: ReadMethod) -> ReadMethod {
    if io_uring_state() == IoUring::Refused { ReadMethod::Get } else { method }
}

/// How a state is opened and read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RocksSettings {
    /// Whether reads go past the page cache.
    pub access: FileAccess,
    /// Capacity of the block cache of a cold sample, in bytes; empty at its start.
    pub block_cache_bytes: usize,
    /// Capacity of the block cache that warm samples share, in bytes.
    pub warm_cache_bytes: usize,
    /// How many keys are read at once.
    pub read_method: ReadMethod,
    /// Keys in a call of `MultiGet`, at least 1.
    pub multi_get_key_count: usize,
    /// Table files kept open; `None`: all, from the start. One that is not open is opened, and
    /// its index and filter loaded, when it is read.
    pub open_file_count: Option<u32>,
    /// The end of a commit.
    pub durability: Durability,
    /// Whether blocks are verified.
    pub checksums: Checksums,
    /// Which reads fill the cache.
    pub cache_fill: CacheFill,
    /// Whether files are compacted while a sample's clock runs.
    pub compaction: Compaction,
    /// Size at which a write buffer is flushed, in bytes; each table has its own.
    pub write_buffer_bytes: usize,
    /// Further options of a sample's database, `name=value;name=value`; empty for none.
    pub options: String,
}

impl RocksSettings {
    /// Why rows do not stay where the state has them while a sample runs; `None` if they do.
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

/// For `map_err` on a call into RocksDB.
pub(super) fn failed(action: impl Into<String>) -> impl FnOnce(::rocksdb::Error) -> StoreError {
    // The text is made of an error alone: rows are read and written with this behind each call.
    move |error| {
        let (action, kind, reason) = (action.into(), error.kind(), error.into_string());
        match kind {
            ErrorKind::Corruption => StoreError::Damaged { store: NAME, what: action, reason },
            _ => StoreError::Failed { store: NAME, action, reason },
        }
    }
}

/// For `map_err` on a file operation.
pub(super) fn failed_io(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> StoreError {
    let action = action.into();
    move |error| StoreError::Failed { store: NAME, action, reason: error.to_string() }
}
