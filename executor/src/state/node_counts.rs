//! Nodes of tries while they are made or read: all of them, and by depth.

use trie::NodeKey;

use super::manifest::NodeTotals;
use crate::tries::TrieId;

/// Nodes at one depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DepthTotals {
    /// Their number.
    pub count: u64,
    /// Their bytes, without keys.
    pub bytes: u64,
}

/// The stored nodes of a state's tries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeCounts {
    /// All of them, with the records of the tries' tops, which have no depth.
    pub totals: NodeTotals,
    /// Those of the trie of accounts by depth, which is the number of nibbles in their path.
    pub accounts: Vec<DepthTotals>,
    /// Those of all tries of slots together, by the depth in their own trie.
    pub slots: Vec<DepthTotals>,
}

impl NodeCounts {
    /// Adds a node of a trie; `row` is its key in the store.
    pub(crate) fn add(&mut self, trie: &TrieId, key: &NodeKey, row: &[u8], node: &[u8]) {
        self.totals.add(row, node);
        let NodeKey::Node(path) = key else { return };
        let depths = match trie {
            TrieId::Accounts => &mut self.accounts,
            TrieId::Slots(_) => &mut self.slots,
        };
        let one = DepthTotals { count: 1, bytes: node.len() as u64 };
        add(depths, path.len(), one);
    }

    /// Adds other nodes.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.totals.merge(&other.totals);
        for (depths, others) in
            [(&mut self.accounts, &other.accounts), (&mut self.slots, &other.slots)]
        {
            for (depth, totals) in others.iter().enumerate() {
                add(depths, depth, *totals);
            }
        }
    }
}

fn add(depths: &mut Vec<DepthTotals>, depth: usize, totals: DepthTotals) {
    if depths.len() <= depth {
        depths.resize(depth + 1, DepthTotals::default());
    }
    depths[depth].count += totals.count;
    depths[depth].bytes += totals.bytes;
}
