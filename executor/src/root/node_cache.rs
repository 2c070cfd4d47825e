//! Nodes of tries that stay in memory from before a sample to its end, by the variant's cache of
//! nodes. The threads that read for roots search these nodes before they read from the store.

use std::sync::{PoisonError, RwLock};

use alloy_primitives::{B256, U256, map::HashMap};
use trie::{NodeKey, RowRange};
use variant::RootCache;
use workload::AccountState;

use crate::{
    error::StoreError,
    read_counters::ReadCounters,
    tries::{NodeChanges, NodeSink, TrieId, TrieReader},
};

/// Length, in nibbles, of the longest paths to nodes of the upper levels. A trie has at most 69,905
/// nodes with such paths: 1 + 16 + 16² + 16³ + 16⁴.
const UPPER_NIBBLES: usize = 4;

/// Nodes by their tries and keys; `None` for a node that the store does not have.
type Nodes = HashMap<(TrieId, NodeKey), Option<Vec<u8>>>;

/// Nodes that are in memory when a sample starts.
#[derive(Debug, Default)]
pub struct CachedNodes(Nodes);

/// The nodes in memory while a sample runs.
#[derive(Debug)]
pub(crate) struct NodeCache<'a> {
    /// The rule that selects the nodes to keep.
    cache: RootCache,
    /// True if nodes that are read are kept, too.
    keeps_reads: bool,
    before: Option<&'a CachedNodes>,
    /// Nodes that were added during the sample; they replace nodes of `before`.
    later: RwLock<Nodes>,
}

impl<'a> NodeCache<'a> {
    /// Makes the cache of nodes of a sample. `before` has the nodes that are in memory when the
    /// sample starts.
    pub(super) fn new(cache: RootCache, before: Option<&'a CachedNodes>) -> Self {
        Self { cache, keeps_reads: false, before, later: RwLock::default() }
    }

    /// Makes an empty cache that keeps all nodes that are read.
    pub(super) fn keeping_reads() -> Self {
        Self { keeps_reads: true, ..Self::new(RootCache::Warm, None) }
    }

    fn keeps(&self, key: &NodeKey) -> bool {
        match self.cache {
            RootCache::Cold => false,
            RootCache::UpperLevels => key.path().len() <= UPPER_NIBBLES,
            RootCache::Warm => true,
        }
    }

    /// Applies the node changes of a batch.
    pub(super) fn commit(&self, changes: &[NodeChanges]) {
        if self.cache == RootCache::Cold {
            return;
        }
        let mut later = self.later.write().unwrap_or_else(PoisonError::into_inner);
        for NodeChanges { trie, put, deleted } in changes {
            let deleted = deleted.iter().filter(|key| self.keeps(key));
            later.extend(deleted.map(|key| ((*trie, *key), None)));
            let put = put.iter().filter(|(key, _)| self.keeps(key));
            later.extend(put.map(|(key, node)| ((*trie, *key), Some(node.to_vec()))));
        }
    }

    /// Returns the nodes that are in memory when a sample with `cache` starts.
    pub(super) fn into_nodes(self, cache: RootCache) -> CachedNodes {
        let mut nodes = self.later.into_inner().unwrap_or_else(PoisonError::into_inner);
        let next = Self::new(cache, None);
        nodes.retain(|(_, key), _| next.keeps(key));
        CachedNodes(nodes)
    }
}

/// Counts of nodes by their source.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NodeCounts {
    /// Number of nodes from the store, present or not.
    pub(super) read_count: u64,
    /// Number of nodes from memory.
    pub(super) cached_count: u64,
}

/// A thread's reader that searches the nodes in memory first.
pub(super) struct CachedNodeReader<'a> {
    reader: Box<dyn TrieReader + 'a>,
    node_cache: &'a NodeCache<'a>,
    pub(super) counts: NodeCounts,
}

impl<'a> CachedNodeReader<'a> {
    pub(super) fn new(reader: Box<dyn TrieReader + 'a>, node_cache: &'a NodeCache<'a>) -> Self {
        Self { reader, node_cache, counts: NodeCounts::default() }
    }

    /// Passes to `sink` the nodes that are in memory. Returns the indices of the other keys.
    fn look_up(&self, keys: &[(TrieId, NodeKey)], sink: &mut NodeSink<'_>) -> Vec<usize> {
        let later = self.node_cache.later.read().unwrap_or_else(PoisonError::into_inner);
        let before = self.node_cache.before.map(|CachedNodes(nodes)| nodes);
        let mut missing = Vec::new();
        for (index, id) in keys.iter().enumerate() {
            match later.get(id).or_else(|| before?.get(id)) {
                Some(node) => sink(index, node.as_deref()),
                None => missing.push(index),
            }
        }
        missing
    }
}

impl TrieReader for CachedNodeReader<'_> {
    fn nodes(
        &mut self,
        keys: &[(TrieId, NodeKey)],
        sink: &mut NodeSink<'_>,
    ) -> Result<(), StoreError> {
        if self.node_cache.cache == RootCache::Cold {
            self.counts.read_count += keys.len() as u64;
            return self.reader.nodes(keys, sink);
        }
        let indices = self.look_up(keys, sink);
        self.counts.read_count += indices.len() as u64;
        self.counts.cached_count += (keys.len() - indices.len()) as u64;
        if indices.is_empty() {
            return Ok(());
        }
        let missing: Vec<_> = indices.iter().map(|index| keys[*index]).collect();
        let mut read = Vec::new();
        let keeps_reads = self.node_cache.keeps_reads;
        self.reader.nodes(&missing, &mut |index, node| {
            if keeps_reads {
                read.push((missing[index], node.map(<[u8]>::to_vec)));
            }
            sink(indices[index], node);
        })?;
        if keeps_reads {
            self.node_cache.later.write().unwrap_or_else(PoisonError::into_inner).extend(read);
        }
        Ok(())
    }

    fn slot_ranges(
        &mut self,
        ranges: &[(B256, RowRange)],
        sink: &mut dyn FnMut(usize, B256, U256),
    ) -> Result<(), StoreError> {
        self.reader.slot_ranges(ranges, sink)
    }

    fn accounts(
        &mut self,
        range: &RowRange,
        sink: &mut dyn FnMut(B256, AccountState),
    ) -> Result<(), StoreError> {
        self.reader.accounts(range, sink)
    }

    fn account(&mut self, key: &B256) -> Result<Option<AccountState>, StoreError> {
        self.reader.account(key)
    }

    fn counters(&self) -> ReadCounters {
        self.reader.counters()
    }
}
