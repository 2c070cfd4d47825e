//! Figures for github-action-benchmark, which keeps a series over commits: one entry for each
//! cell, `customBiggerIsBetter` or `customSmallerIsBetter`.

use serde::Serialize;

use result::{Cell, ClientCell, Error, Estimate, RunResult, Shown, json};

use crate::units;

/// Which figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Millions of gas a second.
    Bigger,
    /// Milliseconds a batch.
    Smaller,
}

/// An entry, by the names of that tool.
#[derive(Debug, Serialize)]
struct Entry {
    name: String,
    unit: &'static str,
    value: f64,
    /// How far the ends of the 95 % interval lie from the value at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    /// Shown beside the point.
    extra: String,
}

/// The entries as JSON; none of a result whose designs disagree.
///
/// # Errors
/// As [`json`].
pub fn benchmark(results: &[Shown], better: Better) -> Result<String, Error> {
    let sound = results.iter().filter(|shown| shown.is_sound()).filter_map(Shown::run);
    let entries: Vec<Entry> = sound.flat_map(|run| of_result(run, better)).collect();
    json(&entries)
}

fn of_result(run: &RunResult, better: Better) -> Vec<Entry> {
    let digest = &run.workload.digest;
    let entry = |name: &str, rate: Estimate, time: Estimate, samples: String| {
        let (estimate, unit) = match better {
            Better::Bigger => (rate, "MGas/s"),
            Better::Smaller => (time, "ms"),
        };
        let value = estimate.median?;
        let range =
            estimate.ci95.map(|[low, high]| format!("± {}", f64::max(value - low, high - value)));
        Some(Entry {
            name: format!("{} {name}", run.workload.scenario),
            unit,
            value,
            range,
            extra: format!("{samples}, workload {digest}"),
        })
    };
    let of_cell = |cell: &Cell| {
        let samples = super::sample_words(cell);
        entry(&cell.variant, cell.mgas_per_s, cell.ms_per_batch, samples)
    };
    let of_client = |client: &ClientCell| {
        let samples = units::things(client.counted().len() as u64, "sample");
        entry(&client.client, client.mgas_per_s, client.ms_per_batch, samples)
    };
    let cells = run.cells.iter().filter_map(of_cell);
    cells.chain(run.clients.iter().filter_map(of_client)).collect()
}
