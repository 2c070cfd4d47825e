//! Subtrees whose position in the trie is not settled: the nodes above them decide whether a leaf
//! begins here or further up, and whether a branch gets an extension.

use crate::{format::Weight, path::Path, reference::Reference};

/// A subtree that was folded alone, to be joined with others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Floating(pub(crate) Subtree);

/// All paths and keys are those from the root.
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
    /// The path of the subtree's topmost node as far as it is settled: a row's key, or a branch's
    /// path; none where there is no row.
    pub const fn path(&self) -> Option<Path> {
        match &self.0 {
            Subtree::Empty => None,
            Subtree::Row { key, .. } => Some(*key),
            Subtree::Branch { path, .. } => Some(*path),
        }
    }
}
