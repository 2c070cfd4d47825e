//! Chooses the keys of raw reads, by a pseudorandom permutation of the indices of a family of
//! slots. No key repeats before all keys were drawn. The order depends neither on the recipe's
//! order nor on the rows'. Reads in the order of the rows would find many blocks in caches.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use alloy_primitives::U256;
use workload::SlotFamily;

use crate::device::{Permutation, ROUND_COUNT, mixed};

/// Name of the random stream of the draws. A recipe uses streams of other names.
const STREAM: &str = "stress 2026 draw of raw reads";

/// An endless sequence of slots, which all threads and all measurements of a run share.
#[derive(Debug)]
pub struct SlotSequence {
    permutation: Permutation,
    /// Share of the draws that give an existing slot, in units of 2^-64.
    present_share: u128,
    /// Key of the choice between an existing and an absent slot.
    choice_key: u64,
    /// Number of the next draw.
    next: AtomicU64,
}

impl SlotSequence {
    /// Makes the sequence of draws of `seed` over the slots of `family`. A share of `present_share`
    /// (0 to 1) of the draws gives existing slots.
    pub fn new(family: &SlotFamily, seed: u64, present_share: f64) -> Self {
        let mut words = [0; 8 * (ROUND_COUNT + 1)];
        let mut hasher = blake3::Hasher::new_derive_key(STREAM);
        hasher.update(&seed.to_le_bytes());
        hasher.finalize_xof().fill(&mut words);
        let mut keys = [0; ROUND_COUNT + 1];
        for (key, bytes) in keys.iter_mut().zip(words.as_chunks::<8>().0) {
            *key = u64::from_le_bytes(*bytes);
        }
        let [rounds @ .., choice_key] = keys;
        let present_share = (present_share.clamp(0.0, 1.0) * (1_u128 << 64) as f64) as u128;
        let permutation = Permutation::new(family.count.max(1), rounds, 0);
        Self { permutation, present_share, choice_key, next: AtomicU64::new(0) }
    }

    /// Returns the number of draws after which keys repeat.
    pub const fn period(&self) -> u64 {
        self.permutation.count()
    }

    /// Returns the number of draws so far. If it is above [`Self::period`], keys have repeated.
    pub fn draw_count(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Takes the numbers of the next `count` draws.
    pub(super) fn claim(&self, count: u64) -> Range<u64> {
        let start = self.next.fetch_add(count, Ordering::Relaxed);
        start..start + count
    }

    /// Returns the index of a draw's slot. An index beyond the family's slots is that of an absent
    /// slot.
    fn slot_index(&self, draw: u64) -> u64 {
        let number = draw % self.permutation.count();
        let index = self.permutation.at(number);
        let is_present = u128::from(mixed(number ^ self.choice_key)) < self.present_share;
        // The key rule also gives keys for indices beyond the existing slots.
        if is_present { index } else { self.permutation.count() + index }
    }
}

/// Keys and expected values of some draws. Refilled without allocation.
pub(super) struct Batch {
    indices: Vec<u64>,
    /// Memory for encoded keys, and then for encoded values.
    bytes: Vec<[u8; 32]>,
    pub(super) keys: Vec<U256>,
    /// Expected values; zero for an absent slot.
    pub(super) values: Vec<U256>,
    pub(super) present_count: u64,
}

impl Batch {
    pub(super) fn with_capacity(count: usize) -> Self {
        Self {
            indices: Vec::with_capacity(count),
            bytes: Vec::with_capacity(count),
            keys: Vec::with_capacity(count),
            values: Vec::with_capacity(count),
            present_count: 0,
        }
    }

    /// Fills the batch with the keys and values of `draws`.
    pub(super) fn fill(&mut self, family: &SlotFamily, sequence: &SlotSequence, draws: Range<u64>) {
        self.indices.clear();
        self.indices.extend(draws.map(|number| sequence.slot_index(number)));
        family.keys(&self.indices, &mut self.bytes);
        self.keys.clear();
        self.keys.extend(self.bytes.iter().map(|bytes| U256::from_be_bytes(*bytes)));
        family.values(&self.indices, &mut self.bytes);
        self.values.clear();
        self.present_count = 0;
        for (index, bytes) in self.indices.iter().zip(&self.bytes) {
            let is_present = *index < family.count;
            self.present_count += u64::from(is_present);
            self.values.push(if is_present { U256::from_be_bytes(*bytes) } else { U256::ZERO });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use alloy_primitives::{Address, B256};
    use workload::{KeyRule, ValueRule};

    use super::*;

    fn family(count: u64) -> SlotFamily {
        SlotFamily {
            address: Address::ZERO,
            count,
            keys: KeyRule::Weyl,
            values: ValueRule::Random,
            seed: B256::ZERO,
        }
    }

    #[test]
    fn every_slot_is_drawn_once_before_any_is_drawn_again() {
        for count in [1, 2, 3, 4, 5, 63, 64, 65, 1_000, 4_097] {
            let sequence = SlotSequence::new(&family(count), 7, 1.0);
            let of =
                |range: Range<u64>| range.map(|n| sequence.slot_index(n)).collect::<HashSet<_>>();
            assert_eq!(of(0..count), (0..count).collect(), "{count}");
            assert_eq!(sequence.slot_index(count), sequence.slot_index(0));
        }
    }

    #[test]
    fn the_order_is_not_that_of_the_recipe_and_another_seed_has_another() {
        let order = |seed| {
            let sequence = SlotSequence::new(&family(10_000), seed, 1.0);
            (0..10_000).map(|n| sequence.slot_index(n)).collect::<Vec<_>>()
        };
        let (first, second) = (order(1), order(2));
        assert_eq!(first, order(1));
        for other in [&second, &(0..10_000).collect()] {
            let same = first.iter().zip(other).filter(|(a, b)| a == b).count();
            assert!(same < 20, "{same} of 10,000 are at the same place");
        }
        let ascending = first.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((4_500..5_500).contains(&ascending), "{ascending}");
    }

    #[test]
    fn the_share_that_exists_is_the_one_asked_for_and_absent_keys_are_beyond_the_slots() {
        for (share, expected) in [(0.0, 0..=0), (0.5, 4_800..=5_200), (1.0, 10_000..=10_000)] {
            let (family, sequence) = (family(10_000), SlotSequence::new(&family(10_000), 3, share));
            let mut batch = Batch::with_capacity(10_000);
            batch.fill(&family, &sequence, sequence.claim(10_000));
            assert!(expected.contains(&batch.present_count), "{share}: {}", batch.present_count);
            let zeros = batch.values.iter().filter(|value| value.is_zero()).count() as u64;
            assert_eq!(zeros, 10_000 - batch.present_count);
            assert_eq!(batch.keys.iter().collect::<HashSet<_>>().len(), 10_000);
            assert_eq!(sequence.draw_count(), 10_000);
        }
    }
}
