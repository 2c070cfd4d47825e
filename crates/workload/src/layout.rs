//! Encodes the rows of flat state, for all stores. A store of flat state has accounts, slots and
//! codes as keys with values, without a trie.

use alloy_primitives::{Address, B256, U256, keccak256};
use serde::{Deserialize, Serialize};

use crate::{
    genesis::AccountState,
    keccak::{keccak256_many_20, keccak256_many_32},
};

/// Length in bytes of an account row's value: nonce 8 (little-endian) ‖ balance 32 (big-endian) ‖
/// code hash 32.
pub const ACCOUNT_VALUE_BYTES: usize = 72;

/// Layout of the keys of flat state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// keccak(address), and keccak(address) ‖ keccak(slot), as current clients store it.
    #[default]
    Hashed,
    /// address, and address ‖ slot, as the published study `evm-benchmark` stores it.
    Plain,
}

/// A table of flat state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Table {
    /// Account key → nonce, balance, code hash ([`encode_account`]).
    Accounts,
    /// Account key ‖ slot part → value ([`encode_slot`]).
    Slots,
    /// Code hash → code, in every layout. Empty code has no row.
    Codes,
}

impl Table {
    /// All tables.
    pub const ALL: [Self; 3] = [Self::Accounts, Self::Slots, Self::Codes];
}

/// A row's key, at most 64 bytes, on the stack. Keys are in the order of their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey {
    /// The key, and zeros after it.
    bytes: [u8; 64],
    len: u8,
}

impl RowKey {
    fn join(first: &[u8], second: &[u8]) -> Self {
        let mut bytes = [0; 64];
        let len = first.len() + second.len();
        bytes[..first.len()].copy_from_slice(first);
        bytes[first.len()..len].copy_from_slice(second);
        Self { bytes, len: len as u8 }
    }

    /// The key's bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl AsRef<[u8]> for RowKey {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl Layout {
    /// Name of the layout in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hashed => "hashed",
            Self::Plain => "plain",
        }
    }

    /// Length of a slot row's key in bytes.
    pub const fn slot_key_bytes(self) -> usize {
        match self {
            Self::Hashed => 64,
            Self::Plain => 52,
        }
    }

    /// Key of the account row of `address`; also the first part of its slots' keys.
    pub fn account_key(self, address: &Address) -> RowKey {
        match self {
            Self::Hashed => RowKey::join(keccak256(address).as_slice(), &[]),
            Self::Plain => RowKey::join(address.as_slice(), &[]),
        }
    }

    /// Key of slot `slot` of the account whose account row has key `account`.
    pub fn slot_key(self, account: &RowKey, slot: &U256) -> RowKey {
        let plain = slot.to_be_bytes::<32>();
        match self {
            Self::Hashed => RowKey::join(account.as_slice(), keccak256(plain).as_slice()),
            Self::Plain => RowKey::join(account.as_slice(), &plain),
        }
    }

    /// Writes the second part of each slot's row key: the hash of each slot in the hashed layout,
    /// the slot itself in the plain layout. Eight slots are hashed at a time.
    ///
    /// # Panics
    /// When the input and `out` have different lengths.
    pub fn slot_key_parts(self, slots: &[U256], out: &mut [[u8; 32]]) {
        assert_eq!(slots.len(), out.len(), "one place for each part");
        match self {
            Self::Plain => {
                for (slot, out) in slots.iter().zip(out) {
                    *out = slot.to_be_bytes();
                }
            }
            Self::Hashed => {
                const CHUNK: usize = 128;
                let mut inputs = [[0; 32]; CHUNK];
                for (slots, out) in slots.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
                    for (input, slot) in inputs.iter_mut().zip(slots) {
                        *input = slot.to_be_bytes();
                    }
                    keccak256_many_32(&inputs[..slots.len()], out);
                }
            }
        }
    }

    /// Writes the parts that [`Self::account_key_of_part`] takes. In the hashed layout a part is
    /// the hash of the address; eight addresses are hashed at a time. In the plain layout the first
    /// 20 bytes are the address, and the last 12 bytes stay as they were.
    ///
    /// # Panics
    /// When the input and `out` have different lengths.
    pub fn account_key_parts(self, addresses: &[Address], out: &mut [[u8; 32]]) {
        assert_eq!(addresses.len(), out.len(), "one place for each part");
        match self {
            Self::Plain => {
                for (address, out) in addresses.iter().zip(out) {
                    out[..20].copy_from_slice(address.as_slice());
                }
            }
            Self::Hashed => {
                const CHUNK: usize = 128;
                let mut inputs = [[0; 20]; CHUNK];
                for (addresses, out) in addresses.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
                    for (input, address) in inputs.iter_mut().zip(addresses) {
                        *input = address.0.0;
                    }
                    keccak256_many_20(&inputs[..addresses.len()], out);
                }
            }
        }
    }

    /// Key of the account row of `part`, which [`Self::account_key_parts`] writes.
    pub fn account_key_of_part(self, part: &[u8; 32]) -> RowKey {
        match self {
            Self::Hashed => RowKey::join(part, &[]),
            Self::Plain => RowKey::join(&part[..20], &[]),
        }
    }

    /// Key of a slot row from its second part, which [`Self::slot_key_parts`] writes.
    pub fn slot_key_of_part(self, account: &RowKey, part: &[u8; 32]) -> RowKey {
        RowKey::join(account.as_slice(), part)
    }
}

/// The value of an account row.
pub fn encode_account(account: &AccountState) -> [u8; ACCOUNT_VALUE_BYTES] {
    let mut out = [0; ACCOUNT_VALUE_BYTES];
    out[..8].copy_from_slice(&account.nonce.to_le_bytes());
    out[8..40].copy_from_slice(&account.balance.to_be_bytes::<32>());
    out[40..].copy_from_slice(account.code_hash.as_slice());
    out
}

/// Reads an account row's value; `None` when it has another length than
/// [`ACCOUNT_VALUE_BYTES`].
pub fn decode_account(value: &[u8]) -> Option<AccountState> {
    let value: &[u8; ACCOUNT_VALUE_BYTES] = value.try_into().ok()?;
    let (nonce, rest) = value.split_first_chunk::<8>()?;
    Some(AccountState {
        nonce: u64::from_le_bytes(*nonce),
        balance: U256::from_be_slice(&rest[..32]),
        code_hash: B256::from_slice(&rest[32..]),
    })
}

/// The value of a slot row.
pub fn encode_slot(value: &U256) -> [u8; 32] {
    value.to_be_bytes()
}

/// Reads a slot row's value; `None` when it is not 32 bytes long.
pub fn decode_slot(value: &[u8]) -> Option<U256> {
    let value: &[u8; 32] = value.try_into().ok()?;
    Some(U256::from_be_bytes(*value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_rows_survive_a_round_trip_and_refuse_other_lengths() {
        let account = AccountState {
            nonce: 7,
            balance: U256::from(1_000_000_007_u64),
            code_hash: keccak256(b"code"),
        };
        let row = encode_account(&account);
        assert_eq!(decode_account(&row), Some(account));
        assert_eq!(decode_account(&row[1..]), None);
        assert_eq!(decode_slot(&[0; 31]), None);
    }

    #[test]
    fn key_parts_in_bulk_equal_single_keys() {
        let account = Address::repeat_byte(9);
        let slots: Vec<U256> = (0..300_u64).map(|i| U256::from(i) << (i % 200)).collect();
        for layout in [Layout::Hashed, Layout::Plain] {
            let account = layout.account_key(&account);
            let mut parts = vec![[0; 32]; slots.len()];
            layout.slot_key_parts(&slots, &mut parts);
            for (slot, part) in slots.iter().zip(&parts) {
                let key = layout.slot_key_of_part(&account, part);
                assert_eq!(key, layout.slot_key(&account, slot));
            }
        }
    }

    #[test]
    fn account_keys_in_bulk_equal_single_keys() {
        let addresses: Vec<_> = (0..200_u8).map(Address::repeat_byte).collect();
        for layout in [Layout::Hashed, Layout::Plain] {
            let mut parts = vec![[0; 32]; addresses.len()];
            layout.account_key_parts(&addresses, &mut parts);
            for (address, part) in addresses.iter().zip(&parts) {
                assert_eq!(layout.account_key_of_part(part), layout.account_key(address));
            }
        }
    }

    #[test]
    fn slot_rows_of_one_account_lie_together() {
        for layout in [Layout::Hashed, Layout::Plain] {
            let account = layout.account_key(&Address::repeat_byte(9));
            let slot = layout.slot_key(&account, &U256::from(5));
            assert!(slot.as_slice().starts_with(account.as_slice()));
            assert_eq!(slot.as_slice().len(), layout.slot_key_bytes());
        }
    }
}
