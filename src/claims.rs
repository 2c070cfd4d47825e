//! Claims of a scenario (`[[expect]]`) judged on a result: each holds or fails by the end of its
//! figure's interval that lies nearest to the bound. A figure without an interval, where one is
//! due, proves nothing either way; a claim about what was not run is not judged.
//!
//! Knows only results: how a figure came about is not asked here.

use result::{
    BalBytes, Cell, Claim, Expects, Verdict, WorkloadFacts, databases::DatabaseFacts, stats,
};
use spec::{Bound, Expect, Metric};
use variant::{CacheMode, Design, ListForm, StoreKind};

const SAMPLES_NEEDED: &str = "six samples are needed (--samples 6)";
const DATABASES_NEEDED: &str = "a database is one value, and six are needed (--databases 6)";

/// A figure that a claim bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
    /// The same in every sample: a size, a percentile of all samples together.
    Exact(f64),
    /// Another one in each sample.
    Sampled {
        median: f64,
        /// 95 %; `None` below six samples.
        ci95: Option<[f64; 2]>,
    },
    /// There is none.
    Missing(&'static str),
}

impl Figure {
    fn exact(value: Option<f64>, missing: &'static str) -> Self {
        value.filter(|value| value.is_finite()).map_or(Self::Missing(missing), Self::Exact)
    }

    fn sampled(median: Option<f64>, ci95: Option<[f64; 2]>, missing: &'static str) -> Self {
        let median = median.filter(|median| median.is_finite());
        median.map_or(Self::Missing(missing), |median| Self::Sampled { median, ci95 })
    }
}

/// What the claims are judged on.
#[derive(Clone, Copy, Debug)]
pub struct Grounds<'a> {
    /// What was run.
    pub workload: &'a WorkloadFacts,
    /// What came out.
    pub cells: &'a [Cell],
    /// The databases that were run on, where there are several.
    pub databases: &'a [DatabaseFacts],
    /// What was in memory when a sample started.
    pub cache: CacheMode,
}

/// Judges all claims of a scenario. `skipped`: keys of the work that were overridden, for which
/// the claims were not made; none of them is judged then.
pub fn judge(expects: &[Expect], skipped: Option<&[String]>, grounds: &Grounds<'_>) -> Expects {
    let count = expects.len() as u64;
    if let Some(keys) = skipped.filter(|_| count > 0) {
        let status = format!("skipped: the work was overridden ({})", keys.join(", "));
        return Expects { count, status: Some(status), claims: Vec::new() };
    }
    let claims: Vec<Claim> = expects.iter().flat_map(|expect| judge_one(expect, grounds)).collect();
    let status = worst(&claims).map(|verdict| verdict.name().to_owned());
    Expects { count, status, claims }
}

/// The verdict on all claims together; `None` where there are none. One that fails outweighs one
/// that is inconclusive, and that one what was not judged.
pub fn worst(claims: &[Claim]) -> Option<Verdict> {
    let order = [Verdict::Fails, Verdict::Inconclusive, Verdict::NotJudged, Verdict::Holds];
    order.into_iter().find(|verdict| claims.iter().any(|claim| claim.verdict == *verdict))
}

/// One claim for each store it speaks of.
fn judge_one(expect: &Expect, grounds: &Grounds<'_>) -> Vec<Claim> {
    if expect.when.cache.is_some_and(|cache| cache != grounds.cache) {
        let reason = format!("the run is {}", grounds.cache);
        return vec![claim(expect, None, Verdict::NotJudged, None, Some(reason))];
    }
    if let Some(figure) = of_work(expect.metric, grounds) {
        return vec![by_figure(expect, None, figure, grounds)];
    }
    let mut stores: Vec<StoreKind> = Vec::new();
    for cell in grounds.cells {
        if !stores.contains(&cell.store) {
            stores.push(cell.store);
        }
    }
    if let Some(wanted) = expect.when.store {
        stores.retain(|store| *store == wanted);
        if stores.is_empty() {
            let reason = format!("the run has no cell on {wanted}");
            return vec![claim(expect, None, Verdict::NotJudged, None, Some(reason))];
        }
    }
    let on_store = |store: StoreKind| {
        if let Some(reason) = not_proved_cold(expect, store, grounds) {
            return claim(expect, Some(store), Verdict::NotJudged, None, Some(reason));
        }
        match figure(expect.metric, store, grounds) {
            Ok(figure) => by_figure(expect, Some(store), figure, grounds),
            Err(missing) => {
                let reason = format!("the run has no sample of {missing}");
                claim(expect, Some(store), Verdict::NotJudged, None, Some(reason))
            }
        }
    };
    stores.into_iter().map(on_store).collect()
}

/// Why a claim about cold runs is none about this store: what was asked for is no proof.
fn not_proved_cold(expect: &Expect, store: StoreKind, grounds: &Grounds<'_>) -> Option<String> {
    let cells = grounds.cells.iter().filter(|cell| cell.store == store);
    let mut doubtful = cells.filter(|cell| cell.cache.proved != Some(true));
    let wants_cold = expect.when.cache == Some(CacheMode::Cold);
    let cell = doubtful.next().filter(|_| wants_cold)?;
    Some(format!("cold is not proved: {}", cell.cache.reason))
}

/// The figure of a metric of the work, the same on every store; `None`: samples on a store give it.
fn of_work(metric: Metric, grounds: &Grounds<'_>) -> Option<Figure> {
    match metric {
        Metric::BalBytes(list) => Some(bal_bytes(list, grounds)),
        Metric::Speedup { .. }
        | Metric::MgasPerS(_)
        | Metric::MsPerBlock(_)
        | Metric::TxLatencyP99(_)
        | Metric::DeviceFraction(_) => None,
    }
}

/// The figure of `metric` on one store, or the design that was not run there.
fn figure(metric: Metric, store: StoreKind, grounds: &Grounds<'_>) -> Result<Figure, Design> {
    let best = |design: Design| {
        let of_design = grounds.cells.iter().filter(|cell| cell.store == store);
        report::best(of_design.filter(|cell| cell.design == design)).ok_or(design)
    };
    Ok(match metric {
        Metric::Speedup { of, over } => {
            let estimate = best(over)?.times_as_long_as(best(of)?);
            Figure::sampled(estimate.median, estimate.ci95, "no round has both")
        }
        Metric::MgasPerS(design) => {
            let rate = &best(design)?.mgas_per_s;
            Figure::sampled(rate.median, rate.ci95, "no throughput")
        }
        Metric::MsPerBlock(design) => {
            let batch = &best(design)?.ms_per_batch;
            let batches = grounds.workload.batch_count as f64;
            let per_block = batches / grounds.workload.block_count.max(1) as f64;
            let ci95 = batch.ci95.map(|ends| ends.map(|ms| ms * per_block));
            Figure::sampled(batch.median.map(|ms| ms * per_block), ci95, "no time")
        }
        Metric::TxLatencyP99(design) => {
            let cell = best(design)?;
            let seconds = |p99: Option<u64>| p99.map(|ns| ns as f64 / 1e9);
            let missing = "too few transactions for a 99th percentile: more samples or gas are \
                needed (--samples, --gas)";
            // Transactions of one sample are not independent of each other, nor are samples of
            // one database. Databases that have one are no fair choice of all.
            match (&cell.databases, cell.samples.len()) {
                (Some(databases), _) => {
                    let each = databases.each.iter();
                    let each = each.map(|of| seconds(of.tx_latency_ns.p99));
                    let estimate =
                        each.collect::<Option<Vec<_>>>().map(|all| stats::estimate(&all));
                    let estimate = estimate.unwrap_or_default();
                    Figure::sampled(estimate.median, estimate.ci95, missing)
                }
                (None, 0..stats::INTERVAL_COUNT_MIN) => Figure::Missing(SAMPLES_NEEDED),
                (None, _) => Figure::exact(seconds(cell.tx_latency_ns.p99), missing),
            }
        }
        Metric::DeviceFraction(design) => {
            let cell = best(design)?;
            let missing = "the device was not measured, or not read";
            Figure::sampled(cell.device_fraction, cell.device_fraction_ci95, missing)
        }
        Metric::BalBytes(list) => bal_bytes(list, grounds),
    })
}

/// Mean over the blocks, of all databases.
fn bal_bytes(list: ListForm, grounds: &Grounds<'_>) -> Figure {
    let of = |bal: &BalBytes| match list {
        ListForm::ParallelIo => bal.parallel_io_bytes,
        ListForm::BatchedIo => bal.batched_io_bytes,
        ListForm::Full => bal.full_bytes,
    };
    let (bytes, blocks) = match grounds.databases {
        [] => (of(&grounds.workload.bal), grounds.workload.block_count),
        all => all.iter().fold((0, 0), |(bytes, blocks), DatabaseFacts { workload, .. }| {
            (bytes + of(&workload.bal), blocks + workload.block_count)
        }),
    };
    let per_block = (blocks > 0).then(|| bytes as f64 / blocks as f64);
    Figure::exact(per_block, "there is no block")
}

fn by_figure(
    expect: &Expect,
    store: Option<StoreKind>,
    figure: Figure,
    grounds: &Grounds<'_>,
) -> Claim {
    let needed = if grounds.databases.is_empty() { SAMPLES_NEEDED } else { DATABASES_NEEDED };
    let keeps = |value: f64| match expect.bound {
        Bound::Min(min) => value >= min,
        Bound::Max(max) => value <= max,
    };
    let verdict = |keeps| if keeps { Verdict::Holds } else { Verdict::Fails };
    match figure {
        Figure::Exact(value) => {
            claim(expect, store, verdict(keeps(value)), Some((value, None)), None)
        }
        Figure::Sampled { median, ci95: Some([low, high]) } => {
            let near = if matches!(expect.bound, Bound::Min(_)) { low } else { high };
            claim(expect, store, verdict(keeps(near)), Some((median, Some(near))), None)
        }
        Figure::Sampled { median, ci95: None } => {
            let reason = format!("no interval: {needed}");
            claim(expect, store, Verdict::Inconclusive, Some((median, None)), Some(reason))
        }
        Figure::Missing(reason) => {
            claim(expect, store, Verdict::Inconclusive, None, Some(reason.to_owned()))
        }
    }
}

/// `figure`: its value and, where it has an interval, the end near to the bound.
fn claim(
    expect: &Expect,
    store: Option<StoreKind>,
    verdict: Verdict,
    figure: Option<(f64, Option<f64>)>,
    reason: Option<String>,
) -> Claim {
    let (bound, limit) = match expect.bound {
        Bound::Min(min) => (result::Bound::Min, min),
        Bound::Max(max) => (result::Bound::Max, max),
    };
    Claim {
        metric: expect.metric.to_string(),
        store,
        bound,
        limit,
        value: figure.map(|(value, _)| value),
        near_end: figure.and_then(|(_, near_end)| near_end),
        verdict,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use spec::When;

    use super::*;
    use result::{
        RunResult,
        databases::{self, Ran},
        example,
    };

    fn expect(metric: Metric, bound: Bound) -> Expect {
        Expect { metric, bound, when: When::default() }
    }

    fn judged(result: &RunResult, expects: &[Expect]) -> Vec<Claim> {
        let grounds = Grounds {
            workload: &result.workload,
            cells: &result.cells,
            databases: &result.databases,
            cache: CacheMode::Cold,
        };
        judge(expects, None, &grounds).claims
    }

    fn verdict(result: &RunResult, metric: Metric, bound: Bound) -> Verdict {
        let claims = judged(result, &[expect(metric, bound)]);
        assert_eq!(claims.len(), 1, "{claims:?}");
        claims[0].verdict
    }

    const RATE: Metric = Metric::MgasPerS(Design::BatchedIo);
    const SPEEDUP: Metric = Metric::Speedup { of: Design::BatchedIo, over: Design::Sequential };

    #[test]
    fn the_end_of_the_interval_near_to_the_bound_decides() {
        let mut result = example::sampled(8);
        for cell in result.cells.iter_mut().filter(|cell| cell.design == Design::BatchedIo) {
            cell.mgas_per_s.median = Some(100.0);
            cell.mgas_per_s.ci95 = Some([90.0, 110.0]);
        }
        assert_eq!(verdict(&result, RATE, Bound::Min(90.0)), Verdict::Holds);
        assert_eq!(verdict(&result, RATE, Bound::Min(95.0)), Verdict::Fails);
        assert_eq!(verdict(&result, RATE, Bound::Max(110.0)), Verdict::Holds);
        assert_eq!(verdict(&result, RATE, Bound::Max(105.0)), Verdict::Fails);
        let claim = &judged(&result, &[expect(RATE, Bound::Max(105.0))])[0];
        assert_eq!((claim.value, claim.near_end), (Some(100.0), Some(110.0)));
    }

    #[test]
    fn a_speed_up_is_judged_round_by_round() {
        let mut result = example::sampled(8);
        for cell in &mut result.cells {
            for (round, sample) in (1..).zip(&mut cell.samples) {
                // Every round is slower than the one before it, for all cells alike.
                let times = if cell.design == Design::Sequential { 3 } else { 1 };
                sample.wall_ns = times * round * 1_000_000;
            }
        }
        assert_eq!(verdict(&result, SPEEDUP, Bound::Min(3.0)), Verdict::Holds);
        assert_eq!(verdict(&result, SPEEDUP, Bound::Min(3.01)), Verdict::Fails);
    }

    #[test]
    fn without_an_interval_nothing_is_proved() {
        let result = example::typical();
        assert_eq!(verdict(&result, SPEEDUP, Bound::Min(1.0)), Verdict::Inconclusive);
        assert_eq!(verdict(&result, RATE, Bound::Max(1e9)), Verdict::Inconclusive);
    }

    #[test]
    fn a_deadline_is_for_a_block_however_many_run_as_one() {
        let mut result = example::sampled(8);
        result.workload.block_count = 4;
        for cell in &mut result.cells {
            cell.ms_per_batch.ci95 = Some([900.0, 1_000.0]);
        }
        let metric = Metric::MsPerBlock(Design::BatchedIo);
        assert_eq!(verdict(&result, metric, Bound::Max(250.0)), Verdict::Holds);
        assert_eq!(verdict(&result, metric, Bound::Max(249.0)), Verdict::Fails);
    }

    #[test]
    fn on_several_databases_six_of_them_decide_and_no_number_of_samples() {
        let mut result = example::sampled(8);
        let workload = result.workload.clone();
        let facts = DatabaseFacts { workload, device: None, stores: Vec::new() };
        let ran = |seed| {
            let mut ran = Ran { facts: facts.clone(), cells: result.cells.clone() };
            ran.facts.workload.seed = seed;
            ran.facts.workload.bal.batched_io_bytes = 1_000 * seed;
            ran.cells.iter_mut().for_each(|cell| cell.tx_latency_ns.p99 = Some(seed));
            ran
        };
        let all: Vec<Ran> = (1..=7).map(ran).collect();
        let size = Metric::BalBytes(ListForm::BatchedIo);
        let p99 = Metric::TxLatencyP99(Design::BatchedIo);
        for (count, verdict_of_times, mean) in
            [(5, Verdict::Inconclusive, 3_000.0), (7, Verdict::Holds, 4_000.0)]
        {
            result.cells = databases::pool(&all[..count], &[]);
            result.databases = all[..count].iter().map(|ran| ran.facts.clone()).collect();
            assert_eq!(verdict(&result, SPEEDUP, Bound::Min(4.0)), verdict_of_times);
            assert_eq!(verdict(&result, RATE, Bound::Min(1.0)), verdict_of_times);
            assert_eq!(verdict(&result, p99, Bound::Max(7e-9)), verdict_of_times);
            // Exact: the mean of all blocks of all databases.
            assert_eq!(verdict(&result, size, Bound::Max(mean)), Verdict::Holds);
            assert_eq!(verdict(&result, size, Bound::Max(mean - 1.0)), Verdict::Fails);
            let claim = &judged(&result, &[expect(RATE, Bound::Min(1.0))])[0];
            let reason = claim.reason.clone().unwrap_or_default();
            assert_eq!(reason.contains("--databases 6"), count < 6, "{reason}");
        }
        assert_eq!(verdict(&result, p99, Bound::Max(6e-9)), Verdict::Fails);
    }

    #[test]
    fn a_database_without_a_percentile_is_not_left_out_of_a_claim_on_it() {
        let result = example::sampled(8);
        let ran = |seed| {
            let mut workload = result.workload.clone();
            workload.seed = seed;
            let facts = DatabaseFacts { workload, device: None, stores: Vec::new() };
            let mut cells = result.cells.clone();
            cells.iter_mut().for_each(|cell| cell.tx_latency_ns.p99 = Some(seed));
            Ran { facts, cells }
        };
        let mut all: Vec<Ran> = (1..=8).map(ran).collect();
        let p99 = expect(Metric::TxLatencyP99(Design::BatchedIo), Bound::Max(1.0));
        let judged_on = |all: &[Ran]| {
            let mut result = result.clone();
            result.cells = databases::pool(all, &[]);
            result.databases = all.iter().map(|ran| ran.facts.clone()).collect();
            judged(&result, std::slice::from_ref(&p99)).remove(0)
        };
        assert_eq!(judged_on(&all).verdict, Verdict::Holds);
        // Seven are enough for an interval, but they were chosen by what is measured.
        all[0].cells.iter_mut().for_each(|cell| cell.tx_latency_ns.p99 = None);
        let claim = judged_on(&all);
        assert_eq!((claim.verdict, claim.value), (Verdict::Inconclusive, None));
        let reason = claim.reason.unwrap_or_default();
        assert!(reason.contains("--samples") && !reason.contains("--databases"), "{reason}");
    }

    #[test]
    fn a_size_needs_no_interval() {
        let result = example::typical();
        let size = Metric::BalBytes(ListForm::BatchedIo);
        assert_eq!(verdict(&result, size, Bound::Max(9_600_412.0)), Verdict::Holds);
        assert_eq!(verdict(&result, size, Bound::Max(9_600_411.0)), Verdict::Fails);
    }

    #[test]
    fn what_was_not_run_is_not_judged() {
        let mut result = example::sampled(8);
        let mut other_store = expect(RATE, Bound::Min(1.0));
        other_store.when.store = Some(StoreKind::Memory);
        let mut warm = expect(RATE, Bound::Min(1.0));
        warm.when.cache = Some(CacheMode::Warm);
        for claim in judged(&result, &[other_store, warm]) {
            assert_eq!((claim.verdict, claim.value), (Verdict::NotJudged, None), "{claim:?}");
        }
        result.cells.retain(|cell| cell.design != Design::Sequential);
        assert_eq!(verdict(&result, SPEEDUP, Bound::Min(1.0)), Verdict::NotJudged);
    }

    #[test]
    fn each_store_is_judged_by_itself() {
        let mut result = example::sampled(8);
        let mut more = result.cells.clone();
        for cell in &mut more {
            cell.store = StoreKind::Memory;
            cell.mgas_per_s.ci95 = Some([1e6, 2e6]);
        }
        result.cells.extend(more);
        let claims = judged(&result, &[expect(RATE, Bound::Min(1e6))]);
        let verdicts: Vec<_> = claims.iter().map(|claim| (claim.store, claim.verdict)).collect();
        assert_eq!(
            verdicts,
            [(Some(StoreKind::Rocksdb), Verdict::Fails), (Some(StoreKind::Memory), Verdict::Holds)]
        );
        assert_eq!(worst(&claims), Some(Verdict::Fails));
    }

    #[test]
    fn claims_about_other_work_are_skipped() {
        let result = example::sampled(8);
        let grounds = Grounds {
            workload: &result.workload,
            cells: &result.cells,
            databases: &result.databases,
            cache: CacheMode::Cold,
        };
        let keys = ["block.gas".to_owned()];
        let expects = judge(&[expect(RATE, Bound::Min(1e9))], Some(&keys), &grounds);
        assert_eq!((expects.count, expects.claims.len()), (1, 0));
        assert!(expects.status.is_some_and(|status| status.contains("block.gas")));
        assert_eq!(judge(&[], Some(&keys), &grounds).status, None);
    }
}
