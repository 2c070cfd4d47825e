//! Reads and commits of tries in RocksDB, for the computation of roots. Nodes have a column family
//! of their own; ranges of rows are read by iterators.

use ::rocksdb::ColumnFamily;
use alloy_primitives::{B256, U256};
use trie::{Format, NodeKey, RowRange};
use workload::{
    AccountState, NetChanges,
    layout::{decode_account, decode_slot},
};

use super::{
    options::TRIES,
    reader::RocksReader,
    sample::RocksSample,
    settings::{NAME, failed},
};
use crate::{
    error::StoreError,
    read_counters::ReadCounters,
    store,
    tries::{NodeChanges, NodeSink, TrieId, TrieReader, Tries},
};

/// The tries of a sample.
pub(super) struct RocksTries<'a> {
    pub(super) sample: &'a RocksSample<'a>,
    pub(super) format: Format,
}

impl Tries for RocksTries<'_> {
    fn format(&self) -> Format {
        self.format
    }

    fn reader(&self) -> Result<Box<dyn TrieReader + '_>, StoreError> {
        let (sample, tries) = (self.sample, self.sample.family(TRIES)?);
        Ok(Box::new(Reader { sample, tries, rows: RocksReader::new(sample)? }))
    }

    fn commit(&self, changes: &NetChanges, nodes: &[NodeChanges]) -> Result<(), StoreError> {
        self.sample.write(changes, nodes)
    }
}

/// Reads of one thread.
struct Reader<'a> {
    sample: &'a RocksSample<'a>,
    tries: &'a ColumnFamily,
    rows: RocksReader<'a>,
}

/// A function that takes a row: the index of its span, its key without the span's prefix, and its
/// value.
type RowSink<'s> = dyn FnMut(usize, B256, &[u8]) -> Result<(), StoreError> + 's;

/// The keys of a table that begin with `prefix`, and whose rest is in `range`.
struct Span<'r> {
    prefix: &'r [u8],
    range: &'r RowRange,
}

impl Span<'_> {
    fn first(&self) -> Vec<u8> {
        [self.prefix, self.range.first.as_slice()].concat()
    }

    fn last(&self) -> Vec<u8> {
        [self.prefix, self.range.last.as_slice()].concat()
    }
}

impl Reader<'_> {
    /// Reads the rows of all spans by one iterator, since a new iterator costs more than a seek.
    fn read(
        &mut self,
        family: &ColumnFamily,
        spans: &[Span<'_>],
        sink: &mut RowSink<'_>,
    ) -> Result<(), StoreError> {
        let Some(end) = spans.iter().map(Span::last).max() else { return Ok(()) };
        let (_, mut options) = self.sample.read_options();
        // The bound is exclusive.
        options.set_iterate_upper_bound([end, vec![0]].concat());
        let mut rows = self.rows.db.raw_iterator_cf_opt(family, options);
        for (index, span) in spans.iter().enumerate() {
            let last = span.last();
            rows.seek(span.first());
            while let Some((key, value)) = rows.item().filter(|(key, _)| *key <= last.as_slice()) {
                self.rows.key_count += 1;
                let rest = key.get(span.prefix.len()..).filter(|rest| rest.len() == 32);
                let rest = rest.ok_or_else(|| damaged(key, "has a key of another length"))?;
                sink(index, B256::from_slice(rest), value)?;
                rows.next();
            }
            rows.status().map_err(failed("read rows of a trie"))?;
        }
        Ok(())
    }
}

fn damaged(key: &[u8], reason: &str) -> StoreError {
    let what = format!("row {}", alloy_primitives::hex::encode_prefixed(key));
    StoreError::damaged(NAME, what, reason)
}

const WRONG_VALUE: &str = "has a value of another length";
const READ_NODES: &str = "read nodes of a trie";

impl TrieReader for Reader<'_> {
    fn nodes(
        &mut self,
        keys: &[(TrieId, NodeKey)],
        sink: &mut NodeSink<'_>,
    ) -> Result<(), StoreError> {
        self.rows.key_count += keys.len() as u64;
        let mut rows: Vec<(Vec<u8>, usize)> =
            keys.iter().zip(0..).map(|((trie, key), index)| (trie.row_key(key), index)).collect();
        let RocksReader { db, single, many, keys_per_call, .. } = &self.rows;
        let Some(per_call) = *keys_per_call else {
            for (row, index) in rows {
                let node = db.get_pinned_cf_opt(self.tries, row, single);
                sink(index, node.map_err(failed(READ_NODES))?.as_deref());
            }
            return Ok(());
        };
        rows.sort_unstable();
        for rows in rows.chunks(per_call.max(1)) {
            let keys = rows.iter().map(|(row, _)| row);
            let found = db.batched_multi_get_cf_opt(self.tries, keys, true, many);
            for (node, (_, index)) in found.into_iter().zip(rows) {
                sink(*index, node.map_err(failed(READ_NODES))?.as_deref());
            }
        }
        Ok(())
    }

    fn slot_ranges(
        &mut self,
        ranges: &[(B256, RowRange)],
        sink: &mut dyn FnMut(usize, B256, U256),
    ) -> Result<(), StoreError> {
        let spans =
            ranges.iter().map(|(account, range)| Span { prefix: account.as_slice(), range });
        let spans: Vec<_> = spans.collect();
        self.read(self.rows.storage, &spans, &mut |index, key, value| {
            let value = decode_slot(value);
            sink(index, key, value.ok_or_else(|| damaged(key.as_slice(), WRONG_VALUE))?);
            Ok(())
        })
    }

    fn accounts(
        &mut self,
        range: &RowRange,
        sink: &mut dyn FnMut(B256, AccountState),
    ) -> Result<(), StoreError> {
        self.read(self.rows.accounts, &[Span { prefix: &[], range }], &mut |_, key, value| {
            let state = decode_account(value);
            sink(key, state.ok_or_else(|| damaged(key.as_slice(), WRONG_VALUE))?);
            Ok(())
        })
    }

    fn account(&mut self, key: &B256) -> Result<Option<AccountState>, StoreError> {
        self.rows.key_count += 1;
        let row = self.rows.db.get_pinned_cf_opt(self.rows.accounts, key, &self.rows.single);
        let Some(row) = row.map_err(failed("read an account"))? else { return Ok(None) };
        let state = decode_account(&row);
        state.map(Some).ok_or_else(|| damaged(key.as_slice(), WRONG_VALUE))
    }

    fn counters(&self) -> ReadCounters {
        store::Reader::counters(&self.rows)
    }
}
