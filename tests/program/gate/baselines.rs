//! Results against stored ones: by counters, by ratios inside each run, between processes; and stored
//! results that are damaged or of other work.

use std::fs;

use serde_json::{Value, json};

use super::{Place, WORK};

/// Runs the small work with these samples into a directory of this name.
fn stored(place: &Place, name: &str, more: &[&str]) -> String {
    let out = place.path(name);
    let out = out.to_str().unwrap().to_owned();
    let args: Vec<_> = WORK.iter().chain(&["--out", &out]).chain(more).copied().collect();
    let output = place.run(&args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    out
}

#[test]
fn a_stored_result_is_compared_by_counters_and_by_ratios_inside_each_run() {
    let place = Place::new();
    let both = ["--threads", "1,2", "--samples", "6", "--set", "run.designs=parallel-io"];
    // The option of the work would win.
    let work: Vec<_> = WORK.iter().filter(|w| !["--design", "sequential"].contains(w)).collect();
    let base = place.path("base");
    let base = base.to_str().unwrap();
    let args: Vec<_> = work.iter().copied().chain(&["--out", base]).chain(&both).copied().collect();
    assert!(place.run(&args).status.success());
    let args: Vec<_> = ["gate", "--baseline", base, "--result", base, "--format", "json"].into();
    let output = place.run(&args);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let baseline = &result["gate"]["baseline"];
    assert_eq!(result["gate"]["mode"], "baseline");
    assert_eq!(baseline["ratios"].as_array().unwrap().len(), 1);
    assert_eq!(baseline["ratios"][0]["change"], 0.0);
    assert!(baseline["counter_count"].as_u64().unwrap() >= 10, "{baseline:#}");
    assert_eq!(baseline["times"].as_array().unwrap().len(), 0);
    // The same file with one read more in it.
    let mut json: Value =
        serde_json::from_str(&fs::read_to_string(format!("{base}/result.json")).unwrap()).unwrap();
    for sample in json["cells"][0]["samples"].as_array_mut().unwrap() {
        let reads = sample["store_reads"].as_u64().unwrap();
        sample["store_reads"] = Value::from(reads + 1);
    }
    let changed = place.path("changed.json");
    fs::write(&changed, json.to_string()).unwrap();
    let changed = changed.to_str().unwrap();
    let output = place.run(&["gate", "--baseline", base, "--result", changed, "--format", "json"]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), &result["gate"]["verdict"]),
        (Some(1), &"work changed".into())
    );
}

#[test]
fn a_run_is_judged_against_a_stored_result_of_the_same_work_only() {
    let place = Place::new();
    let base = stored(&place, "base", &["--samples", "1"]);
    let result = place.consistent(&["--baseline", &base, "--samples", "1"]);
    let gate = &result["gate"];
    assert!(gate["baseline"]["counter_count"].as_u64().unwrap() >= 3, "{gate:#}");
    assert_eq!(gate["baseline"]["counter_changes"].as_array().unwrap().len(), 0);
    // One variant, one sample, on a machine that nothing disturbs: nothing to judge.
    let mut json: Value =
        serde_json::from_str(&fs::read_to_string(format!("{base}/result.json")).unwrap()).unwrap();
    json["warnings"] = Value::Array(Vec::new());
    let quiet = place.path("quiet.json");
    fs::write(&quiet, json.to_string()).unwrap();
    let quiet = quiet.to_str().unwrap();
    for (more, expected) in [(&[][..], 0), (&["--strict"][..], 4)] {
        let args = [&["gate", "--baseline", quiet, "--result", quiet, "--format", "json"], more];
        let output = place.run(&args.concat());
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(expected), "{result:#}");
        assert_eq!(result["gate"]["verdict"], "inconclusive");
    }
    let args = ["--baseline", &base, "--samples", "1", "--seed", "9"];
    place.refused(&args, 2, &["different work"]);
    let args = ["--baseline", &base, "--samples", "1", "--set", "run.designs=parallel-io"];
    let args = [&["gate", "--scenario", "sload-storm", "--gas", "4M", "--slots", "20k"], &args[..]];
    let args = [&args.concat(), &["--store", "memory", "--set", "state.accounts=100"][..]].concat();
    place.refused_as(&args, 2, &["have no variant in common"]);
}

#[test]
fn times_are_judged_between_processes_and_each_is_one_value() {
    let place = Place::new();
    let base = place.path("base");
    let base = base.to_str().unwrap();
    for _ in 0..2 {
        stored(&place, "base", &["--samples", "3"]);
    }
    let args = ["--baseline", base, "--absolute", "--samples", "3"];
    let result = place.consistent(&[&args[..], &["--processes", "2"]].concat());
    let baseline = &result["gate"]["baseline"];
    assert_eq!(baseline["process_counts"], json!([2, 2]));
    assert_eq!(baseline["counter_changes"].as_array().unwrap().len(), 0);
    // Two values have no interval, whatever the machine does.
    for time in baseline["times"].as_array().unwrap() {
        assert_eq!((&time["verdict"], &time["change"]), (&"inconclusive".into(), &Value::Null));
    }
    place.refused(&[&args[..], &["--processes", "0"]].concat(), 2, &["--processes 0"]);
}

#[test]
fn a_damaged_baseline_is_one_clear_error() {
    let place = Place::new();
    let base = stored(&place, "base", &["--samples", "1"]);
    let whole = fs::read_to_string(format!("{base}/result.json")).unwrap();
    let case = |text: &str, code: i32, words: &[&str]| {
        let path = place.path("damaged.json");
        fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        place.refused_as(&["gate", "--baseline", path, "--result", &base], code, words);
    };
    case(&whole[..whole.len() / 2], 6, &["damaged.json is no whole JSON"]);
    let other = whole.replace("stress.result/1", "stress.result/7");
    case(&other, 6, &["stress.result/7", "stress.result/1"]);
    case("{}", 6, &["has no `schema`"]);
    let wrong = whole.replacen("\"agree\": true", "\"agree\": false", 1);
    case(&wrong, 3, &["designs disagree"]);
    let missing = place.path("missing.json");
    let args = ["gate", "--baseline", missing.to_str().unwrap(), "--result", &base];
    place.refused_as(&args, 6, &["cannot read"]);
}
