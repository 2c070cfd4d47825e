//! The trees of accounts in a table of sorted duplicates. An account whose slots do not fit within
//! a leaf of the table has a tree of its own. The leaf then stores only the tree's root. The build
//! records all roots in a file. So `leaves.rs` finds the leaf pages of slots without a read of the
//! table's leaves. Such a read would bring the rows on these leaves into memory.

use std::io;

use super::page::{HEIGHT_MAX, Tree, wrong};

/// Number of bytes of an account's key, padded with zeros.
const KEY_BYTES: usize = 32;
/// Number of bytes of a tree's record: key, mixed leaf or 0, root, height.
const RECORD_BYTES: usize = KEY_BYTES + 4 + 4 + 2;

/// The tree of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AccountTree {
    key: [u8; KEY_BYTES],
    /// The table's leaf that stores the root, if that leaf also holds rows. `None` if the leaf
    /// holds only roots, and so is an index page.
    pub(super) mixed_leaf: Option<u32>,
    /// The tree.
    pub(super) tree: Tree,
}

impl AccountTree {
    /// Makes the record of the tree of the account with `key`.
    ///
    /// # Errors
    /// The key is longer than that of an account.
    pub(super) fn new(key: &[u8], mixed_leaf: Option<u32>, tree: Tree) -> io::Result<Self> {
        Ok(Self { key: padded(key).ok_or_else(|| wrong("a long key"))?, mixed_leaf, tree })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.key);
        // Page 0 is a meta page.
        out.extend(self.mixed_leaf.unwrap_or(0).to_le_bytes());
        out.extend(self.tree.root.to_le_bytes());
        out.extend(self.tree.height.to_le_bytes());
    }

    fn read(record: &[u8]) -> Option<Self> {
        let (key, rest) = record.split_first_chunk::<KEY_BYTES>()?;
        let (leaf, rest) = rest.split_first_chunk::<4>()?;
        let (root, rest) = rest.split_first_chunk::<4>()?;
        let height = u16::from_le_bytes(rest.try_into().ok()?);
        let leaf = u32::from_le_bytes(*leaf);
        let tree = Tree { root: u32::from_le_bytes(*root), height };
        let mixed_leaf = (leaf > 0).then_some(leaf);
        (height <= HEIGHT_MAX).then_some(Self { key: *key, mixed_leaf, tree })
    }
}

/// The trees of all accounts that have one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct AccountTrees(Vec<AccountTree>);

impl AccountTrees {
    /// Makes the list from `trees`, in any order.
    pub(super) fn new(mut trees: Vec<AccountTree>) -> Self {
        trees.sort_unstable_by_key(|tree| tree.key);
        Self(trees)
    }

    pub(super) const fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the height of the highest tree; 0 without trees.
    pub(super) fn height_max(&self) -> u16 {
        self.0.iter().map(|tree| tree.tree.height).max().unwrap_or(0)
    }

    /// Returns the tree of the account with `key`; `None` if the account has no tree of its own.
    pub(super) fn find(&self, key: &[u8]) -> Option<&AccountTree> {
        let key = padded(key)?;
        self.0.binary_search_by_key(&key, |tree| tree.key).ok().map(|index| &self.0[index])
    }

    /// Encodes the trees, one record each.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.0.len() * RECORD_BYTES);
        self.0.iter().for_each(|tree| tree.write(&mut out));
        out
    }

    /// Decodes the bytes of [`Self::to_bytes`]; `None` if they are invalid.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let records = bytes.chunks(RECORD_BYTES).map(AccountTree::read);
        records.collect::<Option<Vec<_>>>().map(Self)
    }
}

fn padded(key: &[u8]) -> Option<[u8; KEY_BYTES]> {
    let mut padded = [0; KEY_BYTES];
    padded.get_mut(..key.len())?.copy_from_slice(key);
    Some(padded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_found_by_key_and_survive_being_written() {
        let tree = |root| Tree { root, height: 3 };
        let trees = AccountTrees::new(vec![
            AccountTree::new(&[9; 20], Some(7), tree(11)).unwrap(),
            AccountTree::new(&[2; 20], None, tree(12)).unwrap(),
        ]);
        let leaf_and_root = |found: &AccountTree| (found.mixed_leaf, found.tree.root);
        assert_eq!(trees.find(&[9; 20]).map(leaf_and_root), Some((Some(7), 11)));
        assert_eq!(trees.find(&[2; 20]).map(leaf_and_root), Some((None, 12)));
        assert_eq!(trees.find(&[3; 20]), None);
        let bytes = trees.to_bytes();
        assert_eq!(AccountTrees::from_bytes(&bytes), Some(trees));
        assert_eq!(AccountTrees::from_bytes(&bytes[1..]), None);
        assert!(AccountTree::new(&[0; 33], None, tree(1)).is_err());
    }
}
