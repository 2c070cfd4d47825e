//! Hashes the tries of slots on several threads, while the rows are written. The rows are split
//! into parts: many small tries in one part, a large trie in 16 parts (shards) by the first nibble
//! of its keys. Each part writes its nodes to table files of its own.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use ::rocksdb::{Options, SstFileWriter};
use alloy_primitives::{B256, hex, keccak256};
use trie::{Builder, Floating, Format, NodeKey, NodeSink, SlotValue, StoreError as SinkError};
use workload::{Genesis, layout::decode_slot};

use super::{
    options,
    settings::{NAME, TABLE_EXTENSION, failed},
};
use crate::{
    error::StoreError,
    state::{NodeCounts, StateError},
    store::trie_stream,
    tries::TrieId,
};

/// Minimal number of slots of a trie that is hashed in 16 parts.
pub(super) const LARGE_SLOT_COUNT: u64 = 1 << 20;
/// Approximate number of slots of small tries in a part.
const PART_SLOT_COUNT: u64 = 1 << 22;
/// Number of bytes of the key of a slot's row: the account's key and the slot's key.
const SLOT_KEY_BYTES: usize = 64;

/// A part of the slots, which one thread hashes.
#[derive(Clone, Debug)]
pub(super) struct Part {
    kind: PartKind,
    /// Lower bound of the keys of the part's rows.
    pub(super) first: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartKind {
    /// Whole tries.
    Tries,
    /// The keys of one large trie, given by its hashed address, that begin with this nibble.
    Shard(B256, u8),
}

/// Splits the slots of `genesis` into parts, in the order of their keys.
pub(super) fn parts(genesis: &Genesis) -> Vec<Part> {
    let families = genesis.slots.iter().filter(|family| family.count >= LARGE_SLOT_COUNT);
    let large: BTreeSet<B256> = families.map(|family| keccak256(family.address)).collect();
    let counts = genesis.slots.iter().map(|family| family.count);
    let small_slot_count: u64 = counts.filter(|count| *count < LARGE_SLOT_COUNT).sum();
    let part_count =
        small_slot_count.div_ceil(PART_SLOT_COUNT).next_power_of_two().min(256) as usize;
    let mut cuts: BTreeSet<Vec<u8>> =
        (1..part_count).map(|part| vec![(part * 256 / part_count) as u8]).collect();
    for account in &large {
        cuts.insert(account.to_vec());
        cuts.extend((1..16_u8).map(|nibble| [account.as_slice(), &[nibble << 4]].concat()));
        cuts.extend(key_above(account));
    }
    let parts = std::iter::once(Vec::new()).chain(cuts).map(|first| {
        let account = first.get(..32).map(B256::from_slice);
        let kind = match account.filter(|account| large.contains(account)) {
            Some(account) => PartKind::Shard(account, first.get(32).map_or(0, |byte| byte >> 4)),
            None => PartKind::Tries,
        };
        Part { kind, first }
    });
    parts.collect()
}

/// Returns the smallest hashed address above `account`: a lower bound of the keys of the next
/// accounts' slots. `None` if there is none.
fn key_above(account: &B256) -> Option<Vec<u8>> {
    let last = account.iter().rposition(|byte| *byte != 0xff)?;
    let mut next = account[..=last].to_vec();
    next[last] += 1;
    next.resize(32, 0);
    Some(next)
}

/// Table files of nodes, written in the order of their keys.
pub(super) struct NodeFiles<'a> {
    name: String,
    table_dir: &'a Path,
    file_bytes: u64,
    options: &'a Options,
    /// The open file, and the number of its bytes so far.
    open: Option<(SstFileWriter<'a>, u64)>,
    trie: TrieId,
    pub(super) paths: Vec<PathBuf>,
    pub(super) counts: NodeCounts,
}

impl<'a> NodeFiles<'a> {
    /// Makes a writer without an open file. It writes to `table_dir`. The names of its
    /// files contain `index`; files with a higher `index` have higher keys.
    pub(super) fn new(
        index: usize,
        table_dir: &'a Path,
        file_bytes: u64,
        options: &'a Options,
    ) -> Self {
        Self {
            name: format!("{}-{index:06}", options::TRIES),
            table_dir,
            file_bytes,
            options,
            open: None,
            trie: TrieId::Accounts,
            paths: Vec::new(),
            counts: NodeCounts::default(),
        }
    }

    /// Begins a trie: the nodes that follow are nodes of `trie`.
    pub(super) const fn begin(&mut self, trie: TrieId) {
        self.trie = trie;
    }

    fn write(&mut self, key: &NodeKey, node: &[u8]) -> Result<(), StoreError> {
        if self.open.as_ref().is_some_and(|(_, bytes)| *bytes >= self.file_bytes) {
            self.close()?;
        }
        if self.open.is_none() {
            let name = format!("{}-{:06}.{TABLE_EXTENSION}", self.name, self.paths.len());
            let path = self.table_dir.join(name);
            let writer = SstFileWriter::create(self.options);
            writer.open(&path).map_err(failed("begin a table file"))?;
            self.paths.push(path);
            self.open = Some((writer, 0));
        }
        if let Some((writer, bytes)) = &mut self.open {
            let row = self.trie.row_key(key);
            *bytes += (row.len() + node.len()) as u64;
            self.counts.add(&self.trie, key, &row, node);
            writer.put(row, node).map_err(failed("write a table file"))?;
        }
        Ok(())
    }

    /// Finishes the open file.
    pub(super) fn close(&mut self) -> Result<(), StoreError> {
        let Some((mut writer, _)) = self.open.take() else { return Ok(()) };
        writer.finish().map_err(failed("finish a table file"))
    }
}

impl NodeSink for NodeFiles<'_> {
    fn put(&mut self, key: &NodeKey, node: &[u8]) -> Result<(), SinkError> {
        Ok(self.write(key, node)?)
    }
}

/// Result of hashing a part.
pub(super) struct Hashed<'a> {
    pub(super) nodes: NodeFiles<'a>,
    /// Roots of the part's whole tries, by hashed address.
    pub(super) roots: Vec<(B256, B256)>,
    /// For a part of a large trie: the account's hashed address, and the subtree.
    pub(super) floating: Option<(B256, Floating)>,
}

/// Hashes the tries of a part, whose rows are added in the order of their keys.
pub(super) struct PartTries<'a> {
    format: Format,
    kind: PartKind,
    /// The writer of nodes, before the first whole trie.
    idle: Option<NodeFiles<'a>>,
    /// The trie that is being built, with its hashed address.
    open: Option<(B256, Builder<NodeFiles<'a>>)>,
    /// Roots of finished tries, by hashed address.
    roots: Vec<(B256, B256)>,
}

impl<'a> PartTries<'a> {
    /// Begins a part without rows. Its nodes are written to `nodes`.
    pub(super) fn new(format: Format, part: &Part, mut nodes: NodeFiles<'a>) -> Self {
        let (idle, open) = match part.kind {
            PartKind::Tries => (Some(nodes), None),
            PartKind::Shard(account, nibble) => {
                nodes.begin(TrieId::Slots(account));
                let builder = Builder::below(trie::Path::of_nibble(nibble), format, nodes);
                (None, Some((account, builder)))
            }
        };
        Self { format, kind: part.kind, idle, open, roots: Vec::new() }
    }

    /// Adds a slot's row.
    pub(super) fn row(&mut self, key: &[u8], value: &[u8]) -> Result<(), StateError> {
        let leaf = slot_leaf(key, value)?;
        let (account, slot) = key.split_at(32);
        if self.open.as_ref().is_none_or(|(open, _)| *open != account) {
            self.begin(B256::from_slice(account))?;
        }
        let Some((_, builder)) = &mut self.open else { return Err(wrong_value(key)) };
        builder.push(slot, leaf.as_slice()).map_err(trie_error)
    }

    /// Begins the trie of the next account.
    fn begin(&mut self, account: B256) -> Result<(), StateError> {
        if let PartKind::Shard(large, _) = self.kind {
            let reason = format!("a row of {account} is among those of the large trie of {large}");
            return Err(StoreError::failed(NAME, "make the tries", reason).into());
        }
        let mut nodes = self.close()?;
        nodes.begin(TrieId::Slots(account));
        self.open = Some((account, Builder::new(self.format, nodes)));
        Ok(())
    }

    /// Finishes the open trie, which must be whole. Returns the writer of its nodes.
    fn close(&mut self) -> Result<NodeFiles<'a>, StateError> {
        let Some((account, builder)) = self.open.take() else {
            return Ok(self.idle.take().unwrap_or_else(|| unreachable!("no row after an error")));
        };
        let built = builder.finish().map_err(trie_error)?;
        self.roots.push((account, built.root));
        Ok(built.sink)
    }

    /// Finishes the part after its last row.
    pub(super) fn finish(mut self) -> Result<Hashed<'a>, StateError> {
        if let PartKind::Shard(..) = self.kind
            && let Some((account, builder)) = self.open.take()
        {
            let built = builder.finish_floating().map_err(trie_error)?;
            let floating = Some((account, built.root));
            return Ok(Hashed { nodes: built.sink, roots: self.roots, floating });
        }
        Ok(Hashed { nodes: self.close()?, roots: self.roots, floating: None })
    }
}

/// Makes the error of a trie that could not be built.
pub(super) fn trie_error(error: trie::Error) -> StateError {
    trie_stream::trie_error(NAME, error.into())
}

/// Makes the error of a row whose key or value has a wrong length.
pub(super) fn wrong_value(key: &[u8]) -> StateError {
    let what = format!("row {}", hex::encode_prefixed(key));
    StoreError::damaged(NAME, what, "its value has another length").into()
}

/// Converts the value of a slot's row to the value of the trie's leaf.
fn slot_leaf(key: &[u8], value: &[u8]) -> Result<SlotValue, StateError> {
    let value = decode_slot(value).and_then(|value| SlotValue::new(&value));
    value.filter(|_| key.len() == SLOT_KEY_BYTES).ok_or_else(|| wrong_value(key))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Address;
    use workload::{KeyRule, SlotFamily, ValueRule};

    use super::*;

    fn family(byte: u8, count: u64) -> SlotFamily {
        SlotFamily {
            address: Address::repeat_byte(byte),
            count,
            keys: KeyRule::Keccak,
            values: ValueRule::Random,
            seed: B256::ZERO,
        }
    }

    #[test]
    fn parts_follow_each_other_and_large_tries_are_cut_by_nibble() {
        let slots = vec![family(1, LARGE_SLOT_COUNT), family(2, 5), family(3, 1 << 30)];
        let parts = parts(&Genesis { slots, ..Genesis::default() });
        assert!(parts[0].first.is_empty());
        assert!(parts.windows(2).all(|pair| pair[0].first < pair[1].first));
        let shards = parts.iter().filter(|part| part.kind != PartKind::Tries).count();
        assert_eq!((shards, parts.len()), (32, 35));
    }

    #[test]
    fn the_last_account_has_none_after_it() {
        assert_eq!(key_above(&B256::repeat_byte(0xff)), None);
        let mut account = B256::repeat_byte(0xff);
        account[0] = 7;
        let above = key_above(&account).map(|next| (next[0], next[31], next.len()));
        assert_eq!(above, Some((8, 0, 32)));
    }

    #[test]
    fn many_small_tries_are_cut_by_their_accounts() {
        let slots = (0..40).map(|byte| family(byte, LARGE_SLOT_COUNT - 1)).collect();
        let parts = parts(&Genesis { slots, ..Genesis::default() });
        assert_eq!(parts.len(), 16);
        assert!(parts.iter().all(|part| part.kind == PartKind::Tries));
    }
}
