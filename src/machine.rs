//! The machine below a run: its description, disturbances, child processes, scratch directories, the
//! time of day, and fresh seeds.

pub mod child;
pub mod environment;
pub mod scratch;

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    time::{SystemTime, UNIX_EPOCH},
};

/// Bits of a number that readers of JSON keep if they take numbers for floats.
const EXACT_BITS: u32 = 53;

/// Now, in seconds since 1970 as results and state databases keep it; 0 where the clock stands before.
pub fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A random seed of 53 bits: probably no run had it, so no cache has seen the blocks that it gives. The
/// standard library takes the keys of its hasher from the system's random numbers.
pub fn fresh_seed() -> u64 {
    RandomState::new().build_hasher().finish() >> (u64::BITS - EXACT_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_have_two_seeds() {
        assert_ne!(fresh_seed(), fresh_seed());
    }

    #[test]
    fn now_is_after_this_was_written() {
        assert!(unix_s() > 1_767_225_600);
    }
}
