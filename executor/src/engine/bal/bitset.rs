//! A set of dense ids with one bit for each id. Holds the keys of a list that steps touched, or
//! that a shard requested.

/// A set of ids in `0..count`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bitset {
    words: Vec<u64>,
    count: usize,
}

impl Bitset {
    /// Makes an empty set of ids in `0..count`.
    pub(crate) fn new(count: usize) -> Self {
        Self { words: vec![0; count.div_ceil(64)], count }
    }

    /// Makes the set of ids in `0..count` whose bits are 1 in `words`, lowest bit first. Returns
    /// `None` if there are too few or too many words, or a bit at or above `count` is 1.
    pub(crate) fn from_words(words: Vec<u64>, count: usize) -> Option<Self> {
        let last = words.last().copied().unwrap_or(0);
        let is_in_range = count.is_multiple_of(64) || last >> (count % 64) == 0;
        (words.len() == count.div_ceil(64) && is_in_range).then_some(Self { words, count })
    }

    /// Returns the words from which [`Self::from_words`] makes this set.
    pub(crate) fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// Adds `id`, and returns whether it was missing.
    #[inline]
    pub(crate) fn insert(&mut self, id: usize) -> bool {
        let (word, bit) = (&mut self.words[id / 64], 1 << (id % 64));
        let was_missing = *word & bit == 0;
        *word |= bit;
        was_missing
    }

    /// Adds all ids of `other`, whose `count` must be equal.
    pub(crate) fn union(&mut self, other: &Self) {
        assert_eq!(self.count, other.count, "sets over different ids");
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// Returns the lowest id that is missing.
    pub(crate) fn first_missing(&self) -> Option<usize> {
        let index = self.words.iter().position(|word| *word != u64::MAX)?;
        let id = index * 64 + self.words[index].trailing_ones() as usize;
        (id < self.count).then_some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_make_the_set_that_they_are_of_and_no_other() {
        for count in [0, 1, 63, 64, 65, 128] {
            let mut set = Bitset::new(count);
            (0..count).step_by(3).for_each(|id| assert!(set.insert(id)));
            let words = set.clone().into_words();
            let back = Bitset::from_words(words.clone(), count).map(Bitset::into_words);
            assert_eq!(back, Some(words.clone()), "{count} ids");
            assert!(Bitset::from_words([&words[..], &[0]].concat(), count).is_none());
            if !count.is_multiple_of(64) {
                let beyond = words.iter().map(|_| u64::MAX).collect();
                assert!(Bitset::from_words(beyond, count).is_none(), "{count} ids");
            }
        }
    }

    #[test]
    fn the_first_missing_id_is_found_at_every_place() {
        for count in [0, 1, 63, 64, 65, 200] {
            let mut all = Bitset::new(count);
            assert!((0..count).all(|id| all.insert(id)), "{count} ids are new");
            assert!(!(0..count).any(|id| all.insert(id)), "and then they are not");
            assert_eq!(all.first_missing(), None, "{count} ids");
            for missing in 0..count {
                let (mut low, mut high) = (Bitset::new(count), Bitset::new(count));
                (0..missing).for_each(|id| assert!(low.insert(id)));
                (missing + 1..count).for_each(|id| assert!(high.insert(id)));
                low.union(&high);
                assert_eq!(low.first_missing(), Some(missing));
            }
        }
    }
}
