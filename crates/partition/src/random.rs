//! Random numbers that are the same on every machine: ChaCha12 from a seed.

use rand::{Rng, SeedableRng, rngs::ChaCha12Rng};

/// A stream of random numbers.
#[derive(Debug)]
pub(crate) struct Random {
    stream: ChaCha12Rng,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self { stream: ChaCha12Rng::from_seed(bytes) }
    }

    /// A random number below `count`, which is not 0. All numbers have the same probability, except
    /// for a relative error of `count` / 2^64.
    fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.stream.next_u64()) * u128::from(count)) >> 64) as u64
    }

    /// The numbers below `count` in a random order (Fisher and Yates).
    pub(crate) fn order(&mut self, count: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..count as u32).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last as u64 + 1) as usize);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_each_number_once_and_follows_from_its_seed() {
        let order = Random::new(7).order(1_000);
        assert_eq!(order, Random::new(7).order(1_000));
        assert_ne!(order, Random::new(8).order(1_000));
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..1_000));
        assert!(!order.is_sorted());
    }
}
