//! Helps the readers of several stores: parts of row keys in order, names of rows in errors, and
//! checks of codes.

use std::fmt;

use alloy_primitives::{Address, B256, U256, hex, keccak256, map::B256Set};
use workload::{Layout, Table, layout::decode_account};

use crate::error::StoreError;

/// Name of a row in errors.
#[derive(Clone, Copy, Debug)]
pub(super) enum RowName<'r> {
    Account(&'r Address),
    /// An account by the hash of its address.
    HashedAccount(&'r B256),
    Slot(&'r Address, &'r U256),
    /// A slot by the key of its row.
    SlotRow(&'r [u8]),
    Code(&'r B256),
    Row(&'r [u8]),
    RowOf(Table, &'r [u8]),
}

impl fmt::Display for RowName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(address) => write!(f, "account {address}"),
            Self::HashedAccount(hash) => write!(f, "account {hash}"),
            Self::Slot(address, key) => write!(f, "slot {key:#x} of {address}"),
            Self::SlotRow(key) => write!(f, "slot row {}", hex::encode_prefixed(key)),
            Self::Code(hash) => write!(f, "code {hash}"),
            Self::Row(key) => write!(f, "row {}", hex::encode_prefixed(key)),
            Self::RowOf(table, key) => write!(f, "{table:?} row {}", hex::encode_prefixed(key)),
        }
    }
}

/// Makes the error of a value whose length is wrong for its table.
pub(super) fn wrong_length(store: &'static str, row: RowName<'_>, value: &[u8]) -> StoreError {
    let reason = format!("its value has {} bytes", value.len());
    StoreError::damaged(store, row.to_string(), reason)
}

/// Decodes the value of an account's row in `store`. `row` names the row in an error.
pub(super) fn account_state(
    store: &'static str,
    row: RowName<'_>,
    value: &[u8],
) -> Result<workload::AccountState, StoreError> {
    decode_account(value).ok_or_else(|| wrong_length(store, row, value))
}

/// Slots of one account in the order of their rows. A row key is the account's part and then the
/// slot's part. This has the slots' parts, ascending, each with the caller's index of its slot.
#[derive(Debug, Default)]
pub(super) struct SortedParts {
    pub(super) parts: Vec<([u8; 32], u32)>,
    unsorted: Vec<[u8; 32]>,
}

impl SortedParts {
    /// Computes and sorts the parts of `slots`. `indices` has the caller's index of each slot.
    pub(super) fn fill(
        &mut self,
        layout: Layout,
        slots: &[U256],
        indices: impl IntoIterator<Item = u32>,
    ) {
        let Self { parts, unsorted } = self;
        unsorted.resize(slots.len(), [0; 32]);
        layout.slot_key_parts(slots, unsorted);
        parts.clear();
        parts.extend(unsorted.iter().copied().zip(indices));
        parts.sort_unstable();
    }
}

/// Hashes of the codes that a reader has verified. Hashing 24 KiB takes about 50 µs, so a code is
/// verified only at its first use.
#[derive(Debug, Default)]
pub(super) struct CheckedCodes(B256Set);

impl CheckedCodes {
    /// Compares a code of `store` with its hash.
    ///
    /// # Errors
    /// [`StoreError::Damaged`].
    pub(super) fn check(
        &mut self,
        store: &'static str,
        hash: &B256,
        code: &[u8],
    ) -> Result<(), StoreError> {
        self.compare(hash, code)
            .map_err(|reason| StoreError::damaged(store, RowName::Code(hash).to_string(), reason))
    }

    /// Compares a code with its hash. The error gives the code's length and its real hash.
    pub(super) fn compare(&mut self, hash: &B256, code: &[u8]) -> Result<(), String> {
        if self.0.contains(hash) {
            return Ok(());
        }
        let found = keccak256(code);
        if found != *hash {
            return Err(format!("its {} bytes have hash {found}", code.len()));
        }
        self.0.insert(*hash);
        Ok(())
    }
}
