//! Computes the gas limit of a load in a design, from the runs of `ladder`. A line over the gas of
//! headers goes through the times of the block sizes nearest to the deadline. The limit is the gas
//! at which the upper bound for the time of one block reaches the deadline.
//!
//! Over all sizes, times are not linear: the keys of a larger block share more blocks of files.

use result::{
    limit::{DesignLimit, LimitBlock, LimitCheck, Place},
    stats::{Crossing, Line, Point, median},
};
use variant::Design;

/// Maximal number of block sizes through whose times a line goes.
const SIZE_COUNT: usize = 3;

/// Parameters of a limit and of its price.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// The deadline of a block.
    pub deadline_ns: u64,
    /// The gas limit for which a price factor is computed.
    pub target_gas: u64,
    pub gas_per_operation: f64,
}

/// A limit, and its place among the tried sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PlacedLimit {
    place: Place,
    gas: u64,
}

/// Returns the median time of a block size, in nanoseconds.
pub fn median_time_ns(block: &LimitBlock) -> Option<f64> {
    median(&block.block_ns.iter().map(|ns| *ns as f64).collect::<Vec<_>>())
}

/// Returns the line through the times of the sizes that are nearest to the deadline.
fn line(blocks: &[LimitBlock], deadline_ns: u64) -> Option<Line> {
    let distance = |block: &LimitBlock| {
        median_time_ns(block).map_or(f64::INFINITY, |ns| (ns / deadline_ns as f64).ln().abs())
    };
    let mut blocks: Vec<_> = blocks.iter().map(|block| (distance(block), block)).collect();
    blocks.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let points = blocks.iter().take(SIZE_COUNT).flat_map(|(_, block)| {
        block.block_ns.iter().map(|ns| Point { x: block.header_gas as f64, y: *ns as f64 })
    });
    Line::fit(&points.collect::<Vec<_>>())
}

/// Finds the limit by `line`, and by `blocks` in ascending order: it is never above the gas of a
/// block that missed the deadline. `None` if no block missed it and there is no line.
fn placed_limit(
    line: Option<&Line>,
    blocks: &[LimitBlock],
    deadline_ns: u64,
) -> Option<PlacedLimit> {
    let [first, last] = [blocks.first()?, blocks.last()?];
    let missed = blocks.iter().position(|block| block.block_ns.iter().any(|ns| *ns >= deadline_ns));
    let below = PlacedLimit { place: Place::Below, gas: first.limit_gas };
    if missed == Some(0) {
        return Some(below);
    }
    let range = [first, last].map(|block| block.header_gas as f64);
    let by_line = match line?.crossing(deadline_ns as f64, range) {
        Crossing::Below => return Some(below),
        Crossing::At(gas) => Some(gas as u64),
        Crossing::Above => None,
    };
    let missed = missed.map(|index| blocks[index].header_gas);
    Some(match by_line.into_iter().chain(missed).min() {
        Some(gas) => PlacedLimit { place: Place::Within, gas },
        None => PlacedLimit { place: Place::Above, gas: last.limit_gas },
    })
}

/// Whether a block of `gas` takes less than half of the deadline, by the upper bound of a line
/// through two sizes or more.
pub fn is_far_below(blocks: &[LimitBlock], gas: u64, deadline_ns: u64) -> bool {
    let line = line(blocks, deadline_ns).filter(|_| blocks.len() >= 2);
    line.is_some_and(|line| 2.0 * line.upper(gas as f64) < deadline_ns as f64)
}

/// Returns the limit at which a run checks the line. `None` unless the limit lies within the tried
/// sizes.
pub fn to_check(blocks: &[LimitBlock], deadline_ns: u64) -> Option<u64> {
    let limit = placed_limit(line(blocks, deadline_ns).as_ref(), blocks, deadline_ns)?;
    (limit.place == Place::Within).then_some(limit.gas)
}

/// Compares the line through `blocks` with `near`, a block that ran near the limit.
pub fn check(blocks: &[LimitBlock], near: &LimitBlock, deadline_ns: u64) -> Option<LimitCheck> {
    let predicted_ns = line(blocks, deadline_ns)?.interval(near.header_gas as f64);
    let median_ns = median_time_ns(near)? as u64;
    Some(LimitCheck { header_gas: near.header_gas, median_ns, predicted_ns })
}

/// Computes the limit of `design` from all its `blocks`.
pub fn limit(
    design: Design,
    mut blocks: Vec<LimitBlock>,
    check: Option<LimitCheck>,
    parameters: &Parameters,
) -> DesignLimit {
    blocks.sort_by_key(|block| block.header_gas);
    let line = line(&blocks, parameters.deadline_ns);
    let limit = placed_limit(line.as_ref(), &blocks, parameters.deadline_ns);
    let rising = line.filter(|line| line.slope > 0.0);
    let slopes = rising.map(|line| line.slope_interval().map(|slope| slope.max(0.0)));
    let half_width_gas = limit.zip(rising).and_then(|(limit, line)| {
        let expected = (parameters.deadline_ns as f64 - line.intercept) / line.slope;
        let width = (expected - limit.gas as f64).max(0.0).round() as u64;
        (limit.place == Place::Within).then_some(width)
    });
    DesignLimit {
        design,
        place: limit.map(|limit| limit.place),
        limit_gas: limit.map(|limit| limit.gas),
        half_width_gas,
        price_factor: limit.map(|limit| parameters.target_gas as f64 / limit.gas.max(1) as f64),
        ns_per_operation: rising.map(|line| line.slope * parameters.gas_per_operation),
        ns_per_operation_ci95: slopes
            .map(|ends| ends.map(|slope| slope * parameters.gas_per_operation)),
        gas_per_us: rising.map(|line| 1e3 / line.slope),
        gas_per_us_ci95: slopes
            .filter(|[low, _]| *low > 0.0)
            .map(|[low, high]| [1e3 / high, 1e3 / low]),
        blocks,
        check,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PARAMETERS: Parameters = Parameters {
        deadline_ns: 3_000_000_000,
        target_gas: 200_000_000,
        gas_per_operation: 2_100.0,
    };

    fn block(limit_mgas: u64, block_ms: &[u64]) -> LimitBlock {
        let limit_gas = limit_mgas * 1_000_000;
        let block_ns = block_ms.iter().map(|ms| ms * 1_000_000).collect();
        LimitBlock { limit_gas, header_gas: limit_gas, block_ns }
    }

    fn of(blocks: &[LimitBlock]) -> DesignLimit {
        limit(Design::Sequential, blocks.to_vec(), None, &PARAMETERS)
    }

    #[test]
    fn blocks_on_a_line_give_the_gas_where_it_meets_the_deadline() {
        // 200 ms and 28 ms a million gas.
        let blocks = [20, 60, 200].map(|mgas| block(mgas, &[200 + 28 * mgas; 2]));
        let found = of(&blocks);
        assert_eq!((found.place, found.limit_gas), (Some(Place::Within), Some(99_999_999)));
        assert!(found.half_width_gas.unwrap() <= 1, "{found:?}");
        assert!((found.price_factor.unwrap() - 2.0).abs() < 1e-6);
        assert!((found.ns_per_operation.unwrap() - 28.0 * 2_100.0).abs() < 1e-3);
        assert!((found.gas_per_us.unwrap() - 1e3 / 28.0).abs() < 1e-6);
        assert_eq!(to_check(&blocks, PARAMETERS.deadline_ns), found.limit_gas);
        let near =
            check(&blocks, &block(100, &[2_990, 3_000, 3_010]), PARAMETERS.deadline_ns).unwrap();
        assert!(near.holds(), "{near:?}");
        assert!(!check(&blocks, &block(100, &[3_100; 3]), PARAMETERS.deadline_ns).unwrap().holds());
    }

    #[test]
    fn sizes_far_from_the_deadline_do_not_bend_the_line() {
        let near = [200, 400, 640].map(|mgas| block(mgas, &[1_000 + 5 * mgas; 2]));
        let all = [&[block(1, &[9; 2]), block(20, &[90; 2])][..], &near].concat();
        assert_eq!(
            (of(&near).limit_gas, of(&all).limit_gas),
            (Some(399_999_999), Some(399_999_999))
        );
    }

    #[test]
    fn a_size_is_far_below_the_deadline_if_twice_its_bound_keeps_it() {
        let blocks = [20, 60].map(|mgas| block(mgas, &[100 + 2 * mgas; 2]));
        assert!(is_far_below(&blocks, 640_000_000, PARAMETERS.deadline_ns));
        assert!(!is_far_below(&blocks, 800_000_000, PARAMETERS.deadline_ns));
        assert!(!is_far_below(&blocks[..1], 640_000_000, PARAMETERS.deadline_ns));
    }

    #[test]
    fn a_limit_outside_of_those_that_were_tried_is_the_nearest_of_them() {
        let fast = of(&[20, 60, 200, 640].map(|mgas| block(mgas, &[mgas, mgas + 1])));
        assert_eq!((fast.place, fast.limit_gas), (Some(Place::Above), Some(640_000_000)));
        assert_eq!((fast.half_width_gas, fast.price_factor), (None, Some(0.3125)));
        let slow = of(&[20, 60].map(|mgas| block(mgas, &[200 * mgas, 210 * mgas])));
        assert_eq!((slow.place, slow.limit_gas), (Some(Place::Below), Some(20_000_000)));
        assert_eq!(slow.price_factor, Some(10.0));
        // One block is no line, and one that missed the deadline needs none.
        let one = of(&[block(20, &[100, 101, 102])]);
        assert_eq!((one.place, one.limit_gas, one.gas_per_us), (None, None, None));
        assert_eq!(of(&[block(20, &[2_000, 3_000])]).place, Some(Place::Below));
    }

    proptest! {
        /// For any times, every block below the limit keeps the deadline, and so does the line's
        /// upper bound.
        #[test]
        fn all_is_safe_below_a_limit(times in proptest::collection::vec(1..8_000_u64, 12)) {
            let sizes = [20, 60, 200, 640];
            let blocks: Vec<_> =
                sizes.iter().zip(times.chunks(3)).map(|(mgas, ms)| block(*mgas, ms)).collect();
            let found = of(&blocks);
            let (place, gas) = (found.place.unwrap(), found.limit_gas.unwrap());
            let is_safe = |of: &LimitBlock| of.block_ns.iter().all(|ns| *ns < PARAMETERS.deadline_ns);
            let below = blocks.iter().filter(|block| match place {
                Place::Above => true,
                Place::Within | Place::Below => block.header_gas < gas,
            });
            prop_assert!(below.clone().all(is_safe));
            let line = line(&blocks, PARAMETERS.deadline_ns).unwrap();
            if place != Place::Below {
                for step in 0..20 {
                    let at = 20e6 + (gas as f64 - 20e6) * f64::from(step) / 20.0;
                    prop_assert!(line.upper(at) < PARAMETERS.deadline_ns as f64);
                }
            }
        }
    }
}
