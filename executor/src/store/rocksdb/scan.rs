//! Reads every row and node of a state, for `stress state verify`.

use ::rocksdb::{DB, LiveFile};
use workload::{ContentDigest, Table};

use super::{
    direct::Access,
    format::RocksFormat,
    options,
    rows::Rows,
    sample,
    settings::{TABLE_EXTENSION, failed, pool},
    trie_verify,
};
use crate::{
    error::StoreError,
    state::{BuildOutput, RowCounts, ScanInput, StateError, Watch},
    try_map::try_map,
};
use variant::FileAccess;

/// Level of the ingested rows.
pub(super) const LAST_LEVEL: i32 = 6;
/// Number of threads of a scan.
const THREADS: usize = 2;

/// Reads all rows, and nodes of tries, through hard links in the scratch directory. Verifies the
/// checksums of all blocks.
pub(super) fn scan(input: &ScanInput<'_>, watch: &Watch<'_>) -> Result<BuildOutput, StateError> {
    let format =
        RocksFormat::of_shape(&input.manifest.shape).ok_or_else(|| input.unknown_shape())?;
    sample::link_files(input.dir, input.scratch)?;
    let tables = input.manifest.files_with(TABLE_EXTENSION, input.dir);
    let access = Access::probe(input.dir, &tables, FileAccess::Direct)?;
    let cache = options::block_cache(8 << 20);
    let mut database = options::database();
    database.set_use_direct_reads(access.is_direct());
    let families = options::families(&database, &cache, &format);
    let db = DB::open_cf_descriptors(&database, input.scratch, families)
        .map_err(|error| damaged(input, "the database cannot be opened", error))?;
    let key_ranges = key_ranges(&db)?;
    let scanned = pool(THREADS)?.install(|| {
        try_map(&key_ranges, || (), |(), _, range| scan_range(input, &db, range, watch))
    })?;
    let (mut digest, mut rows) = (ContentDigest::default(), RowCounts::default());
    for (range, scanned) in key_ranges.iter().zip(scanned) {
        digest.merge(&scanned);
        rows.add(range.table, scanned.row_count());
    }
    let tries = format.tries.map(|format| trie_verify::verify(input, watch, &db, format));
    Ok(BuildOutput { content_digest: digest.finish(), rows, tries: tries.transpose()? })
}

/// A range of keys, which one thread scans. It begins at the first key of a file of the last level,
/// and ends before the first key of the next file. The ranges of a table cover all possible keys,
/// so no row of another level is left out.
struct KeyRange {
    table: Table,
    /// Name of the file of the last level, for errors.
    file: String,
    /// First key; `None` for the first range of the table.
    first: Option<Vec<u8>>,
    /// First key of the next range; `None` for the last range of the table.
    end: Option<Vec<u8>>,
}

/// Returns the key ranges of all tables.
fn key_ranges(db: &DB) -> Result<Vec<KeyRange>, StateError> {
    let files = db.live_files().map_err(failed("list the table files"))?;
    let mut key_ranges = Vec::new();
    for table in Table::ALL {
        let family = options::family_of(table);
        let table_files = files.iter().filter(|file| file.column_family_name == family);
        let mut last_level: Vec<&LiveFile> =
            table_files.clone().filter(|file| file.level == LAST_LEVEL).collect();
        last_level.sort_unstable_by(|a, b| a.start_key.cmp(&b.start_key));
        // Rows that were written, and not ingested, may all lie in higher levels: one range has all.
        if last_level.is_empty() && table_files.count() > 0 {
            let file = "of the first level".to_owned();
            key_ranges.push(KeyRange { table, file, first: None, end: None });
        }
        for (index, file) in last_level.iter().enumerate() {
            key_ranges.push(KeyRange {
                table,
                file: file.name.trim_start_matches('/').to_owned(),
                first: if index == 0 { None } else { file.start_key.clone() },
                end: last_level.get(index + 1).and_then(|next| next.start_key.clone()),
            });
        }
    }
    key_ranges.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(key_ranges)
}

fn scan_range(
    input: &ScanInput<'_>,
    db: &DB,
    range: &KeyRange,
    watch: &Watch<'_>,
) -> Result<ContentDigest, StateError> {
    let mut digest = ContentDigest::default();
    let table = range.table;
    let family = sample::family(db, options::family_of(table))?;
    let mut reads = options::scan_reads();
    if let Some(first) = &range.first {
        reads.set_iterate_lower_bound(first.clone());
    }
    if let Some(end) = &range.end {
        reads.set_iterate_upper_bound(end.clone());
    }
    let mut watched = watch.rows();
    let unreadable = |error| damaged(input, &format!("file {} is damaged", range.file), error);
    let mut rows = Rows::new(db, family, reads);
    while let Some((key, value)) = rows.next().map_err(unreadable)? {
        digest.add(table, key, value);
        watched.add_one()?;
    }
    Ok(digest)
}

fn damaged(input: &ScanInput<'_>, what: &str, error: ::rocksdb::Error) -> StateError {
    match failed(what)(error) {
        StoreError::Damaged { what, reason, .. } => {
            StateError::untrusted(input.name, format!("{what}: {reason}"))
        }
        other => other.into(),
    }
}
