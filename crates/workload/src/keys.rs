//! Computes the keys and values of a slot family from their indices: one by one for the generator,
//! in bulk for rows. An existing rule never changes its result, since workloads and state databases
//! are named by their recipes.

use alloy_primitives::{Address, B256, U256, keccak256};

use crate::{
    deep,
    genesis::{KeyRule, SlotFamily, ValueRule, WEYL_STEP},
    keccak::keccak256_many_64,
};

/// Increment of `SplitMix64`: ⌊2^64/φ⌋, odd.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
/// Number of hash inputs in a buffer on the stack.
const CHUNK: usize = 128;

impl SlotFamily {
    /// Key of slot `index`. An index of `count` or more gives an absent key.
    pub fn key(&self, index: u64) -> U256 {
        match self.keys {
            KeyRule::Keccak => U256::from_be_bytes(keccak256(keccak_input(&self.seed, index)).0),
            KeyRule::Weyl => U256::from_limbs(Weyl::new(&self.seed).at(index)),
            KeyRule::Balance => {
                let holder = keccak256(keccak_input(&self.seed, index));
                U256::from_be_bytes(keccak256(balance_input(&holder)).0)
            }
            KeyRule::Addressed => self.addressed(index, &self.address),
            KeyRule::Index => U256::from(index),
            KeyRule::Deep => deep::key(index),
        }
    }

    /// Value of slot `index`; never zero.
    pub fn value(&self, index: u64) -> U256 {
        match self.values {
            ValueRule::Random => U256::from_be_bytes(Mixer::new(&self.seed).value(index)),
            ValueRule::NextKey => not_zero(self.key(self.ahead(index, 1))),
            ValueRule::KeyElsewhere { address, ahead } => {
                self.addressed(self.ahead(index, ahead), &address)
            }
            ValueRule::AfterKey => not_zero(self.key(index).wrapping_add(U256::ONE)),
        }
    }

    /// The key of `index` by [`KeyRule::Addressed`] in the contract at `address`.
    fn addressed(&self, index: u64, address: &Address) -> U256 {
        let mut key = keccak256(keccak_input(&self.seed, index));
        key[12..].copy_from_slice(address.as_slice());
        U256::from_be_bytes(key.0)
    }

    /// Replaces `out` by the keys of `indices`, big-endian.
    pub fn keys(&self, indices: &[u64], out: &mut Vec<[u8; 32]>) {
        out.clear();
        out.resize(indices.len(), [0; 32]);
        self.fill_keys(indices, out);
    }

    /// Replaces `out` by the values of `indices`, big-endian.
    pub fn values(&self, indices: &[u64], out: &mut Vec<[u8; 32]>) {
        out.clear();
        out.resize(indices.len(), [0; 32]);
        self.fill_values(indices, out);
    }

    /// Writes the keys of `indices` into `out`.
    pub(crate) fn fill_keys(&self, indices: &[u64], out: &mut [[u8; 32]]) {
        assert_eq!(indices.len(), out.len(), "one place for each key");
        match self.keys {
            KeyRule::Keccak => self.fill_hashes(indices, out),
            KeyRule::Balance => {
                self.fill_hashes(indices, out);
                let mut inputs = [[0; 64]; CHUNK];
                for out in out.chunks_mut(CHUNK) {
                    for (input, holder) in inputs.iter_mut().zip(&*out) {
                        *input = balance_input(holder);
                    }
                    keccak256_many_64(&inputs[..out.len()], out);
                }
            }
            KeyRule::Weyl => {
                let weyl = Weyl::new(&self.seed);
                for (out, index) in out.iter_mut().zip(indices) {
                    *out = to_be_bytes(weyl.at(*index));
                }
            }
            KeyRule::Addressed => self.fill_addressed(indices, out, &self.address),
            KeyRule::Index | KeyRule::Deep => {
                for (out, index) in out.iter_mut().zip(indices) {
                    *out = self.key(*index).to_be_bytes();
                }
            }
        }
    }

    /// Writes the keys of `indices` by [`KeyRule::Addressed`] in the contract at `address`.
    fn fill_addressed(&self, indices: &[u64], out: &mut [[u8; 32]], address: &Address) {
        self.fill_hashes(indices, out);
        for key in out {
            key[12..].copy_from_slice(address.as_slice());
        }
    }

    /// Writes keccak(seed ‖ i) of all `indices` into `out`.
    fn fill_hashes(&self, indices: &[u64], out: &mut [[u8; 32]]) {
        let mut inputs = [keccak_input(&self.seed, 0); CHUNK];
        for (indices, out) in indices.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
            for (input, index) in inputs.iter_mut().zip(indices) {
                input[56..].copy_from_slice(&index.to_be_bytes());
            }
            keccak256_many_64(&inputs[..indices.len()], out);
        }
    }

    /// Writes the values of `indices` into `out`.
    pub(crate) fn fill_values(&self, indices: &[u64], out: &mut [[u8; 32]]) {
        assert_eq!(indices.len(), out.len(), "one place for each value");
        match self.values {
            ValueRule::Random => {
                let mixer = Mixer::new(&self.seed);
                for (out, index) in out.iter_mut().zip(indices) {
                    *out = mixer.value(*index);
                }
            }
            ValueRule::NextKey => {
                let next: Vec<u64> = indices.iter().map(|index| self.ahead(*index, 1)).collect();
                self.fill_keys(&next, out);
                for value in out.iter_mut().filter(|value| **value == [0; 32]) {
                    *value = not_zero(U256::ZERO).to_be_bytes();
                }
            }
            ValueRule::KeyElsewhere { address, ahead } => {
                let next: Vec<u64> =
                    indices.iter().map(|index| self.ahead(*index, ahead)).collect();
                self.fill_addressed(&next, out, &address);
            }
            ValueRule::AfterKey => {
                self.fill_keys(indices, out);
                for value in out {
                    let next = U256::from_be_bytes(*value).wrapping_add(U256::ONE);
                    *value = not_zero(next).to_be_bytes();
                }
            }
        }
    }

    /// `index` plus `distance`, modulo the family's count. An index so large that the sum overflows
    /// is of an absent key.
    fn ahead(&self, index: u64, distance: u64) -> u64 {
        let next = index.wrapping_add(distance);
        if next >= self.count { next % self.count.max(1) } else { next }
    }
}

/// Replaces zero by one, since a slot with value zero does not exist.
fn not_zero(value: U256) -> U256 {
    if value.is_zero() { U256::ONE } else { value }
}

/// holder ‖ 0, each as a 32-byte word; the holder's address is the low 20 bytes of `hash`.
fn balance_input(hash: &[u8; 32]) -> [u8; 64] {
    let mut input = [0; 64];
    input[12..32].copy_from_slice(&hash[12..]);
    input
}

/// seed ‖ index, both as 32-byte big-endian words.
pub(crate) fn keccak_input(seed: &B256, index: u64) -> [u8; 64] {
    let mut input = [0; 64];
    input[..32].copy_from_slice(seed.as_slice());
    input[56..].copy_from_slice(&index.to_be_bytes());
    input
}

/// Little-endian limbs, as big-endian bytes.
pub(crate) fn to_be_bytes(limbs: [u64; 4]) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (bytes, limb) in bytes.chunks_exact_mut(8).zip(limbs.into_iter().rev()) {
        bytes.copy_from_slice(&limb.to_be_bytes());
    }
    bytes
}

/// The Weyl sequence seed + i·W mod 2^256, in little-endian limbs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weyl {
    seed: [u64; 4],
}

impl Weyl {
    pub(crate) fn new(seed: &B256) -> Self {
        Self { seed: *U256::from_be_bytes(seed.0).as_limbs() }
    }

    /// seed + index·W: four multiplications instead of a general 256-bit product.
    #[inline]
    pub(crate) fn at(&self, index: u64) -> [u64; 4] {
        let mut out = [0; 4];
        let mut carry = 0_u128;
        for ((out, step), seed) in out.iter_mut().zip(WEYL_STEP.as_limbs()).zip(self.seed) {
            // At most (2^64-1)^2 + 2·(2^64-1) = 2^128 - 1.
            let sum = u128::from(*step) * u128::from(index) + u128::from(seed) + carry;
            *out = sum as u64;
            carry = sum >> 64;
        }
        out
    }
}

/// Pseudo-random values by `SplitMix64` (Steele, Lea, Flood 2014). Each of the four words of a
/// value has its own generator. Word j of value i is output 4i + j of generator j. All count from
/// 0. Each generator begins at a state that depends on the whole seed.
#[derive(Clone, Copy, Debug)]
struct Mixer {
    states: [u64; 4],
}

impl Mixer {
    fn new(seed: &B256) -> Self {
        let words = *U256::from_be_bytes(seed.0).as_limbs();
        let all = words.iter().fold(0_u64, |all, word| finalise(all.wrapping_add(GAMMA) ^ word));
        Self { states: words.map(|word| finalise(all ^ word)) }
    }

    #[inline]
    fn value(&self, index: u64) -> [u8; 32] {
        let mut bytes = [0; 32];
        let mut output = index.wrapping_mul(4);
        for (bytes, state) in bytes.chunks_exact_mut(8).zip(self.states) {
            // A generator steps before its output, so output 0 has one step.
            output = output.wrapping_add(1);
            let word = finalise(state.wrapping_add(output.wrapping_mul(GAMMA)));
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        if bytes == [0; 32] {
            bytes[31] = 1;
        }
        bytes
    }
}

/// The finaliser of `SplitMix64`, a bijection.
#[inline]
fn finalise(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use alloy_primitives::hex;
    use proptest::prelude::*;

    use super::*;

    fn family(keys: KeyRule, values: ValueRule, seed: B256) -> SlotFamily {
        SlotFamily { address: Address::ZERO, count: 100, keys, values, seed }
    }

    #[test]
    fn the_weyl_step_is_the_floor_of_2_to_256_over_phi_and_odd() {
        // 2^256/φ = 2^255·(√5 - 1) = √(5·2^510) - 2^255; its floor s has
        // (s + 2^255)^2 <= 5·2^510 < (s + 2^255 + 1)^2.
        type Wide = alloy_primitives::Uint<576, 9>;
        let root = Wide::from(WEYL_STEP) + (Wide::from(1) << 255);
        let square = Wide::from(5) << 510;
        assert!(root * root <= square);
        assert!((root + Wide::from(1)) * (root + Wide::from(1)) > square);
        assert!(WEYL_STEP.bit(0));
    }

    #[test]
    fn what_a_rule_gives_never_changes() {
        let seed = B256::with_last_byte(1);
        let keccak = family(KeyRule::Keccak, ValueRule::Random, seed);
        let mut input = [0; 64];
        (input[31], input[63]) = (1, 7);
        assert_eq!(keccak.key(7), U256::from_be_bytes(keccak256(input).0));
        let holder = crate::AccountFamily { seed, count: 9, code: crate::CodeRule::Nothing };
        let slot = [holder.address(7).into_word(), B256::ZERO].concat();
        let balance = family(KeyRule::Balance, ValueRule::Random, seed);
        assert_eq!(balance.key(7), U256::from_be_bytes(keccak256(slot).0));
        let there = Address::repeat_byte(0xa1);
        let elsewhere = ValueRule::KeyElsewhere { address: there, ahead: 1 };
        let hop = family(KeyRule::Addressed, elsewhere, seed);
        let key = |index, address: Address| {
            let prefix = keccak.key(index).to_be_bytes::<32>();
            U256::from_be_slice(&[&prefix[..12], address.as_slice()].concat())
        };
        assert_eq!(hop.key(7), key(7, hop.address));
        assert_eq!((hop.value(7), hop.value(99)), (key(8, there), key(0, there)));
        let weyl = family(KeyRule::Weyl, ValueRule::NextKey, seed);
        assert_eq!(weyl.key(3), U256::ONE + WEYL_STEP.wrapping_mul(U256::from(3)));
        assert_eq!(weyl.value(99), weyl.key(0));
        assert_eq!(weyl.value(4), weyl.key(5));
        let index = family(KeyRule::Index, ValueRule::AfterKey, seed);
        assert_eq!((index.key(0), index.key(1_000)), (U256::ZERO, U256::from(1_000)));
        assert_eq!((index.value(0), index.value(1_000)), (U256::ONE, U256::from(1_001)));
        let deep = family(KeyRule::Deep, ValueRule::Random, seed);
        assert_eq!(deep.key(10), U256::from(deep::DEEP_KEYS[10]));
        assert_eq!(deep.key(11), (U256::ONE << 64) + U256::from(11));
        let expected = hex!("47bd0e9268d50f9d859feb8d394e410daf432f3409d5a1f9fc920344f19ca062");
        assert_eq!(keccak.value(5).to_be_bytes::<32>(), expected);
    }

    #[test]
    fn words_of_random_values_differ_even_for_a_seed_of_zeros() {
        let family = family(KeyRule::Weyl, ValueRule::Random, B256::ZERO);
        let words: HashSet<u64> = (0..1000).flat_map(|i| *family.value(i).as_limbs()).collect();
        assert_eq!(words.len(), 4000);
    }

    #[test]
    fn a_value_is_never_zero() {
        // Weyl with seed 0 has key 0 = 0, which the last slot would hold.
        let family = family(KeyRule::Weyl, ValueRule::NextKey, B256::ZERO);
        assert_eq!(family.value(99), U256::ONE);
        let mut values = Vec::new();
        family.values(&[99], &mut values);
        assert_eq!(U256::from_be_bytes(values[0]), U256::ONE);
    }

    proptest! {
        #[test]
        fn batches_equal_single_keys_and_values(
            seed in any::<[u8; 32]>(),
            indices in prop::collection::vec(prop_oneof![0..200_u64, any::<u64>()], 0..300),
        ) {
            let elsewhere =
                ValueRule::KeyElsewhere { address: Address::repeat_byte(0xa1), ahead: 1 };
            let keys = [KeyRule::Keccak, KeyRule::Weyl, KeyRule::Balance, KeyRule::Addressed];
            for keys in keys.into_iter().chain([KeyRule::Index, KeyRule::Deep]) {
                let values = [ValueRule::Random, ValueRule::NextKey, elsewhere];
                for values in values.into_iter().chain([ValueRule::AfterKey]) {
                    let family = family(keys, values, B256::from(seed));
                    let (mut batch_keys, mut batch_values) = (Vec::new(), Vec::new());
                    family.keys(&indices, &mut batch_keys);
                    family.values(&indices, &mut batch_values);
                    for (i, index) in indices.iter().enumerate() {
                        prop_assert_eq!(U256::from_be_bytes(batch_keys[i]), family.key(*index));
                        prop_assert_eq!(U256::from_be_bytes(batch_values[i]), family.value(*index));
                    }
                }
            }
        }

        #[test]
        fn the_short_product_equals_the_full_one(seed in any::<[u8; 32]>(), index in any::<u64>()) {
            let full = U256::from_be_bytes(seed)
                .wrapping_add(WEYL_STEP.wrapping_mul(U256::from(index)));
            prop_assert_eq!(U256::from_limbs(Weyl::new(&B256::from(seed)).at(index)), full);
        }
    }
}
