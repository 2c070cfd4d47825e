//! Figures for github-action-benchmark, which keeps a series over commits. Each cell and client has
//! one entry, for the tool `customBiggerIsBetter` or `customSmallerIsBetter`.

use serde::Serialize;

use result::{Error, RunResult, Shown, json};

use crate::units;

/// Figure of an entry: throughput or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Millions of gas a second.
    Bigger,
    /// Milliseconds a batch.
    Smaller,
}

/// An entry, with the field names of github-action-benchmark.
#[derive(Debug, Serialize)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) unit: &'static str,
    pub(super) value: f64,
    /// Largest distance of an end of the 95 % interval from the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) range: Option<String>,
    /// Text beside the point: number of samples, and digest.
    pub(super) extra: String,
}

/// The entries as JSON; none for a result whose designs disagree.
///
/// # Errors
/// The errors of [`json`].
pub fn benchmark(results: &[Shown], better: Better) -> Result<String, Error> {
    let sound = results.iter().filter(|shown| shown.is_sound()).filter_map(Shown::run);
    let entries: Vec<Entry> = sound.flat_map(|run| run_entries(run, better)).collect();
    json(&entries)
}

fn run_entries(run: &RunResult, better: Better) -> Vec<Entry> {
    let cells = run.cells.iter().map(|cell| {
        let samples = super::sample_words(cell);
        (&cell.variant, cell.mgas_per_s, cell.ms_per_batch, samples)
    });
    let clients = run.clients.iter().map(|client| {
        let samples = units::things(client.counted().len() as u64, "sample");
        (&client.client, client.mgas_per_s, client.ms_per_batch, samples)
    });
    cells
        .chain(clients)
        .filter_map(|(name, rate, time, samples)| {
            let (estimate, unit) = match better {
                Better::Bigger => (rate, "MGas/s"),
                Better::Smaller => (time, "ms"),
            };
            let value = estimate.median?;
            let range = estimate.ci95;
            Some(Entry {
                name: format!("{} {name}", run.workload.scenario),
                unit,
                value,
                range: range
                    .map(|[low, high]| format!("± {}", f64::max(value - low, high - value))),
                extra: format!("{samples}, workload {}", run.workload.digest),
            })
        })
        .collect()
}
