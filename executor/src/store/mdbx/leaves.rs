//! Finds the leaf pages that a read of a row visits, for `base.rs`. Reads index pages only, so it
//! brings no row into memory.

use std::{fs::File, io};

use super::{
    account_trees::AccountTrees,
    branches,
    page::{BRANCH, HEIGHT_MAX, LeafKind, Page, TableTree, Tree, wrong},
    slots,
};

/// Maximal number of leaf pages of a read. The first is the table's leaf with the root of the
/// account's tree, unless the leaf has only roots and so is an index page. The second is the leaf
/// of that tree where the search for the row ends. The third is the next leaf, if it begins with
/// the row (see [`Levels::leaf_of`]).
const LEAVES_MAX: usize = 3;

/// Numbers of the leaf pages that a read of a row visits, in their order, without index pages. The
/// last page holds the row if the row exists. Empty if the index pages show that the row does not
/// exist, or the table is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LeafPath([Option<u32>; LEAVES_MAX]);

impl LeafPath {
    fn push(&mut self, number: u32) {
        if let Some(free) = self.0.iter_mut().find(|leaf| leaf.is_none()) {
            *free = Some(number);
        }
    }

    pub(super) fn pages(&self) -> impl DoubleEndedIterator<Item = u32> {
        self.0.iter().flatten().copied()
    }
}

/// Finds the leaf pages of rows. Reads each branch page once if the searched rows are in the order
/// of their keys.
#[derive(Debug)]
pub(super) struct Leaves<'f> {
    file: &'f File,
    /// Names and trees of the tables.
    tables: Vec<(Vec<u8>, TableTree)>,
    trees: &'f AccountTrees,
    /// Numbers of the index pages, ascending.
    index_pages: &'f [u32],
    /// Branch pages of the last table's tree.
    table_levels: Levels,
    /// Branch pages of the last account's tree.
    account_levels: Levels,
}

impl<'f> Leaves<'f> {
    /// Reads the list of tables of `file`, whose meta pages are `metas`. The numbers in
    /// `index_pages` ascend.
    ///
    /// # Errors
    /// The breach of the format, or the read that failed.
    pub(super) fn new(
        file: &'f File,
        metas: &[u8],
        index_pages: &'f [u32],
        trees: &'f AccountTrees,
    ) -> io::Result<Self> {
        let tables = branches::tables(file, metas)?;
        let (table_levels, account_levels) = (Levels::new(), Levels::new());
        Ok(Self { file, tables, trees, index_pages, table_levels, account_levels })
    }

    /// Finds the leaf pages for the row with `key` in the table `name`.
    ///
    /// # Errors
    /// The errors of [`Self::new`], or the table does not exist.
    pub(super) fn find(&mut self, name: &str, key: &[u8]) -> io::Result<LeafPath> {
        let table = self.tables.iter().find(|(table, _)| table == name.as_bytes());
        let (_, table) = table.ok_or_else(|| wrong(&format!("there is no table {name}")))?;
        let mut path = LeafPath::default();
        if table.tree.height == 0 {
            return Ok(path);
        }
        let (account, subkey) = match table.leaves {
            LeafKind::Rows => (key, None),
            LeafKind::Duplicates => {
                let (account, subkey) = slots::split(key);
                (account, Some(subkey))
            }
        };
        let account_tree = subkey.and_then(|subkey| Some((self.trees.find(account)?, subkey)));
        let Some((account_tree, subkey)) = account_tree else {
            let leaf = self.table_levels.leaf_of(self.file, table.tree, account)?.number;
            // A leaf with only roots is an index page. If the search for an account without a tree
            // ends there, the account has no slots.
            if self.index_pages.binary_search(&leaf).is_err() {
                path.push(leaf);
            }
            return Ok(path);
        };
        if let Some(leaf) = account_tree.mixed_leaf {
            path.push(leaf);
        }
        let found = self.account_levels.leaf_of(self.file, account_tree.tree, subkey)?;
        path.push(found.number);
        if let Some(first) = found.next_first_key {
            path.push(self.account_levels.leaf_of(self.file, account_tree.tree, &first)?.number);
        }
        Ok(path)
    }
}

/// Leaf where a search in a tree ends.
struct Leaf {
    number: u32,
    /// First key of the next leaf, if it begins with the searched key.
    next_first_key: Option<Vec<u8>>,
}

/// The last branch page that was read on each level of a tree.
#[derive(Debug)]
struct Levels(Vec<Option<Page>>);

impl Levels {
    fn new() -> Self {
        Self((0..HEIGHT_MAX).map(|_| None).collect())
    }

    /// Returns the leaf of `tree` where a search for `key` ends. MDBX searches a duplicate by its
    /// subkey, which sorts before the duplicate itself. So if the duplicate is the first of a leaf,
    /// the search ends on the leaf before. MDBX finds nothing there, and goes on to the next leaf.
    fn leaf_of(&mut self, file: &File, tree: Tree, key: &[u8]) -> io::Result<Leaf> {
        let mut leaf = Leaf { number: tree.root, next_first_key: None };
        for level in 1..usize::from(tree.height) {
            let known = &mut self.0[level];
            if known.as_ref().is_none_or(|page| page.number != leaf.number) {
                *known = Some(Page::read(file, leaf.number, BRANCH)?);
            }
            let page = known.as_ref().unwrap_or_else(|| unreachable!("it was just read"));
            let child = page.child_of(key)?;
            // A lower level has the closer bound.
            if let Some(next) = child.next_key {
                leaf.next_first_key = next.starts_with(key).then(|| next.to_vec());
            }
            leaf.number = child.number;
        }
        Ok(leaf)
    }
}
