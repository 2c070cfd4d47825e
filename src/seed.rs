//! Default seeds: another one each time, so that no cache below has seen the blocks that a run is
//! going to read.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
};

/// Bits of a number that readers of JSON keep if they take numbers for floats.
const EXACT_BITS: u32 = 53;

/// A seed that nobody has had, of 53 bits: the standard library's keys for hashing come from the system.
pub fn fresh() -> u64 {
    RandomState::new().build_hasher().finish() >> (u64::BITS - EXACT_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_have_two_seeds() {
        assert_ne!(fresh(), fresh());
    }
}
