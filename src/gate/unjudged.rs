//! The parts of a comparison with stored results that `baseline` cannot judge. These are times of
//! another day, interrupted runs, and variants and exact counters of the stored side alone. They
//! are shown, and each makes a pass [`Verdict::NotJudged`].

use result::{gate::Shift, stored::Stored};

use super::{
    Outcome, Verdict,
    side::{Side, time_change},
};

/// Returns the change of each variant's time from `base` to `new`, without a judgement.
pub fn times(base: &Side, new: &Side, variants: &[String]) -> Vec<Shift> {
    let shifts = variants.iter().filter_map(|variant| {
        let change = time_change(base, new, variant)?;
        Some(without_bounds(variant, Verdict::NotJudged, Some(change)))
    });
    shifts.collect()
}

/// Makes a change without an interval.
pub fn without_bounds(variant: &str, verdict: Verdict, change: Option<f64>) -> Shift {
    Shift {
        variant: variant.to_owned(),
        verdict,
        change,
        lower: None,
        upper: None,
        values_to_decide: None,
        delta_to_decide: None,
    }
}

/// Returns the outcome for times that are not judged. Its reason names the time that changed most.
/// `process_count`: number of processes that each side needs to judge times.
pub fn times_outcome(times: &[Shift], process_count: usize) -> Outcome {
    let changes =
        times.iter().map(|Shift { variant, change, .. }| (variant, change.unwrap_or_default()));
    let largest = changes.max_by(|(_, a), (_, b)| a.ln_1p().abs().total_cmp(&b.ln_1p().abs()));
    let change = largest.map_or_else(String::new, |(variant, change)| {
        format!("; {variant} takes {:.2} times as long as before", 1.0 + change)
    });
    let equal = match times.len() {
        1 => "counters are equal, and there is no ratio inside a run of one variant",
        _ => "counters and ratios are equal",
    };
    let reason = format!(
        "{equal}, times were not compared{change}: --against BINARY compares them, or --absolute with \
         {process_count} processes a side"
    );
    Outcome { verdict: Verdict::NotJudged, reason }
}

/// Returns the reason of a variant of `base` that is not in `common`, if there is one.
pub fn lost_variant(base: &Side, common: &[String]) -> Option<String> {
    let variant = base.variants().into_iter().find(|variant| !common.contains(variant))?;
    Some(format!("{variant} is in {} alone", base.path().display()))
}

/// Returns the reason of `lost` counters, if there are any. A lost counter is exact in the stored
/// side, and varies or is absent in the new side.
pub fn lost_counter(lost: &[String]) -> Option<String> {
    Some(format!("{} is exact in the stored results alone", lost.first()?))
}

/// Returns the reason of an interrupted run, if there is one.
pub fn interrupted(all: &[Stored]) -> Option<String> {
    let stored = all.iter().find(|stored| stored.result.interrupted)?;
    Some(format!("{} is of a run that was interrupted", stored.path.display()))
}
