//! Roots of Merkle Patricia tries, as headers have them: of lists (transactions, receipts,
//! withdrawals) and of a state that is written out. Makes a root and keeps nothing.

use alloy_primitives::{B256, KECCAK256_EMPTY, U256, keccak256};
use alloy_rlp::{EMPTY_STRING_CODE, Encodable, Header};
use workload::GenesisAccount;

/// A key in nibbles, and its value.
type Item = (Vec<u8>, Vec<u8>);

/// Root of the trie that has `values` under the RLP of their places.
pub(super) fn list_root(values: impl IntoIterator<Item = Vec<u8>>) -> B256 {
    let item = |(place, value)| (nibbles(&alloy_rlp::encode(place)), value);
    root(values.into_iter().enumerate().map(item).collect())
}

/// Root of a state that has exactly `accounts`.
pub(super) fn state_root(accounts: &[GenesisAccount]) -> B256 {
    let item = |account: &GenesisAccount| {
        let slots = account.storage.iter().map(|(key, value)| {
            (nibbles(keccak256(key.to_be_bytes::<32>()).as_slice()), alloy_rlp::encode(value))
        });
        let storage_root = root(slots.collect());
        let code_hash =
            if account.code.is_empty() { KECCAK256_EMPTY } else { keccak256(&account.code) };
        let value = account_rlp(account.nonce, account.balance, storage_root, code_hash);
        (nibbles(keccak256(account.address).as_slice()), value)
    };
    root(accounts.iter().map(item).collect())
}

fn account_rlp(nonce: u64, balance: U256, storage_root: B256, code_hash: B256) -> Vec<u8> {
    let mut payload = alloy_rlp::encode(nonce);
    balance.encode(&mut payload);
    storage_root.encode(&mut payload);
    code_hash.encode(&mut payload);
    list(payload)
}

/// The RLP list of this payload.
pub(super) fn list(payload: Vec<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(payload.len() + 4);
    Header { list: true, payload_length: payload.len() }.encode(&mut out);
    out.extend(payload);
    out
}

fn nibbles(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect()
}

/// Root of a trie. No key is the beginning of another: RLP is free of prefixes, hashes have one
/// length.
fn root(mut items: Vec<Item>) -> B256 {
    items.sort_unstable();
    if items.is_empty() { keccak256([EMPTY_STRING_CODE]) } else { keccak256(node(&items, 0)) }
}

/// RLP of the node over `items`, sorted and at least one, which agree in their first `depth`
/// nibbles. As deep as a key is long.
fn node(items: &[Item], depth: usize) -> Vec<u8> {
    let (first, last) = (&items[0].0, &items[items.len() - 1].0);
    if let [(key, value)] = items {
        let mut payload = compact(&key[depth..], LEAF);
        value.as_slice().encode(&mut payload);
        return list(payload);
    }
    let shared = first[depth..].iter().zip(&last[depth..]).take_while(|(a, b)| a == b).count();
    let end = depth + shared;
    if shared > 0 {
        let mut payload = compact(&first[depth..end], EXTENSION);
        payload.extend(reference(node(items, end)));
        return list(payload);
    }
    let mut payload = Vec::new();
    let mut rest = items;
    for nibble in 0..16 {
        let (below, others) = rest.split_at(rest.partition_point(|(key, _)| key[depth] <= nibble));
        rest = others;
        if below.is_empty() {
            payload.push(EMPTY_STRING_CODE);
        } else {
            payload.extend(reference(node(below, depth + 1)));
        }
    }
    // No value at the branch itself.
    payload.push(EMPTY_STRING_CODE);
    list(payload)
}

/// How a node is named in the one above: a short one as it is, else by hash.
fn reference(rlp: Vec<u8>) -> Vec<u8> {
    if rlp.len() < 32 { rlp } else { alloy_rlp::encode(keccak256(rlp)) }
}

const LEAF: u8 = 0x20;
const EXTENSION: u8 = 0;

/// RLP of nibbles with the flags of their node (yellow paper, "hex prefix").
fn compact(nibbles: &[u8], flags: u8) -> Vec<u8> {
    let (odd, pairs) = nibbles.split_at(nibbles.len() % 2);
    let mut bytes = vec![odd.first().map_or(flags, |nibble| flags | 0x10 | nibble)];
    bytes.extend(pairs.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]));
    alloy_rlp::encode(bytes.as_slice())
}

#[cfg(test)]
mod tests {
    use alloy_primitives::b256;

    use super::*;

    const EMPTY_ROOT: B256 =
        b256!("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");

    #[test]
    fn roots_are_those_that_all_know() {
        assert_eq!(list_root([]), EMPTY_ROOT);
        assert_eq!(state_root(&[]), EMPTY_ROOT);
        let list = list_root([b"doe".to_vec(), b"reindeer".to_vec()]);
        assert_eq!(list, b256!("e766d5d51b89dc39d981b41bda63248d7abce4f0225eefd023792a540bcffee3"));
        // The trie tests of Ethereum: "dogs", and keys that share their beginnings.
        let items = [("doe", "reindeer"), ("dog", "puppy"), ("dogglesworth", "cat")];
        let items = items.map(|(key, value)| (nibbles(key.as_bytes()), value.into()));
        assert_eq!(
            root(items[..2].to_vec()),
            b256!("05ae693aac2107336a79309e0c60b24a7aac6aa3edecaef593921500d33c63c4")
        );
    }

    #[test]
    fn a_root_depends_on_every_value_and_on_their_order() {
        let values = |count: usize| (0..count).map(|i| vec![(i % 251) as u8 + 1; i % 50 + 1]);
        for count in [1, 2, 16, 127, 128, 129, 255, 256, 257] {
            let whole: Vec<_> = values(count).collect();
            for place in [0, count / 2, count - 1] {
                let mut other = whole.clone();
                other[place].push(0);
                assert_ne!(list_root(other), list_root(whole.clone()), "{count} {place}");
            }
            assert_ne!(list_root(values(count + 1)), list_root(whole), "{count}");
        }
        assert_ne!(list_root(values(9)), list_root(values(9).rev()));
    }
}
