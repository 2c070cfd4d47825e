//! Tests of the error rates of comparing two sides whose true change is known, and of reading a
//! directory.

use std::{fs, time::Duration};

use result::{RunResult, example};

use super::*;
use crate::gate::{
    Verdict,
    decide::{ALPHA_FAIL, ALPHA_PASS, by_bounds},
    drawn::Drawn,
    octet::Arm,
    sampler::Sampler,
};

const VARIANT: &str = "memory/x@1";
const DELTA: f64 = 0.03;
/// Number of pairs of sides.
const PAIR_COUNT: u64 = 1_000;

/// The result of a process: ten samples, all faster or slower by one drawn factor.
fn process(template: &RunResult, drawn: &mut Drawn) -> Stored {
    drawn.restart().unwrap();
    let mut result = template.clone();
    let sample = result.cells[0].samples[0].clone();
    let samples = (0..10).map(|_| {
        let taken = drawn.sample(Arm::New, VARIANT).unwrap();
        SampleFacts { wall_ns: taken.wall_ns, ..sample.clone() }
    });
    result.cells[0].samples = samples.collect();
    Stored::new("r.json".into(), result)
}

/// The number of pairs of sides with a regression, and with a pass, as `log_change` judges. The new
/// side truly takes `factor` times as long, and processes differ by 1.3 %.
fn counted(factor: f64, log_change: impl Fn(&Side, &Side) -> Option<LogChange>) -> [u64; 2] {
    let mut template = example::typical();
    template.cells.truncate(1);
    template.cells[0].variant = VARIANT.to_owned();
    let mut counts = [0, 0];
    for seed in 0..PAIR_COUNT {
        let mut drawn = Drawn { process_noise: 0.013, ..Drawn::new(seed, 1.0, 0.01) };
        drawn.start = Duration::ZERO;
        let [base, new] = [1.0, factor].map(|factor| {
            drawn.factor = factor;
            let results = (0..6).map(|_| process(&template, &mut drawn)).collect();
            Side { path: "side".into(), results }
        });
        let estimate = log_change(&base, &new).unwrap().estimate;
        match by_bounds(estimate.lower(ALPHA_FAIL), estimate.upper(ALPHA_PASS), DELTA) {
            Verdict::Regression => counts[0] += 1,
            Verdict::Pass => counts[1] += 1,
            _ => {}
        }
    }
    counts
}

#[test]
fn times_between_processes_err_as_rarely_as_is_claimed() {
    let by_processes = |base: &Side, new: &Side| log_change(base, new, VARIANT, Figure::Time);
    // The truth lies exactly at δ, where either verdict is wrong: 1 % and 5 % of 1,000, and three
    // standard deviations of the counts.
    let [regressions, passes] = counted(1.0 + DELTA, by_processes);
    assert!(regressions <= 10 + 10, "{regressions} false regressions");
    assert!(passes <= 50 + 21, "{passes} false passes");
    let [regressions, _] = counted(1.0, by_processes);
    assert_eq!(regressions, 0);
    let [regressions, passes] = counted(1.10, by_processes);
    assert!(regressions > 900 && passes == 0, "{regressions} of a true 10 %");
}

#[test]
fn samples_of_one_process_taken_for_independent_would_err_often() {
    // Why one process on each side decides nothing.
    let by_samples = |base: &Side, new: &Side| {
        let of = |side: &Side| logs(&side.results[0], VARIANT, Figure::Time).unwrap();
        let all = |side: &Side| of(side).into_values().flatten().collect::<Vec<_>>();
        between(&all(base), &all(new))
    };
    let [regressions, passes] = counted(1.0 + DELTA, by_samples);
    assert!(regressions > 100 && passes > 200, "{regressions} and {passes}");
    let one = |result| Side { path: "side".into(), results: vec![Stored::new("r".into(), result)] };
    let (base, new) = (one(example::sampled(8)), one(example::sampled(8)));
    let variant = base.variants()[0].clone();
    assert!(log_change(&base, &new, &variant, Figure::Time).is_none());
}

#[test]
fn a_database_without_the_reference_has_no_ratio() {
    let whole = example::pooled(&[vec![10, 11], vec![12, 13], vec![14, 15]]);
    let mut short = whole.clone();
    short.cells[0].samples.drain(2..4);
    short.cells[0].databases.as_mut().unwrap().each.remove(1);
    let seeds = |result: RunResult| {
        let [over, variant] = [0, 1].map(|cell| result.cells[cell].variant.clone());
        let stored = Stored::new("r.json".into(), result);
        let ratios = logs(&stored, &variant, Figure::Ratio(&over)).unwrap();
        ratios.into_keys().flatten().collect::<Vec<_>>()
    };
    assert_eq!((seeds(whole), seeds(short)), (vec![10, 11, 12], vec![10, 12]));
}

#[test]
fn all_results_of_a_directory_are_a_side_and_other_files_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, result: &RunResult| {
        fs::write(dir.path().join(name), result::json(result).unwrap()).unwrap();
    };
    let of = |started_unix_s| RunResult { started_unix_s, ..example::sampled(6) };
    write("result.json", &of(1));
    write("result-2.json", &of(2));
    write("gate.json", &of(3));
    fs::write(dir.path().join("x.tx.hlog"), "").unwrap();
    assert_eq!(Side::read(dir.path()).unwrap().process_count(), 2);
    assert_eq!(Side::read(&dir.path().join("result-2.json")).unwrap().process_count(), 1);
    write("result-3.json", &of(1));
    let error = Side::read(dir.path()).unwrap_err().to_string();
    assert!(error.contains("are the same result"), "{error}");
}
