//! Laws of comparisons: the meaning of changes and of ratios.

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

/// The keys and values of the changes, as `key: a → b`.
fn changed(results: &[Stored]) -> Vec<String> {
    let changes = compare(results).expect("the same work").changes;
    let words = |value: &Value| value.as_str().unwrap_or("nothing").to_owned();
    let line = |change: &Change| {
        let values: Vec<_> = change.values.iter().map(words).collect();
        format!("{}: {}", change.key, values.join(" → "))
    };
    changes.iter().map(line).collect()
}

#[test]
fn threads_and_designs_that_differ_are_changed_settings() {
    let whole = stored(|_| ());
    let with = |design: &str, key: &str, count: u64| {
        stored(|json| {
            for cell in json["cells"].as_array_mut().expect("cells") {
                if cell["design"] == design {
                    cell[key] = json!(count);
                }
            }
        })
    };
    for (other, expected) in [
        (with("sequential", "threads", 2), "sequential threads: 1 → 2"),
        (with("batched-io", "threads", 4), "batched-io threads: 2 → 4"),
        (with("batched-io", "io_threads", 8), "batched-io io_threads: 16, 64 → 8"),
        (with("parallel-io", "fibers", 16), "parallel-io fibers: 1 → 16"),
    ] {
        assert_eq!(changed(&[whole.clone(), other]), [expected]);
    }
    let without = stored(|json| json["cells"].as_array_mut().expect("cells").truncate(3));
    let expected = "run.designs: batched-io, parallel-io, sequential → parallel-io, sequential";
    assert_eq!(changed(&[whole.clone(), without]), [expected]);
    // Another variant of the same designs and threads is named itself.
    let other = stored(|json| json["cells"][0]["variant"] = json!("rocksdb/another@1"));
    let own = &whole.result.cells[0].variant;
    let expected = format!("variants: {own} → rocksdb/another@1");
    assert_eq!(changed(&[whole, other]), [expected]);
}

#[test]
fn facts_of_a_variant_that_one_result_has_not_run_are_no_change() {
    let whole = stored(|_| ());
    let part = stored(|json| {
        let cells = json["cells"].as_array_mut().expect("cells");
        cells.truncate(2);
    });
    let comparison = compare(&[whole.clone(), part]).expect("the same work");
    let of_rows = ["run.designs", "parallel-io threads"];
    let keys: Vec<_> = comparison.changes.iter().map(|change| change.key.as_str()).collect();
    assert_eq!((keys, comparison.counters), (of_rows.to_vec(), Vec::new()));
    assert!(comparison.rows.iter().any(|row| row.figures[1].is_none()), "rows of one result");
    let other = stored(|json| {
        json["cells"].as_array_mut().expect("cells").truncate(2);
        json["cells"][1]["cache"]["proved"] =
            json!(whole.result.cells[1].cache.proved != Some(true));
    });
    let changed = compare(&[whole.clone(), other]).expect("the same work").changes;
    let keys: Vec<_> = changed.iter().map(|change| change.key.as_str()).collect();
    let proved = format!("{} cache.proved", whole.result.cells[1].variant);
    assert_eq!(keys, [of_rows[0], of_rows[1], proved.as_str()]);
}
