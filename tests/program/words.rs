//! The command line as users type it: words that may be left out, errors of slips, usage lines, and
//! directories in the place of files.

use std::{fs, path::Path, process::Command};

use crate::{
    machine,
    tool::{printed, stress, text},
};

const TINY: [&str; 12] = [
    "--gas",
    "1M",
    "--slots",
    "10k",
    "--store",
    "memory",
    "--design",
    "sequential",
    "--threads",
    "1",
    "--samples",
    "1",
];

/// Runs, expects exit code 2 and these words in one error.
fn refused(args: &[&str], dir: &Path, words: &[&str]) {
    let output = stress(args, dir);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    assert_eq!(error.matches("error:").count(), 1, "{args:?}: {error}");
    for word in words {
        assert!(error.contains(word), "{args:?}: {word:?} is not in: {error}");
    }
}

/// `args` with those of the tiny run.
fn tiny<'a>(args: &[&'a str]) -> Vec<&'a str> {
    args.iter().copied().chain(TINY).collect()
}

#[test]
fn a_scenario_or_a_workload_file_is_named_alone_or_after_run() {
    let dir = tempfile::tempdir().unwrap();
    printed(&["generate", "new", "mine"], dir.path());
    for named in [&["mine.toml"][..], &["run", "mine.toml"], &["run", "--scenario", "mine.toml"]] {
        let page = printed(&tiny(named), dir.path());
        assert!(page.contains("mine on amsterdam"), "{page}");
    }
    let work = ["generate", "sload-storm", "--gas", "1M", "--slots", "10k", "-o", "a.workload"];
    printed(&work, dir.path());
    let page = printed(&["a.workload", "--store", "memory", "--samples", "1"], dir.path());
    assert!(page.contains("sload-storm on amsterdam"), "{page}");
}

#[test]
fn a_slip_of_the_command_line_is_told_what_to_write() {
    let dir = tempfile::tempdir().unwrap();
    let storm = ["--scenario", "sload-storm"];
    let run = |more: &[&str], words: &[&str]| refused(&[&storm, more].concat(), dir.path(), words);
    run(&["--store", "rocksdb", "mdbx"], &["mdbx", "a comma", "--store rocksdb,mdbx"]);
    run(&["--threads", "1", "2"], &["a comma"]);
    run(&["erc20"], &["erc20: sload-storm is named already"]);
    refused(&["--workload", "x.toml"], dir.path(), &["write --scenario x.toml"]);
    refused(&["--scenario", "x.workload"], dir.path(), &["write --workload x.workload"]);
    refused(&["validate", "x.workload"], dir.path(), &["stress describe --workload x.workload"]);
    fs::write(dir.path().join("x.bin"), "stresswl").unwrap();
    refused(&["validate", "./x.bin"], dir.path(), &["a workload file", "write --workload ./x.bin"]);
    fs::write(dir.path().join("x.json"), "\n{\"schema\": \"stress.run/1\"}").unwrap();
    refused(&["validate", "./x.json"], dir.path(), &["this is JSON", "`stress report ./x.json`"]);
    fs::write(dir.path().join("y.bin"), "schema = 1").unwrap();
    let output = stress(&["--workload", "y.bin"], dir.path());
    assert!(text(&output.stderr).contains("y.bin: this is no workload file"));
    run(&["--gas", "-5"], &["--gas -5"]);
    let quoted =
        ["validate", "sload-storm", "--set", "run.root=\"after\"", "--set", "run.trie=cut"];
    printed(&quoted, dir.path());
    refused(&["--worker", "--set", "nonsense.key=1"], dir.path(), &["--set: a worker is told"]);
    for (format, tip) in [
        ("--html", "the ending of --out says the format: --out sweep.html"),
        ("--csv", "the ending of --out says the format: --out sweep.csv"),
        ("--md", "the ending of --out says the format: --out sweep.md"),
        ("--json", "--format bigger-is-better --out sweep.json"),
    ] {
        let file = tip.rsplit(' ').next().unwrap();
        refused(&["report", "sw", format, file], dir.path(), &[format, tip]);
    }
    for verb in ["validate", "show", "describe"] {
        refused(&[verb], dir.path(), &["NAME|FILE"]);
        refused(&[verb, "sload-storm", "--store", "lmdb"], dir.path(), &["--store lmdb"]);
    }
}

#[test]
fn a_misspelt_verb_or_scenario_is_one_error_with_the_nearest_one() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = ["sweeep", "--scenario", "sload-storm", "threads=1,2", "--merge", "x"];
    for (args, tip) in [
        (&["lst"][..], "did you mean `stress list`?"),
        (&sweep, "did you mean `stress sweep`?"),
        (&["gaet", "--help"], "did you mean `stress gate`?"),
        (&["sload-strom", "--quick"], "did you mean the scenario sload-storm?"),
        (&["--scenario", "sload-strom"], "did you mean sload-storm?"),
        (&["state", "lst"], "list"),
        (&["nothing-like-it"], "`stress list` shows all"),
        (&["--scenario", "erc-20"], "did you mean erc20 or erc721?"),
    ] {
        refused(args, dir.path(), &[tip]);
    }
    assert_eq!(printed(&["ls"], dir.path()), printed(&["list"], dir.path()));
    assert_eq!(printed(&["state", "ls"], dir.path()), printed(&["state", "list"], dir.path()));
}

#[test]
fn a_usage_line_is_the_same_with_the_data_directory_in_the_environment_and_without() {
    let dir = tempfile::tempdir().unwrap();
    let storm = ["--scenario", "sload-storm"];
    for (args, usage) in [
        (&["compare"][..], "Usage: stress compare <RESULT|NAME>..."),
        (&["state", "baseline", "rm"], "Usage: stress state baseline rm <NAME>..."),
        (&[storm[0], storm[1], "--workload", "x"], "Usage: stress --scenario <NAME|FILE>"),
        (&["sweep", "--merge", "x", "--cell", "1"], "Usage: stress sweep --merge <DIR>"),
    ] {
        let error = |command: &mut Command| {
            let output = machine::output(command.args(args).env("COLUMNS", "80"));
            assert_eq!(output.status.code(), Some(2), "{args:?}");
            text(&output.stderr)
        };
        let program = || machine::program();
        let with = error(program().env("STRESS_DATA_DIR", dir.path()));
        assert_eq!(with, error(program().env_remove("STRESS_DATA_DIR")), "{args:?}");
        assert!(with.contains(usage) && !with.contains("--data-dir"), "{with}");
    }
    // A wrong value of the environment is an error all the same.
    fs::write(dir.path().join("file"), "").unwrap();
    let mut list = machine::program();
    let list = list.args(["state", "list"]).env("STRESS_DATA_DIR", dir.path().join("file"));
    let output = machine::output(list);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("file is a file; name a directory"));
}

#[test]
fn the_data_directory_is_named_before_or_after_the_verb_of_a_verb() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("elsewhere").display().to_string();
    for args in [
        &["state", "--data-dir", &path, "list"][..],
        &["state", "list", "--data-dir", &path],
        &["state", "--data-dir", &path, "baseline", "list"],
        &["state", "baseline", "--data-dir", &path, "list"],
        &["state", "baseline", "list", "--data-dir", &path],
    ] {
        let output = stress(args, dir.path());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {told}");
        assert!(told.contains(&path), "{args:?}: {told}");
    }
}

#[test]
fn help_has_examples_before_its_options_and_fits_80_columns() {
    let dir = tempfile::tempdir().unwrap();
    for args in [&["--help"][..], &["-h"], &["run", "--help"], &["help", "run"]] {
        let help = printed(args, dir.path());
        let place = |words: &str| help.find(words).unwrap_or_else(|| panic!("{words}: {help}"));
        let examples = place("stress --scenario sload-storm --quick ");
        assert!(place("Usage:") < examples && examples < place("--gas <GAS>"), "{help}");
        let before: Vec<&str> = help[..place("--gas <GAS>")].lines().collect();
        assert!(before.iter().all(|line| line.chars().count() <= 80), "{help}");
    }
    // Verbs that have these options among others keep to their own examples.
    let gate = printed(&["gate", "--help"], dir.path());
    assert!(!gate.contains("First examples"), "{gate}");
}

#[test]
fn a_sweep_names_its_work_as_a_run_does_and_has_its_errors() {
    let dir = tempfile::tempdir().unwrap();
    printed(&["generate", "new", "mine"], dir.path());
    let list = |args: &[&str]| printed(&[&["sweep", "--list"], args].concat(), dir.path());
    let by_option = list(&["--scenario", "./mine.toml", "seed=1,2"]);
    assert_eq!(by_option.lines().count(), 2, "{by_option}");
    assert_eq!(list(&["mine.toml", "seed=1,2"]), by_option);
    assert_eq!(list(&["seed=1,2", "mine.toml"]), by_option);
    for (args, words) in [
        (&["mine.toml"][..], "no axis is given"),
        (&["mine.toml", "seed=1,2"], "--out DIR is missing"),
        (&["seed=1,2"], "nothing to run: name a scenario, as in `stress sweep --scenario"),
        (&["erc20", "mine.toml", "seed=1,2"], "mine.toml: erc20 is named already"),
        (&["--scenario=erc20", "mine.toml", "seed=1,2"], "mine.toml: erc20 is named already"),
        (&["x.workload", "seed=1,2"], "this is a workload file"),
        (&["erc-20", "seed=1,2", "--list"], "did you mean erc20 or erc721?"),
        (&["erc20", "seed=1,2", "mdbx", "--list"], "a comma"),
        (&["erc20", "threads", "--list"], "a key and its values are wanted"),
    ] {
        let args = [&["sweep"], args].concat();
        let output = stress(&args, dir.path());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(words) && !error.contains("--data-dir"), "{args:?}: {error}");
    }
}

#[test]
fn validate_show_and_describe_take_the_same_words() {
    let dir = tempfile::tempdir().unwrap();
    printed(&["generate", "new", "mine"], dir.path());
    for scenario in [&["sload-storm"][..], &["--scenario", "sload-storm"], &["mine.toml"]] {
        for verb in ["validate", "show", "describe"] {
            printed(&tiny(&[&[verb], scenario].concat()), dir.path());
        }
    }
    let shown = printed(&["show", "sload-storm", "--quick"], dir.path());
    assert!(shown.contains("slots = 1_000_000"), "{shown}");
}

#[test]
fn validate_says_first_whether_a_file_is_valid_and_then_its_checks() {
    let dir = tempfile::tempdir().unwrap();
    printed(&["generate", "new", "mine"], dir.path());
    let valid = printed(&["validate", "mine.toml"], dir.path());
    let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    assert_eq!(first(&valid), "mine.toml is valid");
    assert!(valid.contains("checked: every key") && valid.contains("nothing was run"), "{valid}");
    let path = dir.path().join("mine.toml");
    let scenario = fs::read_to_string(&path).unwrap();
    fs::write(&path, scenario.replacen("[block]", "[block]\ngass = 1", 1)).unwrap();
    let error = |args: &[&str]| {
        let output = stress(args, dir.path());
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()));
        text(&output.stderr)
    };
    let wrong = error(&["validate", "mine.toml"]);
    assert_eq!(first(&wrong), "mine.toml is NOT valid", "{wrong}");
    assert!(wrong.contains("error: block.gass: no such key") && wrong.contains("--> "), "{wrong}");
    // The file is not to blame for a wrong option, nor for a name that is none.
    let option = error(&["validate", "sload-storm", "--store", "lmdb"]);
    assert!(first(&option).starts_with("error: "), "{option}");
    let name = error(&["validate", "mine"]);
    assert!(name.contains("error: mine names no shipped scenario, and a file is named"), "{name}");
    assert!(name.contains("= help: write mine.toml"), "{name}");
}

#[test]
fn a_claim_that_no_run_judges_is_warned_of() {
    let dir = tempfile::tempdir().unwrap();
    printed(&["generate", "new", "mine"], dir.path());
    let path = dir.path().join("mine.toml");
    let mut scenario = fs::read_to_string(&path).unwrap();
    scenario.push_str("\n[[expect]]\nmetric = \"mgas_per_s(full)\"\nmin = 1\n");
    fs::write(&path, scenario).unwrap();
    let output = stress(&["validate", "mine.toml", "--design", "sequential"], dir.path());
    let warned = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{warned}");
    for words in ["warning: the claim on mgas_per_s(full)", "--design sequential,full"] {
        assert!(warned.contains(words), "{warned}");
    }
}

#[test]
fn the_newest_of_several_runs_in_a_directory_is_reported_and_compared() {
    let dir = tempfile::tempdir().unwrap();
    let run = |design: &str| {
        let args = tiny(&["sload-storm", "--out", "out"]);
        let args: Vec<_> =
            args.iter().map(|word| if *word == "sequential" { design } else { word }).collect();
        printed(&args, dir.path());
    };
    run("sequential");
    run("prewarm");
    let csv = printed(&["report", "out", "--format", "csv"], dir.path());
    assert!(csv.contains("prewarm") && !csv.contains("none/sequential"), "{csv}");
    let compared = printed(&["compare", "out", "out/result.json", "--format", "json"], dir.path());
    let compared: serde_json::Value = serde_json::from_str(&compared).unwrap();
    let first = compared["results"][0]["path"].as_str().unwrap();
    assert!(first.starts_with("out/result-"), "{first}");
    let both = format!("`stress compare {first} out/result.json` compares two of out");
    refused(&["compare", "out"], dir.path(), &[&both]);
}

#[test]
fn a_comparison_of_rows_without_counterparts_says_which_setting_parts_them() {
    let dir = tempfile::tempdir().unwrap();
    let work =
        ["sload-storm", "--gas", "1M", "--slots", "10k", "--store", "memory", "--whole=none"];
    let how = ["--design", "batched-io", "--threads", "1", "--samples", "1"];
    for (out, io_threads) in [("a", "1"), ("b", "2")] {
        let own = ["--out", out, "--io-threads", io_threads];
        printed(&[&work[..], &how, &own].concat(), dir.path());
    }
    let page = printed(&["compare", "a", "b"], dir.path());
    assert!(page.contains("\nchanged  run.io_threads: 1 → 2\n"), "{page}");
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let note = "no variant of batched-io is in both A and B: their io_threads differ (1 in A; 2 in B); \
                run both with --io-threads 1 ";
    assert!(words.contains(note), "{page}");
}

#[test]
fn reports_and_comparisons_take_every_directory_that_the_tool_wrote() {
    let dir = tempfile::tempdir().unwrap();
    let work = ["--scenario", "sload-storm", "--gas", "1M", "--slots", "10k", "--store", "memory"];
    let how = ["--design", "parallel-io", "--samples", "1", "threads=1,2", "--out", "sweep"];
    printed(&[&["sweep"][..], &work, &how].concat(), dir.path());
    let compared = printed(&["compare", "sweep", "--format", "json"], dir.path());
    let compared: serde_json::Value = serde_json::from_str(&compared).unwrap();
    assert_eq!(compared["results"].as_array().unwrap().len(), 2);
    let stored = ["--baseline", "sweep/cell-0000", "--result", "sweep/cell-0000/result.json"];
    let gate = stress(&[&["gate"], &stored[..], &["--out", "gate"]].concat(), dir.path());
    assert!([Some(7), Some(5)].contains(&gate.status.code()), "{}", text(&gate.stderr));
    let report = printed(&["report", "gate"], dir.path());
    assert!(report.contains("gate"), "{report}");
    refused(&["compare", "gate", "sweep"], dir.path(), &["gate.json", "stress report gate"]);
    let words = ["two or more are compared", "`stress compare sweep/cell-0000 RESULT`"];
    refused(&["compare", "sweep/cell-0000"], dir.path(), &words);
    // Cells of different work: two of them that can be compared, and the command that shows all.
    let how = ["--design", "parallel-io", "--samples", "1", "threads=1,2", "gas=1M,2M"];
    let work = ["sload-storm", "--slots", "10k", "--store", "memory", "--out", "sw"];
    printed(&[&["sweep"][..], &work, &how].concat(), dir.path());
    let words = [
        "did different work",
        "`stress report sw` shows all 4 results",
        "`stress compare sw/cell-0000/result.json sw/cell-0002/result.json`",
    ];
    refused(&["compare", "sw"], dir.path(), &words);
    let two = ["compare", "sw/cell-0000/result.json", "sw/cell-0002/result.json"];
    printed(&two, dir.path());
}

#[test]
fn histograms_are_told_in_one_line_and_quiet_is_quiet() {
    let dir = tempfile::tempdir().unwrap();
    let args = tiny(&["sload-storm", "--out", "out"]);
    let told = text(&stress(&args, dir.path()).stderr);
    let wrote: Vec<_> = told.lines().filter(|line| line.starts_with("wrote")).collect();
    // Histograms of a row of execution alone and of a whole row.
    assert_eq!(wrote, ["wrote out/result.json, and 4 histograms beside it (*.hlog)"], "{told}");
    let output = stress(&[&args[..], &["--quiet"]].concat(), dir.path());
    assert_eq!(text(&output.stderr), "");
    assert!(text(&output.stdout).contains("fastest"), "the result is not quiet");
    let output = stress(&["--quiet", "--scenario", "no-such"], dir.path());
    assert!(text(&output.stderr).starts_with("error:"), "an error is not quiet");
}

#[test]
fn an_option_that_no_variant_takes_is_noted_and_the_same_key_of_a_file_is_not() {
    let dir = tempfile::tempdir().unwrap();
    printed(&["generate", "new", "mine"], dir.path());
    let path = dir.path().join("mine.toml");
    let scenario = fs::read_to_string(&path).unwrap();
    fs::write(&path, scenario.replacen("\n[run]\n", "\n[run]\nthreads = [4]\n", 1)).unwrap();
    let told = |more: &[&str]| {
        let work = ["mine.toml", "--gas", "1M", "--samples", "1", "--whole=none", "--design"];
        let output = stress(&[&work, more].concat(), dir.path());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{told}");
        told
    };
    let note = "note: sequential runs on one thread: --threads 3 does not apply\n";
    let noted = told(&["sequential", "--threads", "3"]);
    assert_eq!(noted.matches(note).count(), 1, "{noted}");
    for more in [
        &["sequential"][..],
        &["sequential,parallel-io", "--threads", "3"],
        &["sequential", "--threads", "3", "--quiet"],
    ] {
        let noted = told(more);
        assert!(!noted.contains("does not apply"), "{noted}");
    }
}
