//! Rows and writes in memory, and the interface by which plans and updates request reads from a
//! store.

use std::ops::Range;

use alloy_primitives::B256;

use crate::{
    error::Error,
    path::Path,
    sink::{NodeKey, StoreError},
};

/// Rows in the order of their keys: hashed keys, and values as leaves have them. Among writes, an
/// empty value deletes the row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    keys: Vec<B256>,
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl Rows {
    /// Adds a row after all other rows. The functions that take rows check their order.
    pub fn push(&mut self, key: B256, value: &[u8]) {
        self.keys.push(key);
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len());
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// All keys.
    pub fn keys(&self) -> &[B256] {
        &self.keys
    }

    /// The value of the row at an index.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn value(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = (&B256, &[u8])> {
        self.keys.iter().enumerate().map(|(index, key)| (key, self.value(index)))
    }
}

/// Returns the range of the keys below a path, among the sorted keys at `range`.
pub(crate) fn keys_below(keys: &[B256], range: &Range<usize>, path: &Path) -> Range<usize> {
    let part = &keys[range.clone()];
    let (first, last) = (path.first_key(), path.last_key());
    let start = part.partition_point(|key| *key < first);
    let len = part[start..].partition_point(|key| *key <= last);
    range.start + start..range.start + start + len
}

/// A range of keys, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowRange {
    /// Lower bound of the keys.
    pub first: B256,
    /// Upper bound of the keys.
    pub last: B256,
}

/// The next reads of a trie. They can be done at once, in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Keys of the nodes to read, each once.
    pub nodes: Vec<NodeKey>,
    /// Ranges of the keys of the rows to read. The ranges do not overlap; those of one level of the
    /// trie ascend.
    pub ranges: Vec<RowRange>,
}

impl Reads {
    /// True if there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.ranges.is_empty()
    }
}

/// A store's answer to [`Reads`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    bytes: Vec<u8>,
    nodes: Vec<Option<Range<usize>>>,
    rows: Rows,
}

impl Found {
    /// Adds the answer for the next node of [`Reads::nodes`]; `None` if the store has no such node.
    pub fn push_node(&mut self, node: Option<&[u8]>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(node.unwrap_or_default());
        self.nodes.push(node.map(|_| start..self.bytes.len()));
    }

    /// Adds the next row of [`Reads::ranges`]: all rows of the first range, then all rows of the
    /// next range.
    pub fn push_row(&mut self, key: B256, value: &[u8]) {
        self.rows.push(key, value);
    }

    pub(crate) fn nodes(&self) -> impl ExactSizeIterator<Item = Option<&[u8]>> {
        self.nodes.iter().map(|node| node.clone().map(|range| &self.bytes[range]))
    }

    pub(crate) fn take_rows(&mut self) -> Rows {
        std::mem::take(&mut self.rows)
    }
}

/// A store of the nodes and rows of one trie.
pub trait Source {
    /// Adds the node of each key to `found`, in the order of the keys.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn nodes(&self, keys: &[NodeKey], found: &mut Found) -> Result<(), StoreError>;

    /// Adds all rows of the ranges to `found`, in their order.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn rows(&self, ranges: &[RowRange], found: &mut Found) -> Result<(), StoreError>;
}

/// A plan or an update, which requests nodes and rows level by level of the trie.
pub trait Reading {
    /// The next reads, all of one level of the trie. Empty once nothing is missing.
    fn reads(&self) -> &Reads;

    /// Takes the answer to [`Self::reads`].
    ///
    /// # Errors
    /// The answer does not fit the requested reads, or contradicts earlier answers.
    fn supply(&mut self, found: Found) -> Result<(), Error>;

    /// Takes the answer to the nodes of [`Self::reads`] and leaves the rows for later. So the reads
    /// of the next level follow, and the rows of all levels are read together.
    ///
    /// # Errors
    /// As [`Self::supply`].
    fn supply_nodes(&mut self, found: &Found) -> Result<(), Error>;

    /// Does all reads, a level at a time.
    ///
    /// # Errors
    /// The source fails, or its nodes and rows make no trie.
    fn read(&mut self, source: &impl Source) -> Result<(), Error> {
        while !self.reads().is_empty() {
            let (Reads { nodes, ranges }, mut found) = (self.reads(), Found::default());
            if !nodes.is_empty() {
                source.nodes(nodes, &mut found).map_err(Error::Source)?;
            }
            if !ranges.is_empty() {
                source.rows(ranges, &mut found).map_err(Error::Source)?;
            }
            self.supply(found)?;
        }
        Ok(())
    }
}
