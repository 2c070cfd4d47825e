//! Results against stored ones: by counters, by ratios inside each run, between processes; and stored
//! results that are damaged or of other work.

use std::fs;

use serde_json::{Value, json};

use super::{Place, STRESS, WORK};

/// Runs the small work without whole rows, with these samples, into a directory of this name.
fn stored(place: &Place, name: &str, more: &[&str]) -> String {
    let out = place.path(name);
    let out = out.to_str().unwrap().to_owned();
    let alone = ["--out", &out, "--whole=none"];
    let args: Vec<_> = WORK.iter().chain(&alone).chain(more).copied().collect();
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
    let args: Vec<_> = work
        .iter()
        .copied()
        .chain(&["--out", base, "--whole=none"])
        .chain(&both)
        .copied()
        .collect();
    assert!(place.run(&args).status.success());
    let args: Vec<_> = ["gate", "--baseline", base, "--result", base, "--format", "json"].into();
    let output = place.run(&args);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let baseline = &result["gate"]["baseline"];
    assert_eq!(result["gate"]["mode"], "baseline");
    assert_eq!(baseline["ratios"].as_array().unwrap().len(), 1);
    assert_eq!(baseline["ratios"][0]["change"], 0.0);
    assert!(baseline["counter_count"].as_u64().unwrap() >= 10, "{baseline:#}");
    for time in baseline["times"].as_array().unwrap() {
        assert_eq!((&time["verdict"], &time["change"]), (&"not judged".into(), &0.0.into()));
    }
    assert_eq!(baseline["times"].as_array().unwrap().len(), 2);
    // The same file with one read more in it.
    let mut json: Value =
        serde_json::from_str(&fs::read_to_string(format!("{base}/result.json")).unwrap()).unwrap();
    for sample in json["cells"][0]["samples"].as_array_mut().unwrap() {
        let reads = sample["store_reads"].as_u64().unwrap();
        sample["store_reads"] = Value::from(reads + 1);
    }
    let changed = written(&place, "changed.json", &json);
    let changed = changed.as_str();
    let output = place.run(&["gate", "--baseline", base, "--result", changed, "--format", "json"]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), &result["gate"]["verdict"]),
        (Some(1), &"work changed".into())
    );
}

/// A file with this result; gives its path.
fn written(place: &Place, name: &str, result: &Value) -> String {
    let path = place.path(name);
    fs::write(&path, result.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_slows_all_variants_alike_is_not_passed() {
    let place = Place::new();
    let both = ["--threads", "1,2", "--samples", "6", "--set", "run.designs=parallel-io"];
    let work: Vec<_> = WORK.iter().filter(|w| !["--design", "sequential"].contains(w)).collect();
    let args = work.into_iter().chain(&["--whole=none", "--format", "json"]).chain(&both);
    let output = place.run(&args.copied().collect::<Vec<_>>());
    let mut json: Value = serde_json::from_slice(&output.stdout).unwrap();
    // A result as of an undisturbed machine.
    json["warnings"] = json!([]);
    let mut of_times = |name: &str, times: u64| {
        for cell in json["cells"].as_array_mut().unwrap() {
            for (number, sample) in (0..).zip(cell["samples"].as_array_mut().unwrap()) {
                sample["wall_ns"] = Value::from(times * (1_000_000 + number));
            }
        }
        written(&place, name, &json)
    };
    let (base, slow) = (of_times("base.json", 1), of_times("slow.json", 8));
    for (more, code) in [(&[][..], 7), (&["--strict"], 7), (&["--accept-not-judged"], 0)] {
        let stored = ["gate", "--baseline", &base, "--result", &slow, "--format", "json"];
        let output = place.run(&[&stored[..], more].concat());
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        let gate = &result["gate"];
        assert_eq!((output.status.code(), &gate["verdict"]), (Some(code), &"not judged".into()));
        assert_eq!(gate["exit_code"], code);
        let reason = gate["reason"].as_str().unwrap();
        for words in ["takes 8.00 times as long", "--against BINARY", "--absolute with 6"] {
            assert!(reason.contains(words), "{reason}");
        }
        // The accepted one is shown alike.
        let (stored, page) = (written(&place, "gate.json", &result), place.path("page.html"));
        let shown = ["report", &stored, "--force", "--out", page.to_str().unwrap()];
        assert!(place.run(&shown).status.success());
        let page = fs::read_to_string(page).unwrap();
        assert!(page.contains("Gate: not judged") && !page.contains("All is well"), "{page}");
    }
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
    let quiet = written(&place, "quiet.json", &json);
    let quiet = quiet.as_str();
    let args = ["gate", "--baseline", quiet, "--result", quiet, "--format", "json"];
    let output = place.run(&args);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(7), "{result:#}");
    assert_eq!(result["gate"]["verdict"], "not judged");
    let reason = result["gate"]["reason"].as_str().unwrap();
    assert!(reason.contains("no ratio inside a run of one variant"), "{reason}");
    let args = ["--baseline", &base, "--samples", "1", "--seed", "9"];
    place.refused(
        &args,
        2,
        &["the stored results are of sload-storm", "this run is of sload-storm"],
    );
    let args = ["--baseline", &base, "--samples", "1", "--set", "run.designs=parallel-io"];
    let args = [&["gate", "--scenario", "sload-storm", "--gas", "4M", "--slots", "20k"], &args[..]];
    let args = [&args.concat(), &["--store", "memory", "--set", "state.accounts=100"][..]].concat();
    place.refused_as(&args, 2, &["no variant is in all results of"]);
}

#[test]
fn too_few_samples_are_an_error_with_their_number() {
    let place = Place::new();
    let more = ["--design", "sequential,prewarm", "--threads", "1"];
    let work: Vec<_> = WORK.iter().filter(|w| !["--design", "sequential"].contains(w)).collect();
    let base = place.path("base");
    let base = base.to_str().unwrap();
    let args: Vec<_> = work.iter().copied().chain(&more).copied().collect();
    let run = [&args[..], &["--samples", "2", "--out", base]].concat();
    assert!(place.run(&run).status.success());
    let judged = [&["gate", "--baseline", base, "--samples", "3"][..], &args].concat();
    place.refused_as(&judged, 2, &["base has 2", "this run has 3", "six samples", "--samples 10"]);
}

#[test]
fn what_a_gate_would_ignore_is_refused() {
    let place = Place::new();
    let base = stored(&place, "base", &["--samples", "1"]);
    for option in ["--profile", "--trace"] {
        place.refused(&["--baseline", &base, option, "sequential"], 2, &[option, "stress"]);
        place.refused(&["--against", STRESS, option, "sequential"], 2, &[option]);
    }
    for [option, value] in [["--metric", "cpu"], ["--slot-time", "1ms"]] {
        place.refused(&["--baseline", &base, option, value], 2, &[option, "--baseline"]);
    }
    place.refused(&["--baseline", &base, "--rerun"], 2, &["--rerun", "--baseline"]);
    let stored = ["--baseline", &base, "--result", &base];
    place.refused(&stored, 2, &["--scenario", "--result", "nothing is run"]);
    let args = [&["gate"][..], &stored, &["--samples", "6"]].concat();
    place.refused_as(&args, 2, &["--samples 6", "nothing is run"]);
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
    // Two values have no interval on any machine: no run is begun.
    place.refused(&args, 2, &["base is of 2", "six runs into the baseline's directory"]);
    for _ in 2..6 {
        stored(&place, "base", &["--samples", "3"]);
    }
    place.refused(&[&args[..], &["--processes", "2"]].concat(), 2, &["base has 6", "has 2"]);
    let result = place.consistent(&args);
    let baseline = &result["gate"]["baseline"];
    assert_eq!(baseline["process_counts"], json!([6, 6]));
    assert_eq!(baseline["counter_changes"].as_array().unwrap().len(), 0);
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
    case(&whole[..whole.len() / 2], 6, &["damaged.json is not valid JSON (truncated?)"]);
    let other = whole.replace("stress.result/3", "stress.result/7");
    case(&other, 6, &["stress.result/7", "stress.result/3"]);
    case("{}", 6, &["has no `schema`"]);
    let wrong = whole.replacen("\"agree\": true", "\"agree\": false", 1);
    case(&wrong, 3, &["designs disagree"]);
    let missing = place.path("missing.json");
    let args = ["gate", "--baseline", missing.to_str().unwrap(), "--result", &base];
    place.refused_as(&args, 2, &["cannot read"]);
}
