//! Positions of a state's rows in the state's files, which each store finds for its own format.
//! With them, `replay.rs` reads the blocks that a store would read, without the store. A store
//! counts the pages of these blocks that are in the page cache.

use std::path::PathBuf;

use alloy_primitives::{Address, B256, U256};
use workload::{Layout, Table, layout::RowKey};

/// A row to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestedRow {
    /// An account.
    Account(Address),
    /// A slot of an account.
    Slot(Address, U256),
    /// A code, by its hash.
    Code(B256),
}

/// Makes keys of accounts, and keeps the last key. Consecutive rows are often slots of one account,
/// so that its key is made once.
#[derive(Debug, Default)]
pub(crate) struct AccountKeys(Option<(Address, RowKey)>);

impl AccountKeys {
    /// Returns the key of an account. `layout` must be the same in all calls.
    #[inline]
    pub(crate) fn key(&mut self, layout: Layout, address: &Address) -> RowKey {
        match self.0 {
            Some((last, key)) if last == *address => key,
            _ => {
                let key = layout.account_key(address);
                self.0 = Some((*address, key));
                key
            }
        }
    }
}

/// Returns the table of each row, and the row's key in that table under `layout`.
pub(crate) fn keys(rows: &[RequestedRow], layout: Layout) -> Vec<(Table, RowKey)> {
    let mut accounts = AccountKeys::default();
    let keys = rows.iter().map(|row| match row {
        RequestedRow::Account(address) => (Table::Accounts, accounts.key(layout, address)),
        RequestedRow::Slot(address, slot) => {
            (Table::Slots, layout.slot_key(&accounts.key(layout, address), slot))
        }
        // A hash is its own key under every layout.
        RequestedRow::Code(hash) => (Table::Codes, Layout::Hashed.account_key_of_part(&hash.0)),
    });
    keys.collect()
}

/// A block of a file, as the store reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockPlace {
    /// Index of the file in [`Places::files`].
    pub file: u32,
    /// Offset in the file.
    pub offset: u64,
    /// Number of bytes that the store reads for the block.
    pub byte_count: u32,
    /// Number of blocks that the store counts for these bytes.
    pub block_count: u32,
}

/// Blocks that a store reads for given rows.
///
/// Most stores read one block per row. MDBX reads more if an account's slots have a tree of their
/// own.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Files that contain the blocks.
    pub files: Vec<PathBuf>,
    /// Block that is read for each row. `None` if no block is read, because an index or a filter
    /// shows that the row is absent.
    pub blocks: Vec<Option<BlockPlace>>,
    /// Blocks that are read before a row's own block, each with the row's index. Sorted by row,
    /// then in the order of the reads.
    pub before: Vec<(usize, BlockPlace)>,
}

/// Counts of the pages that contain rows or nodes of tries, and of those among them that are in the
/// page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowPages {
    /// Number of distinct pages with rows.
    pub page_count: u64,
    /// Number of pages with rows that were in the page cache.
    pub resident_count: u64,
    /// Number of distinct pages where nodes of tries are, or would be if the node existed.
    pub node_page_count: u64,
    /// Number of pages with nodes that were in the page cache.
    pub resident_node_count: u64,
}
