//! The root of a batch, and the counts and times of the work for a sample's roots, for results.

use std::time::Duration;

use alloy_primitives::B256;
use trie::{Folded, NodeKey};

use crate::{
    read_counters::ReadCounters,
    tries::{NodeChanges, TrieId},
};

/// The state root after a batch, and the nodes that change with it.
#[derive(Clone, Debug, Default)]
pub struct Rooted {
    /// The root.
    pub root: B256,
    /// Changes of the stored nodes, trie by trie.
    pub nodes: Vec<NodeChanges>,
}

impl Rooted {
    /// Returns the key of each changed node, and the node; `None` if it is deleted. In each trie,
    /// deleted ones come first.
    pub(crate) fn changes(&self) -> impl Iterator<Item = ((TrieId, NodeKey), Option<&[u8]>)> {
        self.nodes.iter().flat_map(|NodeChanges { trie, put, deleted }| {
            let deleted = deleted.iter().map(|key| ((*trie, *key), None));
            deleted.chain(put.iter().map(|(key, node)| ((*trie, *key), Some(node))))
        })
    }
}

/// Work for the roots of all batches of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RootWork {
    /// Number of changed tries: tries of slots, and the trie of accounts.
    pub trie_count: u64,
    /// Number of nodes that roots needed, present or not. It is the sum of `node_count` and
    /// `cached_node_count`, without the nodes that were read ahead and not used.
    pub used_node_count: u64,
    /// Number of nodes that were requested from the store, present or not.
    pub node_count: u64,
    /// Number of nodes that were in memory.
    pub cached_node_count: u64,
    /// Number of nodes in `node_count` and `cached_node_count` that were read during execution,
    /// above the keys that steps had written.
    pub ahead_node_count: u64,
    /// Number of rows of accounts and slots that were read for the leaves of unchanged neighbours
    /// of changed keys.
    pub row_count: u64,
    /// Counts of the reads, as the store counts them.
    pub counters: ReadCounters,
    /// Number of nodes that were written.
    pub written_node_count: u64,
    /// Number of bytes of the written nodes, without their keys.
    pub written_bytes: u64,
    /// Number of nodes that were deleted.
    pub deleted_node_count: u64,
    /// Number of nodes that were hashed.
    pub hash_count: u64,
    /// Number of Keccak permutations for these hashes.
    pub permutation_count: u64,
    /// CPU time of all threads that folded and joined tries.
    pub fold_cpu: Duration,
    /// Time from the end of execution to the root, summed over the batches.
    pub lag: Duration,
}

impl RootWork {
    /// Adds the counts and times of other work.
    pub(super) fn merge(&mut self, other: &Self) {
        self.trie_count += other.trie_count;
        self.used_node_count += other.used_node_count;
        self.node_count += other.node_count;
        self.cached_node_count += other.cached_node_count;
        self.ahead_node_count += other.ahead_node_count;
        self.row_count += other.row_count;
        self.counters.add(&other.counters);
        self.written_node_count += other.written_node_count;
        self.written_bytes += other.written_bytes;
        self.deleted_node_count += other.deleted_node_count;
        self.hash_count += other.hash_count;
        self.permutation_count += other.permutation_count;
        self.fold_cpu += other.fold_cpu;
        self.lag += other.lag;
    }

    /// Adds the counts of a folded trie: its hashes, and its written and deleted nodes.
    pub(super) fn add(&mut self, folded: &Folded) {
        self.trie_count += 1;
        self.hash_count += folded.work.hash_count;
        self.permutation_count += folded.work.permutation_count;
        self.written_node_count += folded.nodes.len() as u64;
        self.written_bytes += folded.nodes.byte_count() as u64;
        self.deleted_node_count += folded.deleted.len() as u64;
    }
}
