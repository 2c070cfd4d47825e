//! Slots in a table of sorted duplicates, as in reth. Each slot is a value under the account's key:
//! the slot's own key as a subkey of 32 bytes, then its value without leading zeros.

use alloy_primitives::U256;
use workload::layout::decode_slot;

use variant::SlotTable;

/// Number of bytes of a slot's own key, the end of a row's key.
const SUBKEY_BYTES: usize = 32;
/// Number of bytes of a slot's value with leading zeros.
const VALUE_BYTES: usize = 32;

/// Splits the key of a row into the account's key and the slot's own key. If the key is too short,
/// the account's part is empty.
pub(super) const fn split(key: &[u8]) -> (&[u8], &[u8]) {
    key.split_at(key.len().saturating_sub(SUBKEY_BYTES))
}

/// A slot as a duplicate of its account.
#[derive(Clone, Copy, Debug)]
pub(super) struct Duplicate {
    bytes: [u8; SUBKEY_BYTES + VALUE_BYTES],
    len: usize,
}

impl Duplicate {
    /// Makes the duplicate of a slot from its own key and its value of 32 bytes; `None` if a length
    /// is wrong.
    pub(super) fn new(subkey: &[u8], value: &[u8]) -> Option<Self> {
        let subkey: &[u8; SUBKEY_BYTES] = subkey.try_into().ok()?;
        let value: &[u8; VALUE_BYTES] = value.try_into().ok()?;
        let zeros = value.iter().take_while(|byte| **byte == 0).count();
        let mut bytes = [0; SUBKEY_BYTES + VALUE_BYTES];
        let len = bytes.len() - zeros;
        bytes[..SUBKEY_BYTES].copy_from_slice(subkey);
        bytes[SUBKEY_BYTES..len].copy_from_slice(&value[zeros..]);
        Some(Self { bytes, len })
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Returns the value part of a duplicate with this `subkey`; `None` if the duplicate has another
/// subkey.
pub(super) fn value_of<'d>(duplicate: &'d [u8], subkey: &[u8]) -> Option<&'d [u8]> {
    duplicate.strip_prefix(subkey)
}

/// Splits a duplicate into the slot's own key and the value part; `None` if the duplicate is too
/// short.
pub(super) fn parts(duplicate: &[u8]) -> Option<(&[u8], &[u8])> {
    duplicate.split_at_checked(SUBKEY_BYTES)
}

/// Decodes a slot's value as a table of this form stores it; `None` if the bytes are not valid for
/// the form.
pub(super) fn decode(table: SlotTable, value: &[u8]) -> Option<U256> {
    match table {
        SlotTable::Rows => decode_slot(value),
        SlotTable::DupSort if value.len() > VALUE_BYTES || value.first() == Some(&0) => None,
        SlotTable::DupSort => Some(U256::from_be_slice(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duplicate_has_its_subkey_and_its_value_without_leading_zeros() {
        let subkey = [7; SUBKEY_BYTES];
        for (value, len) in [
            (U256::ZERO, 0),
            (U256::from(1), 1),
            (U256::from(0x1_00), 2),
            (U256::MAX >> 8, 31),
            (U256::MAX, 32),
        ] {
            let made = Duplicate::new(&subkey, &value.to_be_bytes::<32>()).unwrap();
            assert_eq!(made.as_slice().len(), SUBKEY_BYTES + len);
            let (key, rest) = parts(made.as_slice()).unwrap();
            assert_eq!(key, subkey);
            assert_eq!(value_of(made.as_slice(), &subkey), Some(rest));
            assert_eq!(decode(SlotTable::DupSort, rest), Some(value));
        }
        assert_eq!(value_of(&[8; 40], &subkey), None);
        assert!(Duplicate::new(&subkey[1..], &[0; 32]).is_none());
    }

    #[test]
    fn values_that_are_not_stored_so_are_refused() {
        assert_eq!(decode(SlotTable::DupSort, &[0]), None);
        assert_eq!(decode(SlotTable::DupSort, &[0, 1]), None);
        assert_eq!(decode(SlotTable::DupSort, &[1; 33]), None);
        assert_eq!(decode(SlotTable::Rows, &[1; 31]), None);
        assert_eq!(parts(&[1; 31]), None);
    }
}
