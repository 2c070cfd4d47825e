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

/// Minimal ratio of the largest and the smallest of the block sizes through whose times a line goes.
const SPAN: f64 = 1.4;
/// Maximal distance between a block and the gas whose expected time is the deadline, as a share.
const NEAR: f64 = 0.15;
/// Maximal ratio of a limit that a line gives and the largest block so far.
const GROWTH_MAX: f64 = 4.0;
/// Maximal number of runs of a design at limits that its line gives.
const LINE_RUN_COUNT_MAX: usize = 3;

/// Parameters of a limit and of its price.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// The deadline of a block.
    pub deadline_ns: u64,
    /// The gas limit for which a price factor is computed.
    pub target_gas: u64,
    pub gas_per_operation: f64,
}

/// Returns the median time of a block size, in nanoseconds.
fn median_time_ns(block: &LimitBlock) -> Option<f64> {
    median(&block.block_ns.iter().map(|ns| *ns as f64).collect::<Vec<_>>())
}

/// Returns the line through the times of the sizes nearest to the deadline. They are as few as
/// suffice: they span [`SPAN`] and have the smallest size that missed the deadline. The line rises,
/// and its bound at the smallest of them keeps the deadline.
fn line(blocks: &[LimitBlock], deadline_ns: u64) -> Option<Line> {
    let distance = |block: &LimitBlock| {
        median_time_ns(block).map_or(f64::INFINITY, |ns| (ns / deadline_ns as f64).ln().abs())
    };
    let missed = blocks.iter().filter(|block| !keeps(block, deadline_ns));
    let missed = missed.map(|block| block.header_gas as f64).reduce(f64::min).unwrap_or(0.0);
    let mut blocks: Vec<_> = blocks.iter().map(|block| (distance(block), block)).collect();
    blocks.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let (mut points, mut line) = (Vec::new(), None);
    for (_, block) in blocks {
        let x = block.header_gas as f64;
        points.extend(block.block_ns.iter().map(|ns| Point { x, y: *ns as f64 }));
        line = Line::fit(&points);
        let suffices = |line: Line| {
            let [first, last] = line.ends;
            let reaches = last >= missed.max(first * SPAN);
            reaches && line.slope > 0.0 && line.upper(first) < deadline_ns as f64
        };
        if line.is_some_and(suffices) {
            break;
        }
    }
    line
}

/// Finds the limit by `line`, and by `blocks` in ascending order. It is never above the gas of a
/// block that missed the deadline, nor above all blocks. Returns its place among the tried sizes,
/// and its gas; `None` if no block missed the deadline and there is no line.
fn placed_limit(
    line: Option<&Line>,
    blocks: &[LimitBlock],
    limits: &[u64],
    deadline_ns: u64,
) -> Option<(Place, u64)> {
    let [first, last] = [blocks.first()?, blocks.last()?];
    let missed = blocks.iter().position(|block| block.block_ns.iter().any(|ns| *ns >= deadline_ns));
    let below = (Place::Below, first.limit_gas);
    if missed == Some(0) {
        return Some(below);
    }
    let line = line?;
    let is_within = line.reaches(deadline_ns as f64).is_some_and(|gas| gas <= largest(limits));
    let by_line = match line.crossing(deadline_ns as f64, last.header_gas as f64) {
        Crossing::Below => return Some(below),
        Crossing::At(gas) => Some(gas as u64),
        Crossing::Above => is_within.then_some(last.header_gas),
    };
    let missed = missed.map(|index| blocks[index].header_gas);
    Some(match by_line.into_iter().chain(missed).min() {
        Some(gas) => (Place::Within, gas),
        None => (Place::Above, last.limit_gas),
    })
}

/// Returns the next limit at which a design runs, by its blocks so far; `None` if they suffice. The
/// first two blocks are of the first two of `limits`. Then the design runs where its line expects
/// the deadline, until a block near that gas took the time predicted, or is of stated size. If the
/// line expects the deadline above all `limits`, the design runs at the largest at once.
pub fn next_gas(blocks: &[LimitBlock], limits: &[u64], deadline_ns: u64) -> Option<u64> {
    if blocks.len() < 2 {
        return limits.get(blocks.len()).copied();
    }
    let last = blocks.iter().max_by_key(|block| block.header_gas)?;
    let is_in_time = keeps(last, deadline_ns);
    let mut higher = limits.iter().copied().filter(|limit| *limit > last.limit_gas && is_in_time);
    let most = (last.header_gas as f64 * GROWTH_MAX) as u64;
    let Some(line) = line(blocks, deadline_ns) else {
        return higher.next().map(|gas| gas.min(most));
    };
    if line.at(largest(limits)) < deadline_ns as f64 {
        return higher.next_back();
    }
    let gas = line.reaches(deadline_ns as f64).filter(|gas| *gas >= limits[0] as f64)?;
    let line_run_count = blocks.iter().filter(|block| is_of_line(block, limits)).count();
    let is_done = match check(blocks, limits, gas, deadline_ns) {
        Some(check) => check.holds(),
        None => blocks.iter().any(|block| is_near(block, gas)),
    };
    let next = most.min(gas as u64);
    let has_run = blocks.iter().any(|block| block.limit_gas == next);
    (!is_done && !has_run && line_run_count < LINE_RUN_COUNT_MAX).then_some(next)
}

/// Whether the median time of `block` keeps the deadline.
fn keeps(block: &LimitBlock, deadline_ns: u64) -> bool {
    median_time_ns(block).is_some_and(|ns| ns < deadline_ns as f64)
}

fn largest(limits: &[u64]) -> f64 {
    limits.last().map_or(0.0, |gas| *gas as f64)
}

fn is_near(block: &LimitBlock, gas: f64) -> bool {
    (gas / block.header_gas as f64 - 1.0).abs() < NEAR
}

/// Whether a line gave the limit of `block`: it is none of `limits`, which are the stated ones and
/// the halves of refused ones.
fn is_of_line(block: &LimitBlock, limits: &[u64]) -> bool {
    !limits.contains(&block.limit_gas)
}

/// Compares the last block at a limit that a line gave, if it is near `expected_gas`, with the line
/// through the other blocks.
fn check(
    blocks: &[LimitBlock],
    limits: &[u64],
    expected_gas: f64,
    deadline_ns: u64,
) -> Option<LimitCheck> {
    let is_checked = |block: &LimitBlock| is_of_line(block, limits) && is_near(block, expected_gas);
    let mut others = blocks.to_vec();
    let near = others.remove(others.iter().rposition(is_checked)?);
    let predicted_ns = line(&others, deadline_ns)?.interval(near.header_gas as f64);
    let median_ns = median_time_ns(&near)? as u64;
    Some(LimitCheck { header_gas: near.header_gas, median_ns, predicted_ns })
}

/// Computes the limit of `design` from all its `blocks`, which are in the order of their runs.
pub fn limit(
    design: Design,
    mut blocks: Vec<LimitBlock>,
    limits: &[u64],
    parameters: &Parameters,
) -> DesignLimit {
    let deadline_ns = parameters.deadline_ns;
    let line = line(&blocks, deadline_ns);
    let expected = line.and_then(|line| line.reaches(deadline_ns as f64));
    let check = expected.and_then(|gas| check(&blocks, limits, gas, deadline_ns));
    blocks.sort_by_key(|block| block.header_gas);
    let placed = placed_limit(line.as_ref(), &blocks, limits, deadline_ns);
    let (place, limit_gas) = placed.unzip();
    let rising = line.filter(|line| line.slope > 0.0);
    let slopes = rising.map(|line| line.slope_interval().map(|slope| slope.max(0.0)));
    let within = limit_gas.filter(|_| place == Some(Place::Within));
    let half_width_gas =
        within.zip(expected).map(|(gas, expected)| (expected - gas as f64).max(0.0).round() as u64);
    DesignLimit {
        design,
        place,
        limit_gas,
        half_width_gas,
        price_factor: limit_gas.map(|gas| parameters.target_gas as f64 / gas.max(1) as f64),
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

    const LIMITS: [u64; 3] = [20_000_000, 60_000_000, 640_000_000];

    fn block(limit_mgas: u64, block_ms: &[u64]) -> LimitBlock {
        let limit_gas = limit_mgas * 1_000_000;
        let block_ns = block_ms.iter().map(|ms| ms * 1_000_000).collect();
        LimitBlock { limit_gas, header_gas: limit_gas, block_ns }
    }

    fn of(blocks: &[LimitBlock]) -> DesignLimit {
        limit(Design::Sequential, blocks.to_vec(), &LIMITS, &PARAMETERS)
    }

    fn next(blocks: &[LimitBlock]) -> Option<u64> {
        next_gas(blocks, &LIMITS, PARAMETERS.deadline_ns)
    }

    #[test]
    fn blocks_on_a_line_give_the_gas_where_it_meets_the_deadline() {
        // 200 ms and 28 ms a million gas.
        let mut blocks = [20, 60, 200].map(|mgas| block(mgas, &[200 + 28 * mgas; 2])).to_vec();
        let found = of(&blocks);
        assert_eq!((found.place, found.limit_gas), (Some(Place::Within), Some(99_999_999)));
        assert!(found.half_width_gas.unwrap() <= 1, "{found:?}");
        assert!((found.price_factor.unwrap() - 2.0).abs() < 1e-6);
        assert!((found.ns_per_operation.unwrap() - 28.0 * 2_100.0).abs() < 1e-3);
        assert!((found.gas_per_us.unwrap() - 1e3 / 28.0).abs() < 1e-6);
        blocks.push(block(100, &[2_990, 3_000, 3_010]));
        let check = of(&blocks).check.unwrap();
        assert!(check.holds() && check.header_gas == 100_000_000, "{check:?}");
        blocks[3] = block(100, &[3_100; 3]);
        assert!(!of(&blocks).check.unwrap().holds());
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
    fn a_design_runs_where_its_line_expects_the_deadline() {
        assert_eq!(next(&[]), Some(20_000_000));
        let mut blocks = vec![block(20, &[755, 765])];
        assert_eq!(next(&blocks), Some(60_000_000));
        blocks.push(block(60, &[1_870, 1_890]));
        assert_eq!(next(&blocks), Some(99_999_999));
        blocks.push(block(100, &[2_970; 2]));
        assert_eq!(next(&blocks), None, "a block lies near");
        blocks[2] = block(100, &[2_700; 2]);
        let after = next(&blocks).unwrap();
        assert!(
            (110_000_000..120_000_000).contains(&after),
            "it took less than predicted: {after}"
        );
        // The time of a larger block grows faster than the first two say.
        blocks[2] = block(100, &[6_000; 2]);
        let again = next(&blocks).unwrap();
        assert!((60_000_000..90_000_000).contains(&again), "{again}");
        for mgas in [300, 400, 500] {
            blocks.push(block(mgas, &[6_000; 2]));
        }
        assert_eq!(next(&blocks), None, "lines gave the limits of three blocks and more");
        // Two sizes expect it at 414M, more than four times as far.
        assert_eq!(next(&[block(20, &[240; 2]), block(60, &[520; 2])]), Some(240_000_000));
    }

    #[test]
    fn a_limit_lies_among_the_blocks_near_the_deadline() {
        // It is not above all blocks, though the line expects the deadline there.
        let above = [block(20, &[755, 765]), block(60, &[1_870, 1_890]), block(95, &[2_790; 2])];
        assert_eq!((next(&above), of(&above).place), (None, Some(Place::Within)));
        assert_eq!(of(&above).limit_gas, Some(95_000_000));
        assert!((7_000_000..9_000_000).contains(&of(&above).half_width_gas.unwrap()));
        // Nor above one that took four times the deadline, though two smaller ones are nearer to it.
        let steep = [
            block(20, &[1_195, 1_200, 1_205]),
            block(60, &[1_200, 1_205, 1_210]),
            block(640, &[12_700, 12_800, 12_900]),
        ];
        let then = next(&steep).unwrap();
        assert!((100_000_000..200_000_000).contains(&then), "{then}");
        assert!(of(&steep).limit_gas.unwrap() < 200_000_000, "{:?}", of(&steep));
        // Times scatter, and grow ever more slowly.
        let slower = [
            block(20, &[453, 453, 487]),
            block(60, &[1_149, 1_057, 1_355]),
            block(160, &[2_068, 2_306, 2_294]),
            block(200, &[2_334, 2_114, 2_378]),
            block(264, &[2_616, 2_802, 2_451]),
            block(379, &[2_933, 2_899, 2_592]),
        ];
        let found = of(&slower);
        assert_eq!(found.place, Some(Place::Within));
        assert!((200_000_000..379_000_000).contains(&found.limit_gas.unwrap()), "{found:?}");
    }

    #[test]
    fn a_design_far_below_the_deadline_runs_at_the_largest_limit_once() {
        let mut blocks = vec![block(20, &[140; 2]), block(60, &[220; 2])];
        assert_eq!(next(&blocks), Some(640_000_000));
        blocks.push(block(640, &[1_400; 2]));
        assert_eq!(next(&blocks), None);
        assert_eq!(next(&[block(20, &[900; 2]), block(60, &[900; 2])]), Some(640_000_000));
        assert_eq!(next(&[block(20, &[3_900; 2]), block(60, &[3_800; 2])]), None);
        assert_eq!(next(&[block(20, &[3_900; 2]), block(60, &[9_000; 2])]), None);
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
            let [first, _] = line.ends;
            if place != Place::Below && gas as f64 > first {
                for step in 0..20 {
                    let at = first + (gas as f64 - first) * f64::from(step) / 20.0;
                    prop_assert!(line.upper(at) < PARAMETERS.deadline_ns as f64);
                }
            }
        }
    }
}
