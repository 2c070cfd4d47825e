//! Digest of a store's rows, which tells whether a built state has the rows of its recipe. It does
//! not depend on the order of reading, or on the split over threads.

use alloy_primitives::B256;
use xxhash_rust::xxh3::{Xxh3, xxh3_128_with_seed};

use crate::layout::{ACCOUNT_VALUE_BYTES, Table};

/// Maximum length in bytes of a row that is hashed in one piece.
const PIECE_BYTES: usize = 64 + ACCOUNT_VALUE_BYTES;

/// Digest of a multiset of rows: their number, and the sum mod 2^128 of XXH3-128(key ‖ value). The
/// table and the key's length give the seed of the hash.
///
/// Two sets of rows that differ by corruption, loss, repetition or exchange have equal digests with
/// a probability of about 2^-128. The digest proves nothing against an adversary: XXH3 is no
/// cryptographic hash, and sums can be forged. Parts can be digested on any thread and in any
/// order, and merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContentDigest {
    row_count: u64,
    sum: u128,
}

impl ContentDigest {
    /// Adds one row of `table`.
    #[inline]
    pub fn add(&mut self, table: Table, key: &[u8], value: &[u8]) {
        let seed = table.digest_seed(key.len());
        let len = key.len() + value.len();
        let hash = if len <= PIECE_BYTES {
            let mut row = [0; PIECE_BYTES];
            row[..key.len()].copy_from_slice(key);
            row[key.len()..len].copy_from_slice(value);
            xxh3_128_with_seed(&row[..len], seed)
        } else {
            let mut hasher = Xxh3::with_seed(seed);
            hasher.update(key);
            hasher.update(value);
            hasher.digest128()
        };
        self.row_count += 1;
        self.sum = self.sum.wrapping_add(hash);
    }

    /// Adds all rows of another digest.
    pub fn merge(&mut self, other: &Self) {
        self.row_count += other.row_count;
        self.sum = self.sum.wrapping_add(other.sum);
    }

    /// Number of rows.
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// BLAKE3 of the number of rows and the sum, both little-endian.
    pub fn finish(&self) -> B256 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.row_count.to_le_bytes());
        hasher.update(&self.sum.to_le_bytes());
        B256::from(*hasher.finalize().as_bytes())
    }
}

impl Table {
    /// Seed of a row's hash, from the table and the key's length. So the digest changes when a byte
    /// moves between key and value, or a row between tables.
    fn digest_seed(self, key_bytes: usize) -> u64 {
        let table = match self {
            Self::Accounts => 1,
            Self::Slots => 2,
            Self::Codes => 3,
        };
        (table << 32) | key_bytes as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row<'a> = (Table, &'a [u8], &'a [u8]);

    fn of(rows: &[Row<'_>]) -> ContentDigest {
        let mut digest = ContentDigest::default();
        for (table, key, value) in rows {
            digest.add(*table, key, value);
        }
        digest
    }

    #[test]
    fn order_and_cut_do_not_matter() {
        let a: Row<'_> = (Table::Slots, &[1; 64], &[2; 32]);
        let b: Row<'_> = (Table::Codes, &[3; 32], &[4; 24_576]);
        assert_eq!(of(&[a, b]), of(&[b, a]));
        let mut merged = of(&[b]);
        merged.merge(&of(&[a]));
        assert_eq!(merged.finish(), of(&[a, b]).finish());
        assert_eq!(merged.row_count(), 2);
    }

    #[test]
    fn every_way_to_differ_shows() {
        let rows: [&[Row<'_>]; 8] = [
            &[],
            &[(Table::Slots, &[1; 64], &[2; 32])],
            &[(Table::Accounts, &[1; 64], &[2; 32])],
            &[(Table::Slots, &[1; 63], &[2; 32])],
            &[(Table::Slots, &[1; 64], &[2; 32]), (Table::Slots, &[1; 64], &[2; 32])],
            &[(Table::Slots, &[1; 32], &[1; 32])],
            &[(Table::Slots, &[1; 31], &[1; 33])],
            &[(Table::Slots, &[1; 64], &[3; 32])],
        ];
        let digests: std::collections::HashSet<_> = rows.iter().map(|r| of(r).finish()).collect();
        assert_eq!(digests.len(), rows.len());
    }
}
