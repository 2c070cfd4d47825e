//! Pseudo-random choices from a seed, the same on every machine of one version of `rand`.

use rand::{RngExt, SeedableRng, rngs::ChaCha12Rng, seq::IndexedRandom};

/// A stream of choices.
#[derive(Debug)]
pub(crate) struct Chance {
    stream: ChaCha12Rng,
}

impl Chance {
    /// Begins the stream of `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self { stream: ChaCha12Rng::seed_from_u64(seed) }
    }

    /// Draws a number below `end`, which must not be 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.stream.random_range(..end)
    }

    /// Draws a byte below `end`, which must not be 0.
    pub(crate) fn byte(&mut self, end: u8) -> u8 {
        self.stream.random_range(..end)
    }

    /// True once in `times` draws.
    pub(crate) fn once_in(&mut self, times: u32) -> bool {
        self.stream.random_ratio(1, times)
    }

    /// Draws one of `all`.
    ///
    /// # Panics
    /// When there is none.
    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        *all.choose(&mut self.stream).expect("there is something to choose from")
    }

    /// Draws one of `all` by its weight.
    ///
    /// # Panics
    /// When the weights' sum is 0.
    pub(crate) fn weighted<T: Copy>(&mut self, all: &[(u64, T)]) -> T {
        let chosen = all.choose_weighted(&mut self.stream, |(weight, _)| *weight);
        chosen.unwrap_or_else(|error| panic!("{} weights: {error}", all.len())).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_decide_how_often_something_is_chosen() {
        let mut chance = Chance::new(1);
        let chosen = (0..1_000).filter(|_| chance.weighted(&[(9, true), (1, false)])).count();
        assert!((850..950).contains(&chosen), "{chosen}");
        assert!((0..1_000).all(|_| chance.weighted(&[(0, false), (1, true)])));
    }
}
