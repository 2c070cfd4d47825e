//! Building a state: rows appended in the order of their keys, in transactions of bounded size;
//! and reading all of them again.

use std::{fs, path::Path};

use signet_libmdbx::{Environment, Rw, TxUnsync};
use workload::{ContentDigest, Genesis, Layout, Table};

use super::{
    base::{Base, DATA},
    environment::{self, PAGE_BYTES, Purpose, Tables, failed, failed_io, failed_read},
    settings::NAME,
};
use crate::{
    error::StoreError,
    state::{
        BuildInput, BuildOutput, GROWING_EXTENSION, RowCounts, ScanInput, StateError, StateFormat,
        Watch,
    },
    store::ordered,
};

/// Bytes of rows in a transaction: what one has written stays in memory until it is committed.
const TX_BYTES: usize = 64 << 20;

/// What a row takes beside key and value: header, offset and padding of its node.
const ROW_OVERHEAD_BYTES: u64 = 11;
/// What an account row, and a code without its bytes, take at most: a page for a code's rest.
const SMALL_ROW_BYTES: u64 = 128;
/// What the row stream keeps of a slot and of an account between its passes.
const SCRATCH_SLOT_BYTES: u64 = 4;
/// See [`SCRATCH_SLOT_BYTES`].
const SCRATCH_ACCOUNT_BYTES: u64 = 24;
/// What a state without rows takes.
const FIXED_BYTES: u64 = 4 << 20;

/// Rows between two looks at the cancel flag.
const REPORT_ROWS: u64 = 1 << 16;

/// How states are built in MDBX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MdbxFormat;

impl StateFormat for MdbxFormat {
    fn store(&self) -> &'static str {
        NAME
    }

    fn row_extension(&self) -> &'static str {
        GROWING_EXTENSION
    }

    fn store_version(&self) -> String {
        environment::library_version()
    }

    fn shape(&self) -> String {
        format!("page {PAGE_BYTES}; key to value, no duplicates; appended in order")
    }

    fn byte_estimate(&self, genesis: &Genesis, layout: Layout) -> u64 {
        let codes = genesis.accounts.iter().map(|account| account.code.len() as u64);
        let codes: u64 = codes.map(|bytes| bytes + PAGE_BYTES as u64 + SMALL_ROW_BYTES).sum();
        let slot = layout.slot_key_bytes() as u64 + 32 + ROW_OVERHEAD_BYTES + SCRATCH_SLOT_BYTES;
        let account = SMALL_ROW_BYTES + SCRATCH_ACCOUNT_BYTES;
        let parts = [
            genesis.slot_count().saturating_mul(slot),
            genesis.account_count().saturating_mul(account),
            codes,
        ];
        let rows = parts.into_iter().fold(FIXED_BYTES, u64::saturating_add);
        // Leaves are full but for the last row; a branch page stands for some fifty of them.
        rows.saturating_add(rows / 16)
    }

    fn build(&self, input: &BuildInput<'_>, watch: &Watch<'_>) -> Result<BuildOutput, StateError> {
        let path = input.scratch.join(DATA);
        let byte_estimate = self.byte_estimate(input.genesis, input.layout);
        let environment = environment::open(&path, Purpose::Build { byte_estimate })?;
        let tables = Tables::create(&environment, input.layout)?;
        let mut digest = ContentDigest::default();
        let mut rows = RowCounts::default();
        for table in Table::ALL {
            let written = append(&environment, &tables, input, watch, table)?;
            digest.merge(&written);
            rows.set(table, written.row_count());
        }
        environment.sync(true).map_err(failed("make the rows durable"))?;
        drop(environment);
        let place = input.dir.join(DATA);
        fs::rename(&path, &place).map_err(failed_io("move the database to its place"))?;
        Base::describe(input.dir).map_err(failed_io("describe the database"))?;
        Ok(BuildOutput { content_digest: digest.finish(), rows })
    }

    fn scan(&self, input: &ScanInput<'_>, watch: &Watch<'_>) -> Result<BuildOutput, StateError> {
        let scanned = scan(input, watch);
        scanned.map_err(|error| match error {
            StateError::Store(error @ StoreError::Damaged { .. }) => {
                let reason = format!("file {DATA} is damaged: {error}");
                StateError::Untrusted { name: input.name.to_owned(), reason }
            }
            error => error,
        })
    }

    fn recover(&self, name: &str, dir: &Path) -> Result<Option<String>, StateError> {
        let restored = Base::read(dir).and_then(|base| base.restore());
        match restored {
            Ok(false) => Ok(None),
            Ok(true) => Ok(Some(format!("put {name} back as it was before a sample that died"))),
            Err(error) => {
                let reason = format!("{DATA} cannot be put back as it was built: {error}");
                Err(StateError::Untrusted { name: name.to_owned(), reason })
            }
        }
    }
}

/// Appends all rows of `table`.
fn append(
    environment: &Environment,
    tables: &Tables,
    input: &BuildInput<'_>,
    watch: &Watch<'_>,
    table: Table,
) -> Result<ContentDigest, StateError> {
    let handle = tables.handle(table);
    let begin = || -> Result<TxUnsync<Rw>, StoreError> {
        environment.begin_rw_unsync().map_err(failed("begin to write rows"))
    };
    let end = |tx: TxUnsync<Rw>| tx.commit().map_err(failed("write rows"));
    let mut tx = Some(begin()?);
    let mut tx_bytes = 0;
    let digest = ordered::hand_over(input, watch, table, &mut |key, value| {
        tables.check_key(table, key)?;
        if tx_bytes >= TX_BYTES {
            tx.take().map(end).transpose()?;
            tx_bytes = 0;
        }
        if tx.is_none() {
            tx = Some(begin()?);
        }
        if let Some(tx) = &tx {
            tx.append(handle, key, value).map_err(failed("append a row"))?;
        }
        tx_bytes += key.len() + value.len();
        Ok(())
    })?;
    tx.map(end).transpose()?;
    Ok(digest)
}

/// Reads all rows through a link, with MDBX's checks of its pages.
fn scan(input: &ScanInput<'_>, watch: &Watch<'_>) -> Result<BuildOutput, StateError> {
    let path = input.scratch.join(DATA);
    fs::hard_link(input.dir.join(DATA), &path).map_err(failed_io("link the state's file"))?;
    let environment = environment::open(&path, Purpose::Scan)?;
    environment::check_pages(&environment)?;
    let tables = Tables::open(&environment, input.manifest.layout)?;
    let tx = environment.begin_ro_unsync().map_err(failed("begin to read"))?;
    let mut digest = ContentDigest::default();
    let mut rows = RowCounts::default();
    for table in Table::ALL {
        let what = || format!("table {table:?}");
        let mut of_table = ContentDigest::default();
        let mut cursor = tx.cursor(tables.handle(table)).map_err(failed(what()))?;
        let mut all = cursor.iter_slices();
        while let Some((key, value)) =
            all.borrow_next().map_err(|error| failed_read(what())(error))?
        {
            of_table.add(table, &key, &value);
            if of_table.row_count().is_multiple_of(REPORT_ROWS) {
                watch.progress.advance(REPORT_ROWS);
                watch.check()?;
            }
        }
        watch.progress.advance(of_table.row_count() % REPORT_ROWS);
        rows.set(table, of_table.row_count());
        digest.merge(&of_table);
    }
    Ok(BuildOutput { content_digest: digest.finish(), rows })
}
