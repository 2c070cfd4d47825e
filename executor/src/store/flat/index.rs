//! Index of the blocks of rows, in memory: the lead of each block's first key, 16 bytes for each
//! block. The lead of an account is the beginning of its key. The lead of a slot is the account's
//! number (4 bytes) and the first 12 bytes of the slot's part of the key. The number counts only
//! accounts with slots. Each account with slots takes another 32 bytes.
//!
//! A reader asks the index for the blocks that may hold a key. Leads of hashed keys differ, so this
//! is one block. Only a lead that equals that of a block's first key has a second candidate: the
//! block before, which may end with this lead. If several first keys have this lead, all their
//! blocks are candidates.

use std::{io, path::Path};

use workload::Table;

use super::block::RowFormat;
use crate::store::sealed;

/// Number of bytes of an account's key in the index. A shorter key is padded with zeros.
const ACCOUNT_BYTES: usize = 32;

/// Index of the blocks of one table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Index {
    /// Number of bytes of the account's part of a slot's key; 0 in the index of accounts.
    account_bytes: usize,
    /// Keys of the accounts with slots, ascending; empty in the index of accounts.
    accounts: Vec<[u8; ACCOUNT_BYTES]>,
    /// Lead of each block's first key.
    leads: Vec<u128>,
}

/// Blocks that may hold a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidates {
    pub(super) first: usize,
    /// Last candidate, mostly equal to `first`.
    pub(super) last: usize,
}

impl Index {
    /// Makes an index without blocks.
    pub(super) const fn new(table: Table, row_format: RowFormat) -> Self {
        // A slot's key is its account's key and 32 bytes more.
        let account_bytes = match table {
            Table::Slots => row_format.key_bytes - 32,
            Table::Accounts | Table::Codes => 0,
        };
        Self { account_bytes, accounts: Vec::new(), leads: Vec::new() }
    }

    /// Adds the next row, in ascending order, with the number of its block.
    pub(super) fn add(&mut self, key: &[u8], block: usize) {
        let (account, rest) = key.split_at(self.account_bytes);
        if !account.is_empty() {
            let account = padded(account);
            if self.accounts.last() != Some(&account) {
                self.accounts.push(account);
            }
        }
        if block == self.block_count() {
            let number = self.accounts.len().saturating_sub(1);
            self.leads.push(self.lead(number, rest));
        }
    }

    pub(super) fn block_count(&self) -> usize {
        self.leads.len()
    }

    /// Returns the memory of the index, in bytes.
    pub(super) fn byte_count(&self) -> usize {
        self.accounts.len() * ACCOUNT_BYTES + self.leads.len() * size_of::<u128>()
    }

    /// Returns the number of the account with `key`, among the accounts with slots in the order of
    /// their keys. `None` if the account has no slots.
    pub(super) fn account(&self, key: &[u8]) -> Option<usize> {
        self.accounts.binary_search(&padded(key)).ok()
    }

    /// Returns the blocks that may hold a row; `None` if its key is before all rows. `account` is
    /// the account's number, or 0 in the index of accounts. `rest` is the key without the account's
    /// part of a slot's key. The search begins at block `from`: 0, or the `first` of a smaller
    /// key's result.
    pub(super) fn locate(&self, account: usize, rest: &[u8], from: usize) -> Option<Candidates> {
        let wanted = self.lead(account, rest);
        let leads = self.leads.get(from..)?;
        let last = leads.partition_point(|lead| *lead <= wanted).checked_sub(1)?;
        let mut first = last;
        // Several first keys may have this lead. The block before the first of them may end with
        // rows of the same lead.
        while first > 0 && leads[first] == wanted {
            first -= 1;
        }
        Some(Candidates { first: from + first, last: from + last })
    }

    /// Returns the lead of a key. For an account, it is the first 16 bytes of the key. For a slot,
    /// it is the account's number and the first 12 bytes of `rest`.
    fn lead(&self, account: usize, rest: &[u8]) -> u128 {
        let mut lead = [0; 16];
        if self.account_bytes == 0 {
            lead.copy_from_slice(&rest[..16]);
        } else {
            lead[..4].copy_from_slice(&(account as u32).to_be_bytes());
            lead[4..].copy_from_slice(&rest[..12]);
        }
        u128::from_be_bytes(lead)
    }

    /// Writes the index to `path`.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(8 + self.byte_count());
        bytes.extend((self.accounts.len() as u64).to_le_bytes());
        bytes.extend(self.accounts.as_flattened());
        bytes.extend(self.leads.iter().flat_map(|lead| lead.to_le_bytes()));
        sealed::write(path, bytes)
    }

    /// Reads the output of [`Self::write`].
    pub(super) fn read(path: &Path, table: Table, row_format: RowFormat) -> io::Result<Self> {
        let index = Self::decode(&sealed::read(path)?, table, row_format);
        index.ok_or_else(|| sealed::damaged(path))
    }

    fn decode(bytes: &[u8], table: Table, row_format: RowFormat) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk::<8>()?;
        let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
        let (accounts, leads) = rest.split_at_checked(count.checked_mul(ACCOUNT_BYTES)?)?;
        let accounts = accounts.chunks_exact(ACCOUNT_BYTES).map(padded).collect();
        let (leads, remainder) = leads.as_chunks::<16>();
        let leads = leads.iter().map(|lead| u128::from_le_bytes(*lead)).collect();
        remainder.is_empty().then_some(Self { accounts, leads, ..Self::new(table, row_format) })
    }
}

fn padded(key: &[u8]) -> [u8; ACCOUNT_BYTES] {
    let mut account = [0; ACCOUNT_BYTES];
    account[..key.len()].copy_from_slice(key);
    account
}

#[cfg(test)]
mod tests {
    use workload::Layout;

    use super::*;

    /// Returns keys of two accounts. Keys of the second account have the same lead.
    fn keys() -> Vec<Vec<u8>> {
        let key = |account: u8, part: [u8; 32]| [vec![account; 20], part.to_vec()].concat();
        let mut keys: Vec<_> = (0..100_u8).map(|i| key(3, [2 * i; 32])).collect();
        keys.extend((0..100_u8).map(|i| {
            let mut part = [0; 32];
            part[31] = 2 * i;
            key(5, part)
        }));
        keys
    }

    #[test]
    fn the_block_of_every_key_is_among_its_candidates_and_alone_where_leads_differ() {
        const PER_BLOCK: usize = 7;
        let row_format = RowFormat::of(Table::Slots, Layout::Plain);
        let mut index = Index::new(Table::Slots, row_format);
        let keys = keys();
        for (number, key) in keys.iter().enumerate() {
            index.add(key, number / PER_BLOCK);
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        index.write(&path).unwrap();
        let index = Index::read(&path, Table::Slots, row_format).unwrap();
        assert_eq!(index.block_count(), keys.len().div_ceil(PER_BLOCK));
        for (number, key) in keys.iter().enumerate() {
            let (account, part) = key.split_at(20);
            let account = index.account(account).unwrap();
            let block = number / PER_BLOCK;
            for from in [0, block.saturating_sub(3)] {
                let found = index.locate(account, part, from).unwrap();
                assert!((found.first..=found.last).contains(&block), "{number}: {found:?}");
                if number < 90 && !number.is_multiple_of(PER_BLOCK) {
                    assert_eq!(found.first, found.last);
                }
            }
        }
        assert_eq!(index.account(&[4; 20]), None);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[20] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert!(Index::read(&path, Table::Slots, row_format).is_err());
    }
}
