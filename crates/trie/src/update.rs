//! The second step of an update: computes a stored trie after writes, from a plan and the values. A
//! [`Builder`] gets the changed rows, and references in the place of unchanged subtrees, so the
//! builder alone splits and joins branches. Also joins the shards of a trie.

use std::ops::Range;

use alloy_primitives::B256;

use crate::{
    builder::{Builder, Built},
    error::Error,
    floating::Floating,
    fold::Work,
    format::{Child, Format, Weight},
    path::Path,
    plan::Plan,
    rows::{Found, Reading, Reads, Rows, Source, keys_below},
    sink::{NodeKey, Nodes},
    tree::{Content, Scope, Tree},
};

/// Writes with their values, over the part of a trie that they touch.
#[derive(Debug)]
pub struct Update {
    tree: Tree,
    writes: Rows,
    /// Indices of the writes that delete, ascending.
    deletes: Vec<usize>,
}

/// Result of an update: the root, and the changes of stored nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folded {
    /// Root hash of the trie.
    pub root: B256,
    /// Nodes to store, in the order of their keys. Some may be stored already.
    pub nodes: Nodes,
    /// Nodes to delete from the store.
    pub deleted: Vec<NodeKey>,
    /// Amount of hashing that the update took.
    pub work: Work,
}

/// Result of a shard's update, to be joined with the results of the other shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    format: Format,
    nibbles: Range<u8>,
    /// The subtree below each of the nibbles.
    subtrees: Vec<Floating>,
    nodes: Nodes,
    replaced: Vec<NodeKey>,
    work: Work,
}

impl Update {
    /// Combines a plan, whose reads are done, with the values of its writes. An empty value deletes
    /// the row.
    ///
    /// # Errors
    /// The writes have other keys than the plan, the plan still needs reads, or a stored node is
    /// invalid.
    pub fn new(plan: Plan, writes: Rows) -> Result<Self, Error> {
        let tree = plan.into_tree();
        if !tree.reads().is_empty() {
            return Err(Error::Answer { rule: "a plan is read before its values are written" });
        }
        if tree.keys != writes.keys() {
            return Err(Error::Answer { rule: "the writes have the keys of their plan" });
        }
        let deletes = (0..writes.len()).filter(|index| writes.value(*index).is_empty()).collect();
        let mut update = Self { tree, writes, deletes };
        update.ask_siblings()?;
        Ok(update)
    }

    /// The new root of a whole trie, and the changes of its stored nodes.
    ///
    /// # Errors
    /// Reads are still to be done, nodes and rows contradict each other, or the plan is one of a
    /// shard.
    pub fn fold(self) -> Result<Folded, Error> {
        if self.tree.scope != Scope::Whole {
            return Err(Error::Shards { rule: "a shard is folded by fold_shard" });
        }
        let mut builder = Builder::new(self.tree.format, Nodes::default());
        self.push_place(0, None, &mut builder)?;
        Ok(folded(builder.finish()?, self.tree.replaced))
    }

    /// The subtrees of a shard, to be joined with the subtrees of the other shards.
    ///
    /// # Errors
    /// As [`Update::fold`]; when the plan is one of a whole trie.
    pub fn fold_shard(self) -> Result<Shard, Error> {
        let Scope::Shard(nibbles) = self.tree.scope.clone() else {
            return Err(Error::Shards { rule: "a whole trie is folded by fold" });
        };
        let format = self.tree.format;
        let mut subtrees = Vec::new();
        let mut nodes = Nodes::default();
        let mut work = Work::default();
        for nibble in nibbles.clone() {
            let mut builder = Builder::below(Path::of_nibble(nibble), format, nodes);
            self.push_place(0, Some(nibble), &mut builder)?;
            let built = builder.finish_floating()?;
            subtrees.push(built.root);
            nodes = built.sink;
            work = work.with(built.work);
        }
        Ok(Shard { format, nibbles, subtrees, nodes, replaced: self.tree.replaced, work })
    }

    fn is_deleted(&self, index: usize) -> bool {
        self.writes.value(index).is_empty()
    }

    fn deletes_any(&self, keys: &Range<usize>) -> bool {
        let first = self.deletes.partition_point(|index| *index < keys.start);
        self.deletes.get(first).is_some_and(|index| *index < keys.end)
    }

    /// Asks for each child that will be the only one of its branch and is no stored branch. Such a
    /// child moves up, which changes its topmost node, so its reference is not enough.
    fn ask_siblings(&mut self) -> Result<(), Error> {
        let mut siblings = Vec::new();
        self.keeps_rows(0, &mut siblings)?;
        siblings.sort_unstable_by_key(|(_, path)| *path);
        siblings.into_iter().try_for_each(|(branch, at)| self.tree.ask_sibling(branch, at))
    }

    /// Returns whether a place has rows after the writes. Adds children that must be read to
    /// `siblings`.
    fn keeps_rows(&self, place: usize, siblings: &mut Vec<(usize, Path)>) -> Result<bool, Error> {
        let place = &self.tree.places[place];
        let mut keys = place.keys.clone();
        match &place.content {
            Content::Empty => Ok(keys.any(|index| !self.is_deleted(index))),
            Content::Opaque { .. } => Ok(true),
            Content::Rows { .. } => {
                let mut has_row = false;
                self.merge(place.keys.clone(), &place.content, None, &mut |_, _| {
                    has_row = true;
                    Ok(())
                })?;
                Ok(has_row)
            }
            // No child of the branch is deleted.
            Content::Branch { .. } if !self.deletes_any(&keys) => Ok(true),
            Content::Branch { path, open, .. } => {
                let under = keys_below(&self.tree.keys, &keys, path);
                let beside = keys.any(|index| !under.contains(&index) && !self.is_deleted(index));
                let keeps_branch = match open {
                    Some(branch) => self.keeps_rows_in_branch(*branch, siblings)?,
                    None => true,
                };
                Ok(beside || keeps_branch)
            }
        }
    }

    fn keeps_rows_in_branch(
        &self,
        branch: usize,
        siblings: &mut Vec<(usize, Path)>,
    ) -> Result<bool, Error> {
        let path = self.tree.branches[branch].path;
        let children = self.tree.children(branch)?;
        let mut places = self.tree.branches[branch].places.clone().peekable();
        let mut kept_count = 0;
        let mut unread_child = None;
        for (nibble, child) in (0..16_u8).zip(&children) {
            let place =
                places.next_if(|place| self.tree.places[*place].path.nibble(path.len()) == nibble);
            if let Some(place) = place {
                kept_count += usize::from(self.keeps_rows(place, siblings)?);
            } else if let Some(child) = child {
                kept_count += 1;
                unread_child =
                    path.child(nibble).filter(|_| !matches!(child, Child::Stored { .. }));
            }
        }
        // The root of a shard also has children of other shards. All children of this shard are
        // known.
        let is_shared = path.is_empty() && self.tree.scope != Scope::Whole;
        if let (1, Some(at), false) = (kept_count, unread_child, is_shared) {
            siblings.push((branch, at));
        }
        Ok(kept_count > 0)
    }

    /// Pushes a place to the builder, or only its rows whose keys begin with `nibble`.
    fn push_place(
        &self,
        place: usize,
        nibble: Option<u8>,
        builder: &mut Builder<Nodes>,
    ) -> Result<(), Error> {
        let place = &self.tree.places[place];
        let keys = narrow(&self.tree.keys, &place.keys, nibble);
        match &place.content {
            Content::Empty | Content::Rows { .. } => {
                self.push_rows(keys, &place.content, nibble, builder)
            }
            Content::Opaque { reference, rows } => {
                builder.push_opaque(&place.path, reference, *rows)
            }
            Content::Branch { path, reference, open } => {
                let under = keys_below(&self.tree.keys, &keys, path);
                self.push_rows(keys.start..under.start, &Content::Empty, None, builder)?;
                let is_inside = path.is_empty() || nibble.is_none_or(|own| own == path.nibble(0));
                match open {
                    Some(branch) if is_inside => {
                        let nibble = nibble.filter(|_| path.is_empty());
                        self.push_children(*branch, nibble, builder)?;
                    }
                    None if is_inside => builder.push_branch(path, reference, Weight::Stored)?,
                    _ => {}
                }
                self.push_rows(under.end..keys.end, &Content::Empty, None, builder)
            }
        }
    }

    fn push_rows(
        &self,
        keys: Range<usize>,
        content: &Content,
        nibble: Option<u8>,
        builder: &mut Builder<Nodes>,
    ) -> Result<(), Error> {
        self.merge(keys, content, nibble, &mut |key, value| {
            builder.push_row(&Path::of_key(key), value)
        })
    }

    fn push_children(
        &self,
        branch: usize,
        only: Option<u8>,
        builder: &mut Builder<Nodes>,
    ) -> Result<(), Error> {
        let children = self.tree.children(branch)?;
        let branch = &self.tree.branches[branch];
        let depth = branch.path.len();
        let mut places = branch.places.clone().peekable();
        let sibling = branch.sibling.map(|place| (place, self.tree.places[place].path));
        for (nibble, child) in (0..16_u8).zip(&children) {
            let place =
                places.next_if(|place| self.tree.places[*place].path.nibble(depth) == nibble);
            if only.is_some_and(|only| only != nibble) {
                continue;
            }
            let read = sibling.filter(|(_, path)| path.nibble(depth) == nibble);
            if let Some(place) = place.or(read.map(|(place, _)| place)) {
                self.push_place(place, None, builder)?;
            } else if let Some((child, at)) = child.as_ref().zip(branch.path.child(nibble)) {
                push_child(&at, child, builder)?;
            }
        }
        Ok(())
    }

    /// The rows of a place after the writes at `keys`, in order.
    fn merge(
        &self,
        keys: Range<usize>,
        content: &Content,
        nibble: Option<u8>,
        each: &mut impl FnMut(&B256, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut keys = keys.peekable();
        if let Content::Rows { rows_index, range } = content {
            let rows = &self.tree.rows[*rows_index];
            for row in narrow(rows.keys(), range, nibble) {
                let key = &rows.keys()[row];
                while let Some(write) = keys.next_if(|write| self.tree.keys[*write] < *key) {
                    self.write(write, each)?;
                }
                match keys.next_if(|write| self.tree.keys[*write] == *key) {
                    Some(write) => self.write(write, each)?,
                    None => each(key, rows.value(row))?,
                }
            }
        }
        keys.try_for_each(|write| self.write(write, each))
    }

    fn write(
        &self,
        index: usize,
        each: &mut impl FnMut(&B256, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.is_deleted(index) {
            return Ok(());
        }
        each(&self.tree.keys[index], self.writes.value(index))
    }
}

/// Reads the subtrees whose siblings are all deleted, before folding. They move up, and were known
/// by their reference alone. All of them are read at once.
impl Reading for Update {
    fn reads(&self) -> &Reads {
        self.tree.reads()
    }

    fn supply(&mut self, found: Found) -> Result<(), Error> {
        self.tree.supply(found)
    }

    fn supply_nodes(&mut self, found: &Found) -> Result<(), Error> {
        self.tree.supply_nodes(found)
    }
}

/// Range of the keys that begin with a nibble, among the sorted keys at `range`.
fn narrow(keys: &[B256], range: &Range<usize>, nibble: Option<u8>) -> Range<usize> {
    nibble.map_or_else(|| range.clone(), |nibble| keys_below(keys, range, &Path::of_nibble(nibble)))
}

fn push_child(at: &Path, child: &Child, builder: &mut Builder<Nodes>) -> Result<(), Error> {
    match child {
        Child::Small { rows, reference: Some(reference) } => {
            builder.push_opaque(at, reference, *rows)
        }
        Child::Small { reference: None, .. } => Err(Error::Unread { path: *at }),
        Child::Stored { extension, reference } => {
            let path = at.join(extension).ok_or(Error::Unread { path: *at })?;
            builder.push_branch(&path, reference, Weight::Stored)
        }
        Child::Node(reference) => builder.push_opaque(at, reference, u8::MAX),
    }
}

fn folded(built: Built<B256, Nodes>, replaced: Vec<NodeKey>) -> Folded {
    let Built { root, sink: mut nodes, work } = built;
    nodes.sort();
    let mut deleted = replaced;
    deleted.sort_unstable();
    deleted.dedup();
    // Both lists ascend.
    let mut kept = nodes.iter().map(|(key, _)| key).peekable();
    deleted.retain(|key| {
        while kept.next_if(|kept| *kept < key).is_some() {}
        kept.peek() != Some(&key)
    });
    drop(kept);
    Folded { root, nodes, deleted, work }
}

/// Joins all shards of a trie, in any order.
///
/// # Errors
/// When the shards have different formats, or their nibbles are not all sixteen, each once.
pub fn join(mut shards: Vec<Shard>) -> Result<Folded, Error> {
    shards.sort_unstable_by_key(|shard| shard.nibbles.start);
    let Some(format) = shards.first().map(|shard| shard.format) else {
        return Err(Error::Shards { rule: "there is one at least" });
    };
    let mut nodes = Nodes::default();
    let mut end = 0;
    for shard in &shards {
        if shard.format != format {
            return Err(Error::Shards { rule: "all have one format" });
        }
        if shard.nibbles.start != end {
            return Err(Error::Shards { rule: "every first nibble is in one shard" });
        }
        end = shard.nibbles.end;
        nodes.append(&shard.nodes);
    }
    if end != 16 {
        return Err(Error::Shards { rule: "every first nibble is in one shard" });
    }
    let mut builder = Builder::new(format, nodes);
    for subtree in shards.iter().flat_map(|shard| &shard.subtrees) {
        builder.push_floating(subtree)?;
    }
    let mut built = builder.finish()?;
    built.work = shards.iter().map(|shard| shard.work).fold(built.work, Work::with);
    Ok(folded(built, shards.into_iter().flat_map(|shard| shard.replaced).collect()))
}

/// Updates the trie of a source by writes in one call. An empty value deletes the row.
///
/// # Errors
/// The keys do not ascend, the source fails, or its nodes and rows make no trie.
pub fn update(format: Format, writes: Rows, source: &impl Source) -> Result<Folded, Error> {
    let mut plan = Plan::new(format, writes.keys().to_vec())?;
    plan.read(source)?;
    let mut update = Update::new(plan, writes)?;
    update.read(source)?;
    update.fold()
}
