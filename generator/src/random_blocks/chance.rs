//! Pseudo-random choices from a seed: the outputs of `SplitMix64` (Steele, Lea, Flood 2014), the
//! same on every machine. Only for choosing; nothing here is secret or spread evenly to the bit.

/// A stream of choices.
#[derive(Clone, Debug)]
pub(super) struct Chance {
    state: u64,
}

impl Chance {
    /// The stream that `seed` decides.
    pub(super) const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// 64 bits.
    pub(super) const fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = self.state;
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(super) const fn below(&mut self, end: u64) -> u64 {
        self.word() % end
    }

    /// A byte below `end`, which is not 0.
    pub(super) const fn byte(&mut self, end: u8) -> u8 {
        self.below(end as u64) as u8
    }

    /// Yes once in `times`.
    pub(super) const fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of `all`, which is not empty.
    pub(super) const fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// One of `all` by its weight; the weights' sum is not 0.
    pub(super) fn weighted<T: Copy>(&mut self, all: &[(u64, T)]) -> T {
        let total: u64 = all.iter().map(|(weight, _)| weight).sum();
        let mut at = self.below(total);
        for (weight, choice) in all {
            match at.checked_sub(*weight) {
                None => return *choice,
                Some(rest) => at = rest,
            }
        }
        all[0].1
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
