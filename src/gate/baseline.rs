//! Results against stored ones: counters exactly, then how the variants stand to each other inside
//! each run, and their reads from a cold disk. A time of another day is not judged unless it was
//! asked for, only between several processes, and on another machine never.

use report::compare;
use result::{
    CacheFacts, SampleFacts,
    comparison::Change,
    gate::{self, CountShift, Shift},
    stored::Stored,
};
use std::collections::BTreeMap;

use anyhow::{Result, bail};
use serde_json::Value;
use variant::CacheMode;

use super::{
    DELTA_MAX, Metric, Outcome, Verdict,
    builds::profiles_differ,
    decide::{self, ALPHA_FAIL, ALPHA_PASS, Split, by_bounds},
    fingerprint,
    reason::Telling,
    side::{Figure, Moved, Side, moved},
    unjudged,
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
/// Fewest processes of a side for an interval of its times.
pub const PROCESS_COUNT_MIN: usize = 6;
/// Facts of a store that its samples measure: no settings.
const MEASURED: [&str; 3] =
    [".page_cache_resident", ".multi_get_io_uring", ".index_and_filter_bytes"];
/// Begin of a result's warning of stolen time.
const STEAL_WARNING: &str = "the hypervisor took";

/// Whether times of two days are judged where they are of one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Only ratios inside each run.
    Ratios,
    /// Times too.
    Absolute,
}

/// Results set against stored ones.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The verdict.
    pub outcome: Outcome,
    /// The comparison, as a gate's result has it.
    pub facts: gate::Compared,
}

/// Judges `new` against `base`.
///
/// # Errors
/// They are of different work, one of them disagrees or has no sample, or they have nothing in
/// common that could be compared.
pub fn judge(base: &Side, new: &Side, delta: f64, times: Times) -> Result<Compared> {
    let all: Vec<_> = base.results().iter().chain(new.results()).cloned().collect();
    same_profile(base, new)?;
    let compared = compare::compare(&all)?;
    let mut compared = gate::Compared {
        path: base.path().display().to_string(),
        process_counts: [base, new].map(|side| side.process_count() as u64),
        setting_changes: setting_changes(&compared.changes, base.process_count()),
        ..gate::Compared::default()
    };
    let common = common(base, new, &mut compared)?;
    counters(base, new, &common, &mut compared);
    if compared.counter_count == 0 {
        bail!(
            "{} and {} have no counter in common: there is nothing to compare; run both again, \
             cold on disks with --keys same, or their samples ask for other keys",
            base.path().display(),
            new.path().display()
        );
    }
    if !compared.counter_changes.is_empty() {
        let reason = compared.counter_changes.join(", ");
        let outcome = Outcome { verdict: Verdict::WorkChanged, reason };
        return Ok(Compared { outcome, facts: compared });
    }
    let judges_times = judges_times(&all, times, &mut compared);
    let asked = Asked { common, judges_times, delta };
    let outcome = figures(base, new, &asked, &mut compared)?;
    let outcome = match judges_times {
        true => outcome,
        false => {
            compared.times = unjudged::times(base, new, &asked.common);
            unjudged::outcome(&compared.times, PROCESS_COUNT_MIN).or_worse(outcome)
        }
    };
    let lost = unjudged::lost(base, &asked.common);
    let outcome = lost.into_iter().fold(outcome, Outcome::or_worse);
    let outcome = with_settings(outcome, &compared);
    // Time that was taken from one of two runs, and not from the other, is no change of a build.
    let outcome = match all.iter().find(|stored| was_disturbed(stored)) {
        Some(stored) => Outcome {
            verdict: Verdict::Untrusted,
            reason: format!("{}: {STEAL_WARNING} CPU time", stored.path.display()),
        },
        None => outcome,
    };
    Ok(Compared { outcome, facts: compared })
}

/// Refuses results of builds with different profiles.
fn same_profile(base: &Side, new: &Side) -> Result<()> {
    let profile = |side: &Side| {
        side.results().first().and_then(|stored| stored.result.tool.program.build_profile.clone())
    };
    match (profile(base), profile(new)) {
        (Some(base), Some(new)) if base != new => Err(profiles_differ(&base, &new)),
        _ => Ok(()),
    }
}

/// Refuses a stored side that can never be judged, before anything is run.
///
/// # Errors
/// Times are to be judged, and it is of fewer processes than an interval needs.
pub fn can_be_judged(base: &Side, times: Times) -> Result<()> {
    let count = base.process_count();
    if times == Times::Absolute && count < PROCESS_COUNT_MIN {
        bail!("{} is of {count}: {}", base.path().display(), needed(base, Values::Processes));
    }
    Ok(())
}

/// Settings of stores and caches in which two results of the same work differ.
///
/// # Errors
/// They are of different work, or one of them disagrees or has no sample.
pub fn settings_between(before: &Stored, now: &Stored) -> Result<Vec<String>> {
    let compared = compare::compare(&[before.clone(), now.clone()])?;
    Ok(setting_changes(&compared.changes, 1))
}

/// Settings of the stores, caches and samples in which the first results of both sides differ.
fn setting_changes(changes: &[Change], base_count: usize) -> Vec<String> {
    let is_measured = |key: &str| MEASURED.iter().any(|measured| key.ends_with(measured));
    let is_setting = |key: &str| {
        key == compare::PREPARE
            || key.starts_with("stores.") && !is_measured(key)
            || key.ends_with(" cache.want")
    };
    let words = |change: &Change| {
        let (before, now) = (change.values.first()?, change.values.get(base_count)?);
        let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
        let key = change.key.strip_prefix("stores.").unwrap_or(&change.key);
        (before != now).then(|| format!("{key}: {} → {}", text(before), text(now)))
    };
    changes.iter().filter(|change| is_setting(&change.key)).filter_map(words).collect()
}

/// `outcome` with the settings that differ in front: they are the likeliest cause of a change.
fn with_settings(outcome: Outcome, compared: &gate::Compared) -> Outcome {
    if compared.setting_changes.is_empty() {
        return outcome;
    }
    let settings = compared.setting_changes.join(", ");
    Outcome { reason: format!("settings differ ({settings}); {}", outcome.reason), ..outcome }
}

/// Whether times are judged, and why.
fn judges_times(all: &[Stored], times: Times, compared: &mut gate::Compared) -> bool {
    let of_first = |other: &Stored| {
        fingerprint::differences(&all[0].result.environment, &other.result.environment)
    };
    let mut other_machine: Vec<_> = all.iter().flat_map(of_first).collect();
    other_machine.sort();
    other_machine.dedup();
    compared.times_note = match (times, other_machine.as_slice()) {
        (Times::Ratios, _) => {
            "times are of two days: only ratios inside each run are judged (--absolute judges times)"
                .to_owned()
        }
        (Times::Absolute, []) => {
            "the same machine, another day: a change of the machine counts as the build's"
                .to_owned()
        }
        (Times::Absolute, some) => {
            format!("times not judged: they are of different machines ({})", some.join(", "))
        }
    };
    times == Times::Absolute && other_machine.is_empty()
}

/// The judged figure.
struct Asked {
    /// Variants that both sides have.
    common: Vec<String>,
    judges_times: bool,
    delta: f64,
}

/// The independent values of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    /// Each process is one.
    Processes,
    /// Each sample is one, or each database where there are several.
    Samples,
}

/// A figure's change, judged.
struct Judged {
    /// Its subject, for the reason.
    name: String,
    metric: Metric,
    values: Values,
    shift: Shift,
}

/// Judges all figures.
///
/// # Errors
/// A figure has too few values for an interval, and no other one is a regression: the same
/// command would never decide.
fn figures(
    base: &Side,
    new: &Side,
    asked: &Asked,
    compared: &mut gate::Compared,
) -> Result<Outcome> {
    let Asked { common, judges_times, delta } = asked;
    let reference = common[0].as_str();
    compared.reference = Some(reference.to_owned());
    let ratios = common[1..].iter().map(|variant| (variant, Figure::Ratio(reference)));
    let times = common.iter().filter(|_| *judges_times).map(|variant| (variant, Figure::Time));
    let of_variant = |metric: Metric| {
        let cold = common.iter().filter(move |variant| are_cold(base, new, variant));
        cold.map(move |variant| (variant, Figure::Count(metric)))
    };
    let is_told = |(variant, figure): &(&String, Figure<'_>)| match figure {
        Figure::Count(_) => moved(base, new, variant, *figure).is_some(),
        Figure::Ratio(_) | Figure::Time => true,
    };
    let counts = Metric::ALL.iter().copied().filter(|metric| metric.is_count());
    let counts = counts.flat_map(of_variant).filter(is_told);
    let all: Vec<_> = ratios.chain(times).chain(counts).collect();
    let split = Split { judged_count: all.len(), look_count: 1 };
    let mut judged = Vec::with_capacity(all.len());
    for (variant, figure) in all {
        let shift = shift(variant, moved(base, new, variant, figure), *delta, split);
        let name = match figure {
            Figure::Time => format!("{variant} time"),
            Figure::Ratio(_) => format!("{variant} relative to {reference}"),
            Figure::Count(metric) => format!("{variant} {metric}"),
        };
        match figure {
            Figure::Time => compared.times.push(shift.clone()),
            Figure::Ratio(_) => compared.ratios.push(shift.clone()),
            Figure::Count(metric) => {
                compared.counts.push(CountShift { metric, shift: shift.clone() });
            }
        }
        let is_several = compared.process_counts != [1, 1];
        let values = match figure {
            Figure::Time => Values::Processes,
            _ if is_several => Values::Processes,
            _ => Values::Samples,
        };
        let metric = match figure {
            Figure::Time | Figure::Ratio(_) => Metric::Wall,
            Figure::Count(metric) => metric,
        };
        judged.push(Judged { name, metric, values, shift });
    }
    if judged.is_empty() {
        // The times that were not judged have a reason.
        return Ok(Outcome { verdict: Verdict::NotJudged, reason: String::new() });
    }
    let verdict = Verdict::worst(judged.iter().map(|judged| judged.shift.verdict));
    let without = judged.iter().find(|judged| judged.shift.change.is_none());
    if let (Some(without), true) = (without, verdict != Verdict::Regression) {
        let Judged { name, values, shift, .. } = without;
        let has = |side: &Side| {
            format!("{} has {}", side.path().display(), value_count(side, *values, &shift.variant))
        };
        bail!("{name} cannot be judged: {}, {}; {}", has(base), has(new), needed(base, *values));
    }
    Ok(Outcome { verdict, reason: reason(verdict, &judged) })
}

/// Whether a variant was run on a cold state by both sides: elsewhere the content of a cache
/// decides how much is read.
fn are_cold(base: &Side, new: &Side, variant: &str) -> bool {
    let mut all = base.results().iter().chain(new.results());
    let is_cold = |CacheFacts { want, .. }: &CacheFacts| *want == Some(CacheMode::Cold);
    all.all(|stored| stored.cell(variant).is_some_and(|cell| is_cold(&cell.cache)))
}

fn reason(verdict: Verdict, all: &[Judged]) -> String {
    let of_verdict = all.iter().filter(|judged| judged.shift.verdict == verdict);
    let telling = |judged: &Judged| {
        let change = judged.shift.change.unwrap_or(f64::NEG_INFINITY);
        Telling { metric: judged.metric, change }
    };
    let told = of_verdict.max_by(|a, b| telling(a).order(&telling(b)));
    let told = told.expect("the verdict is one of theirs");
    let Judged { name, values, shift, .. } = told;
    let percent = |share: f64| format!("{:+.1} %", share * 100.0);
    let (Some(change), Some(lower), Some(upper)) = (shift.change, shift.lower, shift.upper) else {
        return format!("{name}: too few values");
    };
    let enough = match (shift.verdict, shift.values_to_decide) {
        (Verdict::Inconclusive, Some(count)) if *values == Values::Processes => {
            format!(": about {count} processes of each would decide")
        }
        (Verdict::Inconclusive, Some(count)) => {
            format!(": about {count} samples or databases of each would decide")
        }
        _ => String::new(),
    };
    let deltas = all.iter().filter_map(|judged| judged.shift.delta_to_decide);
    let delta = match verdict {
        Verdict::Inconclusive => decide::delta_in_words(deltas),
        _ => String::new(),
    };
    let [change, lower, upper] = [change, lower, upper].map(percent);
    format!("{name}: {change}, between {lower} and {upper}{enough}{delta}")
}

/// Independent values that a side has of a variant.
fn value_count(side: &Side, values: Values, variant: &str) -> usize {
    let first = &side.results()[0];
    match (values, first.result.databases.len()) {
        (Values::Processes, _) => side.process_count(),
        (Values::Samples, 0) => {
            first.cell(variant).map_or(0, |cell| cell.counted().iter().copied().flatten().count())
        }
        (Values::Samples, count) => count,
    }
}

/// The lacking values of a figure without an interval.
fn needed(base: &Side, values: Values) -> &'static str {
    let has_databases = base.results().iter().any(|stored| !stored.result.databases.is_empty());
    match (values, has_databases) {
        (Values::Processes, _) => {
            "each process has its luck for as long as it lives, so a process is one value, and six \
             are needed in both (six runs into the baseline's directory; --processes 6)"
        }
        (Values::Samples, false) => {
            "six samples after the warm-up are needed in both (--samples 10)"
        }
        (Values::Samples, true) => {
            "a database is one value, and six are needed in both (--databases 6)"
        }
    }
}

fn was_disturbed(stored: &Stored) -> bool {
    stored.result.warnings.iter().any(|warning| warning.starts_with(STEAL_WARNING))
}

/// Variants that both have, in the order of the stored results: execution alone first, as ratios are to the
/// first one and were so before there were whole rows.
fn common(base: &Side, new: &Side, compared: &mut gate::Compared) -> Result<Vec<String>> {
    let has_both = |variant: &String| base.has(variant) && new.has(variant);
    // A name stands for other work where a version of the program has given it other duties.
    let is_common = |name: &String| has_both(name) && base.duties(name) == new.duties(name);
    let (before, after) = (base.variants(), new.variants());
    let mut common: Vec<_> = before.iter().filter(|name| is_common(name)).cloned().collect();
    common.sort_by_key(|name| base.duties(name).is_some_and(|duties| !duties.is_empty()));
    if common.is_empty() {
        bail!(
            "{} and {} have no variant in common: there is nothing to compare ({} against {}); \
             threads that are not given depend on the number of CPUs: name designs and threads \
             that both have (--design, --threads, --io-threads)",
            base.path().display(),
            new.path().display(),
            before.join(", "),
            after.join(", ")
        );
    }
    let mut only: Vec<String> = Vec::new();
    for variant in before.into_iter().chain(after).filter(|variant| !is_common(variant)) {
        let other_duties = if has_both(&variant) { " (its duties differ)" } else { "" };
        let told = format!("{variant}{other_duties}");
        if !only.contains(&told) {
            only.push(told);
        }
    }
    compared.only_in_one = only;
    Ok(common)
}

/// Compares the counters of the variants that both have.
fn counters(base: &Side, new: &Side, common: &[String], compared: &mut gate::Compared) {
    let (before, after) = (exact(base, common), exact(new, common));
    for (key, before) in before {
        let Some(now) = after.get(&key) else { continue };
        compared.counter_count += 1;
        if before != *now {
            let words = |values: &[Value]| {
                values.iter().map(Value::to_string).collect::<Vec<_>>().join(" or ")
            };
            compared.counter_changes.push(format!("{key}: {} → {}", words(&before), words(now)));
        }
    }
}

/// Counters that are the same in all samples of a cell, by variant and name, and the exact ones
/// of the cell that a sample has not; of several processes all values that occur.
fn exact(side: &Side, common: &[String]) -> BTreeMap<String, Vec<Value>> {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut add = |key: String, value: Value| {
        let values = found.entry(key).or_default();
        if !values.contains(&value) {
            values.push(value);
        }
    };
    let cells = side.results().iter().flat_map(|stored| &stored.result.cells);
    for cell in cells.filter(|cell| common.contains(&cell.variant)) {
        let reads_are_exact = cell.engine.runs_steps_once();
        for database in cell.by_database() {
            let name = |counter: &str| format!("{}{} {counter}", cell.variant, database.words());
            for Exact { name: counter, of } in EXACT {
                let mut values: Vec<_> = database.of_workload().map(of).collect();
                values.dedup();
                if let ([value], true) = (values.as_slice(), counter != READS || reads_are_exact) {
                    add(name(counter), Value::from(*value));
                }
            }
            if let Some(counters) = database.counters {
                add(name("receipts"), Value::from(counters.receipts.clone()));
                add(name("net_changes"), Value::from(counters.net_changes.clone()));
                add(name("list_bytes"), Value::from(counters.list_bytes));
            }
        }
    }
    found
}

fn shift(variant: &str, moved: Option<Moved>, delta: f64, split: Split) -> Shift {
    let variant = variant.to_owned();
    let Some(Moved { by, value_count }) = moved else {
        return Shift {
            variant,
            verdict: Verdict::Inconclusive,
            change: None,
            lower: None,
            upper: None,
            values_to_decide: None,
            delta_to_decide: None,
        };
    };
    let lower = by.lower(split.share(ALPHA_FAIL));
    let upper = by.upper(split.share(ALPHA_PASS));
    let verdict = by_bounds(lower, upper, delta);
    let share = |log: f64| Some(log.exp_m1()).filter(|share| share.is_finite());
    let is_open = verdict == Verdict::Inconclusive;
    let values_to_decide =
        is_open.then(|| decide::values_to_decide([lower, by.mean, upper], delta, value_count));
    let delta_to_decide = is_open.then(|| decide::delta_between(&by, split, delta)).flatten();
    Shift {
        variant,
        verdict,
        change: share(by.mean),
        lower: share(lower),
        upper: share(upper),
        values_to_decide: values_to_decide.flatten(),
        delta_to_decide: delta_to_decide.filter(|delta| *delta <= DELTA_MAX),
    }
}

#[cfg(test)]
mod tests;
