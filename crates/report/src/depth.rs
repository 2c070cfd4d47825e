//! Compares batched with on-demand reads at equal depth (`docs/methodology.md`). Depth is the mean
//! number of reads under way, as measured. With fewer reads under way on demand, "batched wins"
//! would only mean that more reads were under way.

use variant::Design;

use result::Cell;

use super::{
    facts::{self, best_of},
    units,
};

const BATCHED: Design = Design::BatchedIo;
const ON_DEMAND: Design = Design::ParallelIo;

/// Two cells whose measured depths differ by at most this factor are a pair at equal depth.
const EQUAL_DEPTH_RATIO: f64 = 1.25;

/// The cells of a design that have a time, each with its depth.
fn by_depth<'a>(cells: &[&'a Cell], design: Design) -> impl Iterator<Item = (f64, &'a Cell)> {
    let timed = cells.iter().filter(|cell| facts::time_ms(cell).is_some());
    let cells: Vec<&Cell> = timed.copied().filter(|cell| cell.design == design).collect();
    cells.into_iter().filter_map(|cell| Some((facts::reads_at_once(cell)?, cell)))
}

/// The larger of two depths over the smaller.
fn apart(a: f64, b: f64) -> f64 {
    a.max(b) / a.min(b)
}

/// Names two cells, one of each design, whose depths are equal: the pair with the most reads under
/// way. `None` without such a pair, and where the fastest cells of both designs have equal depths.
/// Threads are not depth: on demand, a block has at most one reader for each transaction, and one
/// call may have many reads under way.
pub(super) fn equal_depth(cells: &[&Cell]) -> Option<String> {
    let (batched, on_demand) = (best_of(cells, BATCHED)?, best_of(cells, ON_DEMAND)?);
    let depths = [facts::reads_at_once(batched)?, facts::reads_at_once(on_demand)?];
    if apart(depths[0], depths[1]) <= EQUAL_DEPTH_RATIO {
        return None;
    }
    let pairs = by_depth(cells, BATCHED).flat_map(|(a, batched)| {
        by_depth(cells, ON_DEMAND).map(move |(b, on_demand)| ((a, batched), (b, on_demand)))
    });
    let equal = pairs.filter(|((a, _), (b, _))| apart(*a, *b) <= EQUAL_DEPTH_RATIO);
    let deepest = equal.max_by(|x, y| x.0.0.min(x.1.0).total_cmp(&y.0.0.min(y.1.0)));
    deepest.map(|((a, batched), (b, on_demand))| {
        let [batched, on_demand] = [(batched, a), (on_demand, b)].map(|(cell, depth)| {
            let time = units::time_ns(facts::time_ms(cell).unwrap_or(f64::NAN) * 1e6);
            format!("{} {time} with {}", facts::row_name(cell), units::number(depth))
        });
        format!("equal reads under way: {batched}, {on_demand}")
    })
}
