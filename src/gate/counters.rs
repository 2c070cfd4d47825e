//! Compares the exact counters of two sides for `baseline`. These counters depend on the work
//! alone, so they must be equal on both sides.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use result::{Cell, SampleFacts, databases::OnDatabase};
use serde_json::Value;

use super::side::Side;

/// Name of the number of reads from the store. It is exact unless the engine runs steps
/// speculatively or again.
const READS: &str = "store_reads";

type Counter = fn(&SampleFacts) -> u64;

/// Counters of a sample that depend on the work alone.
const EXACT: [(&str, Counter); 3] = [
    ("gas", |sample| sample.gas),
    ("unique_keys", |sample| sample.unique_keys),
    (READS, |sample| sample.store_reads),
];

/// The exact counters of the stored side, compared with the new side.
#[derive(Debug)]
pub struct ComparedCounters {
    /// Counters that both sides have, each with the values of the stored side and of the new side.
    pub of_both: Vec<(String, [Vec<Value>; 2])>,
    /// Counters that the new side lacks, or that vary there.
    pub lost: Vec<String>,
}

/// Compares the exact counters of both sides.
///
/// # Errors
/// The sides have no counter in common.
pub fn compare(base: &Side, new: &Side, common: &[String]) -> Result<ComparedCounters> {
    let mut after = exact(new, common);
    let (mut of_both, mut lost) = (Vec::new(), Vec::new());
    for (key, before) in exact(base, common) {
        match after.remove(&key) {
            Some(now) => of_both.push((key, [before, now])),
            None => lost.push(key),
        }
    }
    if of_both.is_empty() {
        bail!(
            "{} and {} have no counter in common; run both again, cold samples with --keys same, \
             so that they ask for the same keys",
            base.path().display(),
            new.path().display()
        );
    }
    Ok(ComparedCounters { of_both, lost })
}

/// Returns the exact counters of the `common` variants, by variant and name. A counter has each
/// value that occurs in a result of the side.
fn exact(side: &Side, common: &[String]) -> BTreeMap<String, Vec<Value>> {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let cells = side.results().iter().flat_map(|stored| &stored.result.cells);
    for cell in cells.filter(|cell| common.contains(&cell.variant)) {
        for database in cell.by_database() {
            for (counter, value) in exact_on_database(cell, &database) {
                let key = format!("{}{} {counter}", cell.variant, database.suffix());
                let values = found.entry(key).or_default();
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
    }
    found
}

/// Returns the counters that are equal in all samples of a cell on a database. Digests and the size
/// of the list are not known of each sample, but of the cell.
fn exact_on_database(cell: &Cell, database: &OnDatabase<'_>) -> Vec<(&'static str, Value)> {
    let mut exact = Vec::new();
    for (name, value_of) in EXACT {
        let mut values: Vec<_> = database.of_workload().map(value_of).collect();
        values.dedup();
        if let [value] = values[..]
            && (name != READS || cell.engine.runs_steps_once())
        {
            exact.push((name, Value::from(value)));
        }
    }
    if let Some(counters) = database.counters {
        exact.extend([
            ("receipts", Value::from(counters.receipts.clone())),
            ("net_changes", Value::from(counters.net_changes.clone())),
            ("list_bytes", Value::from(counters.list_bytes)),
        ]);
    }
    exact
}
