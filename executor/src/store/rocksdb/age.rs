//! Ages a new state: rewrites a share of its rows with the same values, and flushes them into files
//! of the first level. Nothing is compacted. Afterwards a get searches several files, as in a
//! database that has been in use. The build calls this last, for formats with aged rows.
//!
//! **Invariant**: the recipe, the aged share and the row's key alone decide whether a row is
//! rewritten, and in which generation. The content is the same before and after.

use std::path::Path;

use ::rocksdb::{DB, WriteBatch, WriteOptions};
use alloy_primitives::B256;
use workload::Table;

use super::{
    format::{GENERATIONS, PPM, RocksFormat},
    options,
    rows::Rows,
    sample::family,
    settings::{NAME, failed},
};
use crate::{
    error::StoreError,
    state::{BuildPhase, RowCounts, StateError, Watch},
};

/// Number of rows between two flushes. Each row takes about 200 bytes of memory until its flush.
const FLUSH_ROWS: u64 = 1 << 20;

/// Number of rows in one write to the database.
const BATCH_ROWS: u64 = 1 << 10;

/// Buffer for more than [`FLUSH_ROWS`] rows, so that RocksDB never flushes by itself. Then every
/// machine makes the same files.
const WRITE_BUFFER_BYTES: usize = 2 << 30;

/// Name of the random stream that decides which rows are rewritten.
const STREAM: &str = "stress 2026 rows of an aged state";

/// Tables whose rows are rewritten. Codes are not, since a client never writes a code twice.
const TABLES: [Table; 2] = [Table::Accounts, Table::Slots];

/// Decides which rows are rewritten, and in which generation (pass).
struct Choice {
    key: [u8; 32],
    /// Share of the rows that are rewritten, in units of 2^-64.
    share: u128,
}

impl Choice {
    fn new(recipe: &B256, aged_ppm: u32) -> Self {
        let share = (u128::from(aged_ppm.min(PPM)) << 64) / u128::from(PPM);
        Self { key: blake3::derive_key(STREAM, recipe.as_slice()), share }
    }

    /// Returns the generation of a row; `None` if the row is not rewritten.
    fn generation(&self, table: Table, key: &[u8]) -> Option<u64> {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&[table as u8]).update(key);
        let mut words = [0; 16];
        hasher.finalize_xof().fill(&mut words);
        let word = u128::from_le_bytes(words);
        let (low, high) = (word & u128::from(u64::MAX), (word >> 64) as u64);
        (low < self.share).then_some(high % GENERATIONS)
    }
}

/// Rewrites rows of the state in `dir`: the share [`RocksFormat::aged_ppm`] of `format`.
pub(super) fn age(
    dir: &Path,
    format: &RocksFormat,
    recipe: &B256,
    rows: &RowCounts,
    watch: &Watch<'_>,
) -> Result<(), StateError> {
    let mut database = options::database();
    database.set_write_buffer_size(WRITE_BUFFER_BYTES);
    let families = options::families_for_writing(&database, format)
        .map_err(failed("set the options of an aged state"))?;
    let db = DB::open_cf_descriptors(&database, dir, families)
        .map_err(failed("open the new database to age it"))?;
    watch.progress.begin(BuildPhase::Ageing, rows.total().saturating_mul(GENERATIONS));
    let choice = Choice::new(recipe, format.aged_ppm);
    let mut count = 0;
    for generation in 0..GENERATIONS {
        for table in TABLES {
            count += rewrite(&db, &choice, table, generation, watch)?;
        }
    }
    let files = db.live_files().map_err(failed("list the table files"))?;
    let rewritten: u64 =
        files.iter().filter(|file| file.level == 0).map(|file| file.num_entries).sum();
    if rewritten != count {
        let reason = format!("{count} rows were written again, and {rewritten} are in files");
        return Err(StoreError::failed(NAME, "age the state", reason).into());
    }
    Ok(())
}

/// Rewrites the rows of one generation in a table. Returns their number.
fn rewrite(
    db: &DB,
    choice: &Choice,
    table: Table,
    generation: u64,
    watch: &Watch<'_>,
) -> Result<u64, StateError> {
    let family = family(db, options::family_of(table))?;
    let mut unlogged = WriteOptions::default();
    unlogged.disable_wal(true);
    let flush = || db.flush_cf(family).map_err(failed("flush rows of an aged state"));
    let mut batch = WriteBatch::default();
    let (mut count, mut watched) = (0_u64, watch.rows());
    let mut rows = Rows::new(db, family, options::scan_reads());
    while let Some((key, value)) = rows.next().map_err(failed("read the rows to age"))? {
        watched.add_one()?;
        if choice.generation(table, key) != Some(generation) {
            continue;
        }
        batch.put_cf(family, key, value);
        count += 1;
        if count.is_multiple_of(BATCH_ROWS) {
            let full = std::mem::take(&mut batch);
            db.write_opt(full, &unlogged).map_err(failed("write rows again"))?;
            if count.is_multiple_of(FLUSH_ROWS) {
                flush()?;
            }
        }
    }
    db.write_opt(batch, &unlogged).map_err(failed("write rows again"))?;
    flush()?;
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_rows_is_the_one_asked_for_and_generations_are_even() {
        let recipe = B256::repeat_byte(7);
        for (ppm, expected) in [(0, 0..=0), (250_000, 2_300..=2_700), (PPM, 10_000..=10_000)] {
            let choice = Choice::new(&recipe, ppm);
            let mut of_generation = [0_u64; GENERATIONS as usize];
            for index in 0..10_000_u64 {
                if let Some(generation) = choice.generation(Table::Slots, &index.to_be_bytes()) {
                    of_generation[generation as usize] += 1;
                }
            }
            let count: u64 = of_generation.iter().sum();
            assert!(expected.contains(&count), "{ppm}: {count}");
            let fair = count / GENERATIONS;
            assert!(
                of_generation.iter().all(|n| n.abs_diff(fair) <= fair / 4),
                "{of_generation:?}"
            );
        }
    }

    #[test]
    fn another_recipe_ages_other_rows() {
        let rows = |byte| {
            let choice = Choice::new(&B256::repeat_byte(byte), PPM / 2);
            let of = |index: u64| choice.generation(Table::Slots, &index.to_be_bytes());
            (0..64).map(of).collect::<Vec<_>>()
        };
        assert_eq!(rows(1), rows(1));
        assert_ne!(rows(1), rows(2));
    }
}
