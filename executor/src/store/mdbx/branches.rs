//! Finds the index pages of an MDBX file, by walking its trees from the roots, when a state is
//! built. MDBX has no call that lists them. A running client has its index pages in memory, so
//! `base.rs` loads them before a cold sample.
//!
//! Index pages are the branch pages of all tables and the page that lists the tables. A table of
//! sorted duplicates has two more kinds: branch pages of the accounts' trees, and leaves that hold
//! only roots of such trees. A leaf with both rows and roots is no index page: it would bring rows
//! into memory.

use std::{fs::File, io};

use super::{
    account_trees::{AccountTree, AccountTrees},
    page::{self, BRANCH, LEAF, LeafKind, Page, TableTree, Tree},
};

/// The index pages of a file.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Numbers of the index pages, ascending.
    pub(super) pages: Vec<u32>,
    /// Number of branch pages among `pages`, the branch pages of the accounts' trees included.
    pub(super) branch_count: u64,
    /// The accounts' own trees, if a table has sorted duplicates.
    pub(super) account_trees: Option<AccountTrees>,
}

/// Finds the index pages of `file`, whose meta pages are `metas`.
///
/// # Errors
/// The breach of the format, or the read that failed.
pub(super) fn find(file: &File, metas: &[u8]) -> io::Result<Index> {
    let mut index = Index::default();
    for list in index.add_branches(file, page::main_tree(metas)?)? {
        for (_, table) in tables_of(file, list)? {
            index.add_table(file, table)?;
        }
        index.pages.push(list);
    }
    index.pages.sort_unstable();
    Ok(index)
}

impl Index {
    fn add_table(&mut self, file: &File, table: TableTree) -> io::Result<()> {
        let leaves = self.add_branches(file, table.tree)?;
        if table.leaves == LeafKind::Rows {
            return Ok(());
        }
        let mut trees = Vec::new();
        for leaf in leaves {
            let page = Page::read(file, leaf, LEAF)?;
            let nodes = page.nodes().collect::<io::Result<Vec<_>>>()?;
            let leaf_trees = nodes.iter().map(|node| page.tree_at(*node));
            let leaf_trees = leaf_trees.collect::<io::Result<Vec<_>>>()?;
            let holds_rows = leaf_trees.iter().any(Option::is_none);
            for (node, tree) in nodes.iter().zip(leaf_trees) {
                let Some(TableTree { tree, .. }) = tree else { continue };
                self.add_branches(file, tree)?;
                let mixed_leaf = holds_rows.then_some(leaf);
                trees.push(AccountTree::new(page.key_at(*node)?, mixed_leaf, tree)?);
            }
            if !holds_rows {
                self.pages.push(leaf);
            }
        }
        self.account_trees = Some(AccountTrees::new(trees));
        Ok(())
    }

    /// Adds the branch pages of a tree. Returns the numbers of its leaves.
    pub(super) fn add_branches(&mut self, file: &File, tree: Tree) -> io::Result<Vec<u32>> {
        if tree.height == 0 {
            return Ok(Vec::new());
        }
        let mut level = vec![tree.root];
        for _ in 1..tree.height {
            let mut below = Vec::new();
            for number in &level {
                let page = Page::read(file, *number, BRANCH)?;
                for child in page.children() {
                    below.push(child?);
                }
            }
            self.branch_count += level.len() as u64;
            self.pages.append(&mut level);
            level = below;
        }
        Ok(level)
    }
}

/// Returns the names and trees of all tables of `file`, whose meta pages are `metas`.
///
/// # Errors
/// The errors of [`find`].
pub(super) fn tables(file: &File, metas: &[u8]) -> io::Result<Vec<(Vec<u8>, TableTree)>> {
    let lists = Index::default().add_branches(file, page::main_tree(metas)?)?;
    let mut tables = Vec::new();
    for list in lists {
        tables.append(&mut tables_of(file, list)?);
    }
    Ok(tables)
}

/// Returns the names and trees of the tables that page `list`, a leaf of the main tree, lists.
pub(super) fn tables_of(file: &File, list: u32) -> io::Result<Vec<(Vec<u8>, TableTree)>> {
    let page = Page::read(file, list, LEAF)?;
    let mut tables = Vec::new();
    for node in page.nodes() {
        let node = node?;
        if let Some(table) = page.tree_at(node)? {
            tables.push((page.key_at(node)?.to_vec(), table));
        }
    }
    Ok(tables)
}
