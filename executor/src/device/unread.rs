//! Chooses blocks that this run has not read yet, by a random permutation of all blocks. All
//! passes, methods and threads take their blocks from one sequence. So no block is read that an
//! earlier read has brought into a cache below the kernel. After all blocks are read, blocks
//! repeat, and the repetitions are counted. Raw reads of a store (`raw/keys.rs`) use the
//! permutation, too.

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of rounds of the Feistel network. Four rounds with pseudorandom functions make a
/// pseudorandom permutation (Luby and Rackoff 1988).
pub(crate) const ROUND_COUNT: usize = 4;

/// A sequence of all blocks in random order, which threads share.
#[derive(Debug)]
pub(super) struct UnreadBlocks {
    permutation: Permutation,
    /// Number of taken blocks, with repetitions.
    taken_count: AtomicU64,
}

impl UnreadBlocks {
    /// Makes the sequence of the blocks `0..block_count`, at least one, in the order of `seed`. Its
    /// first `taken_count` blocks were taken before.
    pub(super) const fn after(taken_count: u64, block_count: u64, seed: u64) -> Self {
        let mut rng = SplitMix64(seed);
        let keys = [rng.next(), rng.next(), rng.next(), rng.next()];
        let permutation = Permutation::new(block_count, keys, SplitMix64::STEP);
        Self { permutation, taken_count: AtomicU64::new(taken_count) }
    }

    /// Takes the next block. After the last block the sequence begins again.
    pub(super) fn next(&self) -> u64 {
        let index = self.taken_count.fetch_add(1, Ordering::Relaxed);
        self.permutation.at(index % self.permutation.count)
    }

    /// Takes the next `count` blocks.
    pub(super) fn take(&self, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.next()).collect()
    }

    /// Returns the number of taken blocks, with repetitions.
    pub(super) fn taken_count(&self) -> u64 {
        self.taken_count.load(Ordering::Relaxed)
    }

    /// Returns the share of all blocks that were taken.
    pub(super) fn taken_share(&self) -> f64 {
        self.taken_count().min(self.permutation.count) as f64 / self.permutation.count as f64
    }

    /// Returns the number of blocks that were taken again.
    pub(super) fn repeated_count(&self) -> u64 {
        self.taken_count().saturating_sub(self.permutation.count)
    }
}

/// A permutation of `0..count` that needs no memory: a Feistel network over the smallest sufficient
/// even number of bits. A number outside the range is permuted again until it is inside.
#[derive(Debug)]
pub(crate) struct Permutation {
    count: u64,
    half_bits: u32,
    keys: [u64; ROUND_COUNT],
    step: u64,
}

impl Permutation {
    /// Makes the permutation. Round `i` mixes with `keys[i]`, and adds `step`.
    pub(crate) const fn new(count: u64, keys: [u64; ROUND_COUNT], step: u64) -> Self {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let half_bits = if bits < 2 { 1 } else { bits.div_ceil(2) };
        Self { count, half_bits, keys, step }
    }

    /// Number of permuted numbers.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number at `index`.
    pub(crate) fn at(&self, index: u64) -> u64 {
        let mut number = index;
        loop {
            number = self.shuffled(number);
            if number < self.count {
                return number;
            }
        }
    }

    fn shuffled(&self, value: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            let round = mixed((right ^ key).wrapping_add(self.step));
            (left, right) = (right, left ^ (round & mask));
        }
        left << self.half_bits | right
    }
}

/// Random number generator of Steele, Lea and Flood (OOPSLA 2014). It takes a nanosecond per
/// number, and its quality suffices for offsets.
struct SplitMix64(u64);

impl SplitMix64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::STEP);
        mixed(self.0)
    }
}

/// The finaliser of `SplitMix64`, a bijection.
pub(crate) const fn mixed(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_block_is_handed_out_once_before_any_is_again() {
        for block_count in [1, 2, 3, 5, 64, 1_000, 4_097] {
            let blocks = UnreadBlocks::after(0, block_count, 7);
            let all: HashSet<u64> = (0..block_count).map(|_| blocks.next()).collect();
            assert_eq!(all.len() as u64, block_count);
            assert!(all.iter().all(|block| *block < block_count));
            assert_eq!(blocks.repeated_count(), 0);
            blocks.next();
            assert_eq!(blocks.repeated_count(), 1);
        }
    }

    #[test]
    fn the_order_is_the_seeds() {
        let order = |seed| UnreadBlocks::after(0, 10_000, seed).take(100);
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
    }

    #[test]
    fn blocks_are_handed_out_where_an_earlier_use_ended() {
        let (first, all) =
            (UnreadBlocks::after(0, 1_000, 5), UnreadBlocks::after(0, 1_000, 5).take(1_000));
        let before = first.take(600);
        let then = UnreadBlocks::after(first.taken_count(), 1_000, 5);
        assert_eq!([before, then.take(400)].concat(), all);
        assert_eq!((then.taken_count(), then.repeated_count()), (1_000, 0));
        then.next();
        assert_eq!(then.repeated_count(), 1);
    }

    #[test]
    fn the_first_blocks_are_spread_evenly_over_the_files() {
        let mut counts = [0_u32; 10];
        for block in UnreadBlocks::after(0, 1_000_000, 3).take(100_000) {
            counts[(block / 100_000) as usize] += 1;
        }
        // Expected are 10,000 in each, with a standard deviation of 90; the limit is seven of
        // these.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 630), "{counts:?}");
    }
}
