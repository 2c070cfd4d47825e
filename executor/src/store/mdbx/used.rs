//! Hashes the used pages of an MDBX file, for the manifest and its check. Used pages are all pages
//! of the tables' trees, and the pages of large values. The hash leaves out free pages and the tree
//! that lists free pages, since samples write to both.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

use alloy_primitives::B256;

use super::{
    base::META_BYTES,
    branches::{Index, tables_of},
    environment::PAGE_BYTES,
    page::{self, LARGE, LEAF, LeafKind, Page},
};

/// Maximal number of pages that one call reads.
const RUN_PAGES: usize = 256;

/// Returns the BLAKE3 hash of the used pages of the file at `path`, in the order of their numbers.
///
/// # Errors
/// The breach of the format, or the read that failed.
pub(super) fn hash(path: &Path) -> io::Result<B256> {
    let file = File::open(path)?;
    let mut metas = vec![0; META_BYTES];
    file.read_exact_at(&mut metas, 0)?;
    let pages = used_pages(&file, &metas)?;
    let mut hasher = blake3::Hasher::new();
    let mut bytes = vec![0; RUN_PAGES * PAGE_BYTES];
    for run in pages.chunk_by(|a, b| a + 1 == *b).flat_map(|run| run.chunks(RUN_PAGES)) {
        let bytes = &mut bytes[..run.len() * PAGE_BYTES];
        file.read_exact_at(bytes, u64::from(run[0]) * PAGE_BYTES as u64)?;
        hasher.update(bytes);
    }
    Ok(B256::from(*hasher.finalize().as_bytes()))
}

/// Returns the numbers of the used pages, ascending. `metas` are the file's first pages.
fn used_pages(file: &File, metas: &[u8]) -> io::Result<Vec<u32>> {
    let mut index = Index::default();
    let mut used = Vec::new();
    for list in index.add_branches(file, page::main_tree(metas)?)? {
        used.push(list);
        for (_, table) in tables_of(file, list)? {
            for leaf in index.add_branches(file, table.tree)? {
                used.push(leaf);
                add_below(file, leaf, table.leaves, &mut index, &mut used)?;
            }
        }
    }
    used.append(&mut index.pages);
    used.sort_unstable();
    Ok(used)
}

/// Adds the pages that the nodes of a leaf refer to: trees of accounts, and large values.
fn add_below(
    file: &File,
    leaf: u32,
    kind: LeafKind,
    index: &mut Index,
    used: &mut Vec<u32>,
) -> io::Result<()> {
    let page = Page::read(file, leaf, LEAF)?;
    for node in page.nodes() {
        let node = node?;
        match kind {
            LeafKind::Rows => {
                if let Some(first) = page.value_page_at(node)? {
                    let count = Page::read(file, first, LARGE)?.run_length()?;
                    used.extend(first..first.saturating_add(count));
                }
            }
            LeafKind::Duplicates => {
                if let Some(account) = page.tree_at(node)? {
                    used.extend(index.add_branches(file, account.tree)?);
                }
            }
        }
    }
    Ok(())
}
