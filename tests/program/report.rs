//! Results for others, as a user makes them. The page and the other forms of a real run agree with
//! its JSON. A profile ends and has the work of the workers. Scripts for shells and manual pages
//! cover the command line.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

use crate::{
    machine, page,
    rendered::{self, Made},
};

/// A block that takes some milliseconds.
const RUN: [&str; 11] = [
    "--scenario",
    "transfers",
    "--store",
    "memory",
    "--samples",
    "6",
    "--threads",
    "1,2",
    "--design",
    "sequential,block-stm,batched-io",
    "--whole=none",
];

fn stress(args: &[&str], dir: &Path) -> Output {
    let mut command = machine::program();
    command.args(args).current_dir(dir).env("STRESS_DATA_DIR", dir.join("data"));
    machine::output(command.env("COLUMNS", "80"))
}

/// Standard output of a call that goes well.
fn fine(args: &[&str], dir: &Path) -> String {
    let output = stress(args, dir);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

fn run(more: &[&str], dir: &Path) -> String {
    let args: Vec<&str> = RUN.iter().chain(more).copied().collect();
    fine(&args, dir)
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_history_shows_the_change_at_its_commit_whatever_the_order_of_its_results() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    run(&["--out", "one"], at);
    let one = json(&at.join("one/result.json"));
    fs::create_dir_all(at.join("all/below")).unwrap();
    let mut names = Vec::new();
    for day in 0_u64..20 {
        let mut result = one.clone();
        result["started_unix_s"] = (1_767_225_600 + day * 86_400).into();
        result["tool"]["commit"] = format!("{:010x}", 0xabc_0000_u64 + day).into();
        for cell in result["cells"].as_array_mut().unwrap() {
            let noise = 1.0 + (day * 7_919 % 101) as f64 / 2e4;
            let ms = if day < 12 { 100.0 } else { 130.0 } * noise;
            cell["ms_per_batch"]["median"] = ms.into();
        }
        let name =
            if day % 2 == 0 { format!("all/below/{day}.json") } else { format!("all/{day}.json") };
        fs::write(at.join(&name), result.to_string()).unwrap();
        names.push(name);
    }
    let of_dir = fine(&["report", "--history", "all", "--out", "page.html"], at);
    let changes = of_dir.lines().filter(|line| line.starts_with('▲'));
    let changes: Vec<_> = changes.collect();
    assert_eq!(changes.len(), one["cells"].as_array().unwrap().len(), "{of_dir}");
    for line in changes {
        assert!(
            line.starts_with("▲ 2026-01-13 00:00 UTC") && line.contains("000abc000c"),
            "{line}"
        );
        assert!(line.contains(" 1.30") || line.contains(" 1.29"), "{line}");
    }
    names.reverse();
    names.push("all/3.json".to_owned());
    let words: Vec<&str> =
        ["report", "--history"].into_iter().chain(names.iter().map(String::as_str)).collect();
    assert_eq!(fine(&words, at), of_dir);
    let page = fs::read_to_string(at.join("page.html")).unwrap();
    assert!(page.contains("History of transfers") && page.contains("<code>000abc000c</code>"));

    let mut wrong = one;
    wrong["agree"] = false.into();
    fs::write(at.join("wrong.json"), wrong.to_string()).unwrap();
    let output = stress(&["report", "--history", "all", "wrong.json"], at);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stdout).contains("DISAGREE wrong.json"));
    fs::create_dir(at.join("none")).unwrap();
    assert_eq!(stress(&["report", "--history", "none"], at).status.code(), Some(6));
}

#[test]
fn a_runs_page_and_its_other_forms_hold_what_its_result_says() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    run(&["--gas", "6M", "--out", "a"], at);
    run(&["--gas", "6M", "--out", "b", "--seed", "7"], at);
    let results = [json(&at.join("a/result.json")), json(&at.join("b/result.json"))];
    fine(&["report", "a", "b", "--out", "page.html"], at);
    let html = fs::read_to_string(at.join("page.html")).unwrap();
    let places = page::compared(&page::elements(&html), &results);
    if let Some(pages) = rendered::check(&[Made { page: &html, results: &results }]) {
        let checked = &pages[0];
        checked.assert_same();
        assert!(checked.number_count > 200 && checked.field_count > 100, "{checked:?}");
        assert!(checked.mark_count > 50 && checked.tick_count > 20, "{checked:?}");
    }
    for (result, json) in results.iter().enumerate() {
        for cell in 0..json["cells"].as_array().unwrap().len() {
            for key in ["mgas_per_s/median", "mgas_per_s/ci95/0", "tx_latency_ns/p50"] {
                let place = (result, format!("/cells/{cell}/{key}"));
                assert!(places.contains(&place), "{place:?} is not on the page");
            }
        }
    }
    let table = fine(&["report", "a", "b", "--format", "csv"], at);
    let cells: usize = results.iter().map(|json| json["cells"].as_array().unwrap().len()).sum();
    assert_eq!(table.lines().count(), 1 + cells, "{table}");
    let summary = fine(&["report", "a"], at);
    assert!(summary.starts_with("### stress: transfers: all designs agree"), "{summary}");
    let figures = fine(&["report", "b", "--format", "smaller-is-better"], at);
    let figures: Value = serde_json::from_str(&figures).unwrap();
    for (figure, cell) in
        figures.as_array().unwrap().iter().zip(results[1]["cells"].as_array().unwrap())
    {
        assert_eq!(figure["value"], cell["ms_per_batch"]["median"]);
    }
}

#[test]
fn what_cannot_be_reported_is_one_error_with_its_code_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    fs::write(at.join("cut.json"), "{\"schema\": \"stress.res").unwrap();
    fs::write(at.join("other.json"), "{\"schema\": \"stress.io/2\"}").unwrap();
    let refused = |args: &[&str], code: i32, words: &str| {
        let output = stress(args, at);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert!(error.contains(words) && !error.contains("panicked"), "{args:?}: {error}");
    };
    let none = "cannot read none.json: there is no such file or directory; give a result file, or";
    refused(&["report", "none.json", "--out", "x.html"], 2, none);
    refused(&["report", "nothing/"], 2, "`stress sweep` or of `stress gate` wrote");
    fs::create_dir(at.join("empty")).unwrap();
    refused(&["report", "empty"], 6, "empty holds no result of stress");
    fs::remove_dir(at.join("empty")).unwrap();
    refused(&["report", "cut.json", "--out", "x.html"], 6, "not valid JSON (truncated?)");
    refused(&["report", "other.json", "--out", "x.html"], 6, "stress.io/2");
    refused(&["report", "cut.json", "--out", "x.json"], 2, "--format bigger-is-better");
    refused(&["report", "cut.json", "--out", "no/x.html"], 6, "there is no directory no: create");
    refused(&["report", "--out", "x.html"], 2, "RESULT");
    assert_eq!(fs::read_dir(at).unwrap().count(), 2);

    run(&["--gas", "2M", "--out", "right"], at);
    let mut wrong = json(&at.join("right/result.json"));
    (wrong["agree"], wrong["disagreements"]) = (false.into(), vec!["slot 7"].into());
    fs::write(at.join("wrong.json"), wrong.to_string()).unwrap();
    refused(&["report", "wrong.json", "--out", "wrong.html"], 3, "wrote wrong.html");
    assert!(fs::read_to_string(at.join("wrong.html")).unwrap().contains("slot 7"));
}

#[test]
fn a_file_that_is_there_is_replaced_with_force_alone() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    run(&["--gas", "2M", "--out", "one"], at);
    let file = at.join("mine.html");
    for more in [&[][..], &["--history"]] {
        fs::write(&file, "my own").unwrap();
        let args = [&["report", "one", "--out", "mine.html"], more].concat();
        let output = stress(&args, at);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("there already") && error.contains("--force"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "my own");
        fine(&[&args[..], &["--force"]].concat(), at);
        assert!(fs::read_to_string(&file).unwrap().contains("</html>"));
    }
}

#[test]
fn a_profile_ends_agrees_and_has_what_the_workers_did() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    for (design, thread) in
        [("batched-io", "executor"), ("block-stm", "executor"), ("sequential", "stress")]
    {
        let out = format!("out-{design}");
        let shown = run(&["--gas", "60M", "--profile", design, "--out", &out], at);
        let result = json(&at.join(&out).join("result.json"));
        assert_eq!(result["agree"], true);
        let profile = &result["profile"];
        assert!(profile["variant"].as_str().unwrap().contains("memory/"), "{profile}");
        assert!(profile["stack_count"].as_u64().unwrap() > 10, "{profile}");
        let frames = profile["frames"].as_array().unwrap();
        assert!(!frames.is_empty() && frames.len() <= 10, "{profile}");
        for frame in frames {
            let (own, all) = (frame["self_share"].as_f64(), frame["total_share"].as_f64());
            assert!(own > Some(0.0) && own <= all && all <= Some(1.0), "{frame}");
        }
        assert!(shown.contains("profile") && shown.contains("self %"), "{shown}");
        let graph = at.join(&out).join(profile["flame_graph"].as_str().unwrap());
        let svg = fs::read_to_string(graph).unwrap();
        // The samples that count are as many as without a profile.
        assert!(
            result["cells"].as_array().unwrap().iter().all(|cell| cell["samples"]
                .as_array()
                .unwrap()
                .len()
                == 6)
        );
        for word in ["<svg", thread, "executor::engine"] {
            assert!(svg.contains(word), "{design}: {word} is not in the flame graph");
        }
    }
}

#[test]
fn a_profile_that_cannot_be_is_refused_before_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let output = stress(&[&RUN[..], &["--profile", "full"]].concat(), dir.path());
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("or a design: batched-io"), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn scripts_and_manual_pages_cover_the_command_line() {
    let dir = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = fine(&["help", "completions", shell], dir.path());
        for word in ["compare", "report", "io-threads", "save-baseline"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let bash = fine(&["help", "completions", "bash"], dir.path());
    fs::write(dir.path().join("script"), bash).unwrap();
    let checked = Command::new("bash").arg("-n").arg(dir.path().join("script")).status();
    assert!(checked.unwrap().success());
    fine(&["help", "man", "--out", "man"], dir.path());
    for page in ["stress.1", "stress-report.1", "stress-state-list.1"] {
        let text = fs::read_to_string(dir.path().join("man").join(page)).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
    }
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
#[test]
fn histogram_logs_are_read_by_a_public_tool_with_the_same_percentiles() {
    let dir = tempfile::tempdir().unwrap();
    run(&["--gas", "6M", "--out", "out"], dir.path());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/check-histograms");
    let Ok(checked) = Command::new("python3").arg(script).arg(dir.path().join("out")).output()
    else {
        eprintln!("skipped: there is no python3");
        return;
    };
    let text = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{text}{}", String::from_utf8_lossy(&checked.stderr));
    let is_skipped = text.starts_with("skipped:");
    assert!(is_skipped || text.contains("percentiles are those of the result"), "{text}");
    eprint!("{text}");
}
