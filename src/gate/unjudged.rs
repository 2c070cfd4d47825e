//! What a comparison with a stored result leaves out: times of another day, and variants of the stored side
//! alone. It is seen and told, and no verdict passes over it.

use result::gate::Shift;

use super::{
    Outcome, Verdict,
    side::{Side, seen},
};

/// How much longer each of the variants takes in `new`: seen, not judged.
pub fn times(base: &Side, new: &Side, variants: &[String]) -> Vec<Shift> {
    let shift = |variant: &String| {
        Some(Shift {
            variant: variant.clone(),
            verdict: Verdict::NotJudged,
            change: Some(seen(base, new, variant)?),
            lower: None,
            upper: None,
            values_to_decide: None,
            delta_to_decide: None,
        })
    };
    variants.iter().filter_map(shift).collect()
}

/// The verdict where these times were not judged, which tells the one that changed most. Processes of this
/// number on a side would judge them.
pub fn outcome(times: &[Shift], process_count: usize) -> Outcome {
    let size = |shift: &&Shift| shift.change.unwrap_or_default().ln_1p().abs();
    let most = times.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
    let told = most.map_or_else(String::new, |Shift { variant, change, .. }| {
        let times = 1.0 + change.unwrap_or_default();
        format!("; {variant} takes {times:.2} times as long as before")
    });
    let equal = match times.len() {
        1 => "counters are equal, and there is no ratio inside a run of one variant",
        _ => "counters and ratios are equal",
    };
    let reason = format!(
        "{equal}, times were not compared{told}: --against BINARY compares them, or --absolute with \
         {process_count} processes a side"
    );
    Outcome { verdict: Verdict::NotJudged, reason }
}

/// The verdict where `base` has a variant that is not in `common`.
pub fn lost(base: &Side, common: &[String]) -> Option<Outcome> {
    let variant = base.variants().into_iter().find(|variant| !common.contains(variant))?;
    let reason = format!("{variant} is in {} alone", base.path().display());
    Some(Outcome { verdict: Verdict::NotJudged, reason })
}
