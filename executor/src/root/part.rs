//! Parts of the tries of a state, each a whole trie or a shard of a trie, with their plans or
//! updates. Makes the reads of all parts together.

use trie::{Found, NodeKey, Reading, Reads};

use super::{
    error::RootError,
    read::{Answers, KnownNodes, ReadRequests, Readers},
    work::RootWork,
};
use crate::tries::TrieId;

/// The share of a trie that a part covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// The whole trie.
    Whole,
    /// The first shard of the trie.
    FirstShard,
    /// A later shard of the trie.
    OtherShard,
}

/// The plan or the update of a trie or of a shard. The shards of a trie are consecutive.
#[derive(Debug)]
pub(super) struct Part<T> {
    pub(super) trie: TrieId,
    pub(super) extent: Extent,
    pub(super) stage: T,
}

/// The start of a part's answers among all answers.
struct AnswerStart {
    /// Index of the part.
    part: usize,
    /// Index of the part's first node among the requested nodes.
    node: usize,
    /// Index of the part's first range of rows.
    range: usize,
}

impl<T: Reading> Part<T> {
    /// Returns whether a node is counted for this part. All shards of a trie need its top node,
    /// which counts once.
    fn counts(&self, key: &NodeKey) -> bool {
        self.extent != Extent::OtherShard || !key.path().is_empty()
    }

    /// Supplies the known nodes level by level, until the part needs a node that is not known.
    pub(super) fn descend(
        &mut self,
        known: &KnownNodes,
        work: &mut RootWork,
    ) -> Result<(), trie::Error> {
        loop {
            let nodes = &self.stage.reads().nodes;
            if nodes.is_empty() {
                return Ok(());
            }
            let mut found = Found::default();
            for key in nodes {
                let Some(node) = known.node(self.trie, *key) else { return Ok(()) };
                found.push_node(node);
            }
            work.used_node_count += nodes.iter().filter(|key| self.counts(key)).count() as u64;
            self.stage.supply_nodes(&found)?;
        }
    }

    /// Adds to `requests` the unknown nodes and the rows that the part needs. Returns the start of
    /// their answers.
    fn request(&self, part: usize, requests: &mut ReadRequests, known: &KnownNodes) -> AnswerStart {
        let mut start =
            AnswerStart { part, node: requests.nodes.len(), range: requests.ranges.len() };
        let Reads { nodes, ranges } = self.stage.reads();
        for key in nodes.iter().filter(|key| !known.has(self.trie, **key)) {
            let id = (self.trie, *key);
            // The shard before this one needs the same node.
            if requests.nodes.last() == Some(&id) {
                start.node = requests.nodes.len() - 1;
            } else {
                requests.nodes.push(id);
            }
        }
        for range in ranges {
            let id = (self.trie, *range);
            if requests.ranges.last() == Some(&id) {
                start.range = requests.ranges.len() - 1;
            } else {
                requests.ranges.push(id);
            }
        }
        start
    }

    /// Supplies the part's answers.
    fn take_answers(
        &mut self,
        start: &AnswerStart,
        answers: &Answers,
        known: &KnownNodes,
        work: &mut RootWork,
    ) -> Result<(), trie::Error> {
        let Reads { nodes, ranges } = self.stage.reads();
        let (mut found, mut node) = (Found::default(), start.node);
        for key in nodes {
            found.push_node(known.node(self.trie, *key).unwrap_or_else(|| {
                node += 1;
                answers.node(node - 1)
            }));
        }
        for index in start.range..start.range + ranges.len() {
            answers.rows(index).for_each(|(key, value)| found.push_row(key, value));
        }
        work.used_node_count += nodes.iter().filter(|key| self.counts(key)).count() as u64;
        self.stage.supply(found)
    }
}

/// Reads for all parts until no part needs another read. Returns the answers of the first call,
/// which begin with the answers to `requests`.
pub(super) fn read_all<T: Reading>(
    parts: &mut [Part<T>],
    mut requests: ReadRequests,
    known: &KnownNodes,
    readers: &Readers<'_>,
    work: &mut RootWork,
) -> Result<Option<Answers>, RootError> {
    let mut first = None;
    loop {
        let mut starts = Vec::new();
        for (index, part) in parts.iter_mut().enumerate() {
            part.descend(known, work)?;
            if !part.stage.reads().is_empty() {
                starts.push(part.request(index, &mut requests, known));
            }
        }
        if requests.is_empty() {
            return Ok(first);
        }
        let answers = readers.read(std::mem::take(&mut requests), work)?;
        for start in starts {
            parts[start.part].take_answers(&start, &answers, known, work)?;
        }
        first.get_or_insert(answers);
    }
}
