//! Finds a family's slots whose hashed keys begin with a given nibble, for storms below one nibble.
//! Only hashing finds them, so the search goes on as transactions need more of them.

use std::collections::VecDeque;

use alloy_primitives::U256;
use workload::{Layout, SlotFamily};

use crate::meter::IndexPair;

/// Number of indices that are hashed together.
const CHUNK: u64 = 1_024;

/// The search for such slots, and the found ones that no transaction has taken yet.
#[derive(Debug)]
pub(super) struct Picks<'g> {
    family: &'g SlotFamily,
    nibble: u8,
    /// Index at which the search begins; it goes on around the family's end.
    start: u64,
    /// Number of indices checked so far. A round checks each index of the family once.
    searched_count: u64,
    /// Number of indices found in the first round.
    found_count: u64,
    /// Found indices that no transaction has taken yet.
    waiting: VecDeque<u64>,
}

impl<'g> Picks<'g> {
    /// The indices of `family` from `start` on whose slots have hashes that begin with `nibble`.
    pub(super) fn new(family: &'g SlotFamily, nibble: u8, start: u64) -> Self {
        let waiting = VecDeque::new();
        Self { family, nibble, start, searched_count: 0, found_count: 0, waiting }
    }

    /// Searches until at least `count` found indices wait to be taken. Where the family has too few
    /// such indices, they are taken again. Where the family has no such index, all of its indices
    /// are taken.
    pub(super) fn find(&mut self, count: u64) {
        let mut keys = Vec::new();
        let held_count = self.family.count;
        while (self.waiting.len() as u64) < count {
            let is_first_round = self.searched_count < held_count;
            let has_none = !is_first_round && self.found_count == 0;
            let from = (self.start + self.searched_count) % held_count;
            // A chunk ends where the family or a round does.
            let round_left = held_count - self.searched_count % held_count;
            let chunk = CHUNK.min(held_count - from).min(round_left);
            let indices: Vec<u64> = (from..from + chunk).collect();
            self.family.keys(&indices, &mut keys);
            let slots: Vec<U256> = keys.iter().map(|key| U256::from_be_bytes(*key)).collect();
            Layout::Hashed.slot_key_parts(&slots, &mut keys);
            let hashes = indices.iter().zip(&keys);
            let found = hashes.filter(|(_, hash)| has_none || hash[0] >> 4 == self.nibble);
            let before = self.waiting.len();
            self.waiting.extend(found.map(|(index, _)| *index));
            if is_first_round {
                self.found_count += (self.waiting.len() - before) as u64;
            }
            self.searched_count += chunk;
        }
    }

    /// The next `count` waiting indices as ranges, in order.
    pub(super) fn ranges(&self, count: u64) -> Vec<IndexPair> {
        let mut pairs: Vec<IndexPair> = Vec::new();
        for index in self.waiting.iter().take(count as usize) {
            match pairs.last_mut() {
                Some((start, count)) if *start + *count == *index => *count += 1,
                _ => pairs.push((*index, 1)),
            }
        }
        pairs
    }

    /// Takes the next `count` indices.
    pub(super) fn take(&mut self, count: u64) {
        self.waiting.drain(..count as usize);
    }

    /// Number of the family's indices whose hashed keys begin with the nibble; `None` before all
    /// indices are checked.
    pub(super) fn held_count(&self) -> Option<u64> {
        (self.searched_count >= self.family.count).then_some(self.found_count)
    }
}
