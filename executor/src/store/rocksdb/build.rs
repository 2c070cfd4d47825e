//! Builds a state in RocksDB: implements [`StateFormat`] for [`RocksFormat`]. Several threads write
//! sorted rows to table files, which RocksDB ingests unchanged. Tries of slots are hashed while the
//! rows are written.

use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use ::rocksdb::{ColumnFamily, DB, IngestExternalFileOptions, Options, SstFileWriter};
use workload::{ContentDigest, Genesis, Layout, PartBuffers, RowSettings, RowStream, Table};

use super::{
    age,
    format::{PPM, RocksFormat},
    options,
    sample::family,
    scan::{self, LAST_LEVEL},
    settings::{NAME, TABLE_EXTENSION, failed, failed_io, pool},
    trie_build::{self, TrieBuild},
    trie_rows::{Hashed, LARGE_SLOT_COUNT, Part, PartTries},
};
use crate::{
    error::StoreError,
    state::{
        BuildInput, BuildOutput, BuildPhase, RowCounts, ScanInput, StateError, StateFormat, Watch,
    },
    store::ordered::{self, SCRATCH_ACCOUNT_BYTES, SCRATCH_SLOT_BYTES},
    try_map::try_map,
};

/// Version of the library that `rocksdb` 0.25.0 bundles; the crate does not expose it.
const LIBRARY_VERSION: &str = "11.8.1";

/// Number of bytes of a row in addition to key and value: its share of restart points, padding,
/// index and filter.
const ROW_OVERHEAD_BYTES: u64 = 16;

/// Maximal number of bytes of an account's row, and of a code's row in addition to the code.
const SMALL_ROW_BYTES: u64 = 160;

/// Number of bytes of a state without rows.
const FIXED_BYTES: u64 = 16 << 20;

impl StateFormat for RocksFormat {
    fn store(&self) -> &'static str {
        NAME
    }

    fn row_extension(&self) -> &'static str {
        TABLE_EXTENSION
    }

    fn store_version(&self) -> String {
        LIBRARY_VERSION.to_owned()
    }

    fn shape(&self) -> String {
        Self::shape(self)
    }

    fn byte_estimate(&self, genesis: &Genesis, layout: Layout) -> u64 {
        let codes: u64 = genesis.accounts.iter().map(|account| account.code.len() as u64).sum();
        let (slots, accounts) = (genesis.slot_count(), genesis.account_count());
        // The account's half of a slot's key is stored once in 16 rows, so 5/8 of the key is
        // enough.
        let slot = layout.slot_key_bytes() as u64 * 5 / 8 + 32 + ROW_OVERHEAD_BYTES;
        // Rewritten rows exist twice.
        let with_rewritten = |bytes: u64| bytes + bytes * u64::from(self.aged_ppm) / u64::from(PPM);
        let parts = [
            slots.saturating_mul(with_rewritten(slot) + SCRATCH_SLOT_BYTES),
            accounts.saturating_mul(with_rewritten(SMALL_ROW_BYTES) + SCRATCH_ACCOUNT_BYTES),
            codes + genesis.accounts.len() as u64 * SMALL_ROW_BYTES,
        ];
        let nodes = self.tries.map_or(0, |format| trie_build::node_bytes(format, genesis));
        let rows = parts.into_iter().fold(FIXED_BYTES.saturating_add(nodes), u64::saturating_add);
        // Five percent more, as a margin.
        rows.saturating_add(rows / 20)
    }

    fn build(&self, input: &BuildInput<'_>, watch: &Watch<'_>) -> Result<BuildOutput, StateError> {
        let table_dir = input.scratch.join("files");
        fs::create_dir(&table_dir).map_err(failed_io("make a directory for table files"))?;
        let database = options::database_for_building();
        let cache = options::block_cache(8 << 20);
        let families = options::families(&database, &cache, self);
        let db = DB::open_cf_descriptors(&database, input.dir, families)
            .map_err(failed("make a database"))?;
        let trie_build = TrieBuild::new(self, input, watch, &table_dir)?;
        let mut digest = ContentDigest::default();
        let (mut rows, mut hashed) = (RowCounts::default(), Vec::new());
        for table in Table::ALL {
            let tries = trie_build.as_ref().filter(|_| table == Table::Slots);
            let job = TableJob { format: self, input, watch, table, table_dir: &table_dir, tries };
            let written = job.write()?;
            digest.merge(&written.digest);
            hashed.extend(written.tries);
            rows.add(table, written.digest.row_count());
            ingest(&db, family(&db, options::family_of(table))?, written.paths)?;
        }
        let mut tries = None;
        if let Some(build) = &trie_build {
            let (built, paths) = build.finish(&db, &rows, hashed)?;
            ingest(&db, family(&db, options::TRIES)?, paths)?;
            tries = Some(built);
        }
        let node_count = tries.as_ref().map_or(0, |tries| tries.nodes.totals.count);
        check_levels(&db, rows.total() + node_count)?;
        drop(db);
        if self.aged_ppm > 0 {
            age::age(input.dir, self, &input.genesis.digest(), &rows, watch)?;
        }
        remove_logs(input.dir)?;
        Ok(BuildOutput { content_digest: digest.finish(), rows, tries })
    }

    fn scan(&self, input: &ScanInput<'_>, watch: &Watch<'_>) -> Result<BuildOutput, StateError> {
        scan::scan(input, watch)
    }
}

/// Input to write the rows of one table.
struct TableJob<'a> {
    format: &'a RocksFormat,
    input: &'a BuildInput<'a>,
    watch: &'a Watch<'a>,
    table: Table,
    /// Directory of the table files.
    table_dir: &'a Path,
    /// The tries to hash while the rows are written; `None` for a table or state without tries.
    tries: Option<&'a TrieBuild<'a>>,
}

/// A unit of work: table files that one thread writes, one after the other.
struct Unit {
    /// The stream's parts in each file, as a range of their indices.
    files: Vec<Range<usize>>,
    /// Index of the first file among all files of the table.
    first_file: usize,
}

/// Row stream of a table, and the options of its files.
struct RowSource<'a> {
    stream: &'a RowStream<'a>,
    options: &'a Options,
}

/// Result of a unit of work: written files, the digest of their rows, and hashed tries of slots.
#[derive(Default)]
struct Written<'a> {
    /// Table files in ascending order of keys.
    paths: Vec<PathBuf>,
    digest: ContentDigest,
    tries: Vec<Hashed<'a>>,
}

impl<'a> TableJob<'a> {
    fn write(&self) -> Result<Written<'a>, StateError> {
        let mut settings = RowSettings::new(self.input.scratch);
        settings.threads = self.input.threads;
        settings.cancel = self.watch.cancel;
        // A file holds whole parts. With several parts per file, all files are of about the same
        // size.
        let file_row_count = self.format.file_bytes / self.row_bytes();
        // The limit is below the row count of every large trie, so rows of a large trie have parts
        // of their own.
        settings.part_row_count_max = (file_row_count / 16).clamp(1, LARGE_SLOT_COUNT - 1);
        let progress = self.watch.progress;
        let sorting = ordered::sorting_progress(progress);
        let (genesis, layout) = (self.input.genesis, self.input.layout);
        let stream = RowStream::new(genesis, layout, self.table, &settings, &sorting)?;
        if stream.row_count() > 0 {
            let phase = match self.tries {
                Some(_) => BuildPhase::WritingAndHashing,
                None => BuildPhase::Writing,
            };
            progress.begin(phase, stream.row_count());
        }
        let units = self.units(&stream, file_row_count)?;
        let options =
            options::writer(self.format).map_err(failed("set the options of table files"))?;
        let pool = pool(self.input.threads.min(units.len()))?;
        let source = RowSource { stream: &stream, options: &options };
        let write = |buffers: &mut PartBuffers, index: usize, unit: &Unit| {
            let tries = self.tries.map(|tries| tries.part(index));
            self.write_unit(&source, unit, tries, buffers)
        };
        let written = pool.install(|| try_map(&units, PartBuffers::default, write))?;
        let mut all = Written::default();
        for part in written {
            all.paths.extend(part.paths);
            all.digest.merge(&part.digest);
            all.tries.extend(part.tries);
        }
        Ok(all)
    }

    /// Returns the units of work: one for each file or, with tries, one for each part of the tries.
    fn units(&self, stream: &RowStream<'_>, file_row_count: u64) -> Result<Vec<Unit>, StateError> {
        let all = 0..stream.part_count();
        let unit_files: Vec<Vec<Range<usize>>> = match self.tries {
            None => runs(stream, all, file_row_count).into_iter().map(|run| vec![run]).collect(),
            Some(tries) => {
                let starts = all.map(|part| stream.part_start(part));
                let starts: Vec<Vec<u8>> = starts.collect::<Result<_, _>>()?;
                let first = |part: &Part| starts.partition_point(|start| *start < part.first);
                let ends = tries.parts[1..].iter().map(first).chain([starts.len()]);
                let ranges = tries.parts.iter().map(first).zip(ends);
                ranges.map(|(first, end)| runs(stream, first..end, file_row_count)).collect()
            }
        };
        let mut first_file = 0;
        let units = unit_files.into_iter().map(|files| {
            let unit = Unit { files, first_file };
            first_file += unit.files.len();
            unit
        });
        Ok(units.collect())
    }

    fn write_unit(
        &self,
        source: &RowSource<'_>,
        unit: &Unit,
        mut tries: Option<PartTries<'a>>,
        buffers: &mut PartBuffers,
    ) -> Result<Written<'a>, StateError> {
        let mut written = Written::default();
        for (index, parts) in (unit.first_file..).zip(&unit.files) {
            let name = format!("{}-{index:06}.{TABLE_EXTENSION}", options::family_of(self.table));
            let path = self.table_dir.join(name);
            let digest = self.write_file(source, parts.clone(), &path, tries.as_mut(), buffers)?;
            written.digest.merge(&digest);
            written.paths.push(path);
        }
        if let Some(tries) = tries {
            written.tries.push(tries.finish()?);
        }
        Ok(written)
    }

    fn write_file(
        &self,
        source: &RowSource<'_>,
        parts: Range<usize>,
        path: &Path,
        mut tries: Option<&mut PartTries<'a>>,
        buffers: &mut PartBuffers,
    ) -> Result<ContentDigest, StateError> {
        let mut digest = ContentDigest::default();
        let mut file = SstFileWriter::create(source.options);
        file.open(path).map_err(failed("begin a table file"))?;
        let mut watched = self.watch.rows();
        for part in parts {
            source.stream.emit::<StateError>(part, buffers, &mut |key, value| {
                digest.add(self.table, key, value);
                file.put(key, value).map_err(failed("write a table file"))?;
                if let Some(tries) = &mut tries {
                    tries.row(key, value)?;
                }
                watched.add_one()
            })?;
        }
        file.finish().map_err(failed("finish a table file"))?;
        Ok(digest)
    }

    /// Approximate number of bytes of a row in a table file.
    fn row_bytes(&self) -> u64 {
        match self.table {
            Table::Slots => 78,
            Table::Accounts => SMALL_ROW_BYTES,
            Table::Codes => 4096,
        }
    }
}

/// Splits parts into runs, one for each file, of about equal numbers of rows, at most about
/// `row_count_max` each. The split depends only on the recipe and the format, so every machine
/// makes the same files.
fn runs(stream: &RowStream<'_>, parts: Range<usize>, row_count_max: u64) -> Vec<Range<usize>> {
    let total: u64 = parts.clone().map(|part| stream.part_row_count(part)).sum();
    let file_count = total.div_ceil(row_count_max.max(1)).max(1);
    let per_file = total.div_ceil(file_count);
    let mut runs = Vec::new();
    let (mut first, mut rows) = (parts.start, 0);
    for part in parts.clone() {
        rows += stream.part_row_count(part);
        let is_last = part + 1 == parts.end;
        if rows > 0 && (is_last || rows >= per_file) {
            runs.push(first..part + 1);
            (first, rows) = (part + 1, 0);
        }
    }
    runs
}

fn ingest(db: &DB, family: &ColumnFamily, paths: Vec<PathBuf>) -> Result<(), StoreError> {
    if paths.is_empty() {
        return Ok(());
    }
    let mut options = IngestExternalFileOptions::default();
    options.set_move_files(true);
    db.ingest_external_file_cf_opts(family, &options, paths)
        .map_err(failed("take in the table files"))
}

/// Checks that all rows are in files of the last level. A get of a present key then reads exactly
/// one file.
fn check_levels(db: &DB, row_count: u64) -> Result<(), StoreError> {
    let files = db.live_files().map_err(failed("list the table files"))?;
    let in_files: u64 = files.iter().map(|file| file.num_entries).sum();
    let stray = files.iter().find(|file| file.level != LAST_LEVEL);
    if in_files == row_count && stray.is_none() {
        return Ok(());
    }
    let reason =
        format!("{in_files} of {row_count} rows in files; above the last level: {stray:?}");
    Err(StoreError::failed(NAME, "take in the table files", reason))
}

/// Removes logs and the lock file, which are not a part of the state.
fn remove_logs(dir: &Path) -> Result<(), StoreError> {
    for entry in fs::read_dir(dir).map_err(failed_io("list the database"))? {
        let entry = entry.map_err(failed_io("list the database"))?;
        let name = entry.file_name();
        if name == "LOCK" || name.to_string_lossy().starts_with("LOG") {
            fs::remove_file(entry.path()).map_err(failed_io("remove a log"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::LIBRARY_VERSION;

    #[test]
    fn the_stated_version_of_rocksdb_is_the_one_that_is_linked() {
        let lock = include_str!("../../../../Cargo.lock");
        let (_, rest) = lock.split_once("name = \"librocksdb-sys\"").unwrap();
        let version = rest.split('"').nth(1).unwrap();
        assert!(version.ends_with(&format!("+{LIBRARY_VERSION}")), "{version}");
    }
}
