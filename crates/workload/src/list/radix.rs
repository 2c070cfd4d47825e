//! A radix directory over sorted keys, for lookups in a [`super::ListIndex`]. The bits after the
//! keys' common prefix lead to a bucket of one or two keys on average. Where keys cluster within
//! those bits, their bucket is longer, and is bisected.

use alloy_primitives::U256;
use std::{borrow::Borrow, cmp::Ordering, ops::Range};

/// Minimum number of keys of a group that has a directory. A smaller group is bisected as a whole.
const MIN_KEY_COUNT: usize = 16;

/// Compares two keys, first by their most significant limb, in which most keys differ. `U256`'s own
/// comparison is slow where overflow checks are on.
#[inline]
pub(super) fn compare(a: &U256, b: &U256) -> Ordering {
    let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (a.as_limbs(), b.as_limbs());
    a3.cmp(b3).then_with(|| (a2, a1, a0).cmp(&(b2, b1, b0)))
}

/// Whether `a` is less than `b`, by one chain of borrows.
#[inline]
pub(super) const fn is_less(a: &U256, b: &U256) -> bool {
    let (a, b) = (a.as_limbs(), b.as_limbs());
    let borrow = a[0] < b[0];
    let borrow = (a[1] < b[1]) | ((a[1] == b[1]) & borrow);
    let borrow = (a[2] < b[2]) | ((a[2] == b[2]) & borrow);
    (a[3] < b[3]) | ((a[3] == b[3]) & borrow)
}

/// Directories of any number of groups of keys, in one array.
#[derive(Clone, Debug, Default)]
pub(super) struct Radix {
    /// For each bucket of each group, the index of the first key in this bucket or a later one.
    /// After its last bucket each group has one more element, the index after its last key.
    starts: Vec<u32>,
}

/// Position of one group's directory, and the bits of a key that it uses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    /// Index in `starts` of the group's first bucket.
    base: u32,
    /// Index of the limb that has the first bit after the common prefix; limb 3 is the most
    /// significant.
    limb: u8,
    /// Number of bits of that limb that belong to the prefix.
    skip: u8,
    /// Number of bits that select a bucket; 0 where the group has no directory.
    bits: u8,
}

impl Window {
    #[inline]
    fn bucket(self, key: &U256) -> usize {
        let limbs = key.as_limbs();
        let limb = usize::from(self.limb);
        let mut word = limbs[limb] << self.skip;
        if self.skip > 0 && limb > 0 {
            word |= limbs[limb - 1] >> (64 - self.skip);
        }
        (word >> (64 - self.bits)) as usize
    }
}

impl Radix {
    /// Adds the group of `keys`, which ascend strictly. `ends` has the index of the first key, and
    /// the least and greatest key.
    pub(super) fn add(
        &mut self,
        keys: impl ExactSizeIterator<Item: Borrow<U256>>,
        ends: Ends,
    ) -> Window {
        let count = keys.len();
        if count < MIN_KEY_COUNT {
            return Window::default();
        }
        let prefix = (ends.low ^ ends.high).leading_zeros();
        let base = self.starts.len();
        let window = Window {
            base: base as u32,
            limb: 3 - (prefix / 64) as u8,
            skip: (prefix % 64) as u8,
            bits: count.ilog2() as u8,
        };
        let bucket_count = 1_usize << window.bits;
        let end = ends.first + count as u32;
        self.starts.resize(base + bucket_count + 1, 0);
        let starts = &mut self.starts[base..];
        // The loop has no branch on the keys, since a processor cannot predict it. The last key of
        // each bucket sets the bucket's end; a bucket without keys gets the end of the bucket
        // before.
        for (key, index) in keys.zip(ends.first..end) {
            starts[window.bucket(key.borrow()) + 1] = index + 1;
        }
        let mut index = ends.first;
        for start in starts {
            index = index.max(*start);
            *start = index;
        }
        window
    }

    /// Indices of the keys that share the bucket of `key`. A group without a directory is one
    /// bucket, `whole`.
    #[inline]
    pub(super) fn bucket(&self, window: Window, key: &U256, whole: Range<u32>) -> Range<usize> {
        if window.bits == 0 {
            return whole.start as usize..whole.end as usize;
        }
        let index = window.base as usize + window.bucket(key);
        self.starts[index] as usize..self.starts[index + 1] as usize
    }
}

/// The ends of a group of keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    /// Index of the first key.
    pub(super) first: u32,
    /// The least key.
    pub(super) low: U256,
    /// The greatest key.
    pub(super) high: U256,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(keys: &[U256], absent: &[U256]) {
        let mut radix = Radix::default();
        let ends = Ends { first: 7, low: keys[0], high: keys[keys.len() - 1] };
        let window = radix.add(keys.iter(), ends);
        let whole = 7..7 + keys.len() as u32;
        for (key, index) in keys.iter().zip(7..) {
            assert!(radix.bucket(window, key, whole.clone()).contains(&index), "key {key:#x}");
        }
        for key in absent {
            let range = radix.bucket(window, key, whole.clone());
            assert!(range.start >= 7 && range.end <= 7 + keys.len());
        }
    }

    #[test]
    fn less_is_the_order_of_numbers() {
        let words = [0, 1, u64::MAX];
        let numbers: Vec<U256> = (0..81)
            .map(|n| U256::from_limbs([1, 3, 9, 27].map(|place| words[n / place % 3])))
            .collect();
        for a in &numbers {
            for b in &numbers {
                assert_eq!(is_less(a, b), a < b, "{a:#x} {b:#x}");
            }
        }
    }

    #[test]
    fn a_key_lies_in_its_bucket_however_the_keys_cluster() {
        let absent = [U256::ZERO, U256::MAX, U256::from(1) << 130];
        for shift in [0, 1, 60, 63, 64, 120, 190, 240] {
            let keys: Vec<U256> = (0..1_000_u64).map(|i| U256::from(i) << shift).collect();
            check(&keys, &absent);
            let offset = U256::from(5) << 252;
            check(&keys.iter().map(|key| *key | offset).collect::<Vec<_>>(), &absent);
        }
        let mut mixed: Vec<U256> = (0..20_u64).map(U256::from).collect();
        mixed.extend((1..100_u64).map(|i| U256::from(i) << 248));
        check(&mixed, &absent);
        check(&[U256::from(1), U256::MAX], &absent);
    }
}
