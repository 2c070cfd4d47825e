//! Keys of stored nodes, and sinks: the interface by which a builder passes nodes to a store.

use std::{error, ops::Range};

use crate::{
    error::NodeError,
    format::Format,
    path::{NIBBLES_MAX, Path},
};

/// Last byte of a path's key. This byte is larger than every nibble, so children sort before their
/// parents. Nodes are made in that order.
const END: u8 = 0x10;
/// The whole key of the top's record, which sorts last.
const TOP: u8 = 0x11;

/// Key of a stored node within its trie. Keys sort as their bytes do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeKey {
    /// The node at a path.
    Node(Path),
    /// The record of the trie's top. Every format except [`Format::All`](crate::Format::All) has
    /// this record for a trie with rows.
    Top,
}

impl NodeKey {
    /// The key of the topmost node of a trie in a format. Each trie with rows has this node.
    pub fn top(format: Format) -> Self {
        match format {
            Format::All => Self::Node(Path::ROOT),
            Format::Cut(_) | Format::RethLike | Format::Branches => Self::Top,
        }
    }

    /// The key as bytes: one byte for each nibble, and one at the end. Nodes are made in the order
    /// of these keys.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Node(path) => path.nibbles().chain([END]).collect(),
            Self::Top => vec![TOP],
        }
    }

    /// Reads a key.
    ///
    /// # Errors
    /// The bytes are not a key.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, NodeError> {
        match bytes.split_last() {
            Some((&TOP, [])) => Ok(Self::Top),
            Some((&END, nibbles)) if nibbles.len() <= NIBBLES_MAX => {
                if nibbles.iter().any(|nibble| *nibble > 15) {
                    return Err(NodeError::Path);
                }
                let path = Path::of_nibbles(nibbles.iter().copied());
                path.map(Self::Node).ok_or(NodeError::Path)
            }
            _ => Err(NodeError::Path),
        }
    }

    /// Path of the node; the root's path for the top.
    pub const fn path(&self) -> Path {
        match self {
            Self::Node(path) => *path,
            Self::Top => Path::ROOT,
        }
    }
}

impl PartialOrd for NodeKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for NodeKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        match (self, other) {
            (Self::Node(a), Self::Node(b)) => {
                let common = a.common(b);
                let next =
                    |path: &Path| if common < path.len() { path.nibble(common) } else { END };
                next(a).cmp(&next(b))
            }
            (a, b) => (*a == Self::Top).cmp(&(*b == Self::Top)),
        }
    }
}

/// Error of a sink or a source.
pub type StoreError = Box<dyn error::Error + Send + Sync>;

/// A receiver of stored nodes, in ascending order of their keys.
pub trait NodeSink {
    /// Takes a node.
    ///
    /// # Errors
    /// The node cannot be stored.
    fn put(&mut self, key: &NodeKey, node: &[u8]) -> Result<(), StoreError>;
}

/// Discards all nodes.
impl NodeSink for () {
    fn put(&mut self, _: &NodeKey, _: &[u8]) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Nodes in memory, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nodes {
    bytes: Vec<u8>,
    /// Key of each node, and its range in `bytes`.
    entries: Vec<(NodeKey, Range<usize>)>,
}

impl NodeSink for Nodes {
    fn put(&mut self, key: &NodeKey, node: &[u8]) -> Result<(), StoreError> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(node);
        self.entries.push((*key, start..self.bytes.len()));
        Ok(())
    }
}

impl Nodes {
    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of bytes of all nodes, without their keys.
    pub fn byte_count(&self) -> usize {
        self.bytes.len()
    }

    /// The nodes in the order in which they were added; after [`Self::sort`], in the order of their
    /// keys.
    pub fn iter(&self) -> impl Iterator<Item = (&NodeKey, &[u8])> {
        self.entries.iter().map(|(key, range)| (key, &self.bytes[range.clone()]))
    }

    /// Appends the nodes of `other`.
    pub fn append(&mut self, other: &Self) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        let entries = other.entries.iter().cloned();
        self.entries.extend(entries.map(|(key, own)| (key, start + own.start..start + own.end)));
    }

    /// Puts the nodes into the order of their keys.
    pub fn sort(&mut self) {
        if !self.entries.is_sorted_by(|a, b| a.0 <= b.0) {
            self.entries.sort_by_key(|(key, _)| *key);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key() -> impl Strategy<Value = NodeKey> {
        prop::option::of(prop::collection::vec(0_u8..3, 0..5)).prop_map(|nibbles| {
            nibbles.map_or(NodeKey::Top, |nibbles| {
                NodeKey::Node(Path::of_nibbles(nibbles).expect("short"))
            })
        })
    }

    proptest! {
        #[test]
        fn keys_sort_as_their_bytes_and_are_read_back(a in key(), b in key()) {
            prop_assert_eq!(a.cmp(&b), a.to_bytes().cmp(&b.to_bytes()));
            prop_assert_eq!(NodeKey::of_bytes(&a.to_bytes()), Ok(a));
        }
    }

    #[test]
    fn wrong_keys_are_refused() {
        let long = [&[1; 65][..], &[END]].concat();
        for wrong in [&[][..], &[1], &[END, END], &[0x11, END], &[1, TOP], &[0x12], &long] {
            assert_eq!(NodeKey::of_bytes(wrong), Err(NodeError::Path), "{wrong:?}");
        }
    }
}
