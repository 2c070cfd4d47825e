//! Stores the writes of one field (slots, balances, nonces or codes) by dense id. The store is
//! sparse: an id without writes costs two bits.

use crate::step::BlockAccessIndex;
use std::ops::Range;

/// Number of writes of one id from which on they are bisected. Fewer writes are compared in turn,
/// which is faster.
const LINEAR_MAX_COUNT: usize = 5;

/// The ids with writes, among 64 consecutive ones.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    bits: u64,
    /// Number of ids with writes before these 64.
    rank: u32,
}

/// The writes of a field: for each id its values by ascending index.
#[derive(Clone, Debug)]
pub(super) struct Writes<V> {
    words: Vec<Word>,
    /// Index of the first write of each id that has any, in the order of ids. The last element is
    /// the number of all writes.
    starts: Vec<u32>,
    indices: Vec<BlockAccessIndex>,
    values: Vec<V>,
}

impl<V> Default for Writes<V> {
    fn default() -> Self {
        Self { words: Vec::new(), starts: vec![0], indices: Vec::new(), values: Vec::new() }
    }
}

impl<V> Writes<V> {
    /// Appends a write to the id that is being filled.
    pub(super) fn push(&mut self, index: BlockAccessIndex, value: V) {
        self.indices.push(index);
        self.values.push(value);
    }

    /// Ends the id that is being filled, and returns whether it has a write. An id without one
    /// leaves no trace.
    pub(super) fn end_id(&mut self) -> EndIdResult {
        // A list has fewer than 2^32 bytes, and so fewer writes.
        let end = self.indices.len() as u32;
        if self.starts.last() == Some(&end) {
            return EndIdResult::Empty;
        }
        self.starts.push(end);
        EndIdResult::Written
    }

    /// Ends the id that is being filled, whose number is `id`.
    pub(super) fn end_id_as(&mut self, id: u32) {
        if self.end_id() == EndIdResult::Written {
            self.set_id(id);
        }
    }

    /// Gives its number to the first ended id with writes that has none yet. Numbers must ascend
    /// from call to call.
    pub(super) fn set_id(&mut self, id: u32) {
        let word = id as usize / 64;
        if self.words.len() <= word {
            self.words.resize(word + 1, Word::default());
        }
        self.words[word].bits |= 1 << (id % 64);
    }

    /// Computes the ranks that lookups need. Must follow the last call of `set_id`.
    pub(super) fn finish(&mut self) {
        let mut rank = 0;
        for word in &mut self.words {
            word.rank = rank;
            rank += word.bits.count_ones();
        }
    }

    /// Number of writes.
    pub(super) const fn count(&self) -> usize {
        self.indices.len()
    }

    /// Number of ids with a write.
    pub(super) const fn id_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether `id` has a write.
    #[inline]
    pub(super) fn contains(&self, id: u32) -> bool {
        self.words.get(id as usize / 64).is_some_and(|word| word.bits >> (id % 64) & 1 == 1)
    }

    /// The positions of the writes of `id`.
    #[inline]
    fn range(&self, id: u32) -> Option<Range<usize>> {
        let word = self.words.get(id as usize / 64)?;
        let bit = 1_u64 << (id % 64);
        if word.bits & bit == 0 {
            return None;
        }
        let rank = (word.rank + (word.bits & (bit - 1)).count_ones()) as usize;
        Some(self.starts[rank] as usize..self.starts[rank + 1] as usize)
    }

    /// The last write of `id` before the step at `index`.
    #[inline]
    pub(super) fn before(&self, id: u32, index: BlockAccessIndex) -> Option<&V> {
        let range = self.range(id)?;
        let indices = &self.indices[range.clone()];
        let count = if indices.len() < LINEAR_MAX_COUNT {
            indices.iter().take_while(|at| **at < index).count()
        } else {
            indices.partition_point(|at| *at < index)
        };
        Some(&self.values[range.start + count.checked_sub(1)?])
    }

    /// The write of `id` at `index`.
    #[inline]
    pub(super) fn at(&self, id: u32, index: BlockAccessIndex) -> Option<&V> {
        let range = self.range(id)?;
        let place = self.indices[range.clone()].binary_search(&index).ok()?;
        Some(&self.values[range.start + place])
    }

    /// All writes of `id` by ascending index.
    pub(super) fn of(&self, id: u32) -> impl Iterator<Item = (BlockAccessIndex, &V)> {
        let range = self.range(id).unwrap_or(0..0);
        self.indices[range.clone()].iter().copied().zip(&self.values[range])
    }
}

/// Whether an id that was ended has a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndIdResult {
    /// At least one.
    Written,
    /// No write.
    Empty,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_found_by_id_and_index() {
        let mut writes = Writes::default();
        for (id, indices) in [(3, vec![1, 4]), (200, vec![0, 2, 4, 6, 8, 10])] {
            for index in indices {
                writes.push(index, id * 100 + index);
            }
            assert_eq!(writes.end_id(), EndIdResult::Written);
            writes.set_id(id);
        }
        assert_eq!(writes.end_id(), EndIdResult::Empty);
        writes.finish();
        assert_eq!(writes.before(3, 1), None);
        assert_eq!(writes.before(3, 4), Some(&301));
        assert_eq!(writes.before(200, u32::MAX), Some(&20_010));
        assert_eq!(writes.before(200, 5), Some(&20_004));
        assert_eq!((writes.at(200, 5), writes.at(200, 6)), (None, Some(&20_006)));
        assert_eq!(writes.of(3).collect::<Vec<_>>(), [(1, &301), (4, &304)]);
    }
}
