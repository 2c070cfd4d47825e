//! Reading every row of a state, for `stress state verify`.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use ::rocksdb::{DB, IteratorMode, LiveFile};
use workload::{ContentDigest, Table};

use super::{DirectReads, StoreError, direct::Access, failed, options, sample};
use crate::state::{BuildOutput, RowCounts, ScanInput, StateError, Watch};

const THREADS: usize = 2;
const REPORT_ROWS: u64 = 1 << 16;

#[derive(Clone, Copy, Default)]
struct Scanned {
    digest: ContentDigest,
    rows: RowCounts,
}

/// Reads all files through a linked copy, checksums verified.
pub(super) fn scan(input: &ScanInput<'_>, watch: &Watch<'_>) -> Result<BuildOutput, StateError> {
    sample::link_files(input.dir, input.scratch)?;
    let tables = input.manifest.table_files(input.dir);
    let access = Access::probe(input.dir, &tables, DirectReads::WherePossible)?;
    let cache = options::block_cache(8 << 20);
    let mut database = options::database();
    database.set_use_direct_reads(access.is_direct());
    let families = options::families(&database, &cache);
    let db = DB::open_cf_descriptors(&database, input.scratch, families)
        .map_err(|error| damaged(input, "the database cannot be opened", error))?;
    let mut files = db.live_files().map_err(failed("list the table files"))?;
    files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let next = AtomicUsize::new(0);
    let total = Mutex::new(Scanned::default());
    let worker = || -> Result<(), StateError> {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let scanned = scan_file(input, &db, file, watch)?;
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            total.digest.merge(&scanned.digest);
            total.rows.accounts += scanned.rows.accounts;
            total.rows.slots += scanned.rows.slots;
            total.rows.codes += scanned.rows.codes;
        }
        Ok(())
    };
    // Each worker stops at its first damaged file; the first of them in order is reported.
    let results: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS).map(|_| scope.spawn(worker)).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, _>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().map(join).collect()
    });
    results.into_iter().collect::<Result<(), _>>()?;
    let total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(BuildOutput { content_digest: total.digest.finish(), rows: total.rows })
}

fn scan_file(
    input: &ScanInput<'_>,
    db: &DB,
    file: &LiveFile,
    watch: &Watch<'_>,
) -> Result<Scanned, StateError> {
    let mut scanned = Scanned::default();
    let Some(table) = options::table_of(&file.column_family_name) else { return Ok(scanned) };
    let family = sample::family(db, options::family_of(table))?;
    let (Some(first), Some(last)) = (&file.start_key, &file.end_key) else { return Ok(scanned) };
    let mut reads = options::scan_reads();
    reads.set_iterate_lower_bound(first.clone());
    // The upper bound is exclusive: the last key's successor.
    let mut end = last.clone();
    end.push(0);
    reads.set_iterate_upper_bound(end);
    let mut unreported = 0;
    for row in db.iterator_cf_opt(family, reads, IteratorMode::Start) {
        let (key, value) =
            row.map_err(|error| damaged(input, &format!("file {} is damaged", name(file)), error))?;
        scanned.digest.add(table, &key, &value);
        unreported += 1;
        if unreported == REPORT_ROWS {
            watch.progress.advance(unreported);
            watch.check()?;
            unreported = 0;
        }
    }
    watch.progress.advance(unreported);
    let count = scanned.digest.row_count();
    match table {
        Table::Accounts => scanned.rows.accounts = count,
        Table::Slots => scanned.rows.slots = count,
        Table::Codes => scanned.rows.codes = count,
    }
    Ok(scanned)
}

fn name(file: &LiveFile) -> &str {
    file.name.trim_start_matches('/')
}

fn damaged(input: &ScanInput<'_>, what: &str, error: ::rocksdb::Error) -> StateError {
    match failed(what)(error) {
        StoreError::Damaged { what, reason, .. } => {
            let reason = format!("{what}: {reason}");
            StateError::Untrusted { name: input.name.to_owned(), reason }
        }
        other => other.into(),
    }
}
