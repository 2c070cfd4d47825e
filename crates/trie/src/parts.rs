//! Lists the subtrees of a stored node, for the executor's check of roots, which shares no code
//! with plans and updates. Also computes the root of a trie from its topmost stored node.

use alloy_primitives::{B256, keccak256};

use crate::{
    error::NodeError,
    format::{Child, Format},
    node::{Node, StoredNode},
    path::Path,
    record,
    reference::Reference,
    rlp::Extension,
    value::EMPTY_ROOT,
};

/// A subtree as the stored node of its parent describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A single row.
    Row {
        /// Key of the row.
        key: B256,
        /// The value of its leaf.
        value: Vec<u8>,
    },
    /// All rows below a path, without a stored node.
    Rows {
        /// The path.
        path: Path,
        /// Reference of the subtree, if the parent's stored node has it.
        reference: Option<Reference>,
    },
    /// A stored branch.
    Branch {
        /// Path of the branch itself.
        path: Path,
        /// Reference of the branch.
        reference: Reference,
    },
    /// A node of [`Format::All`], of a kind that the parent does not record.
    Node {
        /// Path of the node.
        path: Path,
        /// Reference of the node.
        reference: Reference,
    },
}

impl Part {
    fn of_child(path: Path, child: &Child) -> Result<Self, NodeError> {
        Ok(match child {
            Child::Small { reference, .. } => Self::Rows { path, reference: *reference },
            Child::Stored { extension, reference } => {
                let path = path.join(extension).ok_or(NodeError::Path)?;
                Self::Branch { path, reference: *reference }
            }
            Child::Node(reference) => Self::Node { path, reference: *reference },
        })
    }
}

impl StoredNode {
    /// The subtrees of the node at `path`, in order: all children of a branch; for other nodes,
    /// their only subtree.
    ///
    /// # Errors
    /// A path would be longer than a key.
    pub fn parts(&self, path: &Path) -> Result<Vec<Part>, NodeError> {
        match &self.0 {
            Node::Top(child) => Ok(vec![Part::of_child(*path, child)?]),
            Node::Leaf { suffix, value } => {
                let key = path.join(suffix).ok_or(NodeError::Path)?.first_key();
                Ok(vec![Part::Row { key, value: value.clone() }])
            }
            Node::Extension { suffix, child } => {
                let path = path.join(suffix).ok_or(NodeError::Path)?;
                Ok(vec![Part::Branch { path, reference: *child }])
            }
            Node::Branch(children) => {
                let children = (0..16_u8).zip(children.iter());
                let children = children.filter_map(|(nibble, child)| Some((nibble, (*child)?)));
                let parts = children.map(|(nibble, child)| {
                    Part::of_child(path.child(nibble).ok_or(NodeError::Path)?, &child)
                });
                parts.collect()
            }
        }
    }
}

/// The root of the trie whose store has the bytes `top` under
/// [`NodeKey::top`](crate::NodeKey::top). `None` is an empty trie.
///
/// # Errors
/// The bytes are not a topmost node of the format.
pub fn stored_root(format: Format, top: Option<&[u8]>) -> Result<B256, NodeError> {
    let Some(bytes) = top else { return Ok(EMPTY_ROOT) };
    if format == Format::All {
        return Ok(keccak256(bytes));
    }
    match record::read_top(format, bytes)? {
        Child::Small { reference: Some(reference), .. } => Ok(reference.root_hash()),
        Child::Stored { extension, reference } if extension.is_empty() => Ok(reference.root_hash()),
        Child::Stored { extension, reference } => {
            let node = Extension { path: &extension, from: 0, child: &reference };
            let mut rlp = vec![0; node.len()];
            node.write(&mut rlp);
            Ok(keccak256(rlp))
        }
        Child::Small { reference: None, .. } | Child::Node(_) => Err(NodeError::Kind),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{memory::MemoryTrie, sink::NodeKey};

    #[test]
    fn the_topmost_node_stands_for_the_root() {
        let formats = [Format::cut(3).expect("3"), Format::RethLike, Format::Branches, Format::All];
        for format in formats {
            assert_eq!(stored_root(format, None), Ok(EMPTY_ROOT));
            // A leaf alone, a branch, and an extension above one.
            for (count, shared) in [(1_u64, 0), (40, 0), (2, 5), (40, 31)] {
                let key = |index: u64| {
                    let mut key = keccak256(index.to_be_bytes());
                    key[..shared].fill(0xab);
                    key
                };
                let rows =
                    (0..count).map(|index| (key(index), vec![7; 33])).collect::<BTreeMap<_, _>>();
                let (trie, root) = MemoryTrie::build(format, rows).expect("rows");
                let top = trie.nodes.get(&NodeKey::top(format)).map(Vec::as_slice);
                assert_eq!(stored_root(format, top), Ok(root), "{format:?} {count} {shared}");
            }
        }
    }
}
