//! The options of RocksDB, one place for the writer of files and for their readers.

use ::rocksdb::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DBCompressionType, Error, LogLevel, Options,
    ReadOptions,
};
use workload::Table;

use super::format::RocksFormat;
use variant::IndexShape;

/// Accounts by key.
pub(super) const ACCOUNTS: &str = "accounts";
/// Slots of all accounts.
pub(super) const STORAGE: &str = "storage";
/// Codes by hash.
pub(super) const CODE: &str = "code";
/// Nodes of all tries, in a state that has any.
pub(super) const TRIES: &str = "tries";
/// RocksDB always has it; it stays empty.
const DEFAULT: &str = "default";

/// A commit stays in memory: no flush disturbs a sample.
const WRITE_BUFFER_BYTES: usize = 512 << 20;

/// Sequential reads of whole states, in bytes at a time.
const SCAN_READAHEAD_BYTES: usize = 2 << 20;

/// Options of a writer of table files.
pub(super) fn writer(format: &RocksFormat) -> Result<Options, Error> {
    let mut base = Options::default();
    base.set_compression_type(DBCompressionType::None);
    let mut options = tables_as(&base, format)?;
    // Written pages go to the device as they come, so that the sync at the end has little left.
    options.set_bytes_per_sync(8 << 20);
    Ok(options)
}

/// `base` with table files as `format` has them.
fn tables_as(base: &Options, format: &RocksFormat) -> Result<Options, Error> {
    let table = format.table_text();
    base.clone().get_options_from_string(format!(
        "compression=kNoCompression;block_based_table_factory={{{table};no_block_cache=true}}"
    ))
}

/// Options of a database whose files are read, or first taken in.
pub(super) fn database() -> Options {
    let mut options = Options::default();
    options.set_compression_type(DBCompressionType::None);
    options.set_paranoid_checks(true);
    options.set_disable_auto_compactions(true);
    options.set_write_buffer_size(WRITE_BUFFER_BYTES);
    // All files open from the start, with index and filter in memory.
    options.set_max_open_files(-1);
    options.set_max_file_opening_threads(16);
    options.set_skip_stats_update_on_db_open(true);
    options.set_stats_dump_period_sec(0);
    options.set_stats_persist_period_sec(0);
    options.set_log_level(LogLevel::Warn);
    options.set_advise_random_on_open(true);
    options
}

/// The same with `further` options, as [`check_options`] takes them. Tables and their cache are those
/// that [`families`] sets later.
pub(super) fn database_with(further: &str) -> Result<Options, Error> {
    let mut options = database();
    if further.is_empty() { Ok(options) } else { options.get_options_from_string(further) }
}

/// Checks whether RocksDB knows these options, `name=value;name=value`, and takes their values.
///
/// # Errors
/// In RocksDB's words, with the name of the option.
pub fn check_options(further: &str) -> Result<(), String> {
    database_with(further).map(drop).map_err(Error::into_string)
}

/// Options of the database that takes in a new state's files.
pub(super) fn database_for_building() -> Options {
    let mut options = database();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options
}

/// The family of a table.
pub(super) const fn family_of(table: Table) -> &'static str {
    match table {
        Table::Accounts => ACCOUNTS,
        Table::Slots => STORAGE,
        Table::Codes => CODE,
    }
}

/// The families of a database that is read, with `cache` for data blocks.
///
/// Any filter is read whatever the policy here is, and an index says itself whether it is in
/// partitions. Partitions lie in the cache, a whole index and filter outside it.
pub(super) fn families(
    options: &Options,
    cache: &Cache,
    format: &RocksFormat,
) -> Vec<ColumnFamilyDescriptor> {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(cache);
    table.set_block_size(4096);
    table.set_format_version(6);
    table.set_bloom_filter(10.0, false);
    table.set_whole_key_filtering(true);
    table.set_index_block_restart_interval(8);
    match format.index {
        IndexShape::Whole => table.set_cache_index_and_filter_blocks(false),
        IndexShape::Partitioned => {
            table.set_cache_index_and_filter_blocks(true);
            table.set_pin_top_level_index_and_filter(true);
        }
    }
    let mut options = options.clone();
    options.set_block_based_table_factory(&table);
    descriptors(&options, format)
}

/// The families of a database whose flushes write files as `format` has them.
pub(super) fn families_for_writing(
    options: &Options,
    format: &RocksFormat,
) -> Result<Vec<ColumnFamilyDescriptor>, Error> {
    Ok(descriptors(&tables_as(options, format)?, format))
}

fn descriptors(options: &Options, format: &RocksFormat) -> Vec<ColumnFamilyDescriptor> {
    [DEFAULT, ACCOUNTS, STORAGE, CODE]
        .into_iter()
        .chain(format.tries.map(|_| TRIES))
        .map(|name| ColumnFamilyDescriptor::new(name, options.clone()))
        .collect()
}

/// An empty cache of data blocks that many threads can use at once.
pub(super) fn block_cache(capacity_bytes: usize) -> Cache {
    Cache::new_hyper_clock_cache(capacity_bytes, 0)
}

/// For point reads.
pub(super) fn point_reads() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_verify_checksums(true);
    options
}

/// For reading all rows once.
pub(super) fn scan_reads() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_verify_checksums(true);
    options.fill_cache(false);
    options.set_readahead_size(SCAN_READAHEAD_BYTES);
    options
}
