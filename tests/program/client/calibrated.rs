//! `stress client rank` as a user meets it: a page of ranks, kept results, and going on.

use std::{fs, path::Path};

use super::fake::written;
use crate::{
    found::geth,
    interrupted::UnderWay,
    tool::{stress, text},
};

const SMALL: [&str; 4] = ["--gas", "2M", "--slots", "2k"];
const OURS: [&str; 6] = ["--design", "sequential", "--store", "memory", "--threads", "1"];
const SCENARIOS: [&str; 4] = ["sload-storm", "sstore-storm", "test_sload_bloated", "pointer-chase"];

fn calibrate(client: &str, more: &[&str], dir: &Path) -> (i32, String, String) {
    let args = ["client", "rank", client, "--out", "against", "--samples", "1"];
    let output = stress(&[&args[..], &SMALL, &OURS, more].concat(), dir);
    (output.status.code().unwrap_or_default(), text(&output.stdout), text(&output.stderr))
}

fn modified(dir: &Path, name: &str) -> std::time::SystemTime {
    let path = dir.join("against").join(name).join("result.json");
    fs::metadata(&path).and_then(|of| of.modified()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn all_scenarios_are_ranked_on_one_page_and_the_same_command_goes_on() {
    let own = tempfile::tempdir().unwrap();
    let dir = own.path();
    let file = written(dir, "fake", "", "", "");
    let warm = ["--cache", "warm"];
    let (code, page, error) = calibrate(&file, &[&SCENARIOS[..2], &warm].concat(), dir);
    assert_eq!(code, 0, "{error}");
    assert!(page.contains("sequential: no rank correlation over 2 workloads"), "{page}");
    let before = modified(dir, "sload-storm");
    let (code, page, error) = calibrate(&file, &[&SCENARIOS[..], &warm].concat(), dir);
    assert_eq!(code, 0, "{error}");
    assert_eq!(modified(dir, "sload-storm"), before, "it was there");
    assert!(page.contains("Spearman's rank correlation"), "{page}");
    assert!(page.contains("over 4 workloads") && page.contains("test-sload-bloated"), "{page}");
    let html = fs::read_to_string(dir.join("against/calibration.html")).unwrap();
    for part in ["id=\"ranks\"", "id=\"workloads\"", "sstore-storm", "fake against our designs"] {
        assert!(html.contains(part), "{part}");
    }
    let left: Vec<_> = fs::read_dir(dir.join("against")).unwrap().collect();
    let names: Vec<_> = left.into_iter().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("export")), "{names:?}");
    // Figures of other settings are not mixed in.
    let other = [&SCENARIOS[..1], &["--cache", "cold"]].concat();
    let (code, _, error) = calibrate(&file, &other, dir);
    assert_eq!(code, 2, "{error}");
    assert!(error.contains("other settings"), "{error}");
}

#[test]
fn a_scenario_without_figures_is_named_and_the_others_are_kept() {
    let own = tempfile::tempdir().unwrap();
    let file = written(own.path(), "fake", "", ", \"dies\"", "");
    let (code, page, error) = calibrate(&file, &["sload-storm"], own.path());
    assert_eq!(code, 6, "{error}");
    assert!(error.contains("the client died"), "{error}");
    assert!(page.contains("missing  sload-storm: stress client: exit code 6"), "{page}");
    for (args, words) in [
        (&["geth", "no-such"][..], "no-such"),
        (&["geth", "--budget", "1s"], "--budget"),
        (&["nethermind"], "shipped are: geth"),
        (&["geth", "--program", "/nonexistent"], "--program"),
    ] {
        let program = std::env::current_exe().unwrap();
        let named = ["--program", program.to_str().unwrap()];
        let own_program: &[&str] = if args.contains(&"--program") { &[] } else { &named };
        let all = [&["client", "rank"], args, &["--out", "other"], own_program].concat();
        let output = stress(&all, own.path());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(words), "{args:?}: {error}");
    }
}

#[test]
fn an_interrupt_shows_the_finished_scenarios_and_says_how_many_they_are() {
    let own = tempfile::tempdir().unwrap();
    let file = written(own.path(), "fake", "", "", "");
    let args = ["client", "rank", &file, "--out", "against", "--samples", "1"];
    let mut run = UnderWay::start(&[&args[..], &SMALL, &OURS, &SCENARIOS].concat(), own);
    run.wait_for("sstore-storm (2 of 4)");
    run.ends_at("TERM");
    let error = run.said("stderr");
    assert!(error.contains(" of 4 scenarios have figures; the same command goes on"), "{error}");
    assert!(run.said("stdout").contains("sload-storm"), "{}", run.said("stdout"));
    assert!(run.dir.path().join("against/sload-storm/result.json").exists());
}

#[test]
fn a_directory_of_somebody_else_is_refused_and_stays() {
    let own = tempfile::tempdir().unwrap();
    let file = written(own.path(), "fake", "", "", "");
    let result = own.path().join("mine/sload-storm/result.json");
    std::fs::create_dir_all(result.parent().unwrap()).unwrap();
    std::fs::write(&result, "{}").unwrap();
    let args = ["client", "rank", &file, "sload-storm", "--out", "mine"];
    let output = stress(&args, own.path());
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("mine: has files and is of no calibration"), "{error}");
    assert_eq!(std::fs::read_to_string(&result).unwrap(), "{}");
}

#[test]
fn geth_is_ranked_beside_our_designs() {
    let Some(geth) = geth() else { return };
    let own = tempfile::tempdir().unwrap();
    let more = ["--program", geth.to_str().unwrap()];
    let (code, page, error) = calibrate("geth", &[&SCENARIOS[..3], &more].concat(), own.path());
    assert_eq!(code, 0, "{error}");
    assert!(page.contains("over 3 workloads"), "{page}");
    assert!(page.contains("  geth ") && page.contains("  sequential "), "{page}");
}
