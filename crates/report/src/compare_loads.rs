//! The comparison of loads on live nodes for `stress compare`. Each side has one or more loads, all
//! of the same work at the same pace. A load is one sample, however many transactions it has, since
//! the transactions of a block share their time. No verdict is given.

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::Value;

use result::{
    load_comparison::{LoadComparison, LoadFigure, LoadRow, LoadSide, LoadWork, SCHEMA},
    send::SendResult,
    stats,
    stored::StoredLoad,
};

use crate::{
    compare::{changes, difference, flat, json, label},
    error::Error,
    ratio::Ratio,
    units,
};

/// Loads to compare with those of other sides.
#[derive(Clone, Debug)]
pub struct LoadSideInput {
    /// The file or directory of the loads.
    pub path: PathBuf,
    /// The loads, one or more.
    pub loads: Vec<StoredLoad>,
}

/// A figure that is compared: its key in a load, and its value.
type Figure = (&'static str, fn(&SendResult) -> Option<f64>);

/// The figures, in the order of a table.
const FIGURES: [Figure; 8] = [
    ("included_per_s", |load| load.included_per_s),
    ("gas_per_s", |load| load.gas_per_s),
    ("sent_per_s", |load| load.sent_per_s),
    ("latency.inclusion_ns.p50", |load| ns(load.latency.inclusion_ns.p50)),
    ("latency.inclusion_ns.p90", |load| ns(load.latency.inclusion_ns.p90)),
    ("latency.inclusion_ns.p99", |load| ns(load.latency.inclusion_ns.p99)),
    ("latency.acceptance_ns.p50", |load| ns(load.latency.acceptance_ns.p50)),
    ("latency.call_ns.p50", |load| ns(load.latency.call_ns.p50)),
];

fn ns(time: Option<u64>) -> Option<f64> {
    time.map(|ns| ns as f64)
}

/// Compares the loads of `sides`, of which there are two or more.
///
/// # Errors
/// A load that was interrupted, or loads of different work or pace.
pub fn compare_loads(sides: &[LoadSideInput]) -> Result<LoadComparison, Error> {
    let mut all = sides.iter().flat_map(|side| &side.loads).peekable();
    let first = *all.peek().ok_or_else(Error::no_result)?;
    for load in all {
        if load.result.interrupted {
            let fault = "the load was interrupted, and has no figure of all of it: send it again";
            return Err(Error::of_result(&load.path, fault));
        }
        same_work(first, load)?;
    }
    let of = &first.result;
    Ok(LoadComparison {
        schema: SCHEMA,
        work: LoadWork {
            scenario: of.work.scenario.clone(),
            digest: of.work.digest.clone(),
            pace: of.pace.clone(),
            pace_value: of.pace_value,
        },
        sides: sides.iter().enumerate().map(|(index, side)| facts(index, side)).collect(),
        changes: changes(sides.iter().map(facts_of_loads)),
        rows: FIGURES.iter().map(|figure| row(sides, figure)).collect(),
    })
}

fn same_work(a: &StoredLoad, b: &StoredLoad) -> Result<(), Error> {
    let facts = [a, b].map(|load| {
        let mut facts = flat(&json(&load.result.work), "");
        facts.insert("pace".to_owned(), Value::from(load.result.pace.clone()));
        facts.insert("pace_value".to_owned(), Value::from(load.result.pace_value));
        facts
    });
    let differing = changes(facts);
    if differing.is_empty() {
        return Ok(());
    }
    let differences = units::joined(differing.iter().map(difference), ", ");
    Err(Error::Other(format!(
        "{} and {} are different loads ({differences}): only equal ones can be compared; send both with the same \
         scenario, --seed, --accounts, --transactions, --fork and pace",
        a.path.display(),
        b.path.display()
    )))
}

fn facts(index: usize, side: &LoadSideInput) -> LoadSide {
    let loads = side.loads.iter().map(|load| &load.result);
    LoadSide {
        label: label(index),
        path: side.path.display().to_string(),
        load_count: side.loads.len() as u64,
        planned_count: loads.clone().map(|load| load.counts.planned_count).sum(),
        included_count: loads.clone().map(|load| load.counts.included_count).sum(),
        warning_count: loads.map(|load| load.warnings.len() as u64).sum(),
    }
}

/// Facts of node and tool, by key.
fn facts_of_loads(side: &LoadSideInput) -> BTreeMap<String, Value> {
    let mut all: BTreeMap<String, Value> = BTreeMap::new();
    for StoredLoad { result, .. } in &side.loads {
        let of_tool = flat(&json(&result.tool), "tool");
        for (key, value) in flat(&json(&result.node), "node").into_iter().chain(of_tool) {
            let known = all.entry(key).or_insert_with(|| value.clone());
            if *known != value {
                *known = Value::from("differs within the side");
            }
        }
    }
    all
}

fn row(sides: &[LoadSideInput], (key, figure): &Figure) -> LoadRow {
    let values = sides.iter().map(|side| {
        side.loads.iter().map(|load| figure(&load.result)).collect::<Option<Vec<f64>>>()
    });
    let values: Vec<_> = values.collect();
    let figures = values.iter().enumerate().map(|(index, own)| {
        let own = own.as_ref()?;
        let Ratio { median: ratio, ci95: ratio_ci95 } = match (index, &values[0]) {
            (0, _) => Ratio { median: Some(1.0), ci95: None },
            (_, None) => Ratio::default(),
            (_, Some(base)) => Ratio::from_times(own, base),
        };
        let median = stats::median(own)?;
        Some(LoadFigure { median, ci95: stats::median_interval(own), ratio, ratio_ci95 })
    });
    LoadRow { key: (*key).to_owned(), figures: figures.collect() }
}

#[cfg(test)]
mod tests {
    use result::example::send::typical;

    use super::*;

    fn side(rates: &[f64], change: impl Fn(&mut SendResult)) -> LoadSideInput {
        let load = |rate: &f64| {
            let mut result = SendResult { included_per_s: Some(*rate), ..typical() };
            change(&mut result);
            StoredLoad { path: "send.json".into(), result }
        };
        LoadSideInput { path: "side".into(), loads: rates.iter().map(load).collect() }
    }

    fn rate(sides: &[LoadSideInput]) -> LoadFigure {
        let compared = compare_loads(sides).expect("the same work");
        assert_eq!(compared.rows[0].key, "included_per_s");
        compared.rows[0].figures[1].expect("it has a rate")
    }

    #[test]
    fn a_ratio_has_an_interval_of_seven_loads_a_side_and_none_of_fewer() {
        let base = side(&[100.0, 110.0, 100.0, 105.0, 125.0, 110.0, 100.0], |_| ());
        let fast = side(&[200.0, 220.0, 250.0, 205.0, 210.0, 220.0, 210.0], |_| ());
        let of = rate(&[base.clone(), fast.clone()]);
        // 210/105; 200/125 and 250/100.
        assert_eq!((of.ratio, of.ratio_ci95), (Some(2.0), Some([1.6, 2.5])));
        assert_eq!(of.ci95, Some([200.0, 250.0]));
        let few = side(&[200.0; 6], |_| ());
        let of = rate(&[base, few]);
        assert_eq!(of.ratio_ci95, None);
        assert!(of.ratio.is_some(), "one load has a ratio without an interval");
    }

    #[test]
    fn other_work_another_pace_and_interrupted_loads_are_refused_by_name() {
        let one = || side(&[100.0], |_| ());
        for (change, word) in [
            ((|load| load.work.digest = "0x77".to_owned()) as fn(&mut SendResult), "digest"),
            (|load| load.pace_value = 11.0, "pace_value 10.0 against 11.0"),
            (|load| load.interrupted = true, "interrupted"),
        ] {
            let error = compare_loads(&[one(), side(&[100.0], change)]).unwrap_err().to_string();
            assert!(error.contains(word), "{word}: {error}");
        }
    }

    #[test]
    fn another_node_is_a_change_and_an_unknown_figure_a_gap() {
        let other = side(&[100.0, 90.0], |load| {
            load.node.version = Some("Other/v2".to_owned());
            load.latency.inclusion_ns.p50 = None;
        });
        let compared = compare_loads(&[side(&[100.0], |_| ()), other]).expect("the same work");
        let keys: Vec<&str> = compared.changes.iter().map(|change| change.key.as_str()).collect();
        assert_eq!(keys, ["node.version"]);
        let p50 = compared.rows.iter().find(|row| row.key == "latency.inclusion_ns.p50").unwrap();
        assert!(p50.figures[0].is_some() && p50.figures[1].is_none());
        assert_eq!((compared.sides[1].load_count, compared.sides[1].planned_count), (2, 40));
    }
}
