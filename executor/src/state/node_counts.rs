//! Nodes of tries while they are made or read: all of them, and by depth.

use trie::NodeKey;

use super::manifest::NodeTotals;
use crate::tries::TrieId;

/// The stored nodes of a state's tries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeCounts {
    /// All of them, with the records of the tries' tops, which have no depth.
    pub totals: NodeTotals,
    /// Those of the trie of accounts by depth, which is the number of nibbles in their path.
    pub accounts: Vec<NodeTotals>,
    /// Those of all tries of slots together, by the depth in their own trie.
    pub slots: Vec<NodeTotals>,
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
        at(depths, path.len()).add(row, node);
    }

    /// Adds other nodes.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.totals.merge(&other.totals);
        for (depths, others) in
            [(&mut self.accounts, &other.accounts), (&mut self.slots, &other.slots)]
        {
            for (depth, totals) in others.iter().enumerate() {
                at(depths, depth).merge(totals);
            }
        }
    }
}

fn at(depths: &mut Vec<NodeTotals>, depth: usize) -> &mut NodeTotals {
    if depths.len() <= depth {
        depths.resize(depth + 1, NodeTotals::default());
    }
    &mut depths[depth]
}
