//! The result of a builder of a part of a trie: a subtree whose topmost node is not yet encoded.
//! Only the nodes above it decide where a leaf begins, and whether a branch gets an extension.

use crate::{format::Weight, path::Path, reference::Reference};

/// A subtree that was built alone, to be joined with other subtrees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Floating(pub(crate) Subtree);

/// A subtree's content. Paths and keys begin at the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Subtree {
    #[default]
    Empty,
    Row {
        key: Path,
        value: Vec<u8>,
    },
    Branch {
        path: Path,
        reference: Reference,
        weight: Weight,
    },
}

impl Floating {
    /// The key of a single row, or the path of the topmost branch; `None` for an empty subtree.
    pub const fn path(&self) -> Option<Path> {
        match &self.0 {
            Subtree::Empty => None,
            Subtree::Row { key, .. } => Some(*key),
            Subtree::Branch { path, .. } => Some(*path),
        }
    }
}
