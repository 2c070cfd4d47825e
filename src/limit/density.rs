//! Estimates for `ladder` whether the keys of an Ethereum block lie in different blocks of the
//! store's files. If a state is small for the gas, many keys share a block of a file: times are
//! then shorter than on a large state.

use report::SCATTERED_BLOCKS_PER_KEY;
use result::{RunResult, limit::LoadLimits};

use crate::figures::cells::distinct_share;

/// Upper end of the search for keys per block of a file.
const KEYS_PER_BLOCK_MAX: f64 = 1e6;
/// Number of halvings of the search interval: enough for the precision of an `f64`.
const HALVING_COUNT: usize = 100;

/// Adds to `limits` the distinct file blocks per key at the largest limit. If keys share too many
/// file blocks, it also adds the number of slots with which they would not. `last` is a run on the
/// same state, which has `slot_count` slots. Nothing is added for a load whose slots do not depend
/// on that number.
pub fn with_density(mut limits: LoadLimits, last: &RunResult, slot_count: u64) -> LoadLimits {
    if last.workload.sized_slot_count.is_none_or(|count| count == 0) {
        return limits;
    }
    let mut known = last.cells.iter().filter_map(|cell| cell.expected_blocks_per_present_key);
    let gas = limits.designs.iter().filter_map(|design| design.limit_gas).max();
    let (Some(blocks_per_key), Some(gas)) = (known.next(), gas) else { return limits };
    let scale = gas as f64 / last.workload.header_gas.max(1) as f64;
    let density = keys_per_block(blocks_per_key) * scale;
    let share = distinct_share(density);
    limits.blocks_per_present_key = Some(share);
    if share < SCATTERED_BLOCKS_PER_KEY {
        let factor = density / keys_per_block(SCATTERED_BLOCKS_PER_KEY);
        limits.wanted_slot_count = Some(rounded_up(slot_count as f64 * factor));
    }
    limits
}

/// Returns the keys per file block that give these distinct file blocks per key: the inverse of
/// [`distinct_share`], by bisection.
fn keys_per_block(blocks_per_key: f64) -> f64 {
    let (mut low, mut high) = (0.0, KEYS_PER_BLOCK_MAX);
    for _ in 0..HALVING_COUNT {
        let middle = f64::midpoint(low, high);
        match distinct_share(middle) > blocks_per_key {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

/// Rounds a number up to two digits, as an estimate has no more.
fn rounded_up(count: f64) -> u64 {
    let unit = 10_f64.powf(count.max(1.0).log10().floor() - 1.0).max(1.0);
    ((count / unit).ceil() * unit) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wanted_state_has_the_share_from_which_keys_lie_apart() {
        for share in [0.05, 0.44, 0.9, 0.99] {
            let keys = keys_per_block(share);
            assert!((distinct_share(keys) - share).abs() < 1e-9, "{share}: {keys}");
        }
        // 300k keys on 8M slots, 54 rows a block.
        let keys_per_block_here = 300e3 / (8e6 / 54.0);
        assert!((distinct_share(keys_per_block_here) - 0.43).abs() < 0.01);
        let wanted = 8e6 * keys_per_block_here / keys_per_block(SCATTERED_BLOCKS_PER_KEY);
        assert_eq!(rounded_up(wanted), 76_000_000);
        assert_eq!([rounded_up(3.2), rounded_up(10.1), rounded_up(123.0)], [4, 11, 130]);
    }
}
