//! An open branch of the builder: a branch on the path of the last key, which may still get
//! children.

use crate::{fold::NodeIndex, format::Weight, path::Path, rlp::nibbles};

/// A child that is an extension node: its nibble, the extension's path, and the stored branch at
/// its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExtensionChild {
    pub(super) nibble: u8,
    pub(super) extension: Path,
    pub(super) branch: NodeIndex,
}

/// A branch on the path of the last key, which may still get children.
#[derive(Debug)]
pub(super) struct OpenBranch {
    depth: u8,
    mask: u16,
    nodes: [NodeIndex; 16],
    weights: [Weight; 16],
    extensions: Vec<ExtensionChild>,
}

impl OpenBranch {
    pub(super) const fn new(depth: usize) -> Self {
        let weights = [Weight::Small(0); 16];
        Self { depth: depth as u8, mask: 0, nodes: [0; 16], weights, extensions: Vec::new() }
    }

    /// Length of the branch's path.
    pub(super) fn depth(&self) -> usize {
        usize::from(self.depth)
    }

    pub(super) const fn mask(&self) -> u16 {
        self.mask
    }

    pub(super) const fn nodes(&self) -> &[NodeIndex; 16] {
        &self.nodes
    }

    pub(super) fn put(&mut self, nibble: u8, node: NodeIndex, weight: Weight) {
        self.mask |= 1 << nibble;
        self.nodes[usize::from(nibble)] = node;
        self.weights[usize::from(nibble)] = weight;
    }

    /// Records that the child at a nibble is an extension to a stored branch.
    pub(super) fn put_extension(&mut self, nibble: u8, extension: Path, branch: NodeIndex) {
        self.extensions.push(ExtensionChild { nibble, extension, branch });
    }

    /// Nibbles that have a child, ascending.
    pub(super) fn nibbles(&self) -> impl Iterator<Item = u8> + Clone {
        nibbles(self.mask)
    }

    pub(super) fn node(&self, nibble: u8) -> NodeIndex {
        self.nodes[usize::from(nibble)]
    }

    pub(super) fn weight(&self, nibble: u8) -> Weight {
        self.weights[usize::from(nibble)]
    }

    pub(super) fn weights(&self) -> impl Iterator<Item = Weight> + Clone {
        self.nibbles().map(|nibble| self.weight(nibble))
    }

    pub(super) fn extension(&self, nibble: u8) -> Option<&ExtensionChild> {
        self.extensions.iter().find(|child| child.nibble == nibble)
    }

    /// The nodes of the branch's children, and the stored branches below extensions.
    pub(super) fn live_nodes(&mut self) -> impl Iterator<Item = &mut NodeIndex> {
        let mask = self.mask;
        let children = self.nodes.iter_mut().enumerate();
        let children = children.filter(move |(nibble, _)| mask >> nibble & 1 == 1);
        children
            .map(|(_, node)| node)
            .chain(self.extensions.iter_mut().map(|child| &mut child.branch))
    }
}
