//! Names of scenarios that are not shipped.

use std::fs;

use crate::{load, shipped};

#[test]
fn a_name_that_is_not_shipped_is_answered_with_the_nearest_ones_that_are() {
    let all = format!("`stress list` shows all {}", shipped::all().len());
    let help = |name: &str| {
        let error = load(name, &[]).expect_err(name).to_string();
        assert!(error.contains(&format!("no shipped scenario is called {name}")), "{error}");
        assert!(error.contains(&all) && error.contains("./my.toml"), "{error}");
        error
    };
    for (name, meant) in [
        ("erc-20", "did you mean erc20 or erc721? "),
        ("sload-strom", "did you mean sload-storm? "),
        // Parts of names come after near ones, and no more than three are named.
        ("sload-storm-", "did you mean sload-storm, sload-storm-weyl or sload-storm-absent? "),
        ("chain", "did you mean chains or official/test_parallel_execution_serial_chain? "),
        ("bloated", "did you mean official/test_sload_bloated, "),
    ] {
        let error = help(name);
        assert!(error.contains(meant) && error.matches("-storm").count() <= 5, "{error}");
    }
    let none = help("zzz");
    assert!(!none.contains("did you mean") && !none.contains("sload-storm"), "{none}");
}

#[test]
fn a_path_that_is_not_there_is_answered_with_the_files_beside_it_and_shipped_scenarios() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    for file in ["mix.toml", "airdrop-here.toml", "mix.workload"] {
        fs::write(at(file), "schema = 1").expect("written");
    }
    let told = |name: &str| load(&at(name), &[]).expect_err(name).to_string();
    for name in ["mixx.toml", "mx.toml", "mix.tml", "mixx"] {
        let error = told(name);
        assert!(error.contains(&format!("did you mean {}", at("mix.toml"))), "{error}");
        assert!(!error.contains("mix.workload"), "{error}");
    }
    let error = told("airdrop.toml");
    let both = format!("did you mean {} or airdrop? ", at("airdrop-here.toml"));
    assert!(error.contains(&both) && error.contains("check the path"), "{error}");
    for name in ["nothing-like-it.toml", "none/mix-of-all.toml"] {
        assert!(!told(name).contains("did you mean"), "{name}");
    }
}

#[test]
fn a_name_whose_file_is_beside_it_is_answered_with_the_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let name = dir.path().join("my-storm");
    fs::write(name.with_extension("toml"), "schema = 1").expect("written");
    let error = crate::unknown_name(name.to_str().expect("text")).to_string();
    assert!(error.contains("a file is named by its path") && error.contains("my-storm.toml"));
    assert!(!error.contains("did you mean"), "{error}");
}
