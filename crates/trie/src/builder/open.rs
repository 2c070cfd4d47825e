//! An open branch of the builder: a branch on the path of the last key, which may still get
//! children. A [`Slot`] here is the index of a node that waits to be hashed, not a storage slot.

use crate::{fold::Slot, format::Weight, path::Path, rlp::nibbles};

/// A child that is an extension node: its nibble, the extension's path, and the stored branch at
/// its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Below {
    pub(super) nibble: u8,
    pub(super) extension: Path,
    pub(super) branch: Slot,
}

/// A branch on the path of the last key, which may still get children.
#[derive(Debug)]
pub(super) struct Open {
    depth: u8,
    mask: u16,
    slots: [Slot; 16],
    weights: [Weight; 16],
    below: Vec<Below>,
}

impl Open {
    pub(super) const fn new(depth: usize) -> Self {
        let weights = [Weight::Small(0); 16];
        Self { depth: depth as u8, mask: 0, slots: [0; 16], weights, below: Vec::new() }
    }

    /// Length of the branch's path.
    pub(super) fn depth(&self) -> usize {
        usize::from(self.depth)
    }

    pub(super) const fn mask(&self) -> u16 {
        self.mask
    }

    pub(super) const fn slots(&self) -> &[Slot; 16] {
        &self.slots
    }

    pub(super) fn put(&mut self, nibble: u8, slot: Slot, weight: Weight) {
        self.mask |= 1 << nibble;
        self.slots[usize::from(nibble)] = slot;
        self.weights[usize::from(nibble)] = weight;
    }

    /// Records that the child at a nibble is an extension to a stored branch.
    pub(super) fn put_below(&mut self, nibble: u8, extension: Path, branch: Slot) {
        self.below.push(Below { nibble, extension, branch });
    }

    /// Nibbles that have a child, ascending.
    pub(super) fn nibbles(&self) -> impl Iterator<Item = u8> + Clone {
        nibbles(self.mask)
    }

    pub(super) fn slot(&self, nibble: u8) -> Slot {
        self.slots[usize::from(nibble)]
    }

    pub(super) fn weight(&self, nibble: u8) -> Weight {
        self.weights[usize::from(nibble)]
    }

    pub(super) fn weights(&self) -> impl Iterator<Item = Weight> + Clone {
        self.nibbles().map(|nibble| self.weight(nibble))
    }

    pub(super) fn below(&self, nibble: u8) -> Option<&Below> {
        self.below.iter().find(|below| below.nibble == nibble)
    }

    /// The slots of the branch's children, and of stored branches below extensions.
    pub(super) fn live_slots(&mut self) -> impl Iterator<Item = &mut Slot> {
        let mask = self.mask;
        let children = self.slots.iter_mut().enumerate();
        let children = children.filter(move |(nibble, _)| mask >> nibble & 1 == 1);
        children.map(|(_, slot)| slot).chain(self.below.iter_mut().map(|below| &mut below.branch))
    }
}
