//! Encoding of rows in Redis. A key is a byte for the table and the row's key. A value ends in a
//! checksum of key and value. A key of another form counts as a key of another program. `stress`
//! deletes nothing from a cluster with such a key.

use workload::{Layout, Table};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Key of the marker, which names the state of the cluster.
pub(super) const MARKER_KEY: &[u8] = b"stress:state";

/// Length of the longest row key, in bytes.
const ROW_KEY_BYTES_MAX: usize = 64;
const CHECKSUM_BYTES: usize = 8;

/// Key of a row in Redis, stored inline.
#[derive(Clone, Copy)]
pub(super) struct Key {
    bytes: [u8; 1 + ROW_KEY_BYTES_MAX],
    len: u8,
}

impl Key {
    /// Makes the key of the row `row` of `table`.
    pub(super) fn of(table: Table, row: &[u8]) -> Self {
        let mut bytes = [0; 1 + ROW_KEY_BYTES_MAX];
        bytes[0] = first_byte(table);
        bytes[1..=row.len()].copy_from_slice(row);
        Self { bytes, len: 1 + row.len() as u8 }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

const fn first_byte(table: Table) -> u8 {
    match table {
        Table::Accounts => 1,
        Table::Slots => 2,
        Table::Codes => 3,
    }
}

/// Returns whether a key is the marker's, or has the form of a row's key.
pub(super) fn is_ours(key: &[u8]) -> bool {
    let Some((first, row)) = key.split_first() else { return false };
    let mut forms = [Layout::Hashed, Layout::Plain].into_iter().flat_map(|layout| {
        let slot = layout.slot_key_bytes();
        [(Table::Accounts, slot - 32), (Table::Slots, slot), (Table::Codes, 32)]
    });
    key == MARKER_KEY
        || forms.any(|(table, bytes)| *first == first_byte(table) && row.len() == bytes)
}

fn checksum(key: &[u8], value: &[u8]) -> [u8; CHECKSUM_BYTES] {
    xxh3_64_with_seed(value, xxh3_64(key)).to_le_bytes()
}

/// Writes the value of the row with `key` to `out`, followed by the checksum.
pub(super) fn seal(key: &Key, value: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(value);
    out.extend_from_slice(&checksum(key.as_slice(), value));
}

/// Returns the value of the row with `key`, without its checksum; `None` if it is damaged.
pub(super) fn unsealed<'v>(key: &Key, sealed: &'v [u8]) -> Option<&'v [u8]> {
    let (value, sum) = sealed.split_last_chunk::<CHECKSUM_BYTES>()?;
    (checksum(key.as_slice(), value) == *sum).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_that_of_its_own_key_and_a_change_of_any_bit_shows() {
        let key = Key::of(Table::Slots, &[7; 64]);
        let mut sealed = Vec::new();
        seal(&key, &[9; 32], &mut sealed);
        assert_eq!(unsealed(&key, &sealed), Some(&[9; 32][..]));
        let other = Key::of(Table::Slots, &[8; 64]);
        assert_eq!(unsealed(&other, &sealed), None);
        for bit in 0..sealed.len() * 8 {
            let mut wrong = sealed.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(unsealed(&key, &wrong), None, "bit {bit}");
        }
        for len in 0..sealed.len() {
            assert_eq!(unsealed(&key, &sealed[..len]), None, "{len} bytes");
        }
    }

    #[test]
    fn keys_of_others_are_not_taken_for_ours() {
        for (table, row_bytes) in
            [(Table::Accounts, 32), (Table::Accounts, 20), (Table::Slots, 64), (Table::Slots, 52)]
        {
            assert!(is_ours(Key::of(table, &vec![0xab; row_bytes]).as_slice()));
        }
        assert!(is_ours(Key::of(Table::Codes, &[1; 32]).as_slice()) && is_ours(MARKER_KEY));
        for key in [&b""[..], b"stress:stat", b"stress:state2", b"user:1", &[2; 64], &[4; 33]] {
            assert!(!is_ours(key), "{key:?}");
        }
    }
}
