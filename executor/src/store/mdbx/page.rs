//! Decodes pages of an MDBX file, as far as needed to walk its trees without MDBX (`branches.rs`,
//! `leaves.rs`, `used.rs`). MDBX has no interface for this.
//!
//! The format is that of libmdbx 0.13 on a little-endian machine. A page begins with a header of 20
//! bytes. It has flags at byte 10, the end of the node offsets at byte 12, and the page's number at
//! byte 16. Node offsets of two bytes follow, which count from the header's end. A node begins with
//! its child's number, its flags and the length of its key.

use std::{fs::File, io, os::unix::fs::FileExt};

use super::environment::PAGE_BYTES;

/// Number of bytes of a page's header.
const HEADER_BYTES: usize = 20;
/// Number of bytes of a node's header.
const NODE_HEADER_BYTES: usize = 8;
/// Offset of the main tree's description in a meta page.
const MAIN_TREE_AT: usize = HEADER_BYTES + 88;
/// Offset of the last transaction's number in a meta page. The number is stored twice.
const TXNID_A_AT: usize = HEADER_BYTES + 8;
/// Offset of the second copy of the last transaction's number in a meta page.
const TXNID_B_AT: usize = HEADER_BYTES + 176;

/// Flag of a branch page.
pub(super) const BRANCH: u16 = 1;
/// Flag of a leaf page.
pub(super) const LEAF: u16 = 2;
/// Flag of the first page of a large value, which has pages of its own.
pub(super) const LARGE: u16 = 4;
/// Flag of a node whose value is on pages of its own.
const IS_OUTSIDE: u8 = 1;
/// Flag of a node whose value describes a tree.
const IS_TREE: u8 = 2;
/// Flag of a tree with sorted duplicates.
const HAS_DUPLICATES: u16 = 4;
/// Number of bytes of a tree's description.
const TREE_BYTES: usize = 48;
/// Maximal height of a tree.
pub(super) const HEIGHT_MAX: u16 = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    /// Number of the root page.
    pub(super) root: u32,
    /// Number of levels of pages from the root to the leaves; 0 for an empty tree.
    pub(super) height: u16,
}

/// A table: its tree, and the content of its leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableTree {
    pub(super) tree: Tree,
    pub(super) leaves: LeafKind,
}

/// Content of a table's leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeafKind {
    /// One row per key.
    Rows,
    /// Sorted duplicates per key. A key's node holds one value, a page within the leaf, or the root
    /// of a tree.
    Duplicates,
}

/// Returns the main tree, which lists the tables, from the latest valid meta page of the three.
pub(super) fn main_tree(metas: &[u8]) -> io::Result<Tree> {
    let valid = metas.chunks_exact(PAGE_BYTES).filter_map(|meta| {
        let (a, b) = (u64_at(meta, TXNID_A_AT)?, u64_at(meta, TXNID_B_AT)?);
        (a == b && a > 0).then_some((a, meta))
    });
    let (_, meta) =
        valid.max_by_key(|(id, _)| *id).ok_or_else(|| wrong("no meta page is whole"))?;
    Ok(tree(&meta[MAIN_TREE_AT..MAIN_TREE_AT + TREE_BYTES])?.tree)
}

fn tree(bytes: &[u8]) -> io::Result<TableTree> {
    let [head, root] = [0, 8].map(|at| bytes.get(at..).and_then(<[u8]>::first_chunk::<4>));
    let (Some(head), Some(root)) = (head, root) else {
        return Err(wrong("a tree's description is too short"));
    };
    let height = u16::from_le_bytes([head[2], head[3]]);
    if height > HEIGHT_MAX {
        return Err(wrong(&format!("a tree of height {height}")));
    }
    let has_duplicates = u16::from_le_bytes([head[0], head[1]]) & HAS_DUPLICATES != 0;
    let leaves = if has_duplicates { LeafKind::Duplicates } else { LeafKind::Rows };
    Ok(TableTree { tree: Tree { root: u32::from_le_bytes(*root), height }, leaves })
}

#[derive(Debug)]
pub(super) struct Page {
    pub(super) number: u32,
    bytes: Box<[u8; PAGE_BYTES]>,
}

/// The child of a branch page where a search continues.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child<'p> {
    pub(super) number: u32,
    /// Lower bound of the keys of the next child; `None` for the last child.
    pub(super) next_key: Option<&'p [u8]>,
}

impl Page {
    /// Reads page `number`, whose flags must be `flags`.
    pub(super) fn read(file: &File, number: u32, flags: u16) -> io::Result<Self> {
        let mut bytes = Box::new([0; PAGE_BYTES]);
        file.read_exact_at(bytes.as_mut_slice(), u64::from(number) * PAGE_BYTES as u64)?;
        let page = Self { number, bytes };
        if page.u16_at(10)? == flags && page.u32_at(16)? == number {
            return Ok(page);
        }
        Err(wrong(&format!("page {number} is not of kind {flags}")))
    }

    /// Returns the positions of the page's nodes, as byte offsets in the page.
    pub(super) fn nodes(&self) -> impl Iterator<Item = io::Result<usize>> {
        let end = self.u16_at(12).map_or(0, usize::from).min(PAGE_BYTES - HEADER_BYTES);
        (0..end / 2).map(|i| Ok(usize::from(self.u16_at(HEADER_BYTES + 2 * i)?) + HEADER_BYTES))
    }

    /// Returns the numbers of the children of a branch page.
    pub(super) fn children(&self) -> impl Iterator<Item = io::Result<u32>> {
        self.nodes().map(|node| self.u32_at(node?))
    }

    /// Returns the child whose range contains `key`: the child of the last node whose key is not
    /// above `key`. The first node of a branch page has no key; it counts as below all keys.
    pub(super) fn child_of(&self, key: &[u8]) -> io::Result<Child<'_>> {
        let nodes = self.nodes().collect::<io::Result<Vec<_>>>()?;
        let (mut low, mut high) = (1, nodes.len().max(1));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key_at(nodes[middle])? <= key { low = middle + 1 } else { high = middle }
        }
        let node = nodes.get(low - 1).ok_or_else(|| wrong("a branch page without nodes"))?;
        let next_key = nodes.get(low).map(|next| self.key_at(*next)).transpose()?;
        Ok(Child { number: self.u32_at(*node)?, next_key })
    }

    /// Returns the key of the node at `at`.
    pub(super) fn key_at(&self, at: usize) -> io::Result<&[u8]> {
        let key = at + NODE_HEADER_BYTES;
        let length = usize::from(self.u16_at(at + 6)?);
        self.bytes.get(key..key + length).ok_or_else(|| self.outside(key))
    }

    /// Returns the tree that the node at `at` describes; `None` if the node's value is not a tree.
    pub(super) fn tree_at(&self, at: usize) -> io::Result<Option<TableTree>> {
        if self.bytes.get(at + 4).is_none_or(|flags| flags & IS_TREE == 0) {
            return Ok(None);
        }
        let value = at + NODE_HEADER_BYTES + usize::from(self.u16_at(at + 6)?);
        let bytes = self.bytes.get(value..value + TREE_BYTES);
        tree(bytes.ok_or_else(|| self.outside(value))?).map(Some)
    }

    /// Returns the first page of a large value of the node at `at`; `None` if the value is within
    /// the node.
    pub(super) fn value_page_at(&self, at: usize) -> io::Result<Option<u32>> {
        if self.bytes.get(at + 4).is_none_or(|flags| flags & IS_OUTSIDE == 0) {
            return Ok(None);
        }
        let value = at + NODE_HEADER_BYTES + usize::from(self.u16_at(at + 6)?);
        self.u32_at(value).map(Some)
    }

    /// Returns the number of pages of the large value that begins on this page.
    pub(super) fn run_length(&self) -> io::Result<u32> {
        self.u32_at(12)
    }

    fn u16_at(&self, at: usize) -> io::Result<u16> {
        let bytes = self.bytes.get(at..).and_then(<[u8]>::first_chunk::<2>);
        bytes.map(|bytes| u16::from_le_bytes(*bytes)).ok_or_else(|| self.outside(at))
    }

    fn u32_at(&self, at: usize) -> io::Result<u32> {
        let bytes = self.bytes.get(at..).and_then(<[u8]>::first_chunk::<4>);
        bytes.map(|bytes| u32::from_le_bytes(*bytes)).ok_or_else(|| self.outside(at))
    }

    fn outside(&self, at: usize) -> io::Error {
        wrong(&format!("page {} points to its byte {at}", self.number))
    }
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes))
}

/// Makes the error of a file in another format.
pub(super) fn wrong(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{reason}: not the format of libmdbx 0.13"))
}
