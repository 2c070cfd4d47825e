//! A trie with its rows and nodes in memory, for callers that have no store, such as the generator.

use std::collections::BTreeMap;

use alloy_primitives::B256;

use crate::{
    builder::Builder,
    error::Error,
    format::Format,
    rows::{Found, RowRange, Rows, Source},
    sink::{NodeKey, Nodes, StoreError},
    update::Folded,
};

/// A trie whose rows and nodes are in memory, as flat state and a node table would have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryTrie {
    /// Rows: values, as leaves have them, by hashed key.
    pub rows: BTreeMap<B256, Vec<u8>>,
    /// Stored nodes by key.
    pub nodes: BTreeMap<NodeKey, Vec<u8>>,
}

impl MemoryTrie {
    /// Builds the trie of `rows`, with its nodes in `format`. Returns the trie and its root.
    ///
    /// # Errors
    /// A value is empty.
    pub fn build(format: Format, rows: BTreeMap<B256, Vec<u8>>) -> Result<(Self, B256), Error> {
        let mut builder = Builder::new(format, Nodes::default());
        rows.iter().try_for_each(|(key, value)| builder.push(key.as_slice(), value))?;
        let built = builder.finish()?;
        let nodes = built.sink.iter().map(|(key, node)| (*key, node.to_vec())).collect();
        Ok((Self { rows, nodes }, built.root))
    }

    /// Applies the writes to the rows, and their update `folded` to the nodes.
    pub fn apply(&mut self, writes: &Rows, folded: &Folded) {
        for (key, value) in writes.iter() {
            if value.is_empty() {
                self.rows.remove(key);
            } else {
                self.rows.insert(*key, value.to_vec());
            }
        }
        for key in &folded.deleted {
            self.nodes.remove(key);
        }
        self.nodes.extend(folded.nodes.iter().map(|(key, node)| (*key, node.to_vec())));
    }
}

impl Source for MemoryTrie {
    fn nodes(&self, keys: &[NodeKey], found: &mut Found) -> Result<(), StoreError> {
        keys.iter().for_each(|key| found.push_node(self.nodes.get(key).map(Vec::as_slice)));
        Ok(())
    }

    fn rows(&self, ranges: &[RowRange], found: &mut Found) -> Result<(), StoreError> {
        for RowRange { first, last } in ranges {
            let rows = self.rows.range::<B256, _>(first..=last);
            rows.for_each(|(key, value)| found.push_row(*key, value));
        }
        Ok(())
    }
}
