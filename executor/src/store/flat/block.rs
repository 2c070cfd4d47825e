//! Blocks of 4 KiB with rows of one size, in the order of their keys. Each block but the last is
//! full. Blocks of the nodes of tries (`nodes.rs`) have the same header.
//!
//! ```text
//! checksum 8 ‖ row count 2 ‖ zeros 6 ‖ rows (key ‖ value) ‖ zeros
//! ```
//! The numbers above are sizes in bytes. Checksum and count are little-endian. The checksum covers
//! the whole block, with zeros in the place of the checksum. Its seed is made of the table and the
//! block's number, so a block that was read from a wrong position is detected, too.

use std::ops::Range;

use workload::{Layout, Table, layout::ACCOUNT_VALUE_BYTES};

pub(super) use crate::device::{BLOCK_BYTES, Block};

/// Number of bytes of a block's header, which is before the rows.
pub(super) const HEADER_BYTES: usize = 16;

/// Format of a table's rows in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowFormat {
    pub(super) key_bytes: usize,
    value_bytes: usize,
    /// Seed of the checksums.
    seed: u64,
}

impl RowFormat {
    /// Returns the format of the rows of `table`, which must have rows of one size.
    pub(super) fn of(table: Table, layout: Layout) -> Self {
        let account_bytes = match layout {
            Layout::Hashed => 32,
            Layout::Plain => 20,
        };
        match table {
            Table::Slots => Self { key_bytes: layout.slot_key_bytes(), value_bytes: 32, seed: 2 },
            Table::Accounts => {
                Self { key_bytes: account_bytes, value_bytes: ACCOUNT_VALUE_BYTES, seed: 1 }
            }
            Table::Codes => unreachable!("codes are of many sizes"),
        }
    }

    const fn row_bytes(self) -> usize {
        self.key_bytes + self.value_bytes
    }

    /// Number of rows of a full block.
    pub(super) const fn rows_per_block(self) -> usize {
        (BLOCK_BYTES - HEADER_BYTES) / self.row_bytes()
    }

    fn row(self, index: usize) -> Range<usize> {
        let start = HEADER_BYTES + index * self.row_bytes();
        start..start + self.row_bytes()
    }

    /// Puts a row at `index` of an unfinished block.
    pub(super) fn put(self, block: &mut Block, index: usize, key: &[u8], value: &[u8]) {
        let (to_key, to_value) = block.0[self.row(index)].split_at_mut(self.key_bytes);
        to_key.copy_from_slice(key);
        to_value.copy_from_slice(value);
    }

    /// Writes the header of block `number` with `row_count` rows.
    pub(super) fn seal(self, block: &mut Block, number: u64, row_count: usize) {
        block.0[8..10].copy_from_slice(&(row_count as u16).to_le_bytes());
        let sum = self.checksum(block, number);
        block.0[..8].copy_from_slice(&sum.to_le_bytes());
    }

    /// Returns the rows of `block`, which was read as block `number`; `None` if it is damaged.
    pub(super) fn rows(self, block: &Block, number: u64) -> Option<Rows<'_>> {
        let mut sum = [0; 8];
        sum.copy_from_slice(&block.0[..8]);
        let count = usize::from(u16::from_le_bytes([block.0[8], block.0[9]]));
        let is_sound = u64::from_le_bytes(sum) == self.checksum(block, number)
            && (1..=self.rows_per_block()).contains(&count);
        is_sound.then_some(Rows { row_format: self, block, count })
    }

    fn checksum(self, block: &Block, number: u64) -> u64 {
        checksum(block, (self.seed << 56) ^ number)
    }
}

/// Checksum by four lanes of multiplications by odd numbers. A change within one aligned word of
/// eight bytes is always detected. A larger change is missed about once in 2^64. The checksum is no
/// defence against an adversary.
fn checksum(block: &Block, seed: u64) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut lanes = [seed, !seed, seed.rotate_left(17), seed.rotate_left(41)];
    // The first word of the block is the checksum, which counts as zeros.
    let mut keep = 0;
    for words in block.0.chunks_exact(32) {
        for (lane, word) in lanes.iter_mut().zip(words.chunks_exact(8)) {
            let word = word.iter().rev().fold(0, |all, byte| (all << 8) | u64::from(*byte));
            *lane = (*lane ^ (word & keep)).wrapping_mul(ODD).rotate_left(29);
            keep = u64::MAX;
        }
    }
    lanes.iter().fold(0, |all: u64, lane| (all ^ lane).wrapping_mul(ODD).rotate_left(31))
}

/// Seed of the checksums of blocks of nodes.
const NODE_SEED: u64 = 3 << 56;

/// Writes the header of block `number` of the nodes of tries, with `count` nodes.
pub(super) fn seal_nodes(block: &mut Block, number: u64, count: u16) {
    block.0[8..10].copy_from_slice(&count.to_le_bytes());
    let sum = checksum(block, NODE_SEED ^ number);
    block.0[..8].copy_from_slice(&sum.to_le_bytes());
}

/// Returns the number of nodes in `block`, which was read as block `number`, and their bytes.
/// `None` if the block is damaged.
pub(super) fn sealed_nodes(block: &Block, number: u64) -> Option<(u16, &[u8])> {
    let (header, nodes) = block.0.split_first_chunk::<HEADER_BYTES>()?;
    let (sum, rest) = header.split_first_chunk::<8>()?;
    let is_sound = u64::from_le_bytes(*sum) == checksum(block, NODE_SEED ^ number);
    is_sound.then(|| (u16::from_le_bytes([rest[0], rest[1]]), nodes))
}

/// Rows of an undamaged block.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    row_format: RowFormat,
    block: &'a Block,
    count: usize,
}

impl<'a> Rows<'a> {
    /// Key and value at `index`.
    fn at(&self, index: usize) -> (&'a [u8], &'a [u8]) {
        self.block.0[self.row_format.row(index)].split_at(self.row_format.key_bytes)
    }

    pub(super) fn first_key(&self) -> &'a [u8] {
        self.at(0).0
    }

    /// Returns the value of `key`; `None` if the block does not have this key.
    pub(super) fn find(&self, key: &[u8]) -> Option<&'a [u8]> {
        let (mut from, mut to) = (0, self.count);
        while from < to {
            let middle = from.midpoint(to);
            let (found, value) = self.at(middle);
            match found.cmp(key) {
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Equal => return Some(value),
                std::cmp::Ordering::Greater => to = middle,
            }
        }
        None
    }

    /// All rows, in the order of their keys.
    pub(super) fn iter(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        (0..self.count).map(move |index| self.at(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(row_format: RowFormat) -> Block {
        let mut block = Block::ZERO;
        for index in 0..row_format.rows_per_block() {
            let key = vec![index as u8 * 2; row_format.key_bytes];
            row_format.put(&mut block, index, &key, &vec![index as u8; row_format.value_bytes]);
        }
        row_format.seal(&mut block, 7, row_format.rows_per_block());
        block
    }

    #[test]
    fn every_row_of_a_full_block_is_found_and_no_other() {
        for table in [Table::Accounts, Table::Slots] {
            for layout in [Layout::Hashed, Layout::Plain] {
                let row_format = RowFormat::of(table, layout);
                assert!(row_format.rows_per_block() >= 39);
                let block = full(row_format);
                let rows = row_format.rows(&block, 7).unwrap();
                for key in 0..2 * row_format.rows_per_block() as u8 {
                    let found = rows.find(&vec![key; row_format.key_bytes]);
                    let value = vec![key / 2; row_format.value_bytes];
                    assert_eq!(found, (key % 2 == 0).then_some(value.as_slice()));
                }
                assert_eq!(rows.iter().count(), row_format.rows_per_block());
            }
        }
    }

    #[test]
    fn every_changed_bit_and_another_place_are_noticed() {
        let row_format = RowFormat::of(Table::Slots, Layout::Hashed);
        let mut block = full(row_format);
        assert!(row_format.rows(&block, 8).is_none(), "another place");
        assert!(RowFormat::of(Table::Accounts, Layout::Hashed).rows(&block, 7).is_none());
        for bit in 0..BLOCK_BYTES * 8 {
            block.0[bit / 8] ^= 1 << (bit % 8);
            assert!(row_format.rows(&block, 7).is_none(), "bit {bit}");
            block.0[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(row_format.rows(&block, 7).is_some());
        seal_nodes(&mut block, 7, 300);
        assert_eq!(sealed_nodes(&block, 7).map(|(count, _)| count), Some(300));
        assert!(sealed_nodes(&block, 8).is_none() && row_format.rows(&block, 7).is_none());
    }
}
