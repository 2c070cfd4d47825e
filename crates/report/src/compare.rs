//! Results side by side: changes of tool, settings and machine, the counters that differ, and
//! the figures with their intervals. Only results of the same work that agree are compared.
//!
//! Gives no verdict: times of different runs differ by the minute they were taken in.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use result::{
    Cell, ClientCell, Estimate, RunResult, SampleFacts, StoreFacts, Stored, WorkloadFacts,
    comparison::{Change, Comparison, Figure, Row, SCHEMA, Source, Work},
    databases::{CellDatabases, OfDatabase},
    stats,
};

use crate::error::Error;

/// Facts that differ from run to run and say nothing about a change.
const PASSING: [&str; 13] = [
    "environment.memory.available_bytes",
    "environment.host.load_average",
    "environment.steal_ns",
    "environment.ground.free_bytes",
    "environment.build.commit",
    "environment.build.features",
    "environment.build.binary_hash",
    "open_sample_ns",
    "/stores/0/facts/build_ns",
    "sample_directory",
    "server_memory_bytes",
    "filled",
    "path",
];

/// The key of the command that was run before each sample.
pub const PREPARE: &str = "prepare";

/// Counters of a sample that are the same in every run of one build on one state.
const COUNTERS: [Counter; 4] = [
    Counter { name: "gas", of: |sample| Some(sample.gas) },
    Counter { name: "unique_keys", of: |sample| Some(sample.unique_keys) },
    Counter { name: "store_reads", of: |sample| Some(sample.store_reads) },
    Counter { name: "blocks_read", of: |sample| sample.blocks_read },
];

/// A counter of a sample.
struct Counter {
    name: &'static str,
    of: fn(&SampleFacts) -> Option<u64>,
}

/// Compares `results`, of which there are two or more.
///
/// # Errors
/// One of them disagrees with the reference or has no figure, or they are of different work.
pub fn compare(results: &[Stored]) -> Result<Comparison, Error> {
    let [first, others @ ..] = results else { return Err(Error::NoResult) };
    for stored in results {
        let path = || stored.path.clone();
        match stored.agrees() {
            Some(true) => {}
            Some(false) => return Err(Error::Disagrees { path: path() }),
            None => return Err(Error::NoSample { path: path() }),
        }
    }
    for other in others {
        same_work(first, other)?;
        same_databases(first, other)?;
    }
    Ok(Comparison {
        schema: SCHEMA,
        work: Work {
            scenario: first.result.workload.scenario.clone(),
            gas: Some(first.result.workload.gas),
            digest: first.result.workload.digest.clone(),
        },
        results: (0..).zip(results).map(|(index, stored)| source(index, stored)).collect(),
        changes: changes(results.iter().map(|stored| facts(&stored.result)).collect()),
        counters: changes(results.iter().map(counters).collect()),
        rows: rows(results),
    })
}

fn same_work(a: &Stored, b: &Stored) -> Result<(), Error> {
    if a.result.workload.digest == b.result.workload.digest {
        return Ok(());
    }
    let of = |stored: &Stored| flat(&json(&stored.result.workload), "");
    let differs = changes(vec![of(a), of(b)]);
    let shown = differs.iter().filter(|change| change.key != "digest");
    let shown: Vec<_> = shown
        .take(4)
        .map(|change| format!("{} {} against {}", change.key, change.values[0], change.values[1]))
        .collect();
    let differences = if shown.is_empty() { "another digest".to_owned() } else { shown.join(", ") };
    Err(Error::OtherWork { a: a.path.clone(), b: b.path.clone(), differences })
}

/// The first database of both is the same, as their work is. A pooled figure is comparable only
/// with one over the same databases.
fn same_databases(a: &Stored, b: &Stored) -> Result<(), Error> {
    let of = |stored: &Stored, what: fn(&WorkloadFacts) -> String| -> Vec<String> {
        stored.result.databases.iter().map(|database| what(&database.workload)).collect()
    };
    let digest = |workload: &WorkloadFacts| workload.digest.clone();
    if of(a, digest) == of(b, digest) {
        return Ok(());
    }
    let words = |stored: &Stored| match of(stored, |workload| workload.seed.to_string()) {
        seeds if seeds.is_empty() => "one database".to_owned(),
        seeds => format!("databases of seeds {}", seeds.join(", ")),
    };
    let (on_a, on_b) = (words(a), words(b));
    Err(Error::OtherDatabases { a: a.path.clone(), on_a, b: b.path.clone(), on_b })
}

fn source(index: usize, stored: &Stored) -> Source {
    Source {
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

/// Facts by key: of the tool, the machine, the stores and clients, and whether each variant was cold.
fn facts(run: &RunResult) -> BTreeMap<String, Value> {
    let RunResult { tool, environment, stores, cells, clients, prepare, .. } = run;
    let mut facts = flat(&json(tool), "tool");
    facts.insert(PREPARE.to_owned(), json(prepare));
    facts.extend(flat(&json(environment), "environment"));
    for StoreFacts { store, facts: own } in stores {
        facts.extend(flat(&Value::Object(own.clone()), &format!("stores.{store}")));
    }
    for Cell { variant, cache, .. } in cells {
        facts.insert(format!("{variant} cache.want"), Value::from(cache.want.name()));
        facts.insert(format!("{variant} cache.proved"), Value::from(cache.proved));
    }
    for ClientCell { client, version, cache, .. } in clients {
        facts.insert(format!("clients.{client}.version"), Value::from(version.clone()));
        facts.insert(format!("client {client} cache.want"), Value::from(cache.want.name()));
        facts.insert(format!("client {client} cache.proved"), Value::from(cache.proved));
    }
    facts.retain(|key, _| !PASSING.iter().any(|passing| key.ends_with(passing)));
    facts
}

/// Facts of the tool, the machine, the stores and caches that are not the same in both.
pub(crate) fn differences(before: &RunResult, after: &RunResult) -> Vec<Change> {
    changes(vec![facts(before), facts(after)])
}

/// Counters by variant and name, and by database where there are several; of a variant whose
/// samples differ, the least and the most that occur.
fn counters(stored: &Stored) -> BTreeMap<String, Value> {
    let mut counters = BTreeMap::new();
    for cell in &stored.result.cells {
        for database in cell.by_database() {
            for Counter { name, of } in COUNTERS {
                let mut values: Vec<_> = database.of_workload().filter_map(of).collect();
                values.sort_unstable();
                values.dedup();
                let value = match values.as_slice() {
                    [] => Value::Null,
                    [one] => Value::from(*one),
                    [least, .., most] => Value::from(format!("{least} to {most}")),
                };
                counters.insert(format!("{}{} {name}", cell.variant, database.words()), value);
            }
        }
    }
    counters
}

/// The keys whose values are not the same everywhere. A counter of a variant that one result
/// has not run is no change.
pub(crate) fn changes(all: Vec<BTreeMap<String, Value>>) -> Vec<Change> {
    let keys: std::collections::BTreeSet<_> = all.iter().flat_map(BTreeMap::keys).collect();
    let change = |key: &String| {
        let values: Vec<Value> =
            all.iter().map(|facts| facts.get(key).cloned().unwrap_or(Value::Null)).collect();
        let differs = values.windows(2).any(|pair| pair[0] != pair[1]);
        differs.then(|| Change { key: key.clone(), values })
    };
    keys.into_iter().filter_map(change).collect()
}

/// The leaves of `value` by their path; an array is a leaf.
pub(crate) fn flat(value: &Value, path: &str) -> BTreeMap<String, Value> {
    let Some(object) = value.as_object() else {
        return BTreeMap::from([(path.to_owned(), value.clone())]);
    };
    let inner = |(key, value): (&String, &Value)| {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        flat(value, &path)
    };
    object.iter().flat_map(inner).collect()
}

fn rows(results: &[Stored]) -> Vec<Row> {
    let mut variants: Vec<&str> = Vec::new();
    for cell in results.iter().flat_map(|stored| &stored.result.cells) {
        if !variants.contains(&&*cell.variant) {
            variants.push(&cell.variant);
        }
    }
    let row = |variant: &str| {
        let base = results[0].cell(variant);
        let of_result = |(index, stored): (usize, &Stored)| {
            let cell = stored.cell(variant)?;
            let ratio = match (base, index) {
                (None, _) => Ratio::default(),
                // A result divided by itself is one, however far its samples lie apart.
                (Some(_), 0) => Ratio { median: positive(cell).map(|_| 1.0), ci95: None },
                (Some(base), _) => Ratio::of(cell, base),
            };
            Some(figure(cell, ratio))
        };
        let figures = results.iter().enumerate().map(of_result).collect();
        Row { variant: variant.to_owned(), figures }
    };
    variants.into_iter().map(row).chain(client_rows(results)).collect()
}

/// A row for each client, by its name.
fn client_rows(results: &[Stored]) -> Vec<Row> {
    let mut names: Vec<&str> = Vec::new();
    for client in results.iter().flat_map(|stored| &stored.result.clients) {
        if !names.contains(&&*client.client) {
            names.push(&client.client);
        }
    }
    let row = |name: &str| {
        let base = results[0].result.client(name);
        let of_result = |(index, stored): (usize, &Stored)| {
            let client = stored.result.client(name)?;
            let ratio = match (base, index) {
                (None, _) => Ratio::default(),
                (Some(_), 0) => {
                    Ratio { median: client.ms_per_batch.median.map(|_| 1.0), ci95: None }
                }
                (Some(base), _) => Ratio::of_times(&client.times_ms(), &base.times_ms()),
            };
            Some(Figure {
                sample_count: client.counted().len() as u64,
                database_count: None,
                ms_per_batch: client.ms_per_batch.median,
                ms_per_batch_ci95: client.ms_per_batch.ci95,
                mgas_per_s: client.mgas_per_s.median,
                device_fraction: None,
                time_ratio: ratio.median,
                time_ratio_ci95: ratio.ci95,
            })
        };
        let figures = results.iter().enumerate().map(of_result).collect();
        Row { variant: format!("client {name}"), figures }
    };
    names.into_iter().map(row).collect()
}

fn figure(cell: &Cell, ratio: Ratio) -> Figure {
    Figure {
        sample_count: cell.samples.len() as u64,
        database_count: cell.databases.as_ref().map(|of| of.each.len() as u64),
        ms_per_batch: positive(cell),
        ms_per_batch_ci95: cell.ms_per_batch.ci95,
        mgas_per_s: cell.mgas_per_s.median.filter(|rate| *rate > 0.0),
        device_fraction: cell.device_fraction,
        time_ratio: ratio.median,
        time_ratio_ci95: ratio.ci95,
    }
}

/// A cell's time, where it has one to divide by.
fn positive(cell: &Cell) -> Option<f64> {
    cell.ms_per_batch.median.filter(|ms| *ms > 0.0)
}

/// A time over that of another result.
#[derive(Clone, Copy, Debug, Default)]
struct Ratio {
    median: Option<f64>,
    ci95: Option<[f64; 2]>,
}

impl Ratio {
    fn of(cell: &Cell, base: &Cell) -> Self {
        match (&cell.databases, &base.databases) {
            (Some(own), Some(of_base)) => Self::of_databases(own, of_base),
            _ => Self::of_samples(cell, base),
        }
    }

    fn of_samples(cell: &Cell, base: &Cell) -> Self {
        let times = |cell: &Cell| {
            let counted = cell.counted().into_iter().flatten();
            counted.map(|sample| sample.wall_ns as f64).collect::<Vec<_>>()
        };
        let median = positive(cell).zip(positive(base)).map(|(ms, base)| ms / base);
        Self { median, ..Self::of_times(&times(cell), &times(base)) }
    }

    /// Of the medians. Nothing pairs a sample of one run with one of another, so each median has an
    /// interval, both hold at once with 95 %, and the ratio lies between the ends' ratios, for any
    /// distribution of the samples.
    fn of_times(own: &[f64], base: &[f64]) -> Self {
        let interval =
            |times: &[f64]| stats::median_interval_at(times, stats::confidence_of_each(2));
        let ends = interval(own).zip(interval(base)).filter(|(_, [least, _])| *least > 0.0);
        let medians = stats::median(own).zip(stats::median(base).filter(|base| *base > 0.0));
        Self {
            median: medians.map(|(own, base)| own / base),
            ci95: ends.map(|(own, base)| [own[0] / base[1], own[1] / base[0]]),
        }
    }

    /// Of the same databases, each compared with itself: how far they lie apart is in no ratio.
    fn of_databases(own: &CellDatabases, base: &CellDatabases) -> Self {
        let ratio = |of: &OfDatabase| {
            let same = base.each.iter().find(|other| other.seed == of.seed)?;
            let over = same.ms_per_batch.median.filter(|ms| *ms > 0.0)?;
            Some(of.ms_per_batch.median? / over)
        };
        let ratios: Vec<f64> = own.each.iter().filter_map(ratio).collect();
        let Estimate { median, ci95, .. } = stats::estimate(&ratios);
        Self { median, ci95 }
    }
}

/// A part of a result as it is written.
pub(crate) fn json(part: &impl Serialize) -> Value {
    serde_json::to_value(part).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;
    use result::example;

    fn stored(change: impl FnOnce(&mut Value)) -> Stored {
        let mut json: Value =
            serde_json::from_str(&result::json(&example::sampled(8)).expect("finite"))
                .expect("a result is JSON");
        change(&mut json);
        Stored::from_json(PathBuf::from("r.json"), json).expect("a result")
    }

    #[test]
    fn a_result_compared_with_itself_has_no_change_and_ratios_of_one() {
        let comparison = compare(&[stored(|_| ()), stored(|_| ())]).expect("the same work");
        assert_eq!((comparison.changes, comparison.counters), (Vec::new(), Vec::new()));
        assert_eq!(comparison.rows.len(), 5);
        for figure in comparison.rows.iter().flat_map(|row| row.figures.iter().flatten()) {
            assert_eq!(figure.time_ratio, Some(1.0));
        }
    }

    /// A stored run in which every cell took these times.
    fn timed(walls_ns: &[u64]) -> Stored {
        let mut run = example::sampled(walls_ns.len());
        for cell in &mut run.cells {
            for (sample, wall_ns) in cell.samples.iter_mut().zip(walls_ns) {
                sample.wall_ns = *wall_ns;
            }
        }
        let json = serde_json::from_str(&result::json(&run).expect("finite"));
        Stored::from_json(PathBuf::from("r.json"), json.expect("JSON")).expect("a result")
    }

    #[test]
    fn a_ratio_has_the_interval_of_both_runs_and_none_with_six_samples() {
        let base = timed(&[100, 110, 100, 105, 125, 110, 100]);
        let slow = timed(&[200, 220, 250, 205, 210, 220, 210]);
        let of = |results: &[Stored]| {
            let rows = compare(results).expect("the same work").rows;
            let ratios = rows.iter().map(|row| row.figures[1].as_ref().unwrap().time_ratio_ci95);
            let ratios: Vec<_> = ratios.collect();
            assert!(ratios.windows(2).all(|two| two[0] == two[1]), "{ratios:?}");
            ratios[0]
        };
        // 200/125 and 250/100.
        assert_eq!(of(&[base.clone(), slow.clone()]), Some([1.6, 2.5]));
        assert_eq!(of(&[slow, base.clone()]), Some([0.4, 0.625]));
        assert_eq!(of(&[base, timed(&[200; 6])]), None);
    }

    #[test]
    fn the_ratio_of_pooled_runs_compares_each_database_with_itself() {
        let pooled = |times: u64| {
            let walls: Vec<Vec<u64>> = (1..=6_u64).map(|db| vec![db * db * times; 2]).collect();
            let ran = example::ran(&walls, 3);
            let mut run = example::sampled(1);
            run.cells = result::databases::pool(&ran, &[]);
            run.databases = ran.into_iter().map(|ran| ran.facts).collect();
            let json = serde_json::from_str(&result::json(&run).expect("finite"));
            Stored::from_json(PathBuf::from("r.json"), json.expect("JSON")).expect("a result")
        };
        let rows = compare(&[pooled(10), pooled(20)]).expect("the same databases").rows;
        for row in rows {
            let figure = row.figures[1].as_ref().expect("both have it");
            // Databases differ by a factor of 36.
            assert_eq!((figure.time_ratio, figure.time_ratio_ci95), (Some(2.0), Some([2.0, 2.0])));
        }
    }

    #[test]
    fn a_setting_and_a_counter_that_differ_are_named_with_both_values() {
        let other = stored(|json| {
            json["stores"][0]["facts"]["block_cache_bytes"] = json!(7);
            json["environment"]["host"]["load_average"] = json!([9.0, 9.0, 9.0]);
            for sample in json["cells"][4]["samples"].as_array_mut().expect("samples") {
                sample["store_reads"] = json!(1);
            }
        });
        let comparison = compare(&[stored(|_| ()), other]).expect("the same work");
        assert_eq!(comparison.changes.len(), 1, "{:?}", comparison.changes);
        assert_eq!(comparison.changes[0].key, "stores.rocksdb.block_cache_bytes");
        assert_eq!(comparison.counters.len(), 1);
        assert!(comparison.counters[0].key.ends_with(" store_reads"));
        assert_eq!(comparison.counters[0].values[1], json!(1));
    }

    #[test]
    fn different_work_is_refused_and_what_differs_is_named() {
        let other = stored(|json| {
            json["workload"]["digest"] = json!("0x77");
            json["workload"]["gas"] = json!(5);
        });
        let error = compare(&[stored(|_| ()), other]).expect_err("other work").to_string();
        assert!(error.contains("different work") && error.contains("gas"), "{error}");
    }

    #[test]
    fn a_result_that_disagrees_or_has_no_sample_is_refused() {
        for agree in [json!(false), Value::Null] {
            let bad = stored(|json| json["agree"] = agree);
            assert!(compare(&[stored(|_| ()), bad.clone()]).is_err());
            assert!(compare(&[bad, stored(|_| ())]).is_err());
        }
    }

    #[test]
    fn a_variant_of_one_result_only_has_a_row_with_a_gap() {
        let fewer = stored(|json| {
            json["cells"].as_array_mut().expect("cells").remove(0);
        });
        let comparison = compare(&[fewer, stored(|_| ())]).expect("the same work");
        let row = comparison.rows.iter().find(|row| row.variant.contains("sequential"));
        let row = row.expect("it has a row");
        assert!(row.figures[0].is_none());
        assert!(row.figures[1].as_ref().is_some_and(|figure| figure.time_ratio.is_none()));
    }

    #[test]
    fn labels_never_run_out() {
        assert_eq!([label(0), label(25), label(26), label(53)], ["A", "Z", "A1", "B2"]);
    }
}
