//! Judges results against stored results for `judge`: counters exactly, ratios between the variants
//! of a run, and counts of cold samples. Times of another day are judged only on request, on the
//! same machine, and with several processes on each side. `baselines` asks it which settings of two
//! results differ.

use report::compare;
use result::{
    comparison::Change,
    gate::{self, CountShift, Shift},
    stored::Stored,
};
use std::collections::BTreeSet;

use anyhow::{Result, bail};
use serde_json::Value;
use variant::CacheMode;

use super::{
    DELTA_MAX, Metric, Outcome, Verdict,
    builds::same_profile,
    counters::{self, ComparedCounters},
    decide::{self, ALPHA_FAIL, ALPHA_PASS, Split, by_bounds},
    fingerprint,
    reason::{Headline, signed},
    side::{Figure, LogChange, Side, log_change},
    unjudged::{self, without_bounds},
};

/// Minimal number of processes on each side, so that a time has an interval.
pub const PROCESS_COUNT_MIN: usize = 6;
/// Ends of the keys of store facts that are measured, and so are no settings.
const MEASURED: [&str; 3] =
    [".page_cache_resident", ".multi_get_io_uring", ".index_and_filter_bytes"];
/// Beginning of a result's warning that CPU time was stolen.
const STEAL_WARNING: &str = "the hypervisor took";

/// The judged figures. Times of two days can only be judged on one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// Ratios inside each run.
    Ratios,
    /// Ratios, and times if both sides are of one machine.
    Absolute,
}

/// The comparison of results with stored results.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The verdict.
    pub outcome: Outcome,
    /// The comparison, as a gate's result has it.
    pub facts: gate::Compared,
}

/// Judges `new` against `base`.
///
/// # Errors
/// The results are of different work or build profiles, a result disagrees or has no sample, or
/// nothing is comparable.
pub fn judge(base: &Side, new: &Side, delta: f64, times: Times) -> Result<Comparison> {
    let all: Vec<_> = base.results().iter().chain(new.results()).cloned().collect();
    let programs = [base, new].map(|side| &side.results()[0].result.tool.program);
    same_profile(programs.map(|program| program.build_profile.as_deref()))?;
    let changes = compare::compare(&all)?.changes;
    let variants = common(base, new)?;
    let ComparedCounters { of_both: counters, lost } = counters::compare(base, new, &variants)?;
    let changed = counters.iter().filter(|(_, [before, now])| before != now);
    let mut facts = gate::Compared {
        path: base.path().display().to_string(),
        process_counts: [base, new].map(|side| side.process_count() as u64),
        setting_changes: setting_changes(&changes, base.process_count()),
        counter_changes: changed
            .map(|(key, [before, now])| format!("{key}: {} → {}", either(before), either(now)))
            .collect(),
        counter_count: counters.len() as u64,
        only_in_one: only_in_one(base, new),
        ..gate::Compared::default()
    };
    if !facts.counter_changes.is_empty() {
        let reason = facts.counter_changes.join(", ");
        let outcome = Outcome { verdict: Verdict::WorkChanged, reason };
        return Ok(Comparison { outcome, facts });
    }
    let other_machine = other_machine(&all);
    facts.times_note = times_note(times, &other_machine);
    let times = if other_machine.is_empty() { times } else { Times::Ratios };
    let figures = figures(base, new, &variants, times, delta);
    let outcome = outcome(base, new, &figures)?;
    facts.reference = variants.first().cloned();
    for Judged { figure, shift, .. } in figures {
        match figure {
            Figure::Time => facts.times.push(shift),
            Figure::Ratio(_) => facts.ratios.push(shift),
            Figure::Count(metric) => facts.counts.push(CountShift { metric, shift }),
        }
    }
    let outcome = match times {
        Times::Absolute => outcome,
        Times::Ratios => {
            facts.times = unjudged::times(base, new, &variants);
            unjudged::times_outcome(&facts.times, PROCESS_COUNT_MIN).or_worse(outcome)
        }
    };
    let reasons = unjudged::lost_variant(base, &variants)
        .into_iter()
        .chain(unjudged::lost_counter(&lost))
        .chain(unjudged::interrupted(&all));
    let outcome = reasons
        .map(|reason| Outcome { verdict: Verdict::NotJudged, reason })
        .fold(outcome, Outcome::or_worse);
    // If CPU time was stolen from a run, a difference may not come from the build.
    let outcome = match all.iter().find(|stored| was_disturbed(stored)) {
        Some(stored) => Outcome {
            verdict: Verdict::Untrusted,
            reason: format!("{}: {STEAL_WARNING} CPU time", stored.path.display()),
        },
        None => with_settings(outcome, &facts.setting_changes),
    };
    Ok(Comparison { outcome, facts })
}

/// Refuses a stored side with which no run could be judged. It is called before the run.
///
/// # Errors
/// Times are to be judged, and the side has fewer than [`PROCESS_COUNT_MIN`] processes.
pub fn can_be_judged(base: &Side, times: Times) -> Result<()> {
    let count = base.process_count();
    if times == Times::Absolute && count < PROCESS_COUNT_MIN {
        bail!("{} is of {count}: {}", base.path().display(), needed(base, Values::Processes));
    }
    Ok(())
}

/// Returns the settings of stores, caches and samples in which two results of the same work differ.
///
/// # Errors
/// The results are of different work, or one of them disagrees or has no sample.
pub fn settings_between(before: &Stored, now: &Stored) -> Result<Vec<String>> {
    let compared = compare::compare(&[before.clone(), now.clone()])?;
    Ok(setting_changes(&compared.changes, 1))
}

/// Returns the settings of stores, caches and samples in which the first results of both sides
/// differ. Each change has a value of each result: first those of the stored side, `base_count` in
/// number.
fn setting_changes(changes: &[Change], base_count: usize) -> Vec<String> {
    let settings = changes.iter().filter(|change| is_setting(&change.key));
    let words = settings.filter_map(|change| {
        let (before, now) = (change.values.first()?, change.values.get(base_count)?);
        let key = change.key.strip_prefix("stores.").unwrap_or(&change.key);
        (before != now).then(|| format!("{key}: {} → {}", text(before), text(now)))
    });
    words.collect()
}

fn is_setting(key: &str) -> bool {
    let is_measured = MEASURED.iter().any(|measured| key.ends_with(measured));
    key == compare::PREPARE
        || key.starts_with("stores.") && !is_measured
        || key.ends_with(" cache.want")
}

/// Formats a value, a string without quotes.
fn text(value: &Value) -> String {
    value.as_str().map_or(value.to_string(), str::to_owned)
}

/// Puts the settings that differ in front of the outcome's reason, as the likeliest cause of a
/// change.
fn with_settings(outcome: Outcome, changes: &[String]) -> Outcome {
    if changes.is_empty() {
        return outcome;
    }
    let reason = format!("settings differ ({}); {}", changes.join(", "), outcome.reason);
    Outcome { reason, ..outcome }
}

/// Returns the facts in which the machines of the results differ; empty for one machine.
fn other_machine(all: &[Stored]) -> BTreeSet<String> {
    let first = &all[0].result.environment;
    let others = all.iter().map(|other| &other.result.environment);
    others.flat_map(|other| fingerprint::differences(first, other)).collect()
}

/// States whether times are judged, and why. `other_machine`: facts in which the machines differ.
fn times_note(times: Times, other_machine: &BTreeSet<String>) -> String {
    match times {
        Times::Ratios => {
            "times are of two days: only ratios inside each run are judged (--absolute judges times)"
                .to_owned()
        }
        Times::Absolute if other_machine.is_empty() => {
            "the same machine, another day: a change of the machine counts as the build's"
                .to_owned()
        }
        Times::Absolute => {
            let facts: Vec<_> = other_machine.iter().map(String::as_str).collect();
            format!("times not judged: they are of different machines ({})", facts.join(", "))
        }
    }
}

/// The independent values of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Values {
    /// Each process is one value.
    Processes,
    /// Each sample is one value. With several databases, each database is one value.
    Samples,
}

/// The judged change of a figure.
struct Judged<'a> {
    figure: Figure<'a>,
    values: Values,
    shift: Shift,
}

impl Judged<'_> {
    fn name(&self) -> String {
        let variant = &self.shift.variant;
        match self.figure {
            Figure::Time => format!("{variant} time"),
            Figure::Ratio(reference) => format!("{variant} relative to {reference}"),
            Figure::Count(metric) => format!("{variant} {metric}"),
        }
    }

    fn headline(&self) -> Headline {
        let metric = match self.figure {
            Figure::Time | Figure::Ratio(_) => Metric::Wall,
            Figure::Count(metric) => metric,
        };
        Headline { metric, change: self.shift.change.unwrap_or(f64::NEG_INFINITY) }
    }
}

/// Judges all figures of `common`, the variants that both sides have.
fn figures<'a>(
    base: &Side,
    new: &Side,
    common: &'a [String],
    times: Times,
    delta: f64,
) -> Vec<Judged<'a>> {
    let ratios = common[1..].iter().map(|variant| (variant, Figure::Ratio(&common[0])));
    let timed = if times == Times::Absolute { common } else { &[] };
    let times = timed.iter().map(|variant| (variant, Figure::Time));
    let cold: Vec<_> = common.iter().filter(|variant| are_cold(base, new, variant)).collect();
    let metrics = Metric::ALL.iter().copied().filter(|metric| metric.is_count());
    let counts = metrics
        .flat_map(|metric| cold.iter().map(move |variant| (*variant, Figure::Count(metric))))
        .filter(|(variant, figure)| log_change(base, new, variant, *figure).is_some());
    let all: Vec<_> = ratios.chain(times).chain(counts).collect();
    let split = Split { judged_count: all.len(), look_count: 1 };
    let is_several = base.process_count() > 1 || new.process_count() > 1;
    let judged = all.into_iter().map(|(variant, figure)| Judged {
        figure,
        values: match figure {
            Figure::Ratio(_) | Figure::Count(_) if !is_several => Values::Samples,
            _ => Values::Processes,
        },
        shift: shift(variant, log_change(base, new, variant, figure), delta, split),
    });
    judged.collect()
}

/// Returns the verdict on all figures.
///
/// # Errors
/// A figure has too few values for an interval, and no other figure is a regression. The same
/// command would then never decide.
fn outcome(base: &Side, new: &Side, all: &[Judged<'_>]) -> Result<Outcome> {
    if all.is_empty() {
        // The caller adds the outcome of times that are not judged, with its reason.
        return Ok(Outcome { verdict: Verdict::NotJudged, reason: String::new() });
    }
    let verdict = Verdict::worst(all.iter().map(|judged| judged.shift.verdict));
    if verdict != Verdict::Regression
        && let Some(lacking) = all.iter().find(|judged| judged.shift.change.is_none())
    {
        let Judged { values, shift, .. } = lacking;
        let [of_base, of_new] = [base, new].map(|side| {
            format!("{} has {}", side.path().display(), value_count(side, *values, &shift.variant))
        });
        let (name, needed) = (lacking.name(), needed(base, *values));
        bail!("{name} cannot be judged: {of_base}, {of_new}; {needed}");
    }
    Ok(Outcome { verdict, reason: reason(verdict, all) })
}

/// Whether all results of both sides ran a variant on a cold state. On a warm state, counts of
/// reads depend on the content of a cache.
fn are_cold(base: &Side, new: &Side, variant: &str) -> bool {
    let mut all = base.results().iter().chain(new.results());
    all.all(|stored| {
        let cache = stored.cell(variant).map(|cell| cell.cache.want);
        cache == Some(Some(CacheMode::Cold))
    })
}

fn reason(verdict: Verdict, all: &[Judged<'_>]) -> String {
    let of_verdict = all.iter().filter(|judged| judged.shift.verdict == verdict);
    let most_telling = of_verdict.max_by(|a, b| a.headline().order(&b.headline()));
    let judged = most_telling.expect("the verdict is one of theirs");
    let (name, shift) = (judged.name(), &judged.shift);
    let (Some(change), Some(lower), Some(upper)) = (shift.change, shift.lower, shift.upper) else {
        return format!("{name}: too few values");
    };
    let [change, lower, upper] = [change, lower, upper].map(signed);
    let found = format!("{name}: {change}, between {lower} and {upper}");
    if verdict != Verdict::Inconclusive {
        return found;
    }
    let unit = match judged.values {
        Values::Processes => "processes",
        Values::Samples => "samples or databases",
    };
    let to_decide = shift
        .values_to_decide
        .map_or_else(String::new, |count| format!(": about {count} {unit} of each would decide"));
    let deltas = all.iter().filter_map(|open| open.shift.delta_to_decide);
    found + &to_decide + &decide::delta_in_words(deltas)
}

/// Returns the number of independent values of a side for a variant.
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

/// States the number of values that each side needs, for a figure without an interval.
fn needed(base: &Side, values: Values) -> &'static str {
    let has_databases = base.results().iter().any(|stored| !stored.result.databases.is_empty());
    match (values, has_databases) {
        (Values::Processes, _) => {
            "its memory layout makes a process faster or slower for its whole life, so a process is \
             one value, and each side needs six (six runs into the baseline's directory; \
             --processes 6)"
        }
        (Values::Samples, false) => "each side needs six samples after the warm-up (--samples 10)",
        (Values::Samples, true) => {
            "a database is one value, and each side needs six (--databases 6)"
        }
    }
}

fn was_disturbed(stored: &Stored) -> bool {
    stored.result.warnings.iter().any(|warning| warning.starts_with(STEAL_WARNING))
}

/// Returns the variants that both sides have, in the order of the stored results. Variants of
/// execution alone come before whole blocks, since ratios refer to the first variant. It is an
/// error if the sides have no variant in common.
fn common(base: &Side, new: &Side) -> Result<Vec<String>> {
    let mut variants = base.variants();
    variants.retain(|variant| is_common(base, new, variant));
    variants.sort_by_key(|name| base.duties(name).is_some_and(|duties| !duties.is_empty()));
    if variants.is_empty() {
        bail!(
            "no variant is in all results of {} and {} ({} against {}); name one result of a \
             directory, or run both with the same --design, --threads and --io-threads, whose \
             defaults depend on the CPUs",
            base.path().display(),
            new.path().display(),
            base.variants().join(", "),
            new.variants().join(", ")
        );
    }
    Ok(variants)
}

/// Returns the variants that are not compared: one side lacks them, or has other duties for them.
fn only_in_one(base: &Side, new: &Side) -> Vec<String> {
    let mut only: Vec<String> = Vec::new();
    for variant in base.variants().into_iter().chain(new.variants()) {
        if is_common(base, new, &variant) {
            continue;
        }
        let name = match base.has(&variant) && new.has(&variant) {
            true => format!("{variant} (its duties differ)"),
            false => variant,
        };
        if !only.contains(&name) {
            only.push(name);
        }
    }
    only
}

/// Whether both sides have samples of a variant with the same duties. Another version of the
/// program may give a variant of the same name other duties.
fn is_common(base: &Side, new: &Side, variant: &str) -> bool {
    base.has(variant) && new.has(variant) && base.duties(variant) == new.duties(variant)
}

fn either(values: &[Value]) -> String {
    values.iter().map(Value::to_string).collect::<Vec<_>>().join(" or ")
}

fn shift(variant: &str, change: Option<LogChange>, delta: f64, split: Split) -> Shift {
    let Some(LogChange { estimate, value_count }) = change else {
        return without_bounds(variant, Verdict::Inconclusive, None);
    };
    let [alpha_fail, alpha_pass] = [ALPHA_FAIL, ALPHA_PASS].map(|alpha| split.share(alpha));
    let bounds = [estimate.lower(alpha_fail), estimate.mean, estimate.upper(alpha_pass)];
    let verdict = by_bounds(bounds[0], bounds[2], delta);
    let [lower, change, upper] =
        bounds.map(|log| Some(log.exp_m1()).filter(|share| share.is_finite()));
    let is_open = verdict == Verdict::Inconclusive;
    let values_to_decide = is_open.then(|| decide::values_to_decide(bounds, delta, value_count));
    let delta_to_decide =
        is_open.then(|| decide::delta_to_decide_without_null(&estimate, split, delta)).flatten();
    Shift {
        variant: variant.to_owned(),
        verdict,
        change,
        lower,
        upper,
        values_to_decide: values_to_decide.flatten(),
        delta_to_decide: delta_to_decide.filter(|delta| *delta <= DELTA_MAX),
    }
}

#[cfg(test)]
mod tests;
