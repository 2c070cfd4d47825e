//! Blocks of rows by range.

use std::ops::Range;

use trie::RowRange;

use super::files::RowFile;

impl RowFile {
    /// The blocks that may hold rows of account number `account` (0 where accounts are the rows) whose
    /// keys end within `range`.
    pub(super) fn blocks_in(&self, account: usize, range: &RowRange) -> Range<usize> {
        let first = self.index.locate(account, range.first.as_slice(), 0);
        let last = self.index.locate(account, range.last.as_slice(), 0);
        // A range before all rows has no last block; one that begins there has the first.
        first.map_or(0, |found| found.first)..last.map_or(0, |found| found.last + 1)
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::B256;
    use variant::CacheMode;
    use workload::{Layout, Table};

    use super::*;
    use crate::store::flat::{
        block::{Block, Shape},
        index::{Begins, Index},
        two_ways::TwoWays,
    };

    #[test]
    fn the_blocks_of_a_range_are_those_with_its_rows() {
        let shape = Shape::of(Table::Accounts, Layout::Hashed);
        let per_block = shape.rows_per_block();
        let mut index = Index::new(Table::Accounts, shape);
        let keys: Vec<B256> = (0..3 * per_block).map(|i| key(2 * i + 10)).collect();
        for (place, key) in keys.iter().enumerate() {
            let begins = place.is_multiple_of(per_block);
            index.add(key.as_slice(), if begins { Begins::Block } else { Begins::Nothing });
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rows");
        std::fs::write(&path, Block::ZERO.0).unwrap();
        let file = TwoWays::open(path).unwrap();
        assert!(file.of(CacheMode::Warm).metadata().unwrap().is_file());
        let file = RowFile { table: Table::Accounts, file, index, shape };
        let blocks =
            |first, last| file.blocks_in(0, &RowRange { first: key(first), last: key(last) });
        assert!(blocks(0, 9).is_empty());
        assert_eq!(blocks(0, 10), 0..1);
        assert_eq!(blocks(11, 13), 0..1);
        let second = 2 * per_block + 10;
        assert_eq!(blocks(second - 1, second - 1), 0..1);
        // The key of a block's beginning may be that of the end of the one before, to the index.
        assert_eq!(blocks(second, second), 0..2);
        assert_eq!(blocks(12, 100_000), 0..3);
        assert_eq!(blocks(second + 1, 100_000), 1..3);
    }

    /// Keys that differ in the bytes that an index holds.
    fn key(number: usize) -> B256 {
        let mut key = B256::ZERO;
        key[..8].copy_from_slice(&(number as u64).to_be_bytes());
        key
    }
}
