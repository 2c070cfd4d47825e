//! The machine of a run: its description, disturbances, child processes, scratch directories, the
//! time of day, and fresh seeds.

pub mod child;
pub mod environment;
pub mod scratch;

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    time::{SystemTime, UNIX_EPOCH},
};

/// Number of bits that a JSON reader keeps exactly if it reads numbers as floats.
const EXACT_BITS: u32 = 53;

/// Returns the time in seconds since 1970, as results and state databases store it. Returns 0 if
/// the clock is before 1970.
pub fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Returns a random seed of 53 bits. Hardly any earlier run had it, so no cache has the blocks that
/// it draws. The system provides the randomness, as for the keys of the standard hasher.
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
