//! Reads and commits of tries: nodes in a column family of their own, rows by iterators.

use ::rocksdb::{ColumnFamily, DB, IteratorMode, ReadOptions};
use alloy_primitives::{B256, U256};
use trie::{Format, NodeKey, RowRange};
use workload::{
    AccountState, NetChanges,
    layout::{decode_account, decode_slot},
};

use super::{
    counters::thread_counters,
    options::{ACCOUNTS, STORAGE, TRIES},
    sample::RocksSample,
    settings::{NAME, effective, failed},
};
use crate::{
    error::StoreError,
    read_counters::ReadCounters,
    tries::{NodeChanges, NodeSink, TrieId, TrieReader, Tries},
};
use variant::ReadMethod;

/// The tries of a sample.
pub(super) struct RocksTries<'a> {
    pub(super) sample: &'a RocksSample,
    pub(super) format: Format,
}

impl Tries for RocksTries<'_> {
    fn format(&self) -> Format {
        self.format
    }

    fn reader(&self) -> Result<Box<dyn TrieReader + '_>, StoreError> {
        ::rocksdb::perf::set_perf_stats(::rocksdb::perf::PerfStatsLevel::EnableCount);
        let (single, many) = self.sample.read_options();
        Ok(Box::new(Reader {
            sample: self.sample,
            accounts: self.sample.family(ACCOUNTS)?,
            storage: self.sample.family(STORAGE)?,
            tries: self.sample.family(TRIES)?,
            single,
            many,
            keys_per_call: match effective(self.sample.settings().read_method) {
                ReadMethod::Get => None,
                ReadMethod::MultiGet => Some(self.sample.settings().multi_get_key_count.max(1)),
            },
            key_count: 0,
            start: thread_counters(),
        }))
    }

    fn commit(&self, changes: &NetChanges, nodes: &[NodeChanges]) -> Result<(), StoreError> {
        self.sample.write(changes, nodes)
    }
}

/// One thread's reads.
struct Reader<'a> {
    sample: &'a RocksSample,
    accounts: &'a ColumnFamily,
    storage: &'a ColumnFamily,
    tries: &'a ColumnFamily,
    single: ReadOptions,
    many: ReadOptions,
    /// Keys in a call of `MultiGet`; `None`: one `Get` after the other.
    keys_per_call: Option<usize>,
    key_count: u64,
    start: ReadCounters,
}

/// Takes a row's key, behind the prefix, and its value.
type RowSink<'s> = dyn FnMut(B256, &[u8]) -> Result<(), StoreError> + 's;

impl Reader<'_> {
    const fn db(&self) -> &DB {
        self.sample.db()
    }

    /// Reads the rows whose keys are the prefix and a key in the range.
    fn rows(
        &mut self,
        family: &ColumnFamily,
        prefix: &[u8],
        range: &RowRange,
        sink: &mut RowSink<'_>,
    ) -> Result<(), StoreError> {
        let first = [prefix, range.first.as_slice()].concat();
        // The bound is the first key that is not wanted.
        let end = [prefix, range.last.as_slice(), &[0]].concat();
        let mut options = self.sample.read_options().1;
        options.set_iterate_lower_bound(first);
        options.set_iterate_upper_bound(end);
        let db = self.sample.db();
        for row in db.iterator_cf_opt(family, options, IteratorMode::Start) {
            let (key, value) = row.map_err(failed("read rows of a trie"))?;
            self.key_count += 1;
            let part = key.get(prefix.len()..).filter(|part| part.len() == 32);
            let part = part.ok_or_else(|| damaged(&key, "has a key of another length"))?;
            sink(B256::from_slice(part), &value)?;
        }
        Ok(())
    }
}

fn damaged(key: &[u8], reason: &str) -> StoreError {
    let what = format!("row {}", alloy_primitives::hex::encode_prefixed(key));
    StoreError::Damaged { store: NAME, what, reason: reason.to_owned() }
}

const WRONG_VALUE: &str = "has a value of another length";

impl TrieReader for Reader<'_> {
    fn nodes(
        &mut self,
        keys: &[(TrieId, NodeKey)],
        sink: &mut NodeSink<'_>,
    ) -> Result<(), StoreError> {
        self.key_count += keys.len() as u64;
        let what = || "read nodes of a trie";
        let mut rows: Vec<(Vec<u8>, usize)> =
            keys.iter().zip(0..).map(|((trie, key), index)| (trie.row_key(key), index)).collect();
        let Some(per_call) = self.keys_per_call else {
            for (row, index) in rows {
                let node = self.db().get_pinned_cf_opt(self.tries, row, &self.single);
                sink(index, node.map_err(failed(what()))?.as_deref());
            }
            return Ok(());
        };
        rows.sort_unstable();
        for rows in rows.chunks(per_call) {
            let keys = rows.iter().map(|(row, _)| row);
            let found = self.db().batched_multi_get_cf_opt(self.tries, keys, true, &self.many);
            for (node, (_, index)) in found.into_iter().zip(rows) {
                sink(*index, node.map_err(failed(what()))?.as_deref());
            }
        }
        Ok(())
    }

    fn slots(
        &mut self,
        account: &B256,
        range: &RowRange,
        sink: &mut dyn FnMut(B256, U256),
    ) -> Result<(), StoreError> {
        self.rows(self.storage, account.as_slice(), range, &mut |key, value| {
            let value = decode_slot(value);
            sink(key, value.ok_or_else(|| damaged(key.as_slice(), WRONG_VALUE))?);
            Ok(())
        })
    }

    fn accounts(
        &mut self,
        range: &RowRange,
        sink: &mut dyn FnMut(B256, AccountState),
    ) -> Result<(), StoreError> {
        self.rows(self.accounts, &[], range, &mut |key, value| {
            let state = decode_account(value);
            sink(key, state.ok_or_else(|| damaged(key.as_slice(), WRONG_VALUE))?);
            Ok(())
        })
    }

    fn account(&mut self, key: &B256) -> Result<Option<AccountState>, StoreError> {
        self.key_count += 1;
        let row = self.db().get_pinned_cf_opt(self.accounts, key, &self.single);
        let Some(row) = row.map_err(failed("read an account"))? else { return Ok(None) };
        let state = decode_account(&row);
        state.map(Some).ok_or_else(|| damaged(key.as_slice(), WRONG_VALUE))
    }

    fn counters(&self) -> ReadCounters {
        let of_thread = thread_counters().since(&self.start);
        ReadCounters { key_count: self.key_count, ..of_thread }
    }
}
