//! Builds a trie from its rows in the order of their keys. Branches on the path of the last key
//! stay open, since they may still get children. All other nodes wait in a [`Fold`], to be hashed
//! once there are enough of them to fill the SIMD lanes.
//!
//! A subtree can also be added by its reference, without its rows. So `update.rs` builds the trie
//! after writes from changed rows and unchanged subtrees, and joins shards.

mod emit;
mod open;

use alloy_primitives::B256;
use emit::Emitter;
use open::OpenBranch;

use crate::{
    error::Error,
    floating::{Floating, Subtree},
    fold::{Fold, NodeIndex, Rlp, Work},
    format::{Format, Weight},
    path::Path,
    reference::Reference,
    rlp::Leaf,
    sink::NodeSink,
    value::EMPTY_ROOT,
};

/// The item that was added last. It is held until the next item determines the depth of its parent.
#[derive(Clone, Copy, Debug)]
enum Item {
    None,
    /// A row, whose value is in [`Builder::value`].
    Row,
    /// A branch at the path. If its parent is more than one nibble above, an extension goes between.
    Branch(NodeIndex, Weight),
    /// A subtree with its number of rows, known by its reference alone. Its parent must be one nibble
    /// above, since any other distance would change the subtree's topmost node, which is unknown.
    Opaque(NodeIndex, u8),
}

/// A trie under construction: at most 64 open branches, and a few thousand nodes that wait to be
/// hashed.
#[derive(Debug)]
pub struct Builder<S> {
    /// The path that all keys begin with.
    prefix: Path,
    /// Key or path of the held item.
    last: Path,
    item: Item,
    value: Vec<u8>,
    /// Open branches by ascending depth.
    open: Vec<OpenBranch>,
    fold: Fold,
    emitter: Emitter,
    sink: S,
}

/// A finished trie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built<T, S> {
    /// Root hash of the trie, or the floating subtree.
    pub root: T,
    /// The sink with the stored nodes.
    pub sink: S,
    /// Amount of hashing that the trie took.
    pub work: Work,
}

impl Builder<()> {
    /// Makes a builder that computes only the root and stores no nodes.
    pub fn root_only() -> Self {
        Self::start(Path::ROOT, None, ())
    }
}

impl<S: NodeSink> Builder<S> {
    /// Makes a builder that computes the root, and passes the nodes that `format` stores to `sink`.
    pub fn new(format: Format, sink: S) -> Self {
        Self::start(Path::ROOT, Some(format), sink)
    }

    /// Makes a builder of the part of a trie below `prefix`, to be joined with other parts.
    pub fn below(prefix: Path, format: Format, sink: S) -> Self {
        Self::start(prefix, Some(format), sink)
    }

    fn start(prefix: Path, format: Option<Format>, sink: S) -> Self {
        let rlp = if format == Some(Format::All) { Rlp::Kept } else { Rlp::Forgotten };
        Self {
            prefix,
            last: Path::ROOT,
            item: Item::None,
            value: Vec::new(),
            open: Vec::new(),
            fold: Fold::new(rlp),
            emitter: Emitter::new(format),
            sink,
        }
    }

    /// Adds a row; `value` is the value of its leaf, for a slot or an account its RLP.
    ///
    /// # Errors
    /// The key must be above the last key and not begin with it, must begin with the prefix, and
    /// must have at most 32 bytes. The value must not be empty. The sink may fail.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let path = Path::of_bytes(key).ok_or(Error::LongKey { bytes: key.len() })?;
        self.push_row(&path, value)
    }

    pub(crate) fn push_row(&mut self, key: &Path, value: &[u8]) -> Result<(), Error> {
        if value.is_empty() {
            return Err(Error::EmptyValue { key: *key });
        }
        self.advance(key)?;
        self.value.clear();
        self.value.extend_from_slice(value);
        self.item = Item::Row;
        Ok(())
    }

    /// Adds a subtree after all rows and subtrees so far.
    ///
    /// # Errors
    /// As [`Builder::push`].
    pub fn push_floating(&mut self, subtree: &Floating) -> Result<(), Error> {
        match &subtree.0 {
            Subtree::Empty => Ok(()),
            Subtree::Row { key, value } => self.push_row(key, value),
            Subtree::Branch { path, reference, weight } => {
                self.push_branch(path, reference, *weight)
            }
        }
    }

    /// Adds a branch by its reference and its weight.
    pub(crate) fn push_branch(
        &mut self,
        path: &Path,
        reference: &Reference,
        weight: Weight,
    ) -> Result<(), Error> {
        self.advance(path)?;
        self.item = Item::Branch(self.fold.known(*reference), weight);
        Ok(())
    }

    /// Adds a subtree that is known by its reference alone and is no stored branch.
    pub(crate) fn push_opaque(
        &mut self,
        path: &Path,
        reference: &Reference,
        rows: u8,
    ) -> Result<(), Error> {
        self.advance(path)?;
        self.item = Item::Opaque(self.fold.known(*reference), rows);
        Ok(())
    }

    /// Puts the held item into its branch, now that the next path is known, and makes `path` the
    /// last path.
    fn advance(&mut self, path: &Path) -> Result<(), Error> {
        if !path.starts_with(&self.prefix) {
            let range = format!("the rows below {}", self.prefix);
            return Err(Error::Outside { key: *path, range });
        }
        if !matches!(self.item, Item::None) {
            let common = self.last.common(path);
            ascending(&self.last, path, common)?;
            self.close_to(common)?;
            if self.fold.is_full() {
                self.hash()?;
            }
        }
        self.last = *path;
        Ok(())
    }

    /// Closes all branches deeper than `depth`, where the next key differs from the last key.
    fn close_to(&mut self, depth: usize) -> Result<(), Error> {
        let mut len = self.last.len();
        loop {
            match self.open.last().map(OpenBranch::depth) {
                Some(parent) if parent > depth => {
                    self.attach(parent, len)?;
                    self.close_branch();
                    len = parent;
                }
                Some(parent) if parent == depth => return self.attach(depth, len),
                _ => {
                    self.open.push(OpenBranch::new(depth));
                    return self.attach(depth, len);
                }
            }
        }
    }

    /// Puts the item into the deepest open branch, which is at depth `parent`. The item's path is
    /// the first `len` nibbles of the last path.
    fn attach(&mut self, parent: usize, len: usize) -> Result<(), Error> {
        let (node, weight) = self.item_node(parent + 1, len)?;
        let nibble = self.last.nibble(parent);
        if let Some(open) = self.open.last_mut() {
            open.put(nibble, node, weight);
            if let Item::Branch(branch, Weight::Stored) = self.item
                && len > parent + 1
            {
                open.put_extension(nibble, self.last.prefix(len).suffix(parent + 1), branch);
            }
        }
        Ok(())
    }

    /// Returns the node of the held item and its weight, given the depth at which the node begins
    /// and the length of the item's path. The nibbles between the two depths are in a leaf or an
    /// extension.
    fn item_node(&mut self, depth: usize, len: usize) -> Result<(NodeIndex, Weight), Error> {
        match self.item {
            Item::Row => {
                let leaf = Leaf { path: &self.last, from: depth, value: &self.value };
                Ok((self.fold.leaf(&leaf), Weight::Small(1)))
            }
            Item::Branch(node, weight) if len > depth => {
                let path = self.last.prefix(len);
                Ok((self.fold.extension(path, depth, node), weight))
            }
            Item::Branch(node, weight) => Ok((node, weight)),
            Item::Opaque(node, rows) if len == depth => Ok((node, Weight::Small(rows))),
            Item::Opaque(..) | Item::None => Err(Error::Unread { path: self.last.prefix(len) }),
        }
    }

    /// Closes the deepest open branch and makes it the item.
    fn close_branch(&mut self) {
        if let Some(open) = self.open.pop() {
            let path = self.last.prefix(open.depth());
            let node = self.fold.branch(path, open.mask(), open.nodes());
            let weight = self.emitter.close(path, open);
            self.item = Item::Branch(node, weight);
        }
    }

    /// Hashes all waiting nodes, and hands stored nodes to the sink.
    fn hash(&mut self) -> Result<(), Error> {
        self.fold.hash();
        self.emitter.emit(&mut self.fold, &mut self.sink)?;
        // Open branches and the held item stay. The fold gets their references as new nodes.
        let item = match &mut self.item {
            Item::Branch(node, _) | Item::Opaque(node, _) => Some(node),
            Item::Row | Item::None => None,
        };
        let mut nodes: Vec<&mut NodeIndex> =
            self.open.iter_mut().flat_map(OpenBranch::live_nodes).chain(item).collect();
        let references: Vec<Reference> =
            nodes.iter().map(|node| *self.fold.reference(**node)).collect();
        self.fold.reset();
        for (node, reference) in nodes.iter_mut().zip(references) {
            **node = self.fold.known(reference);
        }
        Ok(())
    }

    /// Closes all branches. Returns the length of the path of the topmost item.
    fn close_all(&mut self) -> Result<usize, Error> {
        let mut len = self.last.len();
        while let Some(parent) = self.open.last().map(OpenBranch::depth) {
            self.attach(parent, len)?;
            self.close_branch();
            len = parent;
        }
        Ok(len)
    }

    /// Finishes the trie and returns its root hash.
    ///
    /// # Errors
    /// When the sink fails.
    pub fn finish(mut self) -> Result<Built<B256, S>, Error> {
        let len = self.close_all()?;
        if matches!(self.item, Item::None) {
            return Ok(Built { root: EMPTY_ROOT, sink: self.sink, work: self.fold.work() });
        }
        let (root, weight) = self.item_node(0, len)?;
        self.fold.hash();
        self.emitter.emit(&mut self.fold, &mut self.sink)?;
        let below = match self.item {
            Item::Branch(branch, Weight::Stored) => Some((self.last.prefix(len), branch)),
            _ => None,
        };
        let root = *self.fold.reference(root);
        let below = below.map(|(path, branch)| (path, *self.fold.reference(branch)));
        self.emitter.emit_top(&root, weight, below, &mut self.sink)?;
        // A root is hashed even if its RLP is shorter than 32 bytes.
        let short = Work { hash_count: 1, permutation_count: 1 };
        let work = if root.inline().is_some() { short } else { Work::default() };
        Ok(Built { root: root.root_hash(), sink: self.sink, work: self.fold.work().with(work) })
    }

    /// Finishes a subtree that can be joined with other subtrees.
    ///
    /// # Errors
    /// When the sink fails.
    pub fn finish_floating(mut self) -> Result<Built<Floating, S>, Error> {
        let len = self.close_all()?;
        self.fold.hash();
        self.emitter.emit(&mut self.fold, &mut self.sink)?;
        let path = self.last.prefix(len);
        let root = match self.item {
            Item::None => Subtree::Empty,
            Item::Row => Subtree::Row { key: self.last, value: self.value },
            Item::Branch(node, weight) => {
                Subtree::Branch { path, reference: *self.fold.reference(node), weight }
            }
            Item::Opaque(..) => return Err(Error::Unread { path }),
        };
        Ok(Built { root: Floating(root), sink: self.sink, work: self.fold.work() })
    }
}

/// Checks that `next` comes after `last`, and that neither path begins with the other.
fn ascending(last: &Path, next: &Path, common: usize) -> Result<(), Error> {
    match (common == last.len(), common == next.len()) {
        (true, true) => Err(Error::Duplicate { key: *next }),
        (true, false) => Err(Error::Prefix { short: *last, long: *next }),
        (false, true) => Err(Error::Prefix { short: *next, long: *last }),
        (false, false) if last.nibble(common) > next.nibble(common) => {
            Err(Error::Unsorted { previous: *last, key: *next })
        }
        (false, false) => Ok(()),
    }
}
