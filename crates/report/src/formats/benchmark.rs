//! Figures for github-action-benchmark, which keeps a series over commits: one entry for each
//! cell, `customBiggerIsBetter` or `customSmallerIsBetter`.

use serde::Serialize;

use result::{json, stored::Untyped as Stored};

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
pub fn benchmark(results: &[Stored], better: Better) -> String {
    let sound = results.iter().filter(|stored| stored.is_sound());
    let entries: Vec<Entry> = sound.flat_map(|stored| of_result(stored, better)).collect();
    json(&entries)
}

fn of_result(stored: &Stored, better: Better) -> Vec<Entry> {
    let (key, unit) = match better {
        Better::Bigger => ("mgas_per_s", "MGas/s"),
        Better::Smaller => ("ms_per_batch", "ms"),
    };
    let scenario = stored.text("/workload/scenario").unwrap_or_default();
    let digest = stored.text("/workload/digest").unwrap_or_default();
    let entry = |cell: &serde_json::Value| {
        let estimate = &cell[key];
        let value = estimate["median"].as_f64()?;
        let range = super::ends(estimate)
            .map(|[low, high]| format!("± {}", f64::max(value - low, high - value)));
        let variant = cell["variant"].as_str()?;
        Some(Entry {
            name: format!("{scenario} {variant}"),
            unit,
            value,
            range,
            extra: format!("{}, workload {digest}", super::sample_words(cell)),
        })
    };
    stored.cells().iter().filter_map(entry).collect()
}
