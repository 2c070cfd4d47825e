//! Implements [`StateFormat`] for [`MdbxFormat`]. Builds a state in MDBX, scans it, estimates its
//! size, and restores it after a sample that died. `append.rs` appends the rows.

use std::{fs, io, path::Path};

use alloy_primitives::B256;
use variant::SlotTable;
use workload::{ContentDigest, Genesis, Layout, Table};

use super::{
    append::Appender,
    base::{Base, DATA},
    environment::{self, NAME, PAGE_BYTES, Purpose, failed, failed_io},
    tables::{Form, Tables},
    trie_verify, used,
};
use crate::{
    error::StoreError,
    state::{
        BuildInput, BuildOutput, GROWING_EXTENSION, RowCounts, ScanInput, StateError, StateFormat,
        Watch, file_hash,
    },
    store::ordered::{SCRATCH_ACCOUNT_BYTES, SCRATCH_SLOT_BYTES},
    tries,
};

/// Number of bytes of a row in addition to key and value: header, offset and padding of its node.
const ROW_OVERHEAD_BYTES: u64 = 11;
/// Maximal number of bytes of an account's row, and of a code's row in addition to the code and the
/// rest of its last page.
const SMALL_ROW_BYTES: u64 = 128;
/// Number of bytes of a state without rows.
const FIXED_BYTES: u64 = 4 << 20;

/// Maximal number of slots of an account that has no tree of its own.
const WITHIN_LEAF_COUNT: u64 = 27;
/// Minimal number of duplicates on a full leaf of an account's own tree.
const PER_LEAF_COUNT: u64 = 54;
/// Maximal number of bytes of a duplicate: header, offset, subkey and value.
const DUPLICATE_BYTES: u64 = 74;
/// Maximal number of bytes of an account in addition to its duplicates: its key, and the
/// description of its tree.
const ACCOUNT_BYTES: u64 = 96;

/// Number of bytes of a node's row in addition to the node: its whole key, header and offset in the
/// page.
const NODE_HEADER_BYTES: u64 = 56;
/// Share of the bytes of a page of nodes that are used.
const NODE_FILL: f64 = 0.85;

/// Format of states in MDBX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MdbxFormat {
    /// Form of the table of slots.
    pub slots: SlotTable,
    /// Format of the nodes of tries that are stored beside the rows; `None` for a state without
    /// tries.
    pub tries: Option<trie::Format>,
}

impl MdbxFormat {
    /// Format with one row per slot, without tries.
    pub const ROWS: Self = Self { slots: SlotTable::Rows, tries: None };
    /// Format with the slots of an account as sorted duplicates, without tries.
    pub const DUP_SORT: Self = Self { slots: SlotTable::DupSort, tries: None };

    /// Returns the format with this shape; `None` if no format has it.
    pub fn of_shape(shape: &str) -> Option<Self> {
        tries::all_formats()
            .flat_map(|tries| SlotTable::ALL.iter().map(move |slots| Self { slots: *slots, tries }))
            .find(|format| format.shape() == shape)
    }

    /// Form of the tables.
    pub(super) const fn form(&self, layout: Layout) -> Form {
        Form { layout, slots: self.slots, tries: self.tries }
    }

    /// Returns an upper estimate of the bytes of the nodes of tries.
    fn node_bytes(&self, genesis: &Genesis) -> u64 {
        let Some(format) = self.tries else { return 0 };
        tries::byte_estimate(tries::expected_nodes(format, genesis), NODE_HEADER_BYTES, NODE_FILL)
    }

    /// Returns an upper bound of the bytes of the slots of `genesis`.
    fn slot_bytes(self, genesis: &Genesis, layout: Layout) -> u64 {
        match self.slots {
            SlotTable::Rows => {
                let row = layout.slot_key_bytes() as u64 + 32 + ROW_OVERHEAD_BYTES;
                genesis.slot_count().saturating_mul(row)
            }
            SlotTable::DupSort => {
                let explicit = genesis.accounts.iter().map(|account| account.storage.len() as u64);
                let counts = explicit.chain(genesis.slots.iter().map(|family| family.count));
                counts.map(duplicate_bytes).fold(0, u64::saturating_add)
            }
        }
    }
}

/// Returns an upper bound of the bytes of an account with `count` slots, as sorted duplicates.
fn duplicate_bytes(count: u64) -> u64 {
    if count == 0 {
        return 0;
    }
    if count <= WITHIN_LEAF_COUNT {
        // An account's entry takes up to half a page, so half of each page may stay empty.
        return 2 * (count * DUPLICATE_BYTES + ACCOUNT_BYTES);
    }
    let leaves = count.div_ceil(PER_LEAF_COUNT).saturating_add(1);
    leaves.saturating_mul(PAGE_BYTES as u64).saturating_add(ACCOUNT_BYTES)
}

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
        let rows = match self.slots {
            SlotTable::Rows => {
                format!("page {PAGE_BYTES}; key to value, no duplicates; appended in order")
            }
            SlotTable::DupSort => format!(
                "page {PAGE_BYTES}; slots as sorted duplicates of their account, without leading \
                 zeros; appended in order"
            ),
        };
        rows + &tries::shape_part(self.tries)
    }

    fn byte_estimate(&self, genesis: &Genesis, layout: Layout) -> u64 {
        let codes = genesis.accounts.iter().map(|account| account.code.len() as u64);
        let codes: u64 = codes.map(|bytes| bytes + PAGE_BYTES as u64 + SMALL_ROW_BYTES).sum();
        let account = SMALL_ROW_BYTES + SCRATCH_ACCOUNT_BYTES;
        let parts = [
            self.slot_bytes(genesis, layout),
            genesis.slot_count().saturating_mul(SCRATCH_SLOT_BYTES),
            genesis.account_count().saturating_mul(account),
            codes,
            self.node_bytes(genesis),
        ];
        let rows = parts.into_iter().fold(FIXED_BYTES, u64::saturating_add);
        // Leaves are full but for the space of less than one row. About fifty leaves need one
        // branch page.
        rows.saturating_add(rows / 16)
    }

    fn build(&self, input: &BuildInput<'_>, watch: &Watch<'_>) -> Result<BuildOutput, StateError> {
        let path = input.scratch.join(DATA);
        let byte_estimate = self.byte_estimate(input.genesis, input.layout);
        let environment = environment::open(&path, Purpose::Build { byte_estimate })?;
        let tables = Tables::create(&environment, self.form(input.layout))?;
        let appended = Appender::new(&environment, &tables).append_all(input, watch)?;
        environment.sync(true).map_err(failed("make the rows durable"))?;
        let branch_count = tables.branch_count(&environment)?;
        drop(environment);
        fs::rename(&path, input.dir.join(DATA))
            .map_err(failed_io("move the database to its place"))?;
        Base::write(input.dir, branch_count).map_err(failed_io("describe the database"))?;
        Ok(appended)
    }

    fn scan(&self, input: &ScanInput<'_>, watch: &Watch<'_>) -> Result<BuildOutput, StateError> {
        let scanned = scan(input, watch);
        scanned.map_err(|error| match error {
            StateError::Store(error @ StoreError::Damaged { .. }) => {
                let reason = format!("file {DATA} is damaged: {error}");
                StateError::untrusted(input.name, reason)
            }
            error => error,
        })
    }

    /// Leaves out free pages, which samples overwrite, and the meta pages, which [`Self::recover`]
    /// checks.
    fn file_hash(&self, path: &Path) -> io::Result<B256> {
        match path.file_name().is_some_and(|name| name == DATA) {
            true => used::hash(path),
            false => file_hash(path),
        }
    }

    fn recover(&self, name: &str, dir: &Path) -> Result<Option<String>, StateError> {
        let restored = Base::read(dir).and_then(|base| base.restore());
        match restored {
            Ok(false) => Ok(None),
            Ok(true) => Ok(Some(format!("put {name} back as it was before a sample that died"))),
            Err(error) => {
                let reason = format!("{DATA} cannot be put back as it was built: {error}");
                Err(StateError::untrusted(name, reason))
            }
        }
    }
}

/// Reads all rows through a hard link in the scratch directory. MDBX checks the structure of each
/// page.
fn scan(input: &ScanInput<'_>, watch: &Watch<'_>) -> Result<BuildOutput, StateError> {
    let format =
        MdbxFormat::of_shape(&input.manifest.shape).ok_or_else(|| input.unknown_shape())?;
    let path = input.scratch.join(DATA);
    fs::hard_link(input.dir.join(DATA), &path).map_err(failed_io("link the state's file"))?;
    let environment = environment::open(&path, Purpose::Scan)?;
    environment::check_pages(&environment)?;
    let tables = Tables::open(&environment, format.form(input.manifest.layout))?;
    let tx = environment.begin_ro_unsync().map_err(failed("begin to read"))?;
    let mut digest = ContentDigest::default();
    let mut rows = RowCounts::default();
    for table in Table::ALL {
        let mut table_digest = ContentDigest::default();
        let mut watched = watch.rows();
        tables.each_row(&tx, table, &mut |key, value| {
            table_digest.add(table, key, value);
            watched.add_one()
        })?;
        rows.add(table, table_digest.row_count());
        digest.merge(&table_digest);
    }
    let tries = format.tries.map(|format| trie_verify::verify(input, watch, &tables, &tx, format));
    Ok(BuildOutput { content_digest: digest.finish(), rows, tries: tries.transpose()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_rows_keep_their_name_and_each_shape_is_that_of_one_format() {
        let expected = "page 4096; key to value, no duplicates; appended in order";
        assert_eq!(MdbxFormat::default().shape(), expected);
        let mut shapes = Vec::new();
        for format in [MdbxFormat::ROWS, MdbxFormat::DUP_SORT] {
            for tries in tries::all_formats() {
                let format = MdbxFormat { tries, ..format };
                assert_eq!(MdbxFormat::of_shape(&format.shape()), Some(format));
                assert!(!shapes.contains(&format.shape()), "{shapes:?}");
                shapes.push(format.shape());
            }
        }
        assert_eq!(MdbxFormat::of_shape("something else"), None);
    }
}
