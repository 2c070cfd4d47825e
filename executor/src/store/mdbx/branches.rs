//! Which pages of an MDBX file are branch pages: found by walking its trees from above, without
//! looking at a leaf. MDBX itself does not tell, and a client that runs has them in memory.
//!
//! The format is that of libmdbx 0.13 on a little-endian machine: a page begins with a header of
//! 20 bytes (flags at 10, end of the node offsets at 12, own number at 16), node offsets of two
//! bytes count from its end, and a node begins with the child's number, flags and the length of
//! its key. A state is refused where the number of pages found is not what MDBX counts itself.

use std::{fs::File, io, os::unix::fs::FileExt};

use super::environment::PAGE_BYTES;

/// Bytes of a page's header.
const HEADER_BYTES: usize = 20;
/// Bytes of a node's header.
const NODE_BYTES: usize = 8;
/// Where the main tree's description stands in a meta page.
const MAIN_TREE_AT: usize = HEADER_BYTES + 88;
/// Where the first of two equal numbers of the last transaction stands in a meta page.
const TXNID_A_AT: usize = HEADER_BYTES + 8;
/// Where the second stands.
const TXNID_B_AT: usize = HEADER_BYTES + 176;

const BRANCH: u16 = 1;
const LEAF: u16 = 2;
/// Of a node whose value describes a tree.
const IS_TREE: u8 = 2;
/// Bytes of a tree's description.
const TREE_BYTES: usize = 48;
/// No tree is higher.
const HEIGHT_MAX: u16 = 32;

/// A tree: its root's number and its height, in pages.
#[derive(Clone, Copy, Debug)]
struct Tree {
    root: u32,
    height: u16,
}

/// Numbers of the branch pages of all tables in `file`, ascending, where `metas` are its first
/// pages; the page that lists the tables is among them.
///
/// # Errors
/// What is not as the format says, or the read that failed.
pub(super) fn find(file: &File, metas: &[u8]) -> io::Result<Vec<u32>> {
    let main = main_tree(metas)?;
    let (mut pages, lists) = levels(file, main)?;
    let mut tables = Vec::new();
    for list in lists {
        let page = Page::read(file, list, LEAF)?;
        for node in page.nodes() {
            tables.extend(page.tree_at(node?)?);
        }
        pages.push(list);
    }
    for table in tables {
        pages.extend(levels(file, table)?.0);
    }
    pages.sort_unstable();
    Ok(pages)
}

/// Finds the leaf pages of rows through the branch pages, which are in memory, without looking at
/// a leaf. Rows in the order of their keys find each branch page once.
#[derive(Debug)]
pub(super) struct Leaves<'f> {
    file: &'f File,
    /// By name.
    tables: Vec<(Vec<u8>, Tree)>,
    /// The page looked at last on each level.
    path: Vec<Option<Page>>,
}

impl<'f> Leaves<'f> {
    /// The trees of `file`, with its first pages in `metas`.
    ///
    /// # Errors
    /// The breach of the format, or the read that failed.
    pub(super) fn of(file: &'f File, metas: &[u8]) -> io::Result<Self> {
        let (_, lists) = levels(file, main_tree(metas)?)?;
        let mut tables = Vec::new();
        for list in lists {
            let page = Page::read(file, list, LEAF)?;
            for node in page.nodes() {
                let node = node?;
                if let Some(tree) = page.tree_at(node)? {
                    tables.push((page.key_at(node)?.to_vec(), tree));
                }
            }
        }
        Ok(Self { file, tables, path: (0..HEIGHT_MAX).map(|_| None).collect() })
    }

    /// Number of the leaf page of the table `name` that has the row with `key` if there is one;
    /// `None` for an empty table.
    ///
    /// # Errors
    /// As [`Self::of`], or there is no such table.
    pub(super) fn find(&mut self, name: &str, key: &[u8]) -> io::Result<Option<u32>> {
        let tree = self.tables.iter().find(|(table, _)| table == name.as_bytes());
        let (_, tree) = tree.ok_or_else(|| wrong(&format!("there is no table {name}")))?;
        if tree.height == 0 {
            return Ok(None);
        }
        let mut number = tree.root;
        for level in 1..usize::from(tree.height) {
            let known = &mut self.path[level];
            if known.as_ref().is_none_or(|page| page.number != number) {
                *known = Some(Page::read(self.file, number, BRANCH)?);
            }
            let page = known.as_ref().unwrap_or_else(|| unreachable!("it was just read"));
            number = page.child_of(key)?;
        }
        Ok(Some(number))
    }
}

/// The branch pages of a tree, and the pages of its lowest level.
fn levels(file: &File, tree: Tree) -> io::Result<(Vec<u32>, Vec<u32>)> {
    let mut branches = Vec::new();
    if tree.height == 0 {
        return Ok((branches, Vec::new()));
    }
    let mut level = vec![tree.root];
    for _ in 1..tree.height {
        let mut below = Vec::new();
        for number in &level {
            let page = Page::read(file, *number, BRANCH)?;
            for node in page.nodes() {
                below.push(page.u32_at(node?)?);
            }
        }
        branches.append(&mut level);
        level = below;
    }
    Ok((branches, level))
}

/// The tree of the latest of the three meta pages that is whole.
fn main_tree(metas: &[u8]) -> io::Result<Tree> {
    let whole = metas.chunks_exact(PAGE_BYTES).filter_map(|meta| {
        let (a, b) = (u64_at(meta, TXNID_A_AT)?, u64_at(meta, TXNID_B_AT)?);
        (a == b && a > 0).then_some((a, meta))
    });
    let (_, meta) =
        whole.max_by_key(|(id, _)| *id).ok_or_else(|| wrong("no meta page is whole"))?;
    tree(&meta[MAIN_TREE_AT..MAIN_TREE_AT + TREE_BYTES])
}

fn tree(bytes: &[u8]) -> io::Result<Tree> {
    let field = |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk::<4>);
    let (Some(head), Some(root)) = (field(0), field(8)) else {
        return Err(wrong("a tree's description is too short"));
    };
    let height = u16::from_le_bytes([head[2], head[3]]);
    if height > HEIGHT_MAX {
        return Err(wrong(&format!("a tree of height {height}")));
    }
    Ok(Tree { root: u32::from_le_bytes(*root), height })
}

#[derive(Debug)]
struct Page {
    number: u32,
    bytes: Box<[u8; PAGE_BYTES]>,
}

impl Page {
    /// Page `number`, which must be of kind `flags`.
    fn read(file: &File, number: u32, flags: u16) -> io::Result<Self> {
        let mut bytes = Box::new([0; PAGE_BYTES]);
        file.read_exact_at(bytes.as_mut_slice(), u64::from(number) * PAGE_BYTES as u64)?;
        let page = Self { number, bytes };
        if page.u16_at(10)? == flags && page.u32_at(16)? == number {
            return Ok(page);
        }
        Err(wrong(&format!("page {number} is not of kind {flags}")))
    }

    /// Places of the nodes.
    fn nodes(&self) -> impl Iterator<Item = io::Result<usize>> {
        let end = self.u16_at(12).map_or(0, usize::from).min(PAGE_BYTES - HEADER_BYTES);
        (0..end / 2).map(|i| Ok(usize::from(self.u16_at(HEADER_BYTES + 2 * i)?) + HEADER_BYTES))
    }

    /// The child with `key` in its range: that of the last node with a key not above it. The first
    /// node of a branch page has no key of its own, and stands below all.
    fn child_of(&self, key: &[u8]) -> io::Result<u32> {
        let nodes = self.nodes().collect::<io::Result<Vec<_>>>()?;
        let (mut low, mut high) = (1, nodes.len().max(1));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key_at(nodes[middle])? <= key { low = middle + 1 } else { high = middle }
        }
        let node = nodes.get(low - 1).ok_or_else(|| wrong("a branch page without nodes"))?;
        self.u32_at(*node)
    }

    /// The key of the node at `at`.
    fn key_at(&self, at: usize) -> io::Result<&[u8]> {
        let key = at + NODE_BYTES;
        let length = usize::from(self.u16_at(at + 6)?);
        self.bytes.get(key..key + length).ok_or_else(|| self.outside(key))
    }

    /// The tree that the node at `at` describes, if it does.
    fn tree_at(&self, at: usize) -> io::Result<Option<Tree>> {
        if self.bytes.get(at + 4).is_none_or(|flags| flags & IS_TREE == 0) {
            return Ok(None);
        }
        let value = at + NODE_BYTES + usize::from(self.u16_at(at + 6)?);
        let bytes = self.bytes.get(value..value + TREE_BYTES);
        tree(bytes.ok_or_else(|| self.outside(value))?).map(Some)
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

fn wrong(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{reason}: not the format of libmdbx 0.13"))
}
