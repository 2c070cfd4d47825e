//! Options of RocksDB, for builds, scans and samples of a state, and the names of column families.
//! A family here is a column family.

use ::rocksdb::{
    BlockBasedOptions, Cache, ColumnFamilyDescriptor, DBCompressionType, Error, LogLevel, Options,
    ReadOptions,
};
use workload::Table;

use super::{direct::Access, format::RocksFormat, settings::RocksSettings};
use variant::{Compaction, IndexShape};

/// Family of the accounts by key.
pub(super) const ACCOUNTS: &str = "accounts";
/// Family of the slots of all accounts.
pub(super) const STORAGE: &str = "storage";
/// Family of the codes by hash.
pub(super) const CODE: &str = "code";
/// Family of the nodes of all tries, in a state with tries.
pub(super) const TRIES: &str = "tries";
/// Family that RocksDB always has; it stays empty.
const DEFAULT: &str = "default";

/// Readahead of a scan, in bytes.
const SCAN_READAHEAD_BYTES: usize = 2 << 20;

/// Options of a writer of table files.
pub(super) fn writer(format: &RocksFormat) -> Result<Options, Error> {
    let mut base = Options::default();
    base.set_compression_type(DBCompressionType::None);
    let mut options = tables_as(&base, format)?;
    // Written pages go to the device at once, so that the final sync has little left.
    options.set_bytes_per_sync(8 << 20);
    Ok(options)
}

/// Returns `base` with table files in `format`.
fn tables_as(base: &Options, format: &RocksFormat) -> Result<Options, Error> {
    let table = format.table_text();
    base.clone().get_options_from_string(format!(
        "compression=kNoCompression;block_based_table_factory={{{table};no_block_cache=true}}"
    ))
}

/// Returns options that are common to all databases: no compactions, all files open.
pub(super) fn database() -> Options {
    let mut options = Options::default();
    options.set_compression_type(DBCompressionType::None);
    options.set_paranoid_checks(true);
    options.set_disable_auto_compactions(true);
    // All files are opened at once, with index and filter in memory.
    options.set_max_open_files(-1);
    options.set_max_file_opening_threads(16);
    options.set_skip_stats_update_on_db_open(true);
    options.set_stats_dump_period_sec(0);
    options.set_stats_persist_period_sec(0);
    options.set_log_level(LogLevel::Warn);
    options.set_advise_random_on_open(true);
    options
}

/// Options of a sample's database, without those of its tables, which [`families`] adds.
/// Compactions are off; [`Background::begin`](crate::store::Background::begin) turns them on when
/// the clock starts.
pub(super) fn of_sample(settings: &RocksSettings, access: Access) -> Result<Options, Error> {
    let mut options = database();
    options.set_write_buffer_size(settings.write_buffer_bytes);
    if settings.compaction == Compaction::On {
        // Past the page cache, so that written bytes are on the device when they are counted.
        options.set_use_direct_io_for_flush_and_compaction(access.is_direct());
        options.enable_statistics();
    }
    let mut options = with_further(options, &settings.options)?;
    options.set_use_direct_reads(access.is_direct());
    if let Some(count) = settings.open_file_count {
        options.set_max_open_files(i32::try_from(count).unwrap_or(i32::MAX));
    }
    Ok(options)
}

/// Returns `options` with the options in the text `further` (see [`check_options`]).
fn with_further(mut options: Options, further: &str) -> Result<Options, Error> {
    if further.is_empty() { Ok(options) } else { options.get_options_from_string(further) }
}

/// Checks that RocksDB knows the options in `further`, `name=value;name=value`, and accepts their
/// values.
///
/// # Errors
/// RocksDB's message, with the name of the option.
pub fn check_options(further: &str) -> Result<(), String> {
    with_further(database(), further).map(drop).map_err(Error::into_string)
}

/// Options of the database that ingests a new state's files.
pub(super) fn database_for_building() -> Options {
    let mut options = database();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    options
}

/// Returns the name of a table's family.
pub(super) const fn family_of(table: Table) -> &'static str {
    match table {
        Table::Accounts => ACCOUNTS,
        Table::Slots => STORAGE,
        Table::Codes => CODE,
    }
}

/// Returns the families of a database that writes no table files. They read data blocks through
/// `cache`.
///
/// RocksDB reads any kind of filter, whatever the filter option says, and detects a partitioned
/// index by itself. Partitions are kept in the cache; a whole index and filter are kept outside it.
pub(super) fn families(
    options: &Options,
    cache: &Cache,
    format: &RocksFormat,
) -> Vec<ColumnFamilyDescriptor> {
    descriptors(&with_cache(options, cache, format), format)
}

/// Returns the families of a database that is also flushed and compacted, to new files in `format`.
/// They read data blocks through `cache`.
pub(super) fn families_that_compact(
    options: &Options,
    cache: &Cache,
    format: &RocksFormat,
) -> Result<Vec<ColumnFamilyDescriptor>, Error> {
    // The text changes options of the existing table factory, which keeps its cache.
    let table = format!("block_based_table_factory={{{}}}", format.table_text());
    let options = with_cache(options, cache, format).get_options_from_string(table)?;
    Ok(descriptors(&options, format))
}

/// Returns `options` with tables that are read through `cache`.
fn with_cache(options: &Options, cache: &Cache, format: &RocksFormat) -> Options {
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
    options
}

/// Returns the families of a database whose flushes write files in `format`, without a block cache.
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

/// Makes an empty cache of data blocks, of a kind that many threads can use at once.
pub(super) fn block_cache(capacity_bytes: usize) -> Cache {
    Cache::new_hyper_clock_cache(capacity_bytes, 0)
}

/// Returns options of point reads.
pub(super) fn point_reads() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_verify_checksums(true);
    options
}

/// Returns options of a read of all rows.
pub(super) fn scan_reads() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_verify_checksums(true);
    options.fill_cache(false);
    options.set_readahead_size(SCAN_READAHEAD_BYTES);
    options
}
