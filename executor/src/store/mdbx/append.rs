//! Writes a new state: rows and the nodes of their tries, appended in the order of their keys, in
//! transactions of bounded size.

use std::cell::RefCell;

use signet_libmdbx::{Environment, Rw, TxUnsync};
use workload::{ContentDigest, Table};

use trie::StoreError as SinkError;

use super::{
    environment::{NAME, failed},
    tables::{TableKey, Tables},
};
use crate::{
    error::StoreError,
    state::{BuildInput, BuildOutput, BuildPhase, RowCounts, StateError, Watch},
    store::{
        ordered,
        trie_stream::{Hashing, NodeRows, TrieStream},
    },
};

/// Number of appended bytes after which a transaction is committed. Its rows and nodes stay in
/// memory until then.
const TX_BYTES: usize = 64 << 20;

/// Appends to the tables of an environment.
pub(super) struct Appender<'e> {
    environment: &'e Environment,
    tables: &'e Tables,
    /// The open transaction, and the bytes appended in it.
    open: Option<(TxUnsync<Rw>, usize)>,
}

/// Appends nodes to their table, while rows are appended to other tables in the same transaction.
struct Nodes<'a, 'e>(&'a RefCell<Appender<'e>>);

impl NodeRows for Nodes<'_, '_> {
    const STORE: &'static str = NAME;

    fn node(&mut self, key: &[u8], node: &[u8]) -> Result<(), SinkError> {
        let mut appender = self.0.borrow_mut();
        let tables = appender.tables;
        Ok(appender.append(key.len() + node.len(), |tx| tables.append_node(tx, key, node))?)
    }
}

impl<'e> Appender<'e> {
    pub(super) const fn new(environment: &'e Environment, tables: &'e Tables) -> Self {
        Self { environment, tables, open: None }
    }

    /// Appends all rows of a recipe, and the nodes of their tries.
    pub(super) fn append_all(
        self,
        input: &BuildInput<'_>,
        watch: &Watch<'_>,
    ) -> Result<BuildOutput, StateError> {
        let format = self.tables.form().tries;
        let appender = RefCell::new(self);
        let mut tries =
            format.map(|format| TrieStream::new(format, Hashing::Once, Nodes(&appender)));
        // Slots come first: an account's leaf contains the root of its slots.
        let order = match format {
            Some(_) => [Table::Slots, Table::Accounts, Table::Codes],
            None => Table::ALL,
        };
        let mut digest = ContentDigest::default();
        let mut rows = RowCounts::default();
        for table in order {
            let phase = match (format, table) {
                (None, _) | (_, Table::Codes) => BuildPhase::Writing,
                (Some(_), Table::Slots | Table::Accounts) => BuildPhase::WritingAndHashing,
            };
            let written = ordered::stream_rows(input, watch, table, phase, &mut |key, value| {
                appender.borrow_mut().append_row(TableKey { table, key }, value)?;
                tries.as_mut().map_or(Ok(()), |tries| tries.row(table, key, value))
            })?;
            digest.merge(&written);
            rows.add(table, written.row_count());
        }
        let tries = tries.map(TrieStream::finish).transpose()?;
        appender.borrow_mut().commit()?;
        Ok(BuildOutput { content_digest: digest.finish(), rows, tries })
    }

    fn append_row(&mut self, key: TableKey<'_>, value: &[u8]) -> Result<(), StoreError> {
        let tables = self.tables;
        self.append(key.key.len() + value.len(), |tx| tables.append(tx, key, value))
    }

    /// Calls `write` with the open transaction. Begins a new transaction if the open one is full.
    /// `byte_count` is the number of bytes that `write` appends.
    fn append(
        &mut self,
        byte_count: usize,
        write: impl FnOnce(&TxUnsync<Rw>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if self.open.as_ref().is_some_and(|(_, bytes)| *bytes >= TX_BYTES) {
            self.commit()?;
        }
        let (tx, bytes) = match &mut self.open {
            Some(open) => open,
            open @ None => {
                let tx = self.environment.begin_rw_unsync();
                open.insert((tx.map_err(failed("begin to write rows"))?, 0))
            }
        };
        write(tx)?;
        *bytes += byte_count;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        let Some((tx, _)) = self.open.take() else { return Ok(()) };
        tx.commit().map_err(failed("write rows"))
    }
}
