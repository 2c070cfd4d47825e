//! Nodes of the state below a batch that were read before a plan asks for them.

use alloy_primitives::map::HashMap;
use trie::NodeKey;

use super::read::Answers;
use crate::tries::TrieId;

/// Nodes that were read ahead.
#[derive(Debug, Default)]
pub(super) struct Known {
    answers: Vec<Answers>,
    /// Where each node is: among the answers, and in its own.
    places: HashMap<(TrieId, NodeKey), [usize; 2]>,
}

impl Known {
    /// Adds the answers to the nodes with these keys.
    pub(super) fn add(&mut self, keys: &[(TrieId, NodeKey)], answers: Answers) {
        let number = self.answers.len();
        let places = keys.iter().enumerate().map(|(index, id)| (*id, [number, index]));
        self.places.extend(places);
        self.answers.push(answers);
    }

    /// Whether a node was read, present or not.
    pub(super) fn has(&self, trie: TrieId, key: NodeKey) -> bool {
        self.places.contains_key(&(trie, key))
    }

    /// A node that was read, `Some(None)` if the store has none.
    pub(super) fn node(&self, trie: TrieId, key: NodeKey) -> Option<Option<&[u8]>> {
        let [number, index] = self.places.get(&(trie, key))?;
        Some(self.answers[*number].node(*index))
    }
}
