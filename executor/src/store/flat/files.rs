//! The files of a state, open for reads past the page cache or through it, with their indices in
//! memory. [`Files`] belongs to the store; samples, readers and scans borrow it.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    ops::Range,
    path::Path,
};

use alloy_primitives::{B256, map::HashMap};
use trie::{Format, RowRange};
use workload::{Layout, Table};

use super::{
    block::{Block, RowFormat, Rows},
    dual_file::DualFile,
    index::Index,
    nodes::NodeFile,
};
use crate::{state::StateError, store::sealed};

/// Number of bytes of an entry of the index of codes: hash, offset and length.
const CODE_ENTRY_BYTES: usize = 48;

/// Extension of the files of rows and codes.
pub(super) const EXTENSION: &str = "flat";

/// Name of the file with the rows, or codes, of `table`.
pub(super) const fn rows_name(table: Table) -> &'static str {
    match table {
        Table::Accounts => "accounts.flat",
        Table::Slots => "storage.flat",
        Table::Codes => "code.flat",
    }
}

/// Name of the file with the index of `table`.
pub(super) const fn index_name(table: Table) -> &'static str {
    match table {
        Table::Accounts => "accounts.index",
        Table::Slots => "storage.index",
        Table::Codes => "code.index",
    }
}

/// The file of a table whose rows have one size, with its index.
#[derive(Debug)]
pub(super) struct RowFile {
    pub(super) table: Table,
    pub(super) file: DualFile,
    pub(super) index: Index,
    pub(super) row_format: RowFormat,
}

impl RowFile {
    pub(super) fn open(dir: &Path, table: Table, layout: Layout) -> io::Result<Self> {
        let row_format = RowFormat::of(table, layout);
        let index = Index::read(&dir.join(index_name(table)), table, row_format)?;
        Ok(Self { table, file: DualFile::open(dir.join(rows_name(table)))?, index, row_format })
    }

    /// Returns the rows of `block`, which was read as block `number`.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if the block is damaged.
    pub(super) fn rows<'a>(&self, block: &'a Block, number: u64) -> io::Result<Rows<'a>> {
        self.row_format.rows(block, number).ok_or_else(|| {
            let name = self.file.path().file_name().unwrap_or_default().display();
            let reason = format!("block {number} of {name} does not have its checksum");
            io::Error::new(io::ErrorKind::InvalidData, reason)
        })
    }

    /// Returns the numbers of the blocks that may hold rows of a range. `account` is the number of
    /// the slots' account, or 0 for rows of accounts.
    pub(super) fn blocks_in(&self, account: usize, range: &RowRange) -> Range<usize> {
        let first = self.index.locate(account, range.first.as_slice(), 0);
        let last = self.index.locate(account, range.last.as_slice(), 0);
        // `locate` finds no block for a key before all rows. A range that ends before all rows has
        // no block. A range that only begins before all rows has the first block.
        first.map_or(0, |found| found.first)..last.map_or(0, |found| found.last + 1)
    }

    /// Reads the whole file, and passes each row to `sink`. `unreadable` converts the error of a
    /// failed read or of a damaged block.
    pub(super) fn each_row(
        &self,
        unreadable: impl Fn(io::Error) -> StateError,
        sink: &mut BlockRowSink<'_>,
    ) -> Result<(), StateError> {
        let mut reader = open_to_scan(self.file.path()).map_err(&unreadable)?;
        let mut block = Box::new(Block::ZERO);
        for number in 0..self.index.block_count() {
            reader.read_exact(&mut block.0).map_err(&unreadable)?;
            let rows = self.rows(&block, number as u64).map_err(&unreadable)?;
            rows.iter().try_for_each(|(key, value)| sink(number, key, value))?;
        }
        match reader.read(&mut [0]).map_err(&unreadable)? {
            0 => Ok(()),
            _ => {
                let reason = format!("{} has more blocks than its index", rows_name(self.table));
                Err(unreadable(io::Error::new(io::ErrorKind::InvalidData, reason)))
            }
        }
    }
}

/// A function that takes a row: the number of its block, its key and its value.
type BlockRowSink<'s> = dyn FnMut(usize, &[u8], &[u8]) -> Result<(), StateError> + 's;

const SCAN_BUFFER_BYTES: usize = 1 << 20;

/// Opens a file to read it once, from its beginning to its end.
pub(super) fn open_to_scan(path: &Path) -> io::Result<BufReader<File>> {
    Ok(BufReader::with_capacity(SCAN_BUFFER_BYTES, File::open(path)?))
}

/// Position of a code in the file of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodePosition {
    /// Offset in the file, a multiple of `BLOCK_BYTES`.
    pub(super) offset: u64,
    /// Number of bytes of the code.
    pub(super) byte_count: usize,
}

/// The files of a state.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) accounts: RowFile,
    pub(super) slots: RowFile,
    pub(super) codes: DualFile,
    pub(super) code_positions: HashMap<B256, CodePosition>,
    /// Nodes of the tries, for a state with tries.
    pub(super) nodes: Option<NodeFile>,
}

impl Files {
    /// Opens the files of a state in `dir`, with tries in `format`.
    pub(super) fn open(dir: &Path, layout: Layout, format: Option<Format>) -> io::Result<Self> {
        Ok(Self {
            nodes: format.map(|format| NodeFile::open(dir, format)).transpose()?,
            accounts: RowFile::open(dir, Table::Accounts, layout)?,
            slots: RowFile::open(dir, Table::Slots, layout)?,
            codes: DualFile::open(dir.join(rows_name(Table::Codes)))?,
            code_positions: read_positions(&dir.join(index_name(Table::Codes)))?,
        })
    }

    /// Whether reads of cold samples go past the page cache.
    pub(super) fn is_direct(&self) -> bool {
        let nodes = self.nodes.as_ref().is_none_or(|nodes| nodes.file.is_direct());
        let rows = self.accounts.file.is_direct() && self.slots.file.is_direct();
        nodes && rows && self.codes.is_direct()
    }

    /// All files that hold rows or codes.
    pub(super) fn paths(&self) -> [&Path; 3] {
        [self.accounts.file.path(), self.slots.file.path(), self.codes.path()]
    }

    /// All files that hold rows, codes or nodes.
    pub(super) fn all_paths(&self) -> Vec<&Path> {
        let nodes = self.nodes.iter().map(|nodes| nodes.file.path());
        self.paths().into_iter().chain(nodes).collect()
    }

    /// Returns the memory of the indices, in bytes.
    pub(super) fn index_byte_count(&self) -> usize {
        let codes = self.code_positions.len() * CODE_ENTRY_BYTES;
        let nodes = self.nodes.as_ref().map_or(0, |nodes| nodes.index.byte_count());
        self.accounts.index.byte_count() + self.slots.index.byte_count() + codes + nodes
    }
}

/// Writes the positions of the codes.
pub(super) fn write_positions(path: &Path, positions: &[(B256, CodePosition)]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(positions.len() * CODE_ENTRY_BYTES);
    for (hash, position) in positions {
        bytes.extend(hash.as_slice());
        bytes.extend(position.offset.to_le_bytes());
        bytes.extend((position.byte_count as u64).to_le_bytes());
    }
    sealed::write(path, bytes)
}

fn read_positions(path: &Path) -> io::Result<HashMap<B256, CodePosition>> {
    let bytes = sealed::read(path)?;
    let (entries, remainder) = bytes.as_chunks::<CODE_ENTRY_BYTES>();
    if !remainder.is_empty() {
        return Err(sealed::damaged(path));
    }
    let positions = entries.iter().map(|entry| {
        let [offset, byte_count] = [32, 40].map(|at| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&entry[at..at + 8]);
            u64::from_le_bytes(bytes)
        });
        let byte_count = usize::try_from(byte_count).map_err(io::Error::other)?;
        Ok((B256::from_slice(&entry[..32]), CodePosition { offset, byte_count }))
    });
    positions.collect()
}

#[cfg(test)]
mod tests {
    use variant::CacheMode;

    use super::*;

    #[test]
    fn the_blocks_of_a_range_are_those_with_its_rows() {
        let row_format = RowFormat::of(Table::Accounts, Layout::Hashed);
        let per_block = row_format.rows_per_block();
        let mut index = Index::new(Table::Accounts, row_format);
        let keys: Vec<B256> = (0..3 * per_block).map(|i| key(2 * i + 10)).collect();
        for (number, key) in keys.iter().enumerate() {
            index.add(key.as_slice(), number / per_block);
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows");
        std::fs::write(&path, Block::ZERO.0).unwrap();
        let file = DualFile::open(path).unwrap();
        assert!(file.for_cache(CacheMode::Warm).metadata().unwrap().is_file());
        let file = RowFile { table: Table::Accounts, file, index, row_format };
        let blocks =
            |first, last| file.blocks_in(0, &RowRange { first: key(first), last: key(last) });
        assert!(blocks(0, 9).is_empty());
        assert_eq!(blocks(0, 10), 0..1);
        assert_eq!(blocks(11, 13), 0..1);
        let second = 2 * per_block + 10;
        assert_eq!(blocks(second - 1, second - 1), 0..1);
        // The index has only the beginning of a key, so the block before may end with the same one.
        assert_eq!(blocks(second, second), 0..2);
        assert_eq!(blocks(12, 100_000), 0..3);
        assert_eq!(blocks(second + 1, 100_000), 1..3);
    }

    /// Makes a key. Keys of different numbers differ in the bytes that an index holds.
    fn key(number: usize) -> B256 {
        let mut key = B256::ZERO;
        key[..8].copy_from_slice(&(number as u64).to_be_bytes());
        key
    }
}
