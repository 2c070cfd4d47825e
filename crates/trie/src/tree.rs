//! The part of a stored trie that writes touch, for plans and updates. It requests nodes and rows,
//! and grows with the answers.

use std::ops::Range;

use alloy_primitives::B256;

use crate::{
    error::{Error, NodeError},
    format::{Child, Format},
    node::{self, Children, Node},
    path::Path,
    record,
    reference::Reference,
    rows::{Found, Reads, RowRange, Rows, keys_below},
    sink::NodeKey,
};

/// The keys of a tree: all keys, or the keys of one shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Whole,
    /// First nibbles of a shard's keys.
    Shard(Range<u8>),
}

impl Scope {
    fn has(&self, nibble: u8) -> bool {
        match self {
            Self::Whole => true,
            Self::Shard(nibbles) => nibbles.contains(&nibble),
        }
    }
}

/// A place in the trie that writes touch, or whose content an update needs.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) path: Path,
    /// Indices of the writes below the path.
    pub(crate) keys: Range<usize>,
    pub(crate) content: Content,
}

/// The content of a place.
#[derive(Debug)]
pub(crate) enum Content {
    /// No row, or not yet read.
    Empty,
    /// A subtree that no write touches, known by its reference.
    Opaque { reference: Reference, rows: u8 },
    /// The rows at `range` in element `rows_index` of [`Tree::rows`].
    Rows { rows_index: usize, range: Range<usize> },
    /// A branch at or below the place's path. `open` is the branch's index in [`Tree::branches`],
    /// once its node is read.
    Branch { path: Path, reference: Reference, open: Option<usize> },
}

/// A branch whose node is read.
#[derive(Debug)]
pub(crate) struct ReadBranch {
    pub(crate) path: Path,
    /// Range of the node in the tree's bytes.
    bytes: Range<usize>,
    /// Range of the branch's places, by ascending nibble.
    pub(crate) places: Range<usize>,
    /// Index of the place of a child that no write touches, and that may be the only child left
    /// after the writes.
    pub(crate) sibling: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum PendingNode {
    /// The node at a place, of any kind.
    Any(usize),
    /// The branch of a place.
    Branch(usize),
}

#[derive(Clone, Copy, Debug)]
struct PendingRows {
    place: usize,
    /// Number of rows that the parent's record gives.
    counted: usize,
}

#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) format: Format,
    pub(crate) scope: Scope,
    pub(crate) keys: Vec<B256>,
    /// The first place is the root.
    pub(crate) places: Vec<Place>,
    pub(crate) branches: Vec<ReadBranch>,
    pub(crate) rows: Vec<Rows>,
    /// Nodes that were read and are replaced.
    pub(crate) replaced: Vec<NodeKey>,
    bytes: Vec<u8>,
    reads: Reads,
    pending_nodes: Vec<PendingNode>,
    pending_rows: Vec<PendingRows>,
}

impl Tree {
    pub(crate) fn new(format: Format, scope: Scope, keys: Vec<B256>) -> Self {
        let root = Place { path: Path::ROOT, keys: 0..keys.len(), content: Content::Empty };
        let top = NodeKey::top(format);
        Self {
            format,
            scope,
            keys,
            places: vec![root],
            branches: Vec::new(),
            rows: Vec::new(),
            replaced: Vec::new(),
            bytes: Vec::new(),
            reads: Reads { nodes: vec![top], ranges: Vec::new() },
            pending_nodes: vec![PendingNode::Any(0)],
            pending_rows: Vec::new(),
        }
    }

    pub(crate) const fn reads(&self) -> &Reads {
        &self.reads
    }

    /// Takes the answer to all reads. New reads may follow from it.
    pub(crate) fn supply(&mut self, mut found: Found) -> Result<(), Error> {
        if found.nodes().len() != self.pending_nodes.len() {
            return Err(Error::Answer { rule: "one answer for each node" });
        }
        self.reads.ranges.clear();
        self.supply_rows(found.take_rows())?;
        self.supply_nodes(&found)
    }

    /// Takes the answer to the nodes. The rows are still to be read, and the next reads may add
    /// rows.
    pub(crate) fn supply_nodes(&mut self, found: &Found) -> Result<(), Error> {
        let keys = std::mem::take(&mut self.reads.nodes);
        let pending = std::mem::take(&mut self.pending_nodes);
        if found.nodes().len() != pending.len() {
            return Err(Error::Answer { rule: "one answer for each node" });
        }
        for ((key, pending), bytes) in keys.iter().zip(pending).zip(found.nodes()) {
            self.supply_node(key, pending, bytes)?;
        }
        // The ranges come from several levels.
        self.reads.ranges.sort_unstable_by_key(|range| range.first);
        Ok(())
    }

    fn supply_rows(&mut self, rows: Rows) -> Result<(), Error> {
        let pending = std::mem::take(&mut self.pending_rows);
        let rows_index = self.rows.len();
        let mut found = 0;
        if !rows.keys().is_sorted_by(|a, b| a < b) {
            return Err(Error::Answer { rule: "rows ascend, none comes twice" });
        }
        for PendingRows { place, counted } in pending {
            let place = &mut self.places[place];
            let range = keys_below(rows.keys(), &(0..rows.len()), &place.path);
            if range.len() != counted {
                return Err(Error::RowCount { path: place.path, counted, found: range.len() });
            }
            found += range.len();
            place.content = Content::Rows { rows_index, range };
        }
        if found != rows.len() {
            return Err(Error::Answer { rule: "no rows beside those asked for" });
        }
        if found > 0 {
            self.rows.push(rows);
        }
        Ok(())
    }

    fn supply_node(
        &mut self,
        key: &NodeKey,
        pending: PendingNode,
        bytes: Option<&[u8]>,
    ) -> Result<(), Error> {
        let path = key.path();
        match (pending, bytes) {
            // The trie is empty.
            (PendingNode::Any(place), None) if path.is_empty() => {
                self.places[place].content = Content::Empty;
                Ok(())
            }
            (_, None) => Err(Error::MissingNode { path }),
            (PendingNode::Any(place), Some(bytes)) if self.format == Format::All => {
                let reference = Reference::of_rlp(bytes);
                if !self.place_node(place, bytes, &reference)? {
                    self.replaced.push(*key);
                }
                Ok(())
            }
            (PendingNode::Any(place), Some(bytes)) => {
                self.replaced.push(*key);
                let top = record::read_top(self.format, bytes).map_err(invalid(path))?;
                if self.place_child(place, &top)? {
                    self.ask_rows(place);
                }
                Ok(())
            }
            (PendingNode::Branch(place), Some(bytes)) => {
                self.replaced.push(*key);
                self.open(place, path, bytes)
            }
        }
    }

    /// Places a child by its parent's record or the top. Returns whether its rows must be
    /// requested.
    fn place_child(&mut self, place: usize, child: &Child) -> Result<bool, Error> {
        let Place { path, keys, .. } = &self.places[place];
        let (path, is_untouched) = (*path, keys.is_empty());
        match child {
            Child::Small { rows, reference: Some(reference) }
                if path.is_empty() && is_untouched && self.scope == Scope::Whole =>
            {
                self.places[place].content = Content::Opaque { reference: *reference, rows: *rows };
                Ok(false)
            }
            Child::Small { rows, .. } => {
                self.pending_rows.push(PendingRows { place, counted: usize::from(*rows) });
                Ok(true)
            }
            Child::Stored { extension, reference } => {
                let at = path.join(extension).ok_or(NodeError::Path).map_err(invalid(path))?;
                self.place_branch(place, at, reference)?;
                Ok(false)
            }
            Child::Node(reference) => {
                match reference.inline() {
                    Some(rlp) => drop(self.place_node(place, rlp, reference)?),
                    None => {
                        self.reads.nodes.push(NodeKey::Node(path));
                        self.pending_nodes.push(PendingNode::Any(place));
                    }
                }
                Ok(false)
            }
        }
    }

    /// Places a branch at a path, and opens it if writes are below it.
    fn place_branch(&mut self, place: usize, at: Path, reference: &Reference) -> Result<(), Error> {
        let is_open = self.must_open(place, &at);
        self.places[place].content =
            Content::Branch { path: at, reference: *reference, open: None };
        match (is_open, reference.inline()) {
            (false, _) => Ok(()),
            (true, Some(rlp)) if self.format == Format::All => self.open(place, at, rlp),
            (true, _) => {
                self.reads.nodes.push(NodeKey::Node(at));
                self.pending_nodes.push(PendingNode::Branch(place));
                Ok(())
            }
        }
    }

    fn must_open(&self, place: usize, at: &Path) -> bool {
        let is_shared_root = at.is_empty() && self.scope != Scope::Whole;
        is_shared_root || !keys_below(&self.keys, &self.places[place].keys, at).is_empty()
    }

    /// Places a node of [`Format::All`]. Returns whether no write changes the node.
    fn place_node(&mut self, place: usize, rlp: &[u8], own: &Reference) -> Result<bool, Error> {
        let path = self.places[place].path;
        match node::read_rlp(rlp, path.len()).map_err(invalid(path))? {
            Node::Leaf { suffix, value } => {
                let key = path.join(&suffix).ok_or(NodeError::Path).map_err(invalid(path))?;
                let mut rows = Rows::default();
                rows.push(key.first_key(), &value);
                self.places[place].content =
                    Content::Rows { rows_index: self.rows.len(), range: 0..1 };
                self.rows.push(rows);
                Ok(false)
            }
            Node::Extension { suffix, child } => {
                let at = path.join(&suffix).ok_or(NodeError::Path).map_err(invalid(path))?;
                self.place_branch(place, at, &child)?;
                Ok(false)
            }
            Node::Branch(_) => {
                self.places[place].content = Content::Branch { path, reference: *own, open: None };
                if self.must_open(place, &path) {
                    self.open(place, path, rlp)?;
                    return Ok(false);
                }
                Ok(true)
            }
            Node::Top(_) => Err(invalid(path)(NodeError::Kind)),
        }
    }

    /// Opens the branch of a place, and adds places for its children that must be known.
    fn open(&mut self, place: usize, path: Path, bytes: &[u8]) -> Result<(), Error> {
        let children = node::read_branch(self.format, bytes, path.len()).map_err(invalid(path))?;
        let keys = keys_below(&self.keys, &self.places[place].keys, &path);
        let start = self.places.len();
        let mut placed = [None; 16];
        for nibble in (0..16_u8).filter(|nibble| !path.is_empty() || self.scope.has(*nibble)) {
            let at = path.child(nibble).ok_or(NodeError::Path).map_err(invalid(path))?;
            let keys = keys_below(&self.keys, &keys, &at);
            let child = &children[usize::from(nibble)];
            if !keys.is_empty() || child.is_some_and(|child| self.must_know(&path, &child)) {
                placed[usize::from(nibble)] = Some(self.places.len());
                self.places.push(Place { path: at, keys, content: Content::Empty });
            }
        }
        let own = self.bytes.len()..self.bytes.len() + bytes.len();
        self.bytes.extend_from_slice(bytes);
        let places = start..self.places.len();
        if let Content::Branch { open, .. } = &mut self.places[place].content {
            *open = Some(self.branches.len());
        }
        self.branches.push(ReadBranch { path, bytes: own, places, sibling: None });
        // Neighbouring children whose rows are read share one range of keys.
        let mut extends_range = false;
        for (child, place) in children.iter().zip(placed) {
            let Some(child) = child else { continue };
            let asks = match place {
                Some(place) => self.place_child(place, child)?,
                None => false,
            };
            if let (true, Some(place)) = (asks, place) {
                match extends_range {
                    true => self.ask_more_rows(place),
                    false => self.ask_rows(place),
                }
            }
            extends_range = asks;
        }
        Ok(())
    }

    /// Whether a child must be known although no write is below it.
    fn must_know(&self, path: &Path, child: &Child) -> bool {
        match child {
            // The reference of the child is not stored.
            Child::Small { reference: None, .. } => true,
            // The join of shards may leave this child as the only one.
            Child::Small { .. } | Child::Node(_) => path.is_empty() && self.scope != Scope::Whole,
            Child::Stored { .. } => false,
        }
    }

    fn ask_rows(&mut self, place: usize) {
        let path = &self.places[place].path;
        self.reads.ranges.push(RowRange { first: path.first_key(), last: path.last_key() });
    }

    /// Extends the last range of rows up to this place's last row.
    fn ask_more_rows(&mut self, place: usize) {
        match self.reads.ranges.last_mut() {
            Some(range) => range.last = self.places[place].path.last_key(),
            None => self.ask_rows(place),
        }
    }

    /// Asks for the child at `at` of a branch. No write touches that child.
    pub(crate) fn ask_sibling(&mut self, branch: usize, at: Path) -> Result<(), Error> {
        let nibble = at.nibble(at.len() - 1);
        let Some(child) = self.children(branch)?[usize::from(nibble)] else { return Ok(()) };
        let place = self.places.len();
        self.places.push(Place { path: at, keys: 0..0, content: Content::Empty });
        self.branches[branch].sibling = Some(place);
        if self.place_child(place, &child)? {
            self.ask_rows(place);
        }
        Ok(())
    }

    pub(crate) fn children(&self, branch: usize) -> Result<Children, Error> {
        let ReadBranch { path, bytes, .. } = &self.branches[branch];
        let children = node::read_branch(self.format, &self.bytes[bytes.clone()], path.len());
        children.map_err(invalid(*path))
    }
}

/// The error of a stored node at a path.
fn invalid(path: Path) -> impl FnOnce(NodeError) -> Error {
    move |source| Error::InvalidNode { path, source }
}
