//! Results by name: a run saves one, a gate and a comparison take it, and a path of the same name
//! comes first.

use std::{fs, path::Path};

use serde_json::Value;

use crate::tool::{RUN, printed, stress, text};

/// One sample in order.
const HOW: [&str; 7] =
    ["--design", "sequential", "--threads", "1", "--samples", "1", "--whole=none"];
const SAVE: &str = "--save-baseline";

/// Saves a run under this name, and gives its standard error.
fn save(dir: &Path, name: &str, more: &[&str]) -> String {
    let output = stress(&[&RUN[..], &HOW, &[SAVE, name], more].concat(), dir);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stderr)
}

/// Runs, expects this exit code and these words in one error.
fn refused(dir: &Path, args: &[&str], code: i32, words: &[&str]) {
    let output = stress(args, dir);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
    assert_eq!(error.matches("error:").count(), 1, "{args:?}: {error}");
    for word in words {
        assert!(error.contains(word), "{args:?}: {word:?} is not in: {error}");
    }
}

#[test]
fn runs_of_one_build_add_up_to_a_baseline_and_other_work_takes_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    assert!(save(dir, "main", &[]).contains("baseline main: saved, in "));
    assert!(save(dir, "main", &[]).contains("baseline main: 2 results of this build; 6 decide"));
    // Removing all states leaves it where it is.
    printed(&["state", "rm", "--all"], dir);
    let list = printed(&["state", "baseline", "list"], dir);
    assert!(list.starts_with("main  2 results  ") && list.contains("  sload-storm 0x"), "{list}");
    // Six runs of another scenario are not thrown away by a slip, and nothing is sampled.
    let other = [&RUN[..], &HOW, &[SAVE, "main", "--seed", "9"]].concat();
    refused(dir, &other, 2, &["--save-baseline main", "of sload-storm (0x", "--force"]);
    assert!(printed(&["state", "baseline", "ls"], dir).starts_with("main  2 results  "));
    let said = save(dir, "main", &["--seed", "9", "--force"]);
    assert!(said.contains("saved, in place of 2 results of other work, in "), "{said}");
    assert!(printed(&["state", "baseline", "ls"], dir).starts_with("main  1 result  "));
    assert_eq!(printed(&["state", "baseline", "rm", "main"], dir), "removed main\n");
    assert_eq!(printed(&["state", "baseline", "list"], dir), "");
    refused(
        dir,
        &["state", "baseline", "rm", "main"],
        2,
        &["no baseline main in ", "--save-baseline"],
    );
}

#[test]
fn a_gate_and_a_comparison_take_a_name_and_a_path_comes_first() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    for _ in 0..2 {
        save(dir, "main", &[]);
    }
    let gate = |more: &[&str]| {
        let work = RUN.iter().skip(1).chain(&HOW).copied();
        let args: Vec<_> = ["gate", "--format", "json", "--baseline", "main"].into_iter().collect();
        let args: Vec<_> = args.into_iter().chain(work).chain(more.iter().copied()).collect();
        let output = stress(&args, dir);
        // Times are not judged; where time was stolen the verdict is another.
        let error = text(&output.stderr);
        assert!([Some(7), Some(5)].contains(&output.status.code()), "{error}");
        (serde_json::from_slice::<Value>(&output.stdout).unwrap(), error)
    };
    let (result, said) = gate(&[]);
    assert!(said.contains("main: the baseline in ") && said.contains("(2 results)"), "{said}");
    let compared = &result["gate"]["baseline"];
    assert_eq!(compared["process_counts"], serde_json::json!([1, 1]), "one against one");
    assert!(compared["path"].as_str().unwrap().contains("baselines/main/result-"), "{compared}");
    let rows = printed(&["compare", "main", "main", "--format", "json"], dir);
    let rows: Value = serde_json::from_str(&rows).unwrap();
    assert!(rows["results"][0]["path"].as_str().unwrap().contains("baselines/main/result-"));

    let other = ["gate", "--baseline", "main", "erc20", "--gas", "1M", "--store", "memory"];
    let words = ["--baseline main", "are of sload-storm (0x", "this run is of erc20 (0x"];
    refused(dir, &other, 2, &words);
    // Two processes have no interval of their times: no run is begun.
    let absolute = ["gate", "--baseline", "main", "--absolute", "sload-storm"];
    refused(dir, &absolute, 2, &["baselines/main is of 2"]);
    fs::create_dir(dir.join("main")).unwrap();
    let stored = dir.join("baselines/main/result.json");
    fs::copy(stored, dir.join("main/result.json")).unwrap();
    let (result, said) = gate(&[]);
    assert!(said.contains("main: a path here, and so not the baseline in "), "{said}");
    assert_eq!(result["gate"]["baseline"]["path"], "main");
}

#[test]
fn a_name_that_is_none_and_one_that_is_not_there_are_told_with_the_names_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    save(dir, "release-1.2", &[]);
    let words = ["cannot read mian", "no baseline of this name", "there are release-1.2"];
    refused(dir, &["compare", "mian", "release-1.2"], 2, &words);
    refused(dir, &["gate", "--baseline", "mian", "sload-storm"], 2, &words);
    refused(dir, &[&RUN[..], &HOW, &[SAVE, "a/b"]].concat(), 2, &["--save-baseline", "as in main"]);
    let gate = ["gate", "--against", "x", "sload-storm", "--save-baseline", "main"];
    refused(dir, &gate, 2, &["--save-baseline: `stress gate` saves no baseline"]);
    let calibrate = ["gate", "calibrate", "sload-storm", "--save-baseline", "main"];
    refused(dir, &calibrate, 2, &["--save-baseline"]);
    // A place that cannot be written is told before the run.
    fs::create_dir(dir.join("data")).unwrap();
    fs::write(dir.join("data/baselines"), "").unwrap();
    let args = [&RUN[..], &HOW, &[SAVE, "main", "--data-dir", "data"]].concat();
    refused(dir, &args, 6, &["cannot save a baseline in data/baselines"]);
}
