//! A result against a stored one: counters exactly, then how the variants stand to each other
//! inside each run. A time of another day is not judged unless it was asked for, and on another
//! machine never.

use report::compare;
use result::{
    Cell, SampleFacts,
    databases::OnDatabase,
    gate::{self, Shift},
    stats::{self, Trimmed},
    stored::Stored,
};
use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;

use super::{
    Outcome, Verdict,
    decide::{ALPHA_FAIL, ALPHA_PASS, Split, by_bounds},
    fingerprint,
};

/// A counter of a sample that the work alone decides.
struct Exact {
    name: &'static str,
    of: fn(&SampleFacts) -> u64,
}

/// Reads that the store was asked for: exact but for engines whose reads depend on which thread
/// came first.
const READS: &str = "store_reads";
const EXACT: [Exact; 3] = [
    Exact { name: "gas", of: |sample| sample.gas },
    Exact { name: "unique_keys", of: |sample| sample.unique_keys },
    Exact { name: READS, of: |sample| sample.store_reads },
];
/// What a result's warning of stolen time begins with.
const STEAL_WARNING: &str = "the hypervisor took";

/// Whether times of two days are judged where they are of one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Only ratios inside each run.
    Ratios,
    /// Times too.
    Absolute,
}

/// A result set against a stored one.
#[derive(Clone, Debug)]
pub struct Compared {
    /// What it comes to.
    pub outcome: Outcome,
    /// What was compared, as a gate's result says it.
    pub facts: gate::Compared,
}

/// A figure's change, judged.
struct Judged {
    verdict: Verdict,
    shift: Shift,
}

/// Judges `new` against `base`.
///
/// # Errors
/// They are of different work, or one of them disagrees or has no sample.
pub fn judge(base: &Stored, new: &Stored, delta: f64, times: Times) -> Result<Compared> {
    compare::compare(&[base.clone(), new.clone()])?;
    let path = base.path.display().to_string();
    let mut compared = gate::Compared { path, ..gate::Compared::default() };
    counters(base, new, &mut compared);
    if !compared.counter_changes.is_empty() {
        let reason = compared.counter_changes.join(", ");
        let outcome = Outcome { verdict: Verdict::WorkChanged, reason };
        return Ok(Compared { outcome, facts: compared });
    }
    let common = common(base, new, &mut compared);
    let other_machine = fingerprint::differences(&base.result.environment, &new.result.environment);
    let judges_times = times == Times::Absolute && other_machine.is_empty();
    compared.times_note = match (times, other_machine.as_slice()) {
        (Times::Ratios, _) => "times are of two days: only ratios inside each run are judged",
        (Times::Absolute, []) => {
            "the same machine, another day: what changed on it since counts as the build's"
        }
        (Times::Absolute, _) => "times not judged: they are of different machines",
    }
    .to_owned();
    if times == Times::Absolute && !other_machine.is_empty() {
        compared.times_note.push_str(&format!(" ({})", other_machine.join(", ")));
    }
    let [reference, others @ ..] = common.as_slice() else {
        let reason = "no variant is in both".to_owned();
        let outcome = Outcome { verdict: Verdict::Inconclusive, reason };
        return Ok(Compared { outcome, facts: compared });
    };
    compared.reference = Some(reference.clone());
    let judged_count = others.len() + if judges_times { common.len() } else { 0 };
    let split = Split { judged_count, look_count: 1 };
    let judged = |variant: &String, over: Option<&str>| {
        shift(variant, change(base, new, variant, over), delta, split)
    };
    let ratios: Vec<_> = others.iter().map(|variant| judged(variant, Some(reference))).collect();
    let absolute: Vec<_> = match judges_times {
        true => common.iter().map(|variant| judged(variant, None)).collect(),
        false => Vec::new(),
    };
    let all = || ratios.iter().chain(&absolute);
    let verdict = Verdict::worst(all().map(|judged| judged.verdict));
    let outcome = match [base, new].into_iter().find(|stored| was_disturbed(stored)) {
        Some(stored) => Outcome {
            verdict: Verdict::Untrusted,
            reason: format!("{}: {STEAL_WARNING} CPU time", stored.path.display()),
        },
        None => Outcome { verdict, reason: reason(verdict, all(), needed(base)) },
    };
    compared.ratios = ratios.into_iter().map(|judged| judged.shift).collect();
    compared.times = absolute.into_iter().map(|judged| judged.shift).collect();
    Ok(Compared { outcome, facts: compared })
}

/// What a variant without an interval lacks.
fn needed(base: &Stored) -> &'static str {
    match base.result.databases.as_slice() {
        [] => "six samples are needed in both (--samples 6)",
        _ => "a database is one value, and six are needed in both (--databases 6)",
    }
}

fn reason<'a>(verdict: Verdict, all: impl Iterator<Item = &'a Judged>, needed: &str) -> String {
    let of_verdict = all.filter(|judged| judged.verdict == verdict).map(|judged| &judged.shift);
    let change = |shift: &Shift| shift.change.unwrap_or(f64::NEG_INFINITY);
    let worst = of_verdict.max_by(|a, b| change(a).total_cmp(&change(b)));
    let Some(shift) = worst else {
        return "one variant only: there is no ratio inside a run (--design, --absolute)"
            .to_owned();
    };
    let percent = |share: f64| format!("{:+.1} %", share * 100.0);
    match (shift.change, shift.lower, shift.upper) {
        (Some(change), Some(lower), Some(upper)) => format!(
            "{}: {}, between {} and {}",
            shift.variant,
            percent(change),
            percent(lower),
            percent(upper)
        ),
        _ => format!("{}: {needed}", shift.variant),
    }
}

fn was_disturbed(stored: &Stored) -> bool {
    stored.result.warnings.iter().any(|warning| warning.starts_with(STEAL_WARNING))
}

fn variants(stored: &Stored) -> Vec<String> {
    stored.result.cells.iter().map(|cell| cell.variant.clone()).collect()
}

/// Variants that both have, in the order of the stored result.
fn common(base: &Stored, new: &Stored, compared: &mut gate::Compared) -> Vec<String> {
    let (before, after) = (variants(base), variants(new));
    let only = |of: &[String], other: &[String]| {
        of.iter().filter(|name| !other.contains(name)).cloned().collect::<Vec<_>>()
    };
    compared.only_in_one = only(&before, &after);
    compared.only_in_one.extend(only(&after, &before));
    before.into_iter().filter(|name| after.contains(name)).collect()
}

/// Compares the counters of the variants that both have.
fn counters(base: &Stored, new: &Stored, compared: &mut gate::Compared) {
    let after = exact(new);
    for (key, before) in exact(base) {
        let Some(now) = after.get(&key) else { continue };
        compared.counter_count += 1;
        if before != *now {
            compared.counter_changes.push(format!("{key}: {before} → {now}"));
        }
    }
}

/// Counters that are the same in all samples of a cell, by variant and name; and the exact ones
/// of the cell that a sample has not.
fn exact(stored: &Stored) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for cell in &stored.result.cells {
        let reads_are_exact = cell.engine.runs_steps_once();
        for database in cell.by_database() {
            let name = |counter: &str| format!("{}{} {counter}", cell.variant, database.words());
            for Exact { name: counter, of } in EXACT {
                let mut values: Vec<_> = database.samples.iter().map(of).collect();
                values.dedup();
                if let ([value], true) = (values.as_slice(), counter != READS || reads_are_exact) {
                    found.insert(name(counter), Value::from(*value));
                }
            }
            if let Some(counters) = database.counters {
                found.insert(name("receipts"), Value::from(counters.receipts.clone()));
                found.insert(name("net_changes"), Value::from(counters.net_changes.clone()));
                found.insert(name("list_bytes"), Value::from(counters.list_bytes));
            }
        }
    }
    found
}

/// A variant's times, or its times over those of another in the same round, of each database that
/// has both, by its seed; without the warm-up.
fn times(stored: &Stored, variant: &str, over: Option<&str>) -> BTreeMap<Option<u64>, Vec<f64>> {
    let of = |variant: &str| -> BTreeMap<Option<u64>, Vec<f64>> {
        let databases = stored.cell(variant).map(Cell::by_database).unwrap_or_default();
        let times =
            |of: &OnDatabase<'_>| of.counted().iter().map(|sample| sample.wall_ns as f64).collect();
        databases.iter().map(|database| (database.seed, times(database))).collect()
    };
    let own = of(variant);
    let Some(over) = over else { return own };
    // An interrupted run may have only one of both on its last database.
    let others = of(over);
    let ratios = own.into_iter().filter_map(|(seed, own)| {
        let pairs = own.iter().zip(others.get(&seed)?);
        Some((seed, pairs.map(|(own, over)| own / over).collect()))
    });
    ratios.collect()
}

/// How far the logarithm of a variant's time, or of its time over another's, moved. Samples of two
/// runs on one database are independent of each other. Of several databases both runs have the
/// same: each is one value, the difference of its medians, which it does not itself spread.
fn change(base: &Stored, new: &Stored, variant: &str, over: Option<&str>) -> Option<Trimmed> {
    let (is_one, base) = (base.result.databases.is_empty(), times(base, variant, over));
    let new = times(new, variant, over);
    if is_one {
        let of = |times: BTreeMap<_, Vec<f64>>| {
            let logs = times.into_values().flatten().map(f64::ln);
            Trimmed::of(&logs.collect::<Vec<_>>())
        };
        return Some(of(new)?.minus(&of(base)?));
    }
    let log = |times: &Vec<f64>| stats::median(times).map(f64::ln);
    let moved = base.iter().filter_map(|(seed, base)| Some(log(new.get(seed)?)? - log(base)?));
    Trimmed::of(&moved.collect::<Vec<_>>())
}

fn shift(variant: &str, change: Option<Trimmed>, delta: f64, split: Split) -> Judged {
    let variant = variant.to_owned();
    let Some(change) = change else {
        let verdict = Verdict::Inconclusive;
        let (change, lower, upper) = (None, None, None);
        let shift = Shift { variant, verdict, change, lower, upper };
        return Judged { verdict, shift };
    };
    let lower = change.lower(split.share(ALPHA_FAIL));
    let upper = change.upper(split.share(ALPHA_PASS));
    let verdict = by_bounds(lower, upper, delta);
    let share = |log: f64| Some(log.exp_m1()).filter(|share| share.is_finite());
    let shift = Shift {
        variant,
        verdict,
        change: share(change.mean),
        lower: share(lower),
        upper: share(upper),
    };
    Judged { verdict, shift }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use result::example;

    /// A result of eight rounds, each cell's times its median with some noise.
    fn stored(change: impl FnOnce(&mut Value)) -> Stored {
        let mut json: Value =
            serde_json::from_str(&report::json(&example::sampled(8)).unwrap()).unwrap();
        json["environment"]["cpu"]["model"] = json!("Made Up 9000");
        json["warnings"] = json!([]);
        for (number, cell) in json["cells"].as_array_mut().unwrap().iter_mut().enumerate() {
            for (round, sample) in cell["samples"].as_array_mut().unwrap().iter_mut().enumerate() {
                let noise = 1.0 + 1e-3 * ((round * 7 + number * 3) % 5) as f64;
                sample["wall_ns"] = json!((1e9 * (number + 1) as f64 * noise) as u64);
            }
        }
        change(&mut json);
        Stored::from_json("r.json".into(), json).unwrap()
    }

    fn slow(cell: usize, factor: f64) -> impl FnOnce(&mut Value) {
        move |json| {
            for sample in json["cells"][cell]["samples"].as_array_mut().unwrap() {
                let ns = sample["wall_ns"].as_f64().unwrap();
                sample["wall_ns"] = json!((ns * factor) as u64);
            }
        }
    }

    fn judged(base: &Stored, new: &Stored, times: Times) -> (Verdict, String, gate::Compared) {
        let Compared { outcome, facts } = judge(base, new, 0.03, times).unwrap();
        (outcome.verdict, outcome.reason, facts)
    }

    #[test]
    fn a_result_passes_against_itself() {
        let (verdict, _, compared) = judged(&stored(|_| ()), &stored(|_| ()), Times::Absolute);
        assert_eq!(verdict, Verdict::Pass);
        assert_eq!((compared.ratios.len(), compared.times.len()), (4, 5));
        assert!(compared.counter_count >= 15, "{compared:?}");
    }

    #[test]
    fn a_variant_that_lost_against_the_others_is_a_regression_and_is_named() {
        let (verdict, reason, _) = judged(&stored(|_| ()), &stored(slow(3, 1.1)), Times::Ratios);
        assert_eq!(verdict, Verdict::Regression);
        assert!(reason.contains("batched-io") && reason.contains("+10.0 %"), "{reason}");
    }

    #[test]
    fn all_slower_alike_is_seen_in_times_only_and_only_on_one_machine() {
        let all_slow = |json: &mut Value| (0..5).for_each(|cell| slow(cell, 1.1)(json));
        let (base, new) = (stored(|_| ()), stored(all_slow));
        assert_eq!(judged(&base, &new, Times::Ratios).0, Verdict::Pass);
        assert_eq!(judged(&base, &new, Times::Absolute).0, Verdict::Regression);
        let elsewhere = stored(|json| {
            all_slow(json);
            json["environment"]["cpu"]["model"] = json!("Another");
        });
        let (verdict, _, compared) = judged(&base, &elsewhere, Times::Absolute);
        assert_eq!((verdict, compared.times.len()), (Verdict::Pass, 0));
        assert!(compared.times_note.contains("cpu/model"), "{}", compared.times_note);
    }

    #[test]
    fn one_read_more_changes_the_work_and_no_time_is_looked_at() {
        let new = stored(|json| {
            slow(3, 2.0)(json);
            for sample in json["cells"][0]["samples"].as_array_mut().unwrap() {
                let reads = sample["store_reads"].as_u64().unwrap();
                sample["store_reads"] = json!(reads + 1);
            }
        });
        let (verdict, reason, compared) = judged(&stored(|_| ()), &new, Times::Absolute);
        assert_eq!(verdict, Verdict::WorkChanged);
        assert!(reason.contains("store_reads"), "{reason}");
        assert!(compared.ratios.is_empty());
    }

    #[test]
    fn few_samples_and_stolen_time_decide_nothing() {
        let few = stored(|json| {
            for cell in json["cells"].as_array_mut().unwrap() {
                cell["samples"].as_array_mut().unwrap().truncate(5);
            }
        });
        let (verdict, reason, _) = judged(&few, &stored(|_| ()), Times::Ratios);
        assert_eq!(verdict, Verdict::Inconclusive);
        assert!(reason.contains("six samples"), "{reason}");
        let stolen = stored(|json| json["warnings"] = json!(["the hypervisor took 90 ms"]));
        let (verdict, ..) = judged(&stolen, &stored(slow(3, 1.5)), Times::Ratios);
        assert_eq!(verdict, Verdict::Untrusted);
    }

    /// The same samples as of so many databases.
    fn on_databases(json: &mut Value, count: usize) {
        let all: Vec<usize> = (0..count).collect();
        let workload = |n: &usize| {
            let mut workload = json["workload"].clone();
            (workload["seed"], workload["digest"]) = (json!(n), json!(format!("d{n}")));
            json!({ "workload": workload, "device": null, "stores": [] })
        };
        json["databases"] = all.iter().map(workload).collect();
        for cell in json["cells"].as_array_mut().unwrap() {
            let own = cell["samples"].as_array().unwrap().len() / count;
            let counters = cell["counters"].clone();
            let of = |n: &usize| {
                json!({
                    "seed": n, "sample_count": own, "counters": counters, "mgas_per_s": {},
                    "ms_per_batch": {}, "tx_latency_ns": { "count": 0 }
                })
            };
            cell["databases"] = json!({
                "each": all.iter().map(of).collect::<Vec<_>>(),
                "time_ratio_over": "", "time_ratio": {}
            });
        }
    }

    #[test]
    fn each_database_is_one_value_and_has_counters_of_its_own() {
        let of = |count: usize, factor: f64| {
            stored(|json| {
                slow(3, factor)(json);
                on_databases(json, count);
            })
        };
        let (verdict, reason, _) = judged(&of(8, 1.0), &of(8, 1.1), Times::Ratios);
        assert_eq!(verdict, Verdict::Regression);
        assert!(reason.contains("+10.0 %"), "{reason}");
        // Four with two each say less: there is no interval.
        let (verdict, reason, _) = judged(&of(4, 1.0), &of(4, 1.1), Times::Ratios);
        assert_eq!(verdict, Verdict::Inconclusive);
        assert!(reason.contains("--databases 6"), "{reason}");
        let mut new = of(4, 1.0);
        for sample in 6..8 {
            new.result.cells[0].samples[sample].store_reads = 1;
        }
        let (verdict, reason, compared) = judged(&of(4, 1.0), &new, Times::Ratios);
        assert_eq!((verdict, compared.counter_changes.len()), (Verdict::WorkChanged, 1));
        assert!(reason.contains("on database 3 store_reads"), "{reason}");
        let error = judge(&of(4, 1.0), &of(8, 1.0), 0.03, Times::Ratios).unwrap_err();
        assert!(error.to_string().contains("databases of seeds 0, 1, 2, 3"), "{error}");
    }

    #[test]
    fn databases_that_differ_but_equally_in_both_results_decide() {
        // Six, the last of which takes 5 % longer than the first; each time by some noise.
        let of = |run: usize, factor: f64| {
            stored(|json| {
                slow(3, factor)(json);
                for (place, cell) in json["cells"].as_array_mut().unwrap().iter_mut().enumerate() {
                    let samples = cell["samples"].as_array_mut().unwrap();
                    samples.truncate(6);
                    for (database, sample) in samples.iter_mut().enumerate() {
                        let apart = if place == 3 { 0.01 * database as f64 } else { 0.0 };
                        let noise = 1e-3 * ((database * 5 + place * 3 + run) % 4) as f64;
                        let ns = sample["wall_ns"].as_f64().unwrap();
                        sample["wall_ns"] = json!((ns * (1.0 + apart) * (1.0 + noise)) as u64);
                    }
                }
                on_databases(json, 6);
            })
        };
        for times in [Times::Ratios, Times::Absolute] {
            let (verdict, reason, _) = judged(&of(0, 1.0), &of(1, 1.0), times);
            assert_eq!(verdict, Verdict::Pass, "{reason}");
            let (verdict, reason, _) = judged(&of(0, 1.0), &of(1, 1.08), times);
            assert_eq!(verdict, Verdict::Regression, "{reason}");
        }
    }

    #[test]
    fn a_database_without_the_reference_has_no_ratio_and_its_time_is_taken_for_none() {
        let whole = stored(|json| on_databases(json, 8));
        // Interrupted before the reference's turn: on the third, and on the last database.
        for cut in [2, 7] {
            let short = stored(|json| {
                on_databases(json, 8);
                let reference = &mut json["cells"][0];
                reference["samples"].as_array_mut().unwrap().remove(cut);
                reference["databases"]["each"].as_array_mut().unwrap().remove(cut);
            });
            let variant = variants(&short)[1].clone();
            let ratios = times(&short, &variant, Some(&variants(&short)[0]));
            let seeds: Vec<_> = (0..8).filter(|seed| *seed != cut as u64).map(Some).collect();
            assert_eq!(ratios.keys().copied().collect::<Vec<_>>(), seeds);
            for (base, new) in [(&whole, &short), (&short, &whole)] {
                let (verdict, reason, compared) = judged(base, new, Times::Ratios);
                assert_eq!(verdict, Verdict::Pass, "{reason}");
                let changes = compared.ratios.iter().filter_map(|shift| shift.change);
                assert!(changes.clone().count() == 4 && changes.into_iter().all(|c| c == 0.0));
            }
        }
    }

    #[test]
    fn other_work_is_refused() {
        let other = stored(|json| json["workload"]["digest"] = json!("0x1"));
        let error = judge(&stored(|_| ()), &other, 0.03, Times::Ratios).unwrap_err();
        assert!(error.to_string().contains("different work"), "{error}");
    }
}
