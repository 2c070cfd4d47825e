//! The first step of an update: requests the stored nodes and rows that writes to a trie need,
//! level by level of the trie. A plan needs only the keys of the writes, so it can be made and read
//! while a block still runs. `Update` then takes the values.

use std::ops::Range;

use alloy_primitives::B256;

use crate::{
    error::Error,
    format::Format,
    path::Path,
    rows::{Found, Reading, Reads},
    sink::NodeKey,
    tree::{Scope, Tree},
};

/// Keys that will be written to one trie, and the nodes and rows that these writes need.
#[derive(Debug)]
pub struct Plan {
    tree: Tree,
}

/// Number of a trie's shards. The sixteen first nibbles of keys are divided among the shards as
/// evenly as possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardCount(u8);

impl ShardCount {
    /// `count` shards; `None` outside of 1 to 16.
    pub const fn new(count: u8) -> Option<Self> {
        if count == 0 || count > 16 { None } else { Some(Self(count)) }
    }

    /// Number of shards.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The first nibbles that each shard's keys may have, in order.
    pub fn nibbles(self) -> impl Iterator<Item = Range<u8>> {
        (0..self.0).map(move |shard| self.first_nibble(shard)..self.first_nibble(shard + 1))
    }

    fn first_nibble(self, shard: u8) -> u8 {
        (u16::from(shard) * 16 / u16::from(self.0)) as u8
    }
}

impl Plan {
    /// The plan of a whole trie.
    ///
    /// # Errors
    /// When the keys do not ascend.
    pub fn new(format: Format, keys: Vec<B256>) -> Result<Self, Error> {
        Self::start(format, Scope::Whole, keys)
    }

    /// The plan of the shard whose keys begin with one of these nibbles. Even without keys, it
    /// reads the trie's root, so that all shards can be joined.
    ///
    /// # Errors
    /// The keys do not ascend, or a key begins with another nibble.
    pub fn shard(format: Format, nibbles: Range<u8>, keys: Vec<B256>) -> Result<Self, Error> {
        if let Some(key) = keys.iter().find(|key| !nibbles.contains(&(key[0] >> 4))) {
            let range = format!("the shard of first nibbles {nibbles:?}");
            return Err(Error::Outside { key: Path::of_key(key), range });
        }
        Self::start(format, Scope::Shard(nibbles), keys)
    }

    fn start(format: Format, scope: Scope, keys: Vec<B256>) -> Result<Self, Error> {
        for pair in keys.array_windows() {
            let [previous, key] = pair.each_ref().map(Path::of_key);
            if previous == key {
                return Err(Error::Duplicate { key });
            }
            if previous > key {
                return Err(Error::Unsorted { previous, key });
            }
        }
        Ok(Self { tree: Tree::new(format, scope, keys) })
    }

    pub(crate) fn into_tree(self) -> Tree {
        self.tree
    }
}

impl Reading for Plan {
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

/// Keys of all nodes that can be above these sorted keys, at paths of `depth` nibbles or fewer.
/// With them, a store can read all levels of the trie in one call. Many of the paths have no node,
/// because they are deeper than the trie's leaves.
pub fn guess_nodes(format: Format, keys: &[B256], depth: usize) -> Vec<NodeKey> {
    let mut paths: Vec<Path> = Vec::new();
    for key in keys {
        let key = Path::of_key(key);
        let first_new_len = paths.last().map_or(0, |last| key.common(last) + 1);
        paths.extend((first_new_len..=depth).map(|len| key.prefix(len)));
    }
    let top = (format != Format::All).then_some(NodeKey::Top);
    paths.into_iter().map(NodeKey::Node).chain(top).collect()
}
