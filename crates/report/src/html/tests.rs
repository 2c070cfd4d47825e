//! The page is compared with the results that it is made of, read back element by element.

use serde_json::{Value, json};

#[path = "../../../../tests/common/page.rs"]
mod read;

use super::page;
use read::{Element, compared, elements};
use result::{example, json, stored::Untyped as Stored};

fn result(change: impl FnOnce(&mut Value)) -> Stored {
    let text = json(&example::sampled(8));
    let mut json: Value = serde_json::from_str(&text).unwrap();
    change(&mut json);
    Stored::new("r.json".into(), json)
}

fn jsons(results: &[Stored]) -> Vec<Value> {
    results.iter().map(|stored| stored.json.clone()).collect()
}

fn ids(elements: &[Element]) -> Vec<&str> {
    elements.iter().map(|element| element.get("id")).filter(|id| !id.is_empty()).collect()
}

/// Results of a sweep over gas and threads.
fn sweep() -> Vec<Stored> {
    let mut results = Vec::new();
    for gas in [64_000_000_u64, 640_000_000] {
        for io_threads in [4_u64, 16, 64] {
            results.push(result(|json| {
                json["workload"]["gas"] = json!(gas);
                json["workload"]["digest"] = json!(format!("0x{gas}"));
                let mut cell = json["cells"][4].clone();
                cell["io_threads"] = json!(io_threads);
                cell["variant"] = json!(format!("rocksdb/batched-io/bal+batched@2+{io_threads}io"));
                let speed = io_threads as f64 * 3.5 + gas as f64 / 1e8;
                cell["mgas_per_s"]["median"] = json!(speed);
                json["cells"] = json!([cell]);
            }));
        }
    }
    results
}

#[test]
fn every_number_is_the_one_of_its_result_and_every_cell_is_there() {
    let results = [result(|_| ())];
    let elements = elements(&page(&results));
    let places = compared(&elements, &jsons(&results));
    let has = |at: &str| places.iter().any(|(_, place)| place == at);
    for cell in 0..5 {
        for key in [
            "mgas_per_s/median",
            "mgas_per_s/ci95/0",
            "mgas_per_s/ci95/1",
            "ms_per_batch/median",
            "ms_per_batch/ci95/1",
            "tx_latency_ns/p50",
            "read_latency_ns/p50",
            "read_latency_ns/p99",
            "read_latency_ns/max",
            "device_fraction",
            "samples/*/phases_ns/execute",
            "samples/*/wall_ns",
        ] {
            let at = format!("/cells/{cell}/{key}");
            assert!(has(&at), "{at} is not on the page");
        }
    }
    for at in ["/workload/bal/batched_io_bytes", "/device/ceiling_iops", "/workload/gas"] {
        assert!(has(at), "{at} is not on the page");
    }
    let sections = [
        "verdict",
        "throughput",
        "tx-latency",
        "read-latency",
        "threads",
        "io-threads",
        "phases",
        "list-size",
        "warnings",
        "environment",
        "results",
    ];
    let ids = ids(&elements);
    for section in sections {
        assert!(ids.contains(&section), "{section} is not in {ids:?}");
    }
}

#[test]
fn each_database_is_one_value_of_a_phase_however_many_samples_it_has() {
    let results = [result(|json| {
        let counts = [4_usize, 2, 2];
        json["databases"] =
            counts.iter().enumerate().map(|(n, _)| json!({ "workload": { "seed": n } })).collect();
        for cell in json["cells"].as_array_mut().unwrap() {
            let of = |(n, count): (usize, &usize)| json!({ "seed": n, "sample_count": count });
            cell["databases"] =
                json!({ "each": counts.iter().enumerate().map(of).collect::<Vec<_>>() });
            let walls = [1, 1, 1, 1, 3, 3, 5, 5];
            for (sample, wall) in cell["samples"].as_array_mut().unwrap().iter_mut().zip(walls) {
                sample["wall_ns"] = json!(wall * 1_000_000);
            }
        }
    })];
    let elements = elements(&page(&results));
    compared(&elements, &jsons(&results));
    let shown = elements.iter().find(|one| one.get("data-at") == "/cells/0/samples/*/wall_ns");
    assert_eq!(shown.unwrap().get("data-value"), "3000000");
}

#[test]
fn a_number_that_is_not_the_results_is_found() {
    let results = [result(|_| ())];
    let html = page(&results);
    let shown = "data-value=\"290912\"";
    assert!(html.contains(shown));
    let elements = elements(&html.replacen(shown, "data-value=\"290913\"", 1));
    let compared = std::panic::catch_unwind(|| compared(&elements, &jsons(&results)));
    assert!(compared.is_err());
}

#[test]
fn a_sweep_has_heat_maps_and_lines_over_its_results() {
    let results = sweep();
    let html = page(&results);
    let elements = elements(&html);
    compared(&elements, &jsons(&results));
    assert!(ids(&elements).contains(&"heat"), "{:?}", ids(&elements));
    assert!(ids(&elements).contains(&"io-threads"), "{:?}", ids(&elements));
    let fields: Vec<&Element> =
        elements.iter().filter(|element| element.get("class").starts_with("field")).collect();
    assert_eq!(fields.len(), 6);
    let best: Vec<_> = fields.iter().filter(|field| field.get("class").contains("best")).collect();
    assert_eq!(best.len(), 1);
    assert!(best[0].get("title").ends_with("+64io"), "{best:?}");
}

/// Cells of a sweep over two keys that a result does not show; each changes the work a little, as
/// gas and digest tell.
fn swept(more: impl Fn(&mut Value)) -> Vec<Stored> {
    let mut cells = Vec::new();
    for (a, share) in ["0.9", "1e-1", "0.5"].into_iter().enumerate() {
        for (b, size) in ["64MiB", "2GiB", "512B"].into_iter().enumerate() {
            let stored = result(|json| {
                let number = 10 * a + b;
                json["workload"]["gas"] = json!(64_000_000 + number);
                json["workload"]["digest"] = json!(format!("0x{number}"));
                let mut cell = json["cells"][4].clone();
                cell["mgas_per_s"]["median"] = json!(100 + number);
                json["cells"] = json!([cell]);
                more(json);
            });
            let keys = [("load.home", share), ("run.rocksdb.block_cache", size)];
            let keys = keys.map(|(key, value)| (key.to_owned(), value.to_owned()));
            cells.push(stored.with_swept(keys.into_iter().collect()));
        }
    }
    cells
}

#[test]
fn keys_that_were_swept_are_axes_whatever_else_follows_from_them() {
    let cells = swept(|_| ());
    let html = page(&cells);
    let elements = elements(&html);
    compared(&elements, &jsons(&cells));
    let fields = |elements: &[Element]| {
        elements.iter().filter(|of| of.get("class").starts_with("field")).count()
    };
    assert_eq!(fields(&elements), 9, "{:?}", ids(&elements));
    for key in ["load.home", "run.rocksdb.block_cache"] {
        assert!(html.contains(&format!("<em>{key}</em>")), "{key}");
    }
    // Values stand in the order of what they count.
    let places = ["512B", "64MiB", "2GiB"].map(|size| html.find(&format!(">{size}</th>")).unwrap());
    assert!(places.is_sorted(), "{places:?}");
    // Without the sweep nothing tells which setting is which: no map.
    let plain = cells.iter().map(|cell| Stored::new(cell.path.clone(), cell.json.clone()));
    let plain: Vec<_> = plain.collect();
    assert_eq!(fields(&self::elements(&page(&plain))), 0);
    // What does not follow from the swept keys still tells rows apart: two maps.
    let mut both = cells;
    both.extend(swept(|json| json["workload"]["fork"] = json!("osaka")));
    let html = page(&both);
    assert_eq!(fields(&self::elements(&html)), 18);
    assert!(html.contains("fork osaka"), "{html}");
}

#[test]
fn a_page_asks_for_nothing_and_runs_nothing() {
    let mut all = vec![result(|json| json["profile"] = profile())];
    all.extend(sweep());
    let html = page(&all);
    for word in ["http:", "https:", "<script", "@import", "url(", "<iframe", "<object", " on"] {
        let found =
            html.match_indices(word).find(|(at, _)| word != " on" || is_handler(&html[*at..]));
        assert!(found.is_none(), "{word}");
    }
    for element in elements(&html) {
        assert!(element.get("src").is_empty(), "{element:?}");
        let link = element.get("href");
        assert!(link.is_empty() || link.starts_with('#') || link == "data:,", "{link}");
    }
}

/// ` onclick=`
fn is_handler(text: &str) -> bool {
    let word = text.trim_start().split([' ', '>', '\n']).next().unwrap_or_default();
    word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_lowercase()))
}

#[test]
fn text_of_a_result_stays_text() {
    let evil = "</style></title><script>alert(1)</script>\" onload='x' &amp; \u{1b}[31m";
    let results = [
        result(|json| {
            json["workload"]["scenario"] = json!(evil);
            json["conclusion"] = json!(evil);
            json["warnings"] = json!([evil]);
            json["command"] = json!([evil]);
            json["cells"][0]["variant"] = json!(evil);
            json["cells"][0]["design"] = json!(evil);
            json["environment"]["cpu"]["model"] = json!(evil);
            json["expects"]["claims"][0]["metric"] = json!(evil);
            json["stores"][0]["facts"][evil] = json!(evil);
            json["profile"] = profile();
            json["profile"]["frames"][0]["name"] = json!(evil);
        }),
        result(|json| {
            json["agree"] = json!(false);
            json["disagreements"] = json!([evil]);
        }),
    ];
    let html = page(&results);
    assert!(!html.contains("<script"));
    assert!(!html.contains('\u{1b}'));
    let elements = elements(&html);
    assert!(elements.iter().all(|element| element.get("onload").is_empty()));
}

#[test]
fn of_designs_that_disagree_no_figure_is_shown() {
    for change in [
        |json: &mut Value| json["agree"] = json!(false),
        |json: &mut Value| json["cells"][1]["samples"][3]["agree"] = json!(false),
    ] {
        let results = [result(change), result(|_| ())];
        let html = page(&results);
        assert!(html.contains("class=\"verdict bad\""));
        let places = compared(&elements(&html), &jsons(&results));
        let figures = places.iter().filter(|(result, at)| *result == 0 && at.starts_with("/cells"));
        assert_eq!(figures.count(), 0);
        assert!(places.iter().any(|(result, at)| *result == 1 && at.starts_with("/cells")));
    }
}

#[test]
fn the_verdict_says_what_is_worst() {
    let fails = |json: &mut Value| {
        json["expects"]["status"] = json!("fails");
        json["expects"]["claims"][0]["verdict"] = json!("fails");
    };
    let gate = |json: &mut Value| json["gate"] = json!({ "verdict": "regression" });
    for (html, class, words) in [
        (page(&[result(|_| ())]), "good", "All designs agree"),
        (page(&[result(fails)]), "bad", "Claim fails: bal_bytes(batched-io)"),
        (page(&[result(gate)]), "bad", "Gate: regression"),
        (page(&[result(|json| json["interrupted"] = json!(true))]), "open", "Interrupted"),
    ] {
        assert!(html.contains(&format!("class=\"verdict {class}\"")), "{class}");
        assert!(html.contains(words), "{words}");
    }
}

#[test]
fn whoever_cannot_see_has_the_same() {
    let html = page(&sweep());
    let elements = elements(&html);
    for mark in elements.iter().filter(|element| element.get("role") == "img") {
        assert_eq!(mark.get("tabindex"), "0", "{mark:?}");
        assert!(mark.get("aria-label").len() > 10, "{mark:?}");
        assert!(!mark.get("data-at").is_empty(), "{mark:?}");
    }
    assert!(elements.iter().any(|element| element.get("role") == "img"));
    let ids = ids(&elements);
    let unique: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "{ids:?}");
    for element in &elements {
        let by = element.get("aria-labelledby");
        assert!(by.is_empty() || ids.contains(&by), "{by}");
        if let Some(id) = element.get("href").strip_prefix('#') {
            assert!(ids.contains(&id), "{id}");
        }
    }
    // Each number that a mark has stands in a table, too.
    let marks = elements.iter().filter(|element| element.get("role") == "img");
    let told: Vec<_> = elements.iter().filter(|element| element.name == "data").collect();
    for mark in marks {
        let same = |data: &&&Element| {
            ["data-at", "data-result"].iter().all(|key| data.get(key) == mark.get(key))
        };
        assert!(told.iter().find(same).is_some_and(|data| !data.text.is_empty()), "{mark:?}");
    }
}

#[test]
fn a_result_of_nothing_is_a_page_all_the_same() {
    for json in
        [json!({}), json!({ "agree": null, "cells": [] }), json!({ "agree": true, "cells": [{}] })]
    {
        let results = [Stored::new("empty.json".into(), json)];
        compared(&elements(&page(&results)), &jsons(&results));
    }
}

#[test]
fn a_gates_own_result_has_its_verdict_and_each_figure_that_it_judged() {
    let look =
        |lower: f64| json!({ "octet_count": 6, "change": 0.051, "lower": lower, "upper": 0.07 });
    let figure =
        json!({ "metric": "wall", "verdict": "regression", "looks": [look(0.01), look(0.04)] });
    let shift =
        json!({ "variant": "b", "verdict": "pass", "change": 0.0, "lower": null, "upper": 0.01 });
    let json = json!({
        "schema": "stress.gate/1",
        "gate": {
            "verdict": "regression",
            "reason": "a <b> takes longer",
            "delta": 0.03,
            "attempts": [{ "cells": [{
                "variant": "memory/none/a@1",
                "figures": [figure],
                "counter_changes": ["store_reads: 5 → 6"],
            }] }],
            "baseline": { "ratios": [shift], "times": [] },
        },
    });
    let results = [Stored::new("gate.json".into(), json)];
    let html = page(&results);
    let elements = elements(&html);
    let places = compared(&elements, &jsons(&results));
    assert!(
        html.contains("class=\"verdict bad\"") && html.contains("Gate: regression: a &lt;b&gt;")
    );
    assert!(!html.contains("Nothing was compared"));
    for at in ["/gate/attempts/0/cells/0/figures/0/looks/1/lower", "/gate/baseline/ratios/0/upper"]
    {
        assert!(places.iter().any(|(_, place)| place == at), "{at}: {places:?}");
    }
    assert!(html.contains("store_reads: 5 → 6") && html.contains("+5.1 %"));
}

fn profile() -> Value {
    json!({
        "variant": "rocksdb/none/sequential+on-demand@1",
        "sample_count": 3,
        "stack_count": 1_000,
        "outside_count": 12,
        "flame_graph": "flame-graph-1.svg",
        "frames": [{ "name": "executor::engine::run", "self_share": 0.25, "total_share": 0.75 }],
    })
}

#[test]
fn a_profile_names_its_functions_and_its_flame_graph() {
    let results = [result(|json| json["profile"] = profile())];
    let html = page(&results);
    let places = compared(&elements(&html), &jsons(&results));
    assert!(places.iter().any(|(_, at)| at == "/profile/frames/0/self_share"));
    assert!(html.contains("flame-graph-1.svg") && html.contains("executor::engine::run"));
}
