//! Values of leaves: the RLP of slots and of accounts.

use alloy_primitives::{B256, KECCAK256_EMPTY, U256};
use alloy_rlp::{EMPTY_STRING_CODE, RlpEncodable};

/// Root of a trie without rows: the hash of an empty string's RLP.
pub const EMPTY_ROOT: B256 =
    alloy_primitives::b256!("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");

/// Number of bytes of the longest value of a slot: RLP header and 32 bytes.
const SLOT_BYTES_MAX: usize = 33;

/// A slot's value as its leaf has it: RLP, without leading zeros.
#[derive(Clone, Copy, Debug)]
pub struct SlotValue {
    bytes: [u8; SLOT_BYTES_MAX],
    start: u8,
}

impl SlotValue {
    /// The value of a slot; `None` for zero, which deletes the slot.
    pub fn new(value: &U256) -> Option<Self> {
        if value.is_zero() {
            return None;
        }
        let mut bytes = [0; SLOT_BYTES_MAX];
        bytes[1..].copy_from_slice(&value.to_be_bytes::<32>());
        let len = value.byte_len();
        let mut start = SLOT_BYTES_MAX - len;
        if len > 1 || bytes[start] >= EMPTY_STRING_CODE {
            start -= 1;
            bytes[start] = EMPTY_STRING_CODE + len as u8;
        }
        Some(Self { bytes, start: start as u8 })
    }

    /// The value as RLP.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[usize::from(self.start)..]
    }
}

/// An account as its leaf has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, RlpEncodable)]
pub struct AccountValue {
    /// Nonce of the account.
    pub nonce: u64,
    /// Balance of the account, in wei.
    pub balance: U256,
    /// Root of the trie of the account's slots; [`EMPTY_ROOT`] without slots.
    pub storage_root: B256,
    /// Hash of the account's code. Without code, the hash of the empty string.
    pub code_hash: B256,
}

impl Default for AccountValue {
    fn default() -> Self {
        Self { nonce: 0, balance: U256::ZERO, storage_root: EMPTY_ROOT, code_hash: KECCAK256_EMPTY }
    }
}

impl AccountValue {
    /// Sets `out` to the account's RLP.
    pub fn encode_to(&self, out: &mut Vec<u8>) {
        out.clear();
        alloy_rlp::Encodable::encode(self, out);
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;

    #[test]
    fn a_slot_is_the_rlp_of_its_number() {
        for shift in 0..256_usize {
            for add in [0_u64, 1, 0x7e, 0x7f, 0x80] {
                let value = (U256::from(1) << shift).wrapping_add(U256::from(add));
                let slot = SlotValue::new(&value).map(|slot| slot.as_slice().to_vec());
                assert_eq!(slot, (!value.is_zero()).then(|| alloy_rlp::encode(value)));
            }
        }
        assert!(SlotValue::new(&U256::ZERO).is_none());
    }

    #[test]
    fn an_account_is_a_list_of_four() {
        let account = AccountValue { nonce: 3, balance: U256::from(7), ..AccountValue::default() };
        let mut bytes = vec![1, 2];
        account.encode_to(&mut bytes);
        let parts = [&[0xf8, 68, 3, 7, 0xa0][..], EMPTY_ROOT.as_slice(), &[0xa0]];
        assert_eq!(bytes, [&parts.concat()[..], KECCAK256_EMPTY.as_slice()].concat());
        assert_eq!(EMPTY_ROOT, keccak256([EMPTY_STRING_CODE]));
    }
}
