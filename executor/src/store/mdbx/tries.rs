//! Reads and commits of tries in MDBX, for the computation of roots. A thread reads one key after
//! the other, in its own transaction, since MDBX has no call for many keys. So several reads are in
//! flight only on several threads.

use alloy_primitives::{B256, U256};
use trie::{Format, NodeKey, RowRange};
use workload::{AccountState, NetChanges, Table};

use super::{environment::NAME, reader::MdbxReader, sample::MdbxSample, tables::TableKey};
use crate::{
    error::StoreError,
    read_counters::ReadCounters,
    store::{
        Reader,
        lookup::{self, RowName},
    },
    tries::{NodeChanges, NodeSink, TrieId, TrieReader, Tries},
};

/// The tries of a sample.
pub(super) struct MdbxTries<'a> {
    pub(super) sample: &'a MdbxSample<'a>,
    pub(super) format: Format,
}

impl Tries for MdbxTries<'_> {
    fn format(&self) -> Format {
        self.format
    }

    fn reader(&self) -> Result<Box<dyn TrieReader + '_>, StoreError> {
        Ok(Box::new(MdbxReader::new(self.sample)?))
    }

    fn commit(&self, changes: &NetChanges, nodes: &[NodeChanges]) -> Result<(), StoreError> {
        self.sample.write(changes, nodes)
    }
}

impl TrieReader for MdbxReader<'_> {
    fn nodes(
        &mut self,
        keys: &[(TrieId, NodeKey)],
        sink: &mut NodeSink<'_>,
    ) -> Result<(), StoreError> {
        self.renew()?;
        self.key_count += keys.len() as u64;
        let rows = keys.iter().enumerate();
        let mut rows: Vec<_> =
            rows.map(|(index, (trie, key))| (trie.slots_first_key(key), index)).collect();
        // Neighbouring keys are often on the same leaf.
        rows.sort_unstable();
        for (row, index) in rows {
            self.sample.tables().node(&self.tx, &row, |node| sink(index, node))?;
        }
        Ok(())
    }

    fn slot_ranges(
        &mut self,
        ranges: &[(B256, RowRange)],
        sink: &mut dyn FnMut(usize, B256, U256),
    ) -> Result<(), StoreError> {
        for (index, (account, range)) in ranges.iter().enumerate() {
            self.renew()?;
            let tables = self.sample.tables();
            self.key_count += tables.slots_in(&self.tx, account, range, &mut |key, value| {
                sink(index, key, value);
            })?;
        }
        Ok(())
    }

    fn accounts(
        &mut self,
        range: &RowRange,
        sink: &mut dyn FnMut(B256, AccountState),
    ) -> Result<(), StoreError> {
        self.renew()?;
        self.key_count += self.sample.tables().accounts_in(&self.tx, range, sink)?;
        Ok(())
    }

    fn account(&mut self, key: &B256) -> Result<Option<AccountState>, StoreError> {
        let name = RowName::HashedAccount(key);
        let row = TableKey { table: Table::Accounts, key: key.as_slice() };
        self.get(row, name, |value| lookup::account_state(NAME, name, value))
    }

    fn counters(&self) -> ReadCounters {
        Reader::counters(self)
    }
}
