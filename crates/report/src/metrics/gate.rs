//! The metrics of a gate.

use result::gate::{
    Compared, Gate, GateCell, GateResult, Judged, Metric as Figure, Shift, Verdict,
};

use super::{
    exposition::{Exposition, Labels, Metric},
    shared::{Ended, add_claims, add_counters, variant_labels},
};
use crate::gate::shifts;

const VERDICT: Metric = Metric(
    "stress_gate_verdict",
    "1 for the verdict of the gate, 0 for each other one; error where it failed before it had one.",
);
const DURATION: Metric = Metric("stress_gate_duration_seconds", "How long the gate took.");
const DELTA: Metric = Metric("stress_gate_delta_ratio", "The allowed change, as given by --delta.");
const CHANGE: Metric = Metric(
    "stress_gate_change_ratio",
    "How much more B takes than A, as a share of A: the estimate.",
);
const LOWER: Metric = Metric(
    "stress_gate_change_lower_ratio",
    "Lower bound of the change: above the allowed change it is a regression.",
);
const UPPER: Metric = Metric(
    "stress_gate_change_upper_ratio",
    "Upper bound of the change: below the allowed change it passes.",
);
const ALLOWED: Metric = Metric(
    "stress_gate_allowed_ratio",
    "The allowed change of this figure: delta, or the floor of the metric.",
);
const FIGURE_VERDICT: Metric =
    Metric("stress_gate_figure_verdict", "A figure with its verdict as a label; always 1.");
const BASE_SECONDS: Metric = Metric("stress_gate_base_seconds", "Time of a sample of A, median.");
const BASE_BYTES: Metric =
    Metric("stress_gate_base_bytes", "Bytes that a sample of A read from devices, median.");
const BASE_COUNT: Metric =
    Metric("stress_gate_base_count", "Blocks or requests of a sample of A, median.");
const TO_DECIDE: Metric = Metric(
    "stress_gate_values_to_decide",
    "Samples, processes or databases of each side that would decide an open figure.",
);
const DELTA_TO_DECIDE: Metric = Metric(
    "stress_gate_delta_to_decide_ratio",
    "The delta that noise like this decides in most runs in which nothing differs.",
);
const CHANGES: Metric =
    Metric("stress_gate_counter_changes", "Exact counters that differ between A and B.");
const OCTETS: Metric = Metric("stress_gate_octets", "Octets that were taken of a variant.");

const NS_PER_S: f64 = 1e9;

/// The metrics of a gate that ends with this exit code.
pub fn metrics_of_gate(result: &GateResult, exit_code: u8) -> String {
    let mut all = Exposition::default();
    let GateResult { tool, warnings, workload, .. } = result;
    let started_unix_s = result.started_unix_s;
    let labels = workload.as_ref().map_or_else(Labels::default, |workload| {
        Labels::default().with("scenario", workload.scenario.clone())
    });
    let ended = Ended { verb: "gate", exit_code, started_unix_s, warnings, tool: Some(tool) };
    ended.add_to(&mut all, &labels);
    let Gate { mode, verdict, delta, attempts, baseline, .. } = &result.gate;
    let labels = labels.with("mode", mode.name());
    let found = verdict.map_or("error", Verdict::name);
    for name in Verdict::ALL.iter().map(|verdict| verdict.name()).chain(["error"]) {
        all.add(VERDICT, &labels.with("verdict", name), f64::from(name == found));
    }
    all.add(DURATION, &labels, result.took_s);
    all.add(DELTA, &labels, *delta);
    // The last attempt has the verdict.
    for cell in attempts.last().into_iter().flat_map(|attempt| &attempt.cells) {
        add_cell(&mut all, &variant_labels(&labels, &cell.variant), cell);
    }
    if let Some(compared) = baseline {
        add_compared(&mut all, &labels, compared);
    }
    if let Some(expects) = &result.expects {
        add_claims(&mut all, &labels, expects);
    }
    all.text()
}

fn add_cell(all: &mut Exposition, labels: &Labels, cell: &GateCell) {
    add_counters(all, labels, &cell.counters);
    all.add(CHANGES, labels, cell.counter_changes.len() as f64);
    all.add(OCTETS, labels, cell.octets.len() as f64);
    for judged in &cell.figures {
        let Judged { metric, verdict, delta, base, samples_to_decide, delta_to_decide, looks } =
            judged;
        let labels = labels.with("figure", metric.name());
        let base = *base as f64;
        match metric {
            Figure::Wall | Figure::Cpu => all.add(BASE_SECONDS, &labels, base / NS_PER_S),
            Figure::Bytes => all.add(BASE_BYTES, &labels, base),
            Figure::Blocks | Figure::Requests | Figure::Allocations | Figure::Instructions => {
                all.add(BASE_COUNT, &labels, base)
            }
        }
        all.add(ALLOWED, &labels, *delta);
        let look = looks.last();
        let shift = Shift {
            variant: cell.variant.clone(),
            verdict: *verdict,
            change: look.map(|look| look.change),
            lower: look.map(|look| look.lower),
            upper: look.map(|look| look.upper),
            values_to_decide: *samples_to_decide,
            delta_to_decide: *delta_to_decide,
        };
        add_shift(all, &labels, &shift);
    }
}

/// The comparison with a stored result: the figure is `ratio`, `time` or a count.
fn add_compared(all: &mut Exposition, labels: &Labels, compared: &Compared) {
    all.add(CHANGES, labels, compared.counter_changes.len() as f64);
    for (figure, shift) in shifts(compared) {
        let labels = variant_labels(labels, &shift.variant).with("figure", figure);
        add_shift(all, &labels, shift);
    }
}

/// The change of a figure; `labels` name its variant.
fn add_shift(all: &mut Exposition, labels: &Labels, shift: &Shift) {
    all.add(CHANGE, labels, shift.change);
    all.add(LOWER, labels, shift.lower);
    all.add(UPPER, labels, shift.upper);
    all.add(TO_DECIDE, labels, shift.values_to_decide.map(|count| count as f64));
    all.add(DELTA_TO_DECIDE, labels, shift.delta_to_decide);
    all.add(FIGURE_VERDICT, &labels.with("verdict", shift.verdict.name()), 1.0);
}
