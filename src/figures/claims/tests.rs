//! Which claims hold, fail, are open or were not judged, and how the program ends on them.

use variant::{BlockDuty, ListForm, RootTime};

use super::*;
use result::{
    Cell,
    databases::{self, DatabaseFacts, DatabaseRun},
    example,
};

fn expect(metric: Metric, bound: Bound) -> Expect {
    Expect { metric, scope: Scope::Execution, bound, when: When::default() }
}

fn judged(result: &RunResult, expects: &[Expect]) -> Vec<Claim> {
    let inputs = ClaimInputs {
        workload: &result.workload,
        cells: &result.cells,
        databases: &result.databases,
        cache: CacheMode::Cold,
    };
    judge(expects, None, &inputs).claims
}

fn verdict(result: &RunResult, metric: Metric, bound: Bound) -> ClaimVerdict {
    let claims = judged(result, &[expect(metric, bound)]);
    assert_eq!(claims.len(), 1, "{claims:?}");
    claims[0].verdict
}

const RATE: Metric = Metric::MgasPerS(Design::BatchedIo);
const SPEEDUP: Metric = Metric::Speedup { of: Design::BatchedIo, over: Design::Sequential };

/// Eight samples of these rates in MGas/s.
fn set_rates(cell: &mut Cell, rates: [u64; 8]) {
    for (sample, rate) in cell.samples.iter_mut().zip(rates) {
        (sample.gas, sample.wall_ns) = (rate * 1_000_000, 1_000_000_000);
    }
}

#[test]
fn the_end_of_the_interval_near_to_the_bound_decides() {
    let mut result = example::sampled(8);
    for cell in result.cells.iter_mut().filter(|cell| cell.design == Design::BatchedIo) {
        set_rates(cell, [90, 95, 98, 100, 100, 102, 105, 110]);
    }
    assert_eq!(verdict(&result, RATE, Bound::Min(90.0)), ClaimVerdict::Holds);
    assert_eq!(verdict(&result, RATE, Bound::Min(95.0)), ClaimVerdict::Fails);
    assert_eq!(verdict(&result, RATE, Bound::Max(110.0)), ClaimVerdict::Holds);
    assert_eq!(verdict(&result, RATE, Bound::Max(105.0)), ClaimVerdict::Fails);
    let claim = &judged(&result, &[expect(RATE, Bound::Max(105.0))])[0];
    assert_eq!((claim.value, claim.near_end), (Some(100.0), Some(110.0)));
}

#[test]
fn the_best_cell_stands_for_its_design_and_each_end_is_the_best_of_its_kind() {
    let mut result = example::sampled(8);
    let mut batched = result.cells.iter_mut().filter(|cell| cell.design == Design::BatchedIo);
    set_rates(batched.next().unwrap(), [100, 100, 101, 101, 102, 102, 103, 103]);
    // Slower at most times, but nobody knows that it is not faster.
    set_rates(batched.next().unwrap(), [50, 50, 50, 50, 50, 50, 50, 200]);
    assert!(batched.next().is_none());
    assert_eq!(verdict(&result, RATE, Bound::Min(100.0)), ClaimVerdict::Holds);
    assert_eq!(verdict(&result, RATE, Bound::Max(103.0)), ClaimVerdict::Fails);
    assert_eq!(verdict(&result, RATE, Bound::Max(200.0)), ClaimVerdict::Holds);
}

#[test]
fn the_fastest_of_several_takes_more_samples_and_says_how_many() {
    let mut result = example::sampled(6);
    let claim = judged(&result, &[expect(SPEEDUP, Bound::Min(1.0))]).remove(0);
    assert_eq!(claim.verdict, ClaimVerdict::Inconclusive);
    let reason = claim.reason.unwrap_or_default();
    assert!(reason.contains("fastest of 2") && reason.contains("--samples 7"), "{reason}");
    let is_other = |cell: &Cell| cell.design != Design::BatchedIo || cell.io_threads == 64;
    result.cells.retain(is_other);
    assert_eq!(verdict(&result, SPEEDUP, Bound::Min(1.0)), ClaimVerdict::Holds);
}

/// Runs with eight cells of a design that are as fast as the baseline, each sample at most 5 % off
/// to either side. Counts runs with a claim that one is faster, by this program and by the plain
/// interval of the cell that looks fastest.
fn false_claims(run_count: u64) -> (usize, usize) {
    const SAMPLES: usize = 17;
    let example = example::sampled(SAMPLES);
    let find = |design| example.cells.iter().find(|cell| cell.design == design).unwrap();
    let (base, faster) = (find(Design::Sequential), find(Design::BatchedIo));
    let mut state = 1_u64;
    let mut draw = || {
        // Steele, Lea and Flood's SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        950_000 + (mixed ^ (mixed >> 31)) % 100_001
    };
    let (mut claimed, mut naive) = (0, 0);
    for _ in 0..run_count {
        let mut cells = vec![base.clone()];
        cells[0].samples.iter_mut().for_each(|sample| sample.wall_ns = 1_000_000);
        for _ in 0..8 {
            let mut cell = faster.clone();
            cell.samples.iter_mut().for_each(|sample| sample.wall_ns = draw());
            cells.push(cell);
        }
        let of_pair = cells[1..].iter().map(|cell| stats::estimate(&cells[0].ratios_to(cell)));
        let best = of_pair.max_by(|a, b| a.median.partial_cmp(&b.median).unwrap()).unwrap();
        naive += usize::from(best.ci95.unwrap()[0] > 1.0);
        let result = RunResult { cells, ..example.clone() };
        claimed += usize::from(
            verdict(&result, SPEEDUP, Bound::Min(1.0 + f64::EPSILON)) == ClaimVerdict::Holds,
        );
    }
    (claimed, naive)
}

#[test]
fn the_luck_of_the_fastest_of_many_equal_cells_is_no_speed_up() {
    let (claimed, naive) = false_claims(1_000);
    // 2.5 % at this end.
    assert!(claimed <= 25, "{claimed} of 1,000");
    assert!(naive >= 100, "the plain interval would not have been wrong: {naive} of 1,000");
}

/// A whole row beside a cell, whose samples take `times` as long.
fn whole_of(cell: &Cell, times: u64) -> Cell {
    let duties = BlockDuty::ALL.iter().map(|duty| duty.name().to_owned()).collect();
    let mut whole = Cell { duties, root: RootTime::After, ..cell.clone() };
    whole.samples.iter_mut().for_each(|sample| sample.wall_ns *= times);
    whole
}

#[test]
fn a_claim_is_on_the_whole_block_unless_it_says_execution() {
    let mut result = example::sampled(8);
    let blocks = result.workload.block_count as f64;
    let alone = result.cells.iter().find(|cell| cell.design == Design::Sequential).unwrap();
    let ms = alone.samples.iter().map(|sample| sample.wall_ns).max().unwrap() as f64 / 1e6;
    let bound = Bound::Max(1.5 * ms / blocks);
    let of_scope =
        |scope| Expect { scope, ..expect(Metric::MsPerBlock(Design::Sequential), bound) };
    let both = [of_scope(Scope::Execution), of_scope(Scope::Whole)];
    // A row with one duty is no whole block.
    let some = Cell { duties: vec!["recover".to_owned()], ..alone.clone() };
    let whole = whole_of(alone, 2);
    result.cells.push(some);
    let found = judged(&result, &both);
    assert_eq!(found[0].metric, "execution(ms_per_block(sequential))");
    assert_eq!(found[0].verdict, ClaimVerdict::Holds, "{found:?}");
    assert_eq!(found[1].metric, "ms_per_block(sequential)");
    assert_eq!(found[1].verdict, ClaimVerdict::NotJudged);
    let reason = found[1].reason.clone().unwrap_or_default();
    assert!(reason.contains("run.whole = \"one\""), "{reason}");
    result.cells.push(whole);
    let verdicts: Vec<_> = judged(&result, &both).iter().map(|claim| claim.verdict).collect();
    assert_eq!(verdicts, [ClaimVerdict::Holds, ClaimVerdict::Fails]);
    // Without execution alone there is nothing else to judge.
    result.cells.retain(|cell| !cell.duties.is_empty());
    result.cells.retain(Cell::is_whole);
    assert_eq!(judged(&result, &both)[0].verdict, ClaimVerdict::NotJudged);
}

#[test]
fn the_exit_code_is_that_of_the_worst_claim_that_counts() {
    let of = |verdict| Claim {
        verdict,
        ..judged(&example::sampled(8), &[expect(RATE, Bound::Min(1.0))]).remove(0)
    };
    let coded = |verdicts: &[ClaimVerdict], open| {
        let claims: Vec<_> = verdicts.iter().map(|verdict| of(*verdict)).collect();
        exit_code(&claims, open)
    };
    let strict = UndecidedCodes { inconclusive: Code::Inconclusive, ..UndecidedCodes::DEFAULT };
    let accepting = UndecidedCodes { not_judged: Code::Fine, ..UndecidedCodes::DEFAULT };
    for (verdicts, codes) in [
        (&[][..], [Code::Fine; 3]),
        (&[ClaimVerdict::Holds, ClaimVerdict::Skipped], [Code::Fine; 3]),
        (&[ClaimVerdict::Inconclusive], [Code::Fine, Code::Inconclusive, Code::Fine]),
        (
            &[ClaimVerdict::Holds, ClaimVerdict::NotJudged],
            [Code::NotJudged, Code::NotJudged, Code::Fine],
        ),
        (
            &[ClaimVerdict::NotJudged, ClaimVerdict::Inconclusive],
            [Code::NotJudged, Code::Inconclusive, Code::Fine],
        ),
        (&[ClaimVerdict::NotJudged, ClaimVerdict::Fails], [Code::Claim; 3]),
    ] {
        let found = [UndecidedCodes::DEFAULT, strict, accepting].map(|open| coded(verdicts, open));
        assert_eq!(found, codes, "{verdicts:?}");
    }
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
    assert_eq!(verdict(&result, SPEEDUP, Bound::Min(3.0)), ClaimVerdict::Holds);
    assert_eq!(verdict(&result, SPEEDUP, Bound::Min(3.01)), ClaimVerdict::Fails);
}

#[test]
fn without_an_interval_nothing_is_proved() {
    let result = example::typical();
    assert_eq!(verdict(&result, SPEEDUP, Bound::Min(1.0)), ClaimVerdict::Inconclusive);
    assert_eq!(verdict(&result, RATE, Bound::Max(1e9)), ClaimVerdict::Inconclusive);
}

#[test]
fn a_deadline_is_for_a_block_however_many_run_as_one() {
    let mut result = example::sampled(8);
    result.workload.block_count = 4;
    for cell in &mut result.cells {
        for (sample, ms) in cell.samples.iter_mut().zip([900, 920, 930, 950, 950, 960, 990, 1_000])
        {
            sample.wall_ns = ms * 1_000_000;
        }
    }
    let metric = Metric::MsPerBlock(Design::BatchedIo);
    assert_eq!(verdict(&result, metric, Bound::Max(250.0)), ClaimVerdict::Holds);
    assert_eq!(verdict(&result, metric, Bound::Max(249.0)), ClaimVerdict::Fails);
}

#[test]
fn on_several_databases_six_of_them_decide_and_no_number_of_samples() {
    let mut result = example::sampled(8);
    let workload = result.workload.clone();
    let facts = DatabaseFacts { workload, device: None, stores: Vec::new() };
    let ran = |seed| {
        let mut ran = DatabaseRun { facts: facts.clone(), cells: result.cells.clone() };
        ran.facts.workload.seed = seed;
        ran.facts.workload.bal.batched_io_bytes = 1_000 * seed;
        ran.cells.iter_mut().for_each(|cell| cell.tx_latency_ns.p99 = Some(seed));
        ran
    };
    let all: Vec<DatabaseRun> = (1..=7).map(ran).collect();
    let size = Metric::BalBytes(ListForm::BatchedIo);
    let p99 = Metric::TxLatencyP99(Design::BatchedIo);
    for (count, verdict_of_times, mean) in
        [(5, ClaimVerdict::Inconclusive, 3_000.0), (7, ClaimVerdict::Holds, 4_000.0)]
    {
        result.cells = databases::pool(&all[..count], &[]);
        result.databases = all[..count].iter().map(|ran| ran.facts.clone()).collect();
        assert_eq!(verdict(&result, SPEEDUP, Bound::Min(4.0)), verdict_of_times);
        assert_eq!(verdict(&result, RATE, Bound::Min(1.0)), verdict_of_times);
        assert_eq!(verdict(&result, p99, Bound::Max(7e-9)), verdict_of_times);
        // Exact: the mean of all blocks of all databases.
        assert_eq!(verdict(&result, size, Bound::Max(mean)), ClaimVerdict::Holds);
        assert_eq!(verdict(&result, size, Bound::Max(mean - 1.0)), ClaimVerdict::Fails);
        let claim = &judged(&result, &[expect(RATE, Bound::Min(1.0))])[0];
        let reason = claim.reason.clone().unwrap_or_default();
        assert_eq!(reason.contains("--databases 7"), count < 6, "{reason}");
    }
    assert_eq!(verdict(&result, p99, Bound::Max(6e-9)), ClaimVerdict::Fails);
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
        DatabaseRun { facts, cells }
    };
    let mut all: Vec<DatabaseRun> = (1..=8).map(ran).collect();
    let p99 = expect(Metric::TxLatencyP99(Design::BatchedIo), Bound::Max(1.0));
    let judged_on = |all: &[DatabaseRun]| {
        let mut result = result.clone();
        result.cells = databases::pool(all, &[]);
        result.databases = all.iter().map(|ran| ran.facts.clone()).collect();
        judged(&result, std::slice::from_ref(&p99)).remove(0)
    };
    assert_eq!(judged_on(&all).verdict, ClaimVerdict::Holds);
    // Seven are enough for an interval, but they were chosen by the measured values.
    all[0].cells.iter_mut().for_each(|cell| cell.tx_latency_ns.p99 = None);
    let claim = judged_on(&all);
    assert_eq!((claim.verdict, claim.value), (ClaimVerdict::Inconclusive, None));
    let reason = claim.reason.unwrap_or_default();
    assert!(reason.contains("--samples") && !reason.contains("--databases"), "{reason}");
}

#[test]
fn a_size_needs_no_interval() {
    let result = example::typical();
    let size = Metric::BalBytes(ListForm::BatchedIo);
    assert_eq!(verdict(&result, size, Bound::Max(9_600_412.0)), ClaimVerdict::Holds);
    assert_eq!(verdict(&result, size, Bound::Max(9_600_411.0)), ClaimVerdict::Fails);
}

#[test]
fn what_was_not_run_is_not_judged_and_what_was_not_asked_is_skipped() {
    let mut result = example::sampled(8);
    let mut other_store = expect(RATE, Bound::Min(1.0));
    other_store.when.store = Some(StoreKind::Memory);
    let mut warm = expect(RATE, Bound::Min(1.0));
    warm.when.cache = Some(CacheMode::Warm);
    for claim in judged(&result, &[other_store, warm]) {
        assert_eq!((claim.verdict, claim.value), (ClaimVerdict::Skipped, None), "{claim:?}");
    }
    result.cells.retain(|cell| cell.design != Design::Sequential);
    assert_eq!(verdict(&result, SPEEDUP, Bound::Min(1.0)), ClaimVerdict::NotJudged);
}

#[test]
fn each_store_is_judged_by_itself() {
    let mut result = example::sampled(8);
    let mut more = result.cells.clone();
    for cell in &mut more {
        cell.store = StoreKind::Memory;
        set_rates(cell, [1_000_000; 8]);
    }
    result.cells.extend(more);
    let claims = judged(&result, &[expect(RATE, Bound::Min(1e6))]);
    let verdicts: Vec<_> = claims.iter().map(|claim| (claim.store, claim.verdict)).collect();
    assert_eq!(
        verdicts,
        [
            (Some(StoreKind::Rocksdb), ClaimVerdict::Fails),
            (Some(StoreKind::Memory), ClaimVerdict::Holds)
        ]
    );
    assert_eq!(worst(&claims), Some(ClaimVerdict::Fails));
}

#[test]
fn of_several_results_a_claim_has_its_worst_verdict() {
    let of = |bound| {
        let expects = [expect(RATE, Bound::Max(1e9)), expect(SPEEDUP, Bound::Max(bound))];
        let claims = judged(&example::sampled(8), &expects);
        Expects { count: 2, status: Some("holds".to_owned()), claims }
    };
    let mut results = [of(1e9), of(1e9), of(1e9)];
    let verdicts = |results: &[Expects]| {
        let all = join(results);
        let verdicts: Vec<_> = all.claims.iter().map(|claim| claim.verdict).collect();
        (verdicts, all.status.unwrap())
    };
    let holds = vec![ClaimVerdict::Holds; 2];
    assert_eq!(verdicts(&results), (holds, "holds".to_owned()));
    for index in 0..3 {
        results[index].claims[1].verdict = ClaimVerdict::Fails;
        let fails = vec![ClaimVerdict::Holds, ClaimVerdict::Fails];
        assert_eq!(verdicts(&results), (fails, "fails".to_owned()), "{index}");
        results[index].claims[1].verdict = ClaimVerdict::Holds;
    }
}

#[test]
fn claims_about_other_work_are_skipped() {
    let result = example::sampled(8);
    let inputs = ClaimInputs {
        workload: &result.workload,
        cells: &result.cells,
        databases: &result.databases,
        cache: CacheMode::Cold,
    };
    let keys = ["block.gas".to_owned()];
    let expects = judge(&[expect(RATE, Bound::Min(1e9))], Some(&keys), &inputs);
    assert_eq!((expects.count, expects.claims.len()), (1, 0));
    assert!(expects.status.is_some_and(|status| status.contains("block.gas")));
    assert_eq!(judge(&[], Some(&keys), &inputs).status, None);
}
