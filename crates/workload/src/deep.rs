//! Mines slot keys that make a storage trie deep, for [`KeyRule::Deep`](crate::KeyRule::Deep). One
//! key is the deepest. For each number of nibbles from 0 to 9, the hash of another key shares
//! exactly that many first nibbles with the deepest key's hash. In a storage trie of these slots,
//! the deepest key's leaf lies below a branch at each shared nibble. The hash of a slot key does
//! not depend on the contract, so one set of keys serves all contracts.
//!
//! The miner compares the hashes of all candidates with each other. Of n candidates there are
//! n²/2 pairs, so 2^25 hashes have pairs that share 9 nibbles (36 bits). A search for a key that
//! shares 9 nibbles with one given hash takes about 2^36 hashes.

use std::ops::Range;

use alloy_primitives::{B256, U256, keccak256};

use crate::keccak::keccak256_many_32;

/// Number of first nibbles that the hashes of the first and the last of [`DEEP_KEYS`] have in
/// common.
pub const DEEP_NIBBLE_COUNT: u32 = 9;
/// Number of candidates among which [`DEEP_KEYS`] were mined: 0 to 2^25 - 1.
pub const DEEP_CANDIDATE_COUNT: u32 = 1 << 25;

/// Mined slot keys. The hashes of the keys at index 0 and index d + 1 share exactly d first
/// nibbles, for d = 0 to [`DEEP_NIBBLE_COUNT`].
/// `cargo run --release -p workload --example mine_deep_keys` prints them.
pub const DEEP_KEYS: [u64; DEEP_NIBBLE_COUNT as usize + 2] =
    [543_199, 0, 17, 143, 6_037, 7_376, 1_286_444, 1_759_883, 23_412_415, 30_689_314, 28_872_308];

/// Key of slot `index` by [`KeyRule::Deep`](crate::KeyRule::Deep). An index beyond [`DEEP_KEYS`]
/// gives 2^64 + `index`, which is no mined key.
pub(crate) fn key(index: u64) -> U256 {
    let mined = usize::try_from(index).ok().and_then(|index| DEEP_KEYS.get(index));
    mined.map_or(U256::from_limbs([index, 1, 0, 0]), |key| U256::from(*key))
}

/// Number of first nibbles that the hashes of two slot keys have in common, 0 to 64.
pub fn shared_nibble_count(a: U256, b: U256) -> u32 {
    let [a, b] = [a, b].map(|key| U256::from_be_bytes(keccak256(B256::from(key)).0));
    ((a ^ b).leading_zeros() / 4) as u32
}

/// Mines a chain of slot keys among the candidates 0 to `candidate_count` - 1. The first is the
/// deepest key. Then, for d = 0 to `nibble_count`, follows a key whose hash shares exactly d
/// nibbles with the deepest key's hash. Each key is the smallest candidate that fits. `None` where
/// there is no chain, or where `nibble_count` nibbles and a candidate do not fit in 64 bits. Takes
/// 8 bytes of memory for each candidate.
pub fn mine(candidate_count: u32, nibble_count: u32) -> Option<Vec<u64>> {
    Hashes::new(candidate_count).chain(nibble_count)
}

/// All candidates in the order of their hashes. An entry has the first bits of a candidate's hash,
/// followed by the candidate.
#[derive(Debug)]
struct Hashes {
    entries: Vec<u64>,
    /// Number of low bits of an entry that hold the candidate.
    candidate_bits: u32,
}

/// Number of candidates that are hashed together.
const CHUNK: usize = 4_096;

impl Hashes {
    fn new(candidate_count: u32) -> Self {
        let candidate_bits = 32 - candidate_count.saturating_sub(1).leading_zeros();
        let mut entries = Vec::with_capacity(candidate_count as usize);
        let mut keys = vec![[0; 32]; CHUNK];
        let mut hashes = vec![[0; 32]; CHUNK];
        for start in (0..candidate_count).step_by(CHUNK) {
            let count = CHUNK.min((candidate_count - start) as usize);
            for (key, candidate) in keys.iter_mut().zip(start..) {
                key[28..].copy_from_slice(&candidate.to_be_bytes());
            }
            keccak256_many_32(&keys[..count], &mut hashes[..count]);
            entries.extend(hashes[..count].iter().zip(start..).map(|(hash, candidate)| {
                let [a, b, c, d, e, f, g, h, ..] = *hash;
                let first = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
                (first >> candidate_bits << candidate_bits) | u64::from(candidate)
            }));
        }
        entries.sort_unstable();
        Self { entries, candidate_bits }
    }

    /// Returns the chain of the smallest deepest key that has one.
    fn chain(&self, nibble_count: u32) -> Option<Vec<u64>> {
        if nibble_count > (64 - self.candidate_bits) / 4 {
            return None;
        }
        let pairs = self.entries.windows(2);
        let pairs = pairs.filter(|pair| (pair[0] ^ pair[1]).leading_zeros() / 4 >= nibble_count);
        let mut deepest: Vec<u64> = pairs.flatten().copied().collect();
        deepest.sort_unstable_by_key(|entry| self.candidate(*entry));
        deepest.dedup();
        deepest.into_iter().find_map(|entry| self.chain_to(entry, nibble_count))
    }

    /// Returns the chain whose deepest key is the candidate of `entry`. `None` where, for some
    /// number of nibbles, no candidate shares exactly that many.
    fn chain_to(&self, entry: u64, nibble_count: u32) -> Option<Vec<u64>> {
        let sharing: Vec<Range<usize>> =
            (0..=nibble_count).map(|count| self.sharing(entry, count)).collect();
        // For most entries, some number of nibbles is shared by no other candidate. This check is
        // faster than the search for the smallest keys.
        if sharing.windows(2).any(|pair| pair[0] == pair[1]) {
            return None;
        }
        let deepest = self.candidate(entry);
        let others = (0..=nibble_count).map(|count| {
            let all = sharing[count as usize].clone();
            let deeper = sharing.get(count as usize + 1).cloned().unwrap_or(all.end..all.end);
            (all.start..deeper.start)
                .chain(deeper.end..all.end)
                .map(|index| self.candidate(self.entries[index]))
                .filter(|key| *key != deepest)
                // An entry may have fewer nibbles of the hash than this comparison needs.
                .filter(|key| {
                    count < nibble_count
                        || shared_nibble_count(U256::from(*key), U256::from(deepest)) == count
                })
                .min()
        });
        Some([&[deepest], &others.collect::<Option<Vec<u64>>>()?[..]].concat())
    }

    /// Indices of all entries that share at least `nibble_count` first nibbles with `entry`, itself
    /// too.
    fn sharing(&self, entry: u64, nibble_count: u32) -> Range<usize> {
        let other_bits = u64::MAX.checked_shr(4 * nibble_count).unwrap_or(0);
        let start = self.entries.partition_point(|other| *other < entry & !other_bits);
        let end = self.entries.partition_point(|other| *other <= entry | other_bits);
        start..end
    }

    /// The candidate of an entry.
    const fn candidate(&self, entry: u64) -> u64 {
        entry & ((1 << self.candidate_bits) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_chain(keys: &[u64]) {
        for (count, key) in keys[1..].iter().enumerate() {
            let shared = shared_nibble_count(U256::from(keys[0]), U256::from(*key));
            assert_eq!(shared as usize, count, "{key} of {keys:?}");
        }
    }

    #[test]
    fn the_table_shares_each_number_of_nibbles_once() {
        assert_chain(&DEEP_KEYS);
        assert!(DEEP_KEYS.iter().all(|key| *key < u64::from(DEEP_CANDIDATE_COUNT)));
        // And nothing beyond the table is as deep.
        for index in DEEP_KEYS.len() as u64..200 {
            assert!(shared_nibble_count(key(0), key(index)) < 4, "{index}");
        }
    }

    #[test]
    fn a_mined_chain_is_the_smallest_that_a_plain_search_finds() {
        for (candidate_count, nibble_count) in [(300, 1), (3_000, 2), (3_000, 3), (2, 0), (0, 0)] {
            let hash = |key: u64| U256::from_be_bytes(keccak256(B256::from(U256::from(key))).0);
            let hashes: Vec<U256> = (0..candidate_count).map(|key| hash(u64::from(key))).collect();
            let chain_to = |deepest: usize| {
                let exactly = |count: usize| {
                    (0..hashes.len()).find(|key| {
                        *key != deepest
                            && (hashes[*key] ^ hashes[deepest]).leading_zeros() / 4 == count
                    })
                };
                let others = (0..=nibble_count).map(exactly).collect::<Option<Vec<usize>>>()?;
                Some([&[deepest], &others[..]].concat())
            };
            let searched = (0..hashes.len()).find_map(chain_to);
            let searched = searched.map(|keys| keys.into_iter().map(|key| key as u64).collect());
            assert_eq!(mine(candidate_count, nibble_count as u32), searched, "{nibble_count}");
        }
        assert_eq!(mine(40, 9), None);
        assert_chain(&mine(1 << 16, 5).expect("a chain of 5 nibbles"));
    }

    #[test]
    fn the_table_is_what_the_miner_finds() {
        assert_eq!(mine(DEEP_CANDIDATE_COUNT, DEEP_NIBBLE_COUNT).as_deref(), Some(&DEEP_KEYS[..]));
    }
}
