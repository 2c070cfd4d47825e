//! `stress limit` as a user meets it, on loads that take no time.

use std::{fs, path::Path};

use serde_json::Value;

use crate::tool::{printed, stress, text};

/// Limits of two loads in memory.
const SMALL: [&str; 8] = [
    "limit",
    "transfers",
    "sload-storm",
    "--store=memory",
    "--slots=20k",
    "--set=state.accounts=1000",
    "--limits=1M,2M,4M",
    "--samples=2",
];

fn limits(more: &[&str], dir: &Path) -> Value {
    let args = [&SMALL[..], more, &["--format", "json"]].concat();
    serde_json::from_str(&printed(&args, dir)).unwrap()
}

/// Paths and contents of the results of runs below `out`.
fn runs(out: &Path) -> Vec<(String, Vec<u8>)> {
    let runs = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path());
    let results = runs.map(|path| path.join("cell-0000/result.json")).filter(|path| path.exists());
    let mut all: Vec<_> =
        results.map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect();
    all.sort();
    all
}

#[test]
fn fast_loads_are_above_all_limits_and_a_deadline_that_none_keeps_is_below_them() {
    let dir = tempfile::tempdir().unwrap();
    let fast = limits(&["--deadline=1h"], dir.path());
    assert_eq!((&fast["schema"], &fast["slot_count"]), (&"stress.limit/1".into(), &20_000.into()));
    let loads = fast["loads"].as_array().unwrap();
    assert_eq!(loads.len(), 2);
    for load in loads {
        let designs = load["designs"].as_array().unwrap();
        assert_eq!(designs.len(), 2, "{load}");
        for design in designs {
            let place = (&design["place"], &design["limit_gas"], &design["check"]);
            assert_eq!(place, (&"above".into(), &4_000_000.into(), &Value::Null), "{design}");
            assert_eq!(design["price_factor"], 50.0);
            let blocks = design["blocks"].as_array().unwrap();
            assert_eq!(blocks.len(), 3, "{design}");
            for block in blocks {
                assert_eq!(block["block_ns"].as_array().unwrap().len(), 2);
                assert!(block["header_gas"].as_u64() <= block["limit_gas"].as_u64(), "{block}");
            }
        }
        let is_storm = load["scenario"] == "sload-storm";
        let operation = if is_storm { "cold SLOAD" } else { "transaction" };
        assert_eq!(load["operation"], operation);
        let gas = load["gas_per_operation"].as_f64().unwrap();
        let expected = if is_storm { 2_100.0..2_300.0 } else { 10_000.0..30_000.0 };
        assert!(expected.contains(&gas), "{load}");
    }
    let answer = fast["answer"].as_str().unwrap();
    assert!(answer.starts_with("safe at 3600 s on 20k slots: > 4M in order ("), "{answer}");

    // The line of two limits that is far below the deadline leaves out all but the largest.
    let far = ["limit", "transfers", "--store=memory", "--limits=1M,2M,3M,4M", "--format=json"];
    let far = printed(&[&far[..], &["--deadline=1h", "--samples=2"]].concat(), dir.path());
    let far: Value = serde_json::from_str(&far).unwrap();
    let blocks = &far["loads"][0]["designs"][0]["blocks"];
    let tried = blocks.as_array().unwrap().iter().map(|block| block["limit_gas"].as_u64());
    assert_eq!(tried.collect::<Vec<_>>(), [1, 2, 4].map(|mgas| Some(mgas * 1_000_000)));

    // A limit that is refused, as the state has too few slots, is halved until it is not.
    let ended = ["limit", "sload-storm", "--store=memory", "--slots=20k", "--limits=1M,2M,100M"];
    let more = ["--format=json", "--deadline=1h", "--samples=2"];
    let ended: Value =
        serde_json::from_str(&printed(&[&ended[..], &more].concat(), dir.path())).unwrap();
    let load = &ended["loads"][0];
    assert!(load["ended"].as_str().unwrap().contains("distinct slots"), "{load}");
    let design = &load["designs"][0];
    let place = (&design["place"], &design["limit_gas"]);
    assert_eq!(place, (&"above".into(), &25_000_000.into()), "{design}");

    let slow = limits(&["--deadline=1ns"], dir.path());
    for design in slow["loads"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|load| load["designs"].as_array().unwrap())
    {
        assert_eq!((&design["place"], &design["limit_gas"]), (&"below".into(), &1_000_000.into()));
        assert_eq!(
            design["blocks"].as_array().unwrap().len(),
            2,
            "none is tried in vain: {design}"
        );
    }
    let answer = slow["answer"].as_str().unwrap();
    assert!(answer.contains("< 1M in order (") && answer.contains("< 1M with batched reads ("));
    assert!(!dir.path().join("limit").exists(), "runs that nobody asked for go");
}

#[test]
fn the_same_command_runs_only_what_is_missing_and_shows_the_same_limits() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("limits");
    let first = limits(&["--out=limits"], dir.path());
    let before = runs(&out);
    assert_eq!(before.len(), 6);
    let kept: Value = serde_json::from_slice(&fs::read(out.join("limit.json")).unwrap()).unwrap();
    assert_eq!(kept, first);
    let lost = Path::new(&before[3].0).parent().unwrap();
    fs::remove_dir_all(lost).unwrap();
    limits(&["--out=limits"], dir.path());
    let after = runs(&out);
    for (index, (before, after)) in before.iter().zip(&after).enumerate() {
        assert_eq!(before.0, after.0);
        assert_eq!(before.1 == after.1, index != 3, "{}", before.0);
    }
    // The table and Markdown are of the same runs.
    let table = printed(&[&SMALL[..], &["--out=limits"]].concat(), dir.path());
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let last = table.lines().rev().take(3).collect::<Vec<_>>();
    assert!(last.iter().any(|line| line.starts_with("safe at 3.00 s on 20k slots: ")), "{table}");
    for words in ["in order", "batched-io", "dearest operation", "for 200M"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let markdown = [&SMALL[..], &["--out=limits", "--format=markdown"]].concat();
    let markdown = printed(&markdown, dir.path());
    assert!(
        markdown.contains("| load | in order | batched-io | dearest operation |"),
        "{markdown}"
    );
    assert_eq!(runs(&out), after);
    assert_eq!(printed(&["report", "limits"], dir.path()), markdown);
    printed(&["report", "limits", "--out", "limits.html"], dir.path());
    let page = fs::read_to_string(dir.path().join("limits.html")).unwrap();
    assert!(page.contains("data-at=\"/loads/1/designs/1/limit_gas\""), "{page}");
    let refused = stress(&["report", "limits", "--out", "limits.csv"], dir.path());
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}

#[test]
fn a_state_on_disk_goes_with_its_load_and_one_from_before_stays() {
    let dir = tempfile::tempdir().unwrap();
    let states = || printed(&["state", "list"], dir.path()).lines().count();
    let on_disk = |scenario: &str| {
        let args = ["limit", scenario, "--store=flat", "--slots=20k", "--limits=2M,4M"];
        let more = ["--set=state.accounts=1000", "--samples=2", "--design=batched-io"];
        printed(&[&args[..], &more].concat(), dir.path())
    };
    let answer = on_disk("pointer-chase");
    assert!(answer.contains("which flatters it: --slots "), "{answer}");
    assert_eq!(states(), 0);
    // Without slots of the stated number, no other number would change anything.
    let answer = on_disk("compute");
    assert!(!answer.contains("flatters"), "{answer}");
    let run = ["sload-storm", "--store=flat", "--slots=20k", "--limit=1M", "--design=batched-io"];
    let same_state = ["--set=state.accounts=1000", "--samples=1", "--whole=one"];
    printed(&[&run[..], &same_state].concat(), dir.path());
    assert_eq!(states(), 1);
    on_disk("sload-storm");
    assert_eq!(states(), 1);
}

#[test]
fn bad_input_is_one_error_each_before_anything_runs() {
    let dir = tempfile::tempdir().unwrap();
    for (args, words) in [
        (&["--deadline=0s"][..], &["--deadline 0s", "longer duration"][..]),
        (&["--deadline=fast"], &["--deadline fast"]),
        (&["--target=0"], &["--target 0"]),
        (&["--target=200MB"], &["--target 200MB", "gas wants 200M"]),
        (&["--limits=20M"], &["--limits 20M", "two limits or more"]),
        (&["--limits=20M,x"], &["--limits x"]),
        (&["--limits=1,20M"], &["--limits 1"]),
        (&["pointer-chas"], &["pointer-chase"]),
        (&["--scenario", "erc20", "transfer"], &["transfers"]),
        (&["erc20", "--store=mdbx,memory"], &["--store mdbx,memory", "give one"]),
        (&["erc20", "--design=sequentail"], &["sequential"]),
        (&["erc20", "--set=run.databases=2"], &["run.databases = 2"]),
        (&["erc20", "--set=run.samplez=2"], &["run.samples"]),
    ] {
        let output = stress(&[&["limit"], args].concat(), dir.path());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert_eq!(error.matches("error").count(), 1, "{args:?}: {error}");
        let flat = error.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.iter().all(|word| flat.contains(word)), "{args:?}: {words:?}: {flat}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing was made");
}
