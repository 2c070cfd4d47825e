//! The comparison of results for `stress compare`: changes of tool, settings and machine, counters
//! that differ, and figures with their intervals. All results have the same work, and each agrees
//! with the reference.
//!
//! It gives no verdict: the machine changes between runs, and times change with it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use result::{
    Cell, ClientCell, RunResult, SampleFacts, StoreFacts, Stored,
    comparison::{Change, Comparison, Figure, Row, SCHEMA, Source, Work},
};
use variant::CacheMode;

use crate::{
    answer,
    error::Error,
    facts::{self, distinct},
    ratio::Ratio,
    split, units,
};

/// Ends of the keys of facts that are left out. Such a fact differs between any two runs, or
/// repeats a fact of the tool.
const IGNORED_FACT_ENDINGS: [&str; 12] = [
    "environment.memory.available_bytes",
    "environment.host.load_average",
    "environment.steal_ns",
    "environment.ground.free_bytes",
    "environment.build.commit",
    "environment.build.features",
    "environment.build.binary_hash",
    "open_sample_ns",
    "sample_directory",
    "server_memory_bytes",
    "filled",
    "path",
];

/// The key of the command that was run before each sample.
pub const PREPARE: &str = "prepare";

/// The name of a fact of a `T`, and its value.
type Named<T, V> = (&'static str, fn(&T) -> V);

/// Counters of a sample that are the same in every run of one build on one state.
const COUNTERS: [Named<SampleFacts, Option<u64>>; 4] = [
    ("gas", |sample| Some(sample.gas)),
    ("unique_keys", |sample| Some(sample.unique_keys)),
    ("store_reads", |sample| Some(sample.store_reads)),
    ("blocks_read", |sample| sample.blocks_read),
];

/// Counts that a user chooses for the rows of a design, by the names of their keys below `run.`.
/// The options on the command line have hyphens.
pub(crate) const COUNTS: [Named<Cell, u64>; 4] = [
    ("threads", |cell| cell.threads),
    ("io_threads", |cell| cell.io_threads),
    ("fibers", |cell| cell.fibers),
    ("shards", |cell| cell.shards),
];

/// Compares `results`, of which there are two or more.
///
/// # Errors
/// One of them disagrees with the reference or has no sample, or their work or databases differ.
pub fn compare(results: &[Stored]) -> Result<Comparison, Error> {
    let [first, others @ ..] = results else { return Err(Error::no_result()) };
    for stored in results {
        match stored.agrees() {
            Some(true) => {}
            Some(false) => {
                let fault = "its designs disagree: no figure of it can be compared";
                return Err(Error::of_result(&stored.path, fault));
            }
            None => return Err(Error::of_result(&stored.path, "it has no sample: run it again")),
        }
    }
    for other in others {
        same_work(first, other)?;
        same_databases(first, other)?;
    }
    let runs: Vec<&RunResult> = results.iter().map(|stored| &stored.result).collect();
    let mut changes = changed_rows(&runs);
    changes.extend(changed_facts(&runs));
    Ok(Comparison {
        schema: SCHEMA,
        work: Work {
            scenario: first.result.workload.scenario.clone(),
            gas: Some(first.result.workload.gas),
            digest: first.result.workload.digest.clone(),
        },
        results: (0..).zip(results).map(|(index, stored)| source(index, stored, first)).collect(),
        changes,
        counters: changes_where_run(results.iter().map(counters)),
        rows: rows(results),
    })
}

fn same_work(a: &Stored, b: &Stored) -> Result<(), Error> {
    if a.result.workload.digest == b.result.workload.digest {
        return Ok(());
    }
    let differing = changes([a, b].map(|of| flat(&json(&of.result.workload), "")));
    let shown = differing.iter().filter(|change| change.key != "digest").take(4);
    let differences = units::any_joined(shown.map(difference), ", ");
    let differences = differences.unwrap_or_else(|| "another digest".to_owned());
    Err(Error::Other(format!(
        "{} and {} did different work ({differences}): only times of the same work can be compared; \
         run both on one workload file (`stress generate`)",
        a.path.display(),
        b.path.display()
    )))
}

/// A change between two results: `gas 5 against 6`.
pub(crate) fn difference(change: &Change) -> String {
    format!("{} {} against {}", change.key, change.values[0], change.values[1])
}

/// Checks that both results ran on the same databases. A figure over several databases is
/// comparable only with a figure over the same ones.
fn same_databases(a: &Stored, b: &Stored) -> Result<(), Error> {
    let [of_a, of_b] = [a, b].map(|stored| stored.result.databases.as_slice());
    let [digests_of_a, digests_of_b] =
        [of_a, of_b].map(|of| of.iter().map(|database| &database.workload.digest));
    if digests_of_a.eq(digests_of_b) {
        return Ok(());
    }
    let [on_a, on_b] = [of_a, of_b].map(|databases| match databases {
        [] => "one database".to_owned(),
        several => format!("databases of seeds {}", facts::seeds(several)),
    });
    Err(Error::Other(format!(
        "{} ran on {on_a}, {} on {on_b}: a figure over databases is comparable only over the same \
         ones; run both with one --databases and one --seed",
        a.path.display(),
        b.path.display()
    )))
}

fn source(index: usize, stored: &Stored, first: &Stored) -> Source {
    let cells = facts::most_duties(&stored.result.cells.iter().collect::<Vec<_>>());
    let best = facts::best(cells).filter(|_| index > 0);
    let less_than_first = best.and_then(|best| {
        let less = split::difference(first.result.cell(&best.variant)?, best)?;
        Some(format!("{} takes less by {less}", facts::row_name(best)))
    });
    Source {
        fastest: answer::fastest(&stored.result),
        less_than_first,
        label: label(index),
        path: stored.path.display().to_string(),
        started_unix_s: Some(stored.result.started_unix_s),
        commit: stored.result.tool.program.commit.clone(),
        warning_count: stored.result.warnings.len() as u64,
        interrupted: stored.result.interrupted,
    }
}

/// Short name of the result at `index`: `A` to `Z`, then `A1`, …
pub fn label(index: usize) -> String {
    let letter = char::from(b'A' + (index % 26) as u8);
    if index < 26 { letter.to_string() } else { format!("{letter}{}", index / 26) }
}

/// Facts of the tool, the command before each sample, the machine and the stores, by key.
fn facts_of_run(run: &RunResult) -> BTreeMap<String, Value> {
    let RunResult { tool, environment, stores, prepare, .. } = run;
    let mut facts = flat(&json(tool), "tool");
    facts.insert(PREPARE.to_owned(), json(prepare));
    facts.extend(flat(&json(environment), "environment"));
    for StoreFacts { store, facts: own } in stores {
        facts.extend(flat(&Value::Object(own.clone()), &format!("stores.{store}")));
    }
    facts.retain(|key, _| !IGNORED_FACT_ENDINGS.iter().any(|ending| key.ends_with(ending)));
    facts
}

/// Facts of variants and clients by key: whether each was to be cold, whether that is proved, and a
/// client's version.
fn facts_of_rows(run: &RunResult) -> BTreeMap<String, Value> {
    let versions = run.clients.iter().map(|ClientCell { client, version, .. }| {
        (format!("clients.{client}.version"), Value::from(version.clone()))
    });
    let mut facts: BTreeMap<_, _> = versions.collect();
    let cells = run.cells.iter().map(|cell| (cell.variant.clone(), &cell.cache));
    let clients = run.clients.iter().map(|of| (format!("client {}", of.client), &of.cache));
    for (row, cache) in cells.chain(clients) {
        facts.insert(format!("{row} cache.want"), Value::from(cache.want.map(CacheMode::name)));
        facts.insert(format!("{row} cache.proved"), Value::from(cache.proved));
    }
    facts
}

/// Changes of the rows: the designs, the stores, and the counts of a design's rows where several
/// results have the design. Only where none of these differ, the variants that not all results
/// have.
fn changed_rows(results: &[&RunResult]) -> Vec<Change> {
    let mut changed = changes(results.iter().map(|run| kinds_of_rows(run)));
    changed.extend(changes_where_run(results.iter().map(|run| counts_of_rows(run))));
    match changed.is_empty() {
        true => changes(results.iter().map(|run| own_variants(run, results))),
        false => changed,
    }
}

/// The designs and stores of a run, by the keys that choose them.
fn kinds_of_rows(run: &RunResult) -> BTreeMap<String, Value> {
    let designs: BTreeSet<&str> = run.cells.iter().map(|cell| cell.design.name()).collect();
    let stores: BTreeSet<&str> = run.cells.iter().map(|cell| cell.store.name()).collect();
    [("run.designs", designs), ("run.stores", stores)]
        .map(|(key, names)| (key.to_owned(), listed(names.into_iter().map(str::to_owned))))
        .into()
}

/// The counts of each design's rows, by keys such as `batched-io threads`.
fn counts_of_rows(run: &RunResult) -> BTreeMap<String, Value> {
    let mut counts: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for cell in &run.cells {
        for (name, of) in COUNTS {
            counts.entry(format!("{} {name}", cell.design)).or_default().insert(of(cell));
        }
    }
    let counts = counts.into_iter();
    counts.map(|(key, counts)| (key, listed(counts.iter().map(u64::to_string)))).collect()
}

/// The variants of `run` that not all of `results` have.
fn own_variants(run: &RunResult, results: &[&RunResult]) -> BTreeMap<String, Value> {
    let names = run.cells.iter().map(|cell| &cell.variant);
    let own = names.filter(|name| !results.iter().all(|other| other.cell(name).is_some()));
    BTreeMap::from([("variants".to_owned(), listed(own.cloned()))])
}

/// The names as `a, b`; null without a name.
fn listed(names: impl Iterator<Item = String>) -> Value {
    Value::from(units::any_joined(names, ", "))
}

/// Facts of the tool, the machine, the stores and the caches that differ between the runs.
pub(crate) fn changed_facts(results: &[&RunResult]) -> Vec<Change> {
    let mut changed = changes(results.iter().map(|run| facts_of_run(run)));
    changed.extend(changes_where_run(results.iter().map(|run| facts_of_rows(run))));
    changed
}

/// Counters by variant, by database where there are several, and by name. Where the samples of a
/// variant differ, the value is `5 to 7`, from the smallest to the largest.
fn counters(stored: &Stored) -> BTreeMap<String, Value> {
    let mut counters = BTreeMap::new();
    for cell in &stored.result.cells {
        for database in cell.by_database() {
            for (name, of) in COUNTERS {
                let mut values: Vec<_> = database.of_workload().filter_map(of).collect();
                values.sort_unstable();
                values.dedup();
                let value = match values.as_slice() {
                    [] => Value::Null,
                    [one] => Value::from(*one),
                    [least, .., most] => Value::from(format!("{least} to {most}")),
                };
                counters.insert(format!("{}{} {name}", cell.variant, database.suffix()), value);
            }
        }
    }
    counters
}

/// The keys whose values are not the same in all results.
pub(crate) fn changes(all: impl IntoIterator<Item = BTreeMap<String, Value>>) -> Vec<Change> {
    changes_by(all, |values| values.iter().any(|value| *value != values[0]))
}

/// The keys whose values differ between the results that have the key. A variant that a result has
/// not run is no change.
fn changes_where_run(all: impl IntoIterator<Item = BTreeMap<String, Value>>) -> Vec<Change> {
    changes_by(all, |values| {
        let mut known = values.iter().flatten();
        known.next().is_some_and(|first| known.any(|value| value != first))
    })
}

/// The keys for whose values `differs` holds. It gets `None` for a result without the key.
fn changes_by(
    all: impl IntoIterator<Item = BTreeMap<String, Value>>,
    differs: impl Fn(&[Option<&Value>]) -> bool,
) -> Vec<Change> {
    let all: Vec<_> = all.into_iter().collect();
    let keys: BTreeSet<_> = all.iter().flat_map(BTreeMap::keys).collect();
    keys.into_iter()
        .map(|key| (key, all.iter().map(|facts| facts.get(key)).collect::<Vec<_>>()))
        .filter(|(_, values)| differs(values))
        .map(|(key, values)| Change {
            key: key.clone(),
            values: values.into_iter().map(|value| value.cloned().unwrap_or_default()).collect(),
        })
        .collect()
}

/// The leaves of `value` by their path; an array is a leaf.
pub(crate) fn flat(value: &Value, path: &str) -> BTreeMap<String, Value> {
    let Some(object) = value.as_object() else {
        return BTreeMap::from([(path.to_owned(), value.clone())]);
    };
    object
        .iter()
        .flat_map(|(key, value)| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            flat(value, &path)
        })
        .collect()
}

/// A row for each variant, then one for each client.
fn rows(results: &[Stored]) -> Vec<Row> {
    let cells = results.iter().flat_map(|stored| &stored.result.cells);
    let variants = distinct(cells.map(|cell| cell.variant.as_str())).into_iter().map(|variant| {
        let cells = results.iter().map(|stored| stored.cell(variant));
        let figures = figures(cells, cell_figure, Ratio::between);
        Row { variant: variant.to_owned(), figures }
    });
    let clients = results.iter().flat_map(|stored| &stored.result.clients);
    let clients = distinct(clients.map(|client| client.client.as_str())).into_iter().map(|name| {
        let clients = results.iter().map(|stored| stored.result.client(name));
        let figures = figures(clients, client_figure, |client, base| {
            Ratio::from_times(&client.times_ms(), &base.times_ms())
        });
        Row { variant: format!("client {name}"), figures }
    });
    variants.chain(clients).collect()
}

/// The figures of a row in each result that has it. A ratio is to the time in the first result.
fn figures<'r, R: 'r>(
    each: impl Iterator<Item = Option<&'r R>>,
    figure: fn(&R) -> Figure,
    ratio: impl Fn(&R, &R) -> Ratio,
) -> Vec<Option<Figure>> {
    let each: Vec<_> = each.collect();
    let figures = each.iter().enumerate().map(|(index, row)| {
        let figure = figure((*row)?);
        let Ratio { median: time_ratio, ci95: time_ratio_ci95 } = match (each[0], index) {
            (None, _) => Ratio::default(),
            // The ratio of a result to itself is 1, however large the spread of its samples.
            (Some(_), 0) => Ratio { median: figure.ms_per_batch.map(|_| 1.0), ci95: None },
            (Some(base), _) => ratio((*row)?, base),
        };
        Some(Figure { time_ratio, time_ratio_ci95, ..figure })
    });
    figures.collect()
}

/// The figure of a cell, without ratios.
fn cell_figure(cell: &Cell) -> Figure {
    Figure {
        sample_count: cell.counted().iter().map(|samples| samples.len() as u64).sum(),
        database_count: cell.databases.as_ref().map(|of| of.each.len() as u64),
        ms_per_batch: facts::time_ms(cell),
        ms_per_batch_ci95: cell.ms_per_batch.ci95,
        mgas_per_s: cell.mgas_per_s.median.filter(|rate| *rate > 0.0),
        device_fraction: cell.device_fraction,
        ..Figure::default()
    }
}

/// The figure of a client, without ratios.
fn client_figure(client: &ClientCell) -> Figure {
    Figure {
        sample_count: client.counted().len() as u64,
        ms_per_batch: client.ms_per_batch.median,
        ms_per_batch_ci95: client.ms_per_batch.ci95,
        mgas_per_s: client.mgas_per_s.median,
        ..Figure::default()
    }
}

/// A part of a result as it is written.
pub(crate) fn json(part: &impl Serialize) -> Value {
    serde_json::to_value(part).unwrap_or_default()
}

#[cfg(test)]
mod tests;
