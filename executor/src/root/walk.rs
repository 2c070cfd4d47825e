//! Computes two roots of a stored trie by `alloy_trie::HashBuilder`, for the check of roots:
//! without a batch's changes, and with them. The builders share no code with plans, updates and
//! folds. One walk goes from the top to the changed leaves. For any other subtree it takes the hash
//! that the subtree's parent has.
//!
//! The root without the changes equals the state's root only if every node and row on the way is
//! right.

use std::{fmt::Display, ops::Range};

use alloy_primitives::B256;
use alloy_trie::{HashBuilder, Nibbles};
use trie::{Format, NodeKey, Part, Path, Reference, RowRange, Rows, StoredNode};

use crate::{
    disagreement::Disagreement,
    error::StoreError,
    leaves,
    tries::{TrieId, TrieReader},
};

/// The roots of a trie without its changes, and with them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Roots {
    pub(super) before: B256,
    pub(super) after: B256,
}

/// A check that found a fault, or could not be made.
pub(super) enum CheckError {
    Store(StoreError),
    Fault(Box<Disagreement>),
}

impl From<StoreError> for CheckError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Returns the name of a trie for messages.
pub(super) fn name(trie: &TrieId) -> String {
    match trie {
        TrieId::Accounts => "the trie of accounts".to_owned(),
        TrieId::Slots(account) => format!("the trie of the slots of {account}"),
    }
}

/// Changed leaves by ascending key; an empty value deletes the leaf.
pub(super) type Leaves = Vec<(B256, Vec<u8>)>;

/// A stored trie and its changes.
pub(super) struct Walk<'a> {
    pub(super) reader: &'a mut dyn TrieReader,
    pub(super) format: Format,
    pub(super) trie: TrieId,
    pub(super) leaves: &'a Leaves,
    before: HashBuilder,
    after: HashBuilder,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        reader: &'a mut dyn TrieReader,
        format: Format,
        trie: TrieId,
        leaves: &'a Leaves,
    ) -> Self {
        let (before, after) = Default::default();
        Self { reader, format, trie, leaves, before, after }
    }

    /// Returns the roots. There must be at least one changed leaf.
    pub(super) fn roots(mut self) -> Result<Roots, CheckError> {
        let all = 0..self.leaves.len();
        let top = NodeKey::top(self.format);
        match self.read_node(&top)? {
            None => self.add_changes(all),
            Some(bytes) => self.visit_node(&top, &bytes, all)?,
        }
        Ok(Roots { before: self.before.root(), after: self.after.root() })
    }

    fn read_node(&mut self, key: &NodeKey) -> Result<Option<Vec<u8>>, StoreError> {
        let mut found = None;
        let sink = &mut |_, node: Option<&[u8]>| found = node.map(<[u8]>::to_vec);
        self.reader.nodes(&[(self.trie, *key)], sink)?;
        Ok(found)
    }

    /// Returns the bytes of a node that its parent refers to. With [`Format::All`], the parent
    /// itself contains a node that is shorter than 32 bytes.
    fn child_bytes(&mut self, path: &Path, reference: &Reference) -> Result<Vec<u8>, CheckError> {
        if let (Format::All, Some(inline)) = (self.format, reference.inline()) {
            return Ok(inline.to_vec());
        }
        let key = NodeKey::Node(*path);
        self.read_node(&key)?.ok_or_else(|| self.invalid(&key, "it is missing"))
    }

    fn decode_parts(&self, key: &NodeKey, bytes: &[u8]) -> Result<(Vec<Part>, Kind), CheckError> {
        let node = StoredNode::decode(self.format, key, bytes);
        let node = node.map_err(|error| self.invalid(key, error))?;
        let kind = if node.child_count().is_some() { Kind::Branch } else { Kind::Other };
        let parts = node.parts(&key.path()).map_err(|error| self.invalid(key, error))?;
        Ok((parts, kind))
    }

    /// Makes the fault of a node that is missing or invalid.
    fn invalid(&self, key: &NodeKey, reason: impl Display) -> CheckError {
        let text = format!("{}, the node at {}: {reason}", name(&self.trie), key.path());
        CheckError::Fault(Box::new(Disagreement::Tries(text)))
    }

    /// Continues the walk at a node, with the changes below its path.
    fn visit_node(
        &mut self,
        key: &NodeKey,
        bytes: &[u8],
        changes: Range<usize>,
    ) -> Result<(), CheckError> {
        let (parts, kind) = self.decode_parts(key, bytes)?;
        match kind {
            Kind::Branch => self.visit_branch(&key.path(), &parts, changes),
            Kind::Other => parts
                .iter()
                .try_for_each(|part| self.visit_part(part, changes.clone(), Siblings::Stay)),
        }
    }

    fn visit_branch(
        &mut self,
        path: &Path,
        parts: &[Part],
        changes: Range<usize>,
    ) -> Result<(), CheckError> {
        // A single child that remains moves up, unless it is a branch. So the kinds of children must
        // be known if all children but one may lose all leaves.
        let kept = parts.iter().filter(|part| {
            let child = first_key(part).prefix(path.len() + 1);
            let changes = self.changes_below(&child, changes.clone());
            self.leaves[changes].iter().all(|(_, value)| !value.is_empty())
        });
        let siblings = if kept.count() < 2 { Siblings::MayMove } else { Siblings::Stay };
        let mut parts = parts.iter().peekable();
        for nibble in 0..16 {
            let Some(child) = path.child(nibble) else { continue };
            let changes = self.changes_below(&child, changes.clone());
            match parts.next_if(|part| first_key(part).starts_with(&child)) {
                Some(part) => self.visit_part(part, changes, siblings)?,
                None => self.add_changes(changes),
            }
        }
        Ok(())
    }

    /// Continues the walk with a part of a node, and with the changes below the part's path.
    fn visit_part(
        &mut self,
        part: &Part,
        changes: Range<usize>,
        siblings: Siblings,
    ) -> Result<(), CheckError> {
        let stays = changes.is_empty() && siblings == Siblings::Stay;
        match part {
            Part::Row { key, value } => {
                let mut rows = Rows::default();
                rows.push(*key, value);
                self.add_rows(&rows, changes);
            }
            Part::Rows { path, reference } => match reference {
                Some(reference) if stays && reference.inline().is_none() => {
                    self.add_untouched(path, reference);
                }
                _ => {
                    let range = RowRange { first: path.first_key(), last: path.last_key() };
                    let mut rows = Rows::default();
                    leaves::add_rows(self.reader, self.format, &self.trie, &range, &mut rows)?;
                    self.add_rows(&rows, changes);
                }
            },
            Part::Branch { path, reference } => {
                let inside = self.changes_below(path, changes.clone());
                self.add_changes(changes.start..inside.start);
                // A branch stays a branch with the same hash wherever it moves.
                if inside.is_empty() && reference.inline().is_none() {
                    self.add_untouched(path, reference);
                } else {
                    let bytes = self.child_bytes(path, reference)?;
                    self.visit_node(&NodeKey::Node(*path), &bytes, inside.clone())?;
                }
                self.add_changes(inside.end..changes.end);
            }
            Part::Node { path, reference } => {
                if stays && reference.inline().is_none() {
                    self.add_untouched(path, reference);
                    return Ok(());
                }
                let (key, bytes) = (NodeKey::Node(*path), self.child_bytes(path, reference)?);
                let (parts, kind) = self.decode_parts(&key, &bytes)?;
                match kind {
                    Kind::Branch if changes.is_empty() && reference.inline().is_none() => {
                        self.add_untouched(path, reference);
                    }
                    Kind::Branch => self.visit_branch(path, &parts, changes)?,
                    Kind::Other => {
                        for part in &parts {
                            self.visit_part(part, changes.clone(), siblings)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds a subtree to both tries by its hash.
    fn add_untouched(&mut self, path: &Path, reference: &Reference) {
        let path = Nibbles::from_nibbles(path.nibbles().collect::<Vec<_>>());
        for builder in [&mut self.before, &mut self.after] {
            builder.add_branch(path, reference.root_hash(), false);
        }
    }

    /// Adds changed leaves to the trie with the changes.
    fn add_changes(&mut self, changes: Range<usize>) {
        let leaves = self.leaves[changes].iter();
        leaves.for_each(|(key, value)| add_leaf(&mut self.after, key, value));
    }

    /// Adds stored rows to both tries. In the trie with the changes, changed leaves replace rows,
    /// or come between them.
    fn add_rows(&mut self, rows: &Rows, changes: Range<usize>) {
        let mut changed = changes.peekable();
        for (key, value) in rows.iter() {
            while let Some(index) = changed.next_if(|index| self.leaves[*index].0 < *key) {
                self.add_changes(index..index + 1);
            }
            add_leaf(&mut self.before, key, value);
            match changed.next_if(|index| self.leaves[*index].0 == *key) {
                Some(index) => self.add_changes(index..index + 1),
                None => add_leaf(&mut self.after, key, value),
            }
        }
        changed.for_each(|index| self.add_changes(index..index + 1));
    }

    /// Returns the range of the changes below a path.
    fn changes_below(&self, path: &Path, changes: Range<usize>) -> Range<usize> {
        let (first, last) = (path.first_key(), path.last_key());
        let part = &self.leaves[changes.clone()];
        let start = part.partition_point(|(key, _)| *key < first);
        let end = part.partition_point(|(key, _)| *key <= last);
        changes.start + start..changes.start + end
    }
}

/// Adds a leaf, unless its value is empty.
fn add_leaf(builder: &mut HashBuilder, key: &B256, value: &[u8]) {
    if !value.is_empty() {
        builder.add_leaf(Nibbles::unpack(key), value);
    }
}

/// Kind of a stored node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Branch,
    Other,
}

/// Whether the untouched children of a branch keep their paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Siblings {
    Stay,
    MayMove,
}

/// Returns a path that begins with the path of a part.
fn first_key(part: &Part) -> Path {
    match part {
        Part::Row { key, .. } => Path::of_key(key),
        Part::Rows { path, .. } | Part::Branch { path, .. } | Part::Node { path, .. } => *path,
    }
}
