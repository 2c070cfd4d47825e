//! Tests of a sweep's directory and of joining: cells are written, read back and joined.

use std::{collections::BTreeMap, fs, path::Path, sync::LazyLock};

use clap::Parser;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use report::Paint;
use result::{
    SpeculationFacts, example,
    sweep::{Ceiling, DEVICE_SCHEMA, Matrix, SweepDevice},
};

use super::{dir::SweepDir, merged};

use crate::{
    cli::{Cli, Command},
    run::prepare::shared,
    terminal::{Code, Failure, UndecidedCodes},
};

const AXES: [&str; 3] = ["gas=3M,4M", "io_threads=16,64", "samples=8,9"];

fn matrix_of(axes: &[&str]) -> Matrix {
    let words = ["stress", "sweep", "--scenario", "sload-storm", "--out", "x"];
    let cli = Cli::try_parse_from(words.iter().chain(axes)).unwrap();
    let Some(Command::Sweep(args)) = cli.command else { panic!("a sweep") };
    crate::cli::cmd::sweep::matrix_of(&args).unwrap()
}

fn open(path: &Path) -> SweepDir {
    SweepDir::open(path, matrix_of(&AXES)).unwrap()
}

/// A result as a run would write it, of the work that the cell's keys ask for.
fn result(dir: &SweepDir, index: u64) -> Value {
    // Once: its machine is this one, whose load and free memory change.
    static BASE: LazyLock<Value> = LazyLock::new(|| {
        serde_json::from_str(&report::json(&example::sampled(8)).unwrap()).unwrap()
    });
    let mut json = BASE.clone();
    json["workload"]["digest"] = json!(dir.matrix().keys(index)["block.gas"]);
    let speed = 200.0 + index as f64;
    json["cells"][4]["mgas_per_s"] = json!({"median": speed, "ci95": [speed * 0.98, speed * 1.02]});
    json["warnings"] = json!([format!("the load was {index}")]);
    json
}

fn publish(dir: &SweepDir, index: u64, json: &Value) {
    let lock = dir.try_lock(index).unwrap().expect("free");
    let scratch = dir.scratch(index, &lock).unwrap();
    fs::write(scratch.path().join("result.json"), json.to_string()).unwrap();
    dir.publish(index, &scratch, json["workload"]["digest"].as_str().unwrap()).unwrap();
}

fn filled(path: &Path, order: impl Iterator<Item = u64>) -> SweepDir {
    let dir = open(path);
    for index in order {
        publish(&dir, index, &result(&dir, index));
    }
    dir
}

fn refused(dir: &SweepDir) -> Failure {
    merged::merge(dir).expect_err("is refused")
}

#[test]
fn joining_does_not_depend_on_the_order_in_which_cells_were_run() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let a = merged::merge(&filled(a.path(), 0..8)).unwrap();
    let b = merged::merge(&filled(b.path(), (0..8).rev())).unwrap();
    assert!(
        report::json(&a).unwrap() == report::json(&b).unwrap(),
        "joined in another order it differs"
    );
    let indices: Vec<_> = a.cells.iter().map(|cell| cell.index).collect();
    assert_eq!(indices, (0..8).collect::<Vec<_>>(), "every cell exactly once");
    assert_eq!(a.points.len(), 8 * 5);
    assert!(a.doubts.is_empty() && a.missing.is_empty(), "{:?}", a.doubts);
}

#[test]
fn cells_that_are_missing_are_named_and_the_others_joined() {
    let path = tempfile::tempdir().unwrap();
    let merged = merged::merge(&filled(path.path(), [6, 2].into_iter())).unwrap();
    assert_eq!(merged.missing, [0, 1, 3, 4, 5, 7]);
    let page = report::sweep_table(&merged, 80, Paint::Plain);
    assert!(page.contains("cells 0-1, 3-5, 7"), "{page}");
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(refused(&open(empty.path())).code, Code::Io);
}

#[test]
fn different_work_is_refused_only_where_the_work_keys_are_equal() {
    let path = tempfile::tempdir().unwrap();
    let dir = filled(path.path(), 0..7);
    let mut other = result(&dir, 7);
    other["workload"]["digest"] = json!("another");
    publish(&dir, 7, &other);
    let failure = refused(&dir);
    assert_eq!(failure.code, Code::Usage);
    let text = failure.to_string();
    assert!(text.contains("cells 4 and 7") && text.contains("block.gas=4M"), "{text}");
}

#[test]
fn a_cell_of_another_program_is_run_again_and_not_joined_with_the_others() {
    let path = tempfile::tempdir().unwrap();
    let dir = filled(path.path(), 0..8);
    let file = dir.cell_path(5).join("cell.json");
    let mut json: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    json["program"]["commit"] = json!("older");
    fs::write(&file, json.to_string()).unwrap();
    let failure = refused(&dir);
    assert_eq!(failure.code, Code::Usage);
    assert!(failure.to_string().contains("(older), generator"), "{failure}");
    assert!(dir.own_cell(4).unwrap().is_some() && dir.own_cell(5).unwrap().is_none());
    publish(&dir, 5, &result(&dir, 5));
    assert!(merged::merge(&dir).is_ok());
    let left: Vec<_> = fs::read_dir(path.path().join("running")).unwrap().collect();
    assert!(left.is_empty(), "what was replaced is gone: {left:?}");
}

#[test]
fn cells_of_two_dirty_builds_of_one_commit_are_not_joined_and_those_of_two_clean_ones_are() {
    let path = tempfile::tempdir().unwrap();
    let dir = filled(path.path(), 0..2);
    let built = |index: u64, commit: &str, hash: &str| {
        let file = dir.cell_path(index).join("cell.json");
        let mut json: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        (json["program"]["commit"], json["program"]["binary_hash"]) = (json!(commit), json!(hash));
        fs::write(&file, json.to_string()).unwrap();
    };
    for (commit, hash, is_one) in
        [("c0ffee", "2b", true), ("c0ffee-dirty", "2b", false), ("c0ffee-dirty", "1a", true)]
    {
        built(0, commit, "1a");
        built(1, commit, hash);
        match merged::merge(&dir) {
            Ok(_) => assert!(is_one, "{commit} {hash}"),
            Err(failure) => {
                assert!(!is_one && failure.code == Code::Usage, "{failure}");
                let text = failure.to_string();
                assert!(text.contains("c0ffee-dirty, binary 1a") && text.contains("binary 2b"));
            }
        }
    }
    // Neither is this program's, for any commit.
    assert!(dir.own_cell(0).unwrap().is_none());
}

#[test]
fn of_two_who_finish_a_cell_the_first_result_stays() {
    let path = tempfile::tempdir().unwrap();
    let dir = filled(path.path(), 0..1);
    let before = fs::read(dir.cell_path(0).join("result.json")).unwrap();
    let mut second = result(&dir, 0);
    second["started_unix_s"] = json!(1);
    publish(&dir, 0, &second);
    assert_eq!(fs::read(dir.cell_path(0).join("result.json")).unwrap(), before);
}

#[test]
fn what_a_dead_process_left_of_a_cell_goes_with_the_next_and_what_is_others_stays() {
    let path = tempfile::tempdir().unwrap();
    let dir = open(path.path());
    let left = |name: &str| path.path().join("running").join(name);
    for name in ["cell-0001-dead", "cell-0002-alive"] {
        fs::create_dir_all(left(name).join("cell")).unwrap();
        fs::write(left(name).join("cell/result.json"), "{").unwrap();
        fs::write(left(name).join("owned"), "").unwrap();
    }
    publish(&dir, 1, &result(&dir, 1));
    assert!(!left("cell-0001-dead").exists() && left("cell-0002-alive").exists());
    assert!(dir.cell(2).unwrap().is_none(), "half a cell is none");
}

#[test]
fn what_cannot_be_trusted_is_an_error_that_names_the_file() {
    let path = tempfile::tempdir().unwrap();
    let dir = filled(path.path(), 0..8);
    let damaged = |file: &str, change: &dyn Fn(&str) -> String, words: &str| {
        let file = dir.cell_path(3).join(file);
        let before = fs::read_to_string(&file).unwrap();
        fs::write(&file, change(&before)).unwrap();
        let failure = refused(&dir);
        assert_eq!(failure.code, Code::Io, "{failure}");
        let text = failure.to_string();
        assert!(text.contains(words) && text.contains("cell-0003"), "{text}");
        assert!(dir.own_cell(3).is_err(), "nor is it taken for a cell to be run");
        fs::write(&file, before).unwrap();
    };
    damaged(
        "result.json",
        &|text| text[..text.len() / 2].to_owned(),
        "not valid JSON (truncated?)",
    );
    damaged("result.json", &|text| text.replace("stress.result/3", "stress.result/9"), "result/9");
    damaged("result.json", &|text| text.replace("\"3M\"", "\"4M\""), "other work");
    damaged("cell.json", &|text| text[..text.len() / 2].to_owned(), "not valid JSON (truncated?)");
    damaged("cell.json", &|text| text.replace("sweep-cell/1", "sweep-cell/2"), "sweep-cell/2");
    damaged("cell.json", &|text| text.replace("\"index\": 3", "\"index\": 2"), "not of cell 3");
    assert!(merged::merge(&dir).is_ok(), "put right, it is joined");
}

#[test]
fn a_directory_is_one_sweeps_and_its_manifest_is_read_strictly() {
    let path = tempfile::tempdir().unwrap();
    drop(open(path.path()));
    drop(open(path.path()));
    let other = SweepDir::open(path.path(), matrix_of(&["gas=3M,5M"])).expect_err("another sweep");
    assert_eq!(other.code, Code::Usage);
    assert!(other.to_string().contains("holds another sweep: axes block.gas=3M,4M"), "{other}");
    let manifest = path.path().join("sweep.json");
    let before = fs::read_to_string(&manifest).unwrap();
    for (text, words) in [
        (before.replace("stress.sweep/1", "stress.sweep/7"), "stress.sweep/7"),
        (before.replace("\"cell_count\": 8", "\"cell_count\": 9"), "do not make 9 cells"),
        (before[..before.len() / 2].to_owned(), "not valid JSON (truncated?)"),
    ] {
        fs::write(&manifest, text).unwrap();
        let error = format!("{:#}", SweepDir::existing(path.path()).expect_err(words));
        assert!(error.contains(words) && error.contains("sweep.json"), "{error}");
    }
    fs::remove_file(&manifest).unwrap();
    let error = SweepDir::existing(path.path()).expect_err("none").to_string();
    assert!(error.contains("no directory of a sweep"), "{error}");
}

#[test]
fn counters_that_differ_are_a_doubt_unless_steps_ran_before_their_turn() {
    let path = tempfile::tempdir().unwrap();
    let dir = filled(path.path(), 0..7);
    let mut other = result(&dir, 7);
    other["cells"][0]["samples"][0]["store_reads"] = json!(1);
    publish(&dir, 7, &other);
    let doubts = merged::merge(&dir).unwrap().doubts;
    assert_eq!(doubts.len(), 1, "{doubts:?}");
    assert!(doubts[0].contains("sequential") && doubts[0].contains("store reads"), "{doubts:?}");

    let path = tempfile::tempdir().unwrap();
    let dir = filled(path.path(), 0..7);
    other["cells"][0]["samples"][0]["speculation"] =
        serde_json::to_value(SpeculationFacts::default()).unwrap();
    publish(&dir, 7, &other);
    let merged = merged::merge(&dir).unwrap();
    assert!(merged.doubts.is_empty(), "{:?}", merged.doubts);
    let reads: BTreeMap<_, _> =
        merged.counters.iter().map(|of| (&of.variant, of.store_reads.len())).collect();
    assert!(reads.values().any(|count| *count == 2), "but it is told: {reads:?}");
}

#[test]
fn machines_of_two_kinds_are_a_doubt() {
    let path = tempfile::tempdir().unwrap();
    let dir = filled(path.path(), 0..7);
    let mut other = result(&dir, 7);
    other["environment"]["cpu"]["model"] = json!("another");
    publish(&dir, 7, &other);
    let merged = merged::merge(&dir).unwrap();
    assert_eq!((merged.machines.len(), merged.machines[1].cells.as_slice()), (2, &[7][..]));
    assert!(merged.doubts[0].contains("cells 0-6; 7"), "{:?}", merged.doubts);
}

#[test]
fn a_cell_that_is_left_out_shows_the_figures_of_the_one_that_is_run_and_is_not_missing() {
    let path = tempfile::tempdir().unwrap();
    // Threads change nothing in order: cell 2 is cell 0, and cell 3 cell 1.
    let axes = ["threads=1,2", "gas=3M,4M", "--design", "sequential"];
    let dir = SweepDir::open(path.path(), matrix_of(&axes)).unwrap();
    publish(&dir, 0, &result(&dir, 0));
    let shared = |merged: &result::sweep::Merged| -> Vec<_> {
        let points = merged.points.iter().filter(|point| point.same_as.is_some());
        points.map(|point| (point.cell, point.same_as.unwrap(), point.mgas_per_s)).collect()
    };
    let merged = merged::merge(&dir).unwrap();
    assert_eq!(merged.missing, [1], "cell 3 waits for no run of its own");
    assert_eq!(shared(&merged).len(), 5, "the variants of cell 0");
    publish(&dir, 1, &result(&dir, 1));
    let merged = merged::merge(&SweepDir::existing(path.path()).unwrap()).unwrap();
    assert!(merged.missing.is_empty() && merged.cells.len() == 2);
    let of_cell = |cell: u64| merged.points.iter().filter(move |point| point.cell == cell);
    assert_eq!(shared(&merged).len(), 10);
    assert!(shared(&merged).contains(&(3, 1, of_cell(1).nth(4).unwrap().mgas_per_s)));
    assert_eq!(of_cell(3).next().unwrap().keys["run.threads"], "2");
    assert!(merged.points.is_sorted_by_key(|point| point.cell));
    assert!(merged.counters.iter().all(|counters| counters.cells.iter().all(|cell| *cell < 2)));
    let page = report::sweep_table(&merged, 100, Paint::Plain);
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("left out 2 of 4 cells"), "{page}");
    assert!(words.contains("threads changes nothing in cells 2-3"), "{page}");
    assert!(page.contains("= cell 0") && page.contains("= cell 1"), "{page}");
    // Another machine, on which it would be a run of its own, has run it.
    publish(&dir, 2, &result(&dir, 2));
    let merged = merged::merge(&dir).unwrap();
    assert!(shared(&merged).iter().all(|(cell, ..)| *cell == 3), "{:?}", shared(&merged));
}

#[test]
fn a_cell_is_left_out_only_where_the_sweep_was_begun_without_it() {
    let path = tempfile::tempdir().unwrap();
    let matrix = matrix_of(&["threads=1,2", "--design", "sequential"]);
    assert_eq!(matrix.left_out.len(), 1);
    let on_another_machine = Matrix { left_out: Vec::new(), ..matrix.clone() };
    drop(SweepDir::open(path.path(), on_another_machine.clone()).unwrap());
    let dir = SweepDir::open(path.path(), matrix.clone()).unwrap();
    assert!(dir.matrix().left_out.is_empty());
    let path = tempfile::tempdir().unwrap();
    assert_eq!(SweepDir::open(path.path(), matrix).unwrap().matrix().left_out.len(), 1);
    assert!(SweepDir::open(path.path(), on_another_machine).unwrap().matrix().left_out.is_empty());
}

/// Leaves the device's figures of a process that began at the time of the first ceiling.
fn measure(dir: &SweepDir, ceilings: &[(u64, f64)]) {
    let ceiling =
        |&(measured_unix_s, ceiling_iops): &(u64, f64)| Ceiling { measured_unix_s, ceiling_iops };
    let known = SweepDevice {
        schema: DEVICE_SCHEMA,
        measured_unix_s: ceilings[0].0,
        state: "rocksdb-0123456789abcdef".to_owned(),
        draw_seed: 9,
        read_count: 40_000,
        device: example::typical().device.unwrap(),
        ceilings: ceilings.iter().map(ceiling).collect(),
    };
    shared::write(&dir.device_path(ceilings[0].0), &known).unwrap();
}

#[test]
fn a_device_that_changed_within_a_sweep_or_between_its_parts_is_a_doubt() {
    let path = tempfile::tempdir().unwrap();
    let dir = filled(path.path(), 0..8);
    assert!(merged::merge(&dir).unwrap().devices.is_empty(), "nobody has measured it");
    measure(&dir, &[(2_000, 101.0)]);
    measure(&dir, &[(1_000, 100.0), (1_500, 99.0)]);
    let merged = merged::merge(&dir).unwrap();
    let times: Vec<_> = merged.devices.iter().map(|device| device.measured_unix_s).collect();
    assert_eq!((times.as_slice(), merged.doubts.len()), (&[1_000, 2_000][..], 0));
    measure(&dir, &[(3_000, 70.0), (3_001, 72.0)]);
    let merged = merged::merge(&dir).unwrap();
    assert_eq!(merged.doubts.len(), 1, "{:?}", merged.doubts);
    let doubt = &merged.doubts[0];
    assert!(doubt.contains("100 reads/s at first, 70 reads/s 2000 s later"), "{doubt}");
    // Two machines are not held against each other, and each against itself.
    let mut other = result(&dir, 7);
    other["environment"]["cpu"]["model"] = json!("another");
    fs::remove_dir_all(dir.cell_path(7)).unwrap();
    publish(&dir, 7, &other);
    let doubts = merged::merge(&dir).unwrap().doubts;
    assert!(doubts.len() == 1 && doubts[0].contains("2 kinds of machine"), "{doubts:?}");
    measure(&dir, &[(4_000, 100.0), (5_000, 50.0)]);
    assert_eq!(merged::merge(&dir).unwrap().doubts.len(), 2);
    let damaged = path.path().join("device-1-1.json");
    fs::write(&damaged, "{").unwrap();
    let failure = refused(&dir);
    assert!(failure.to_string().contains("device-1-1.json is damaged"), "{failure}");
}

#[test]
fn a_cell_whose_designs_disagree_is_finished_and_shows_no_figure() {
    let path = tempfile::tempdir().unwrap();
    let dir = filled(path.path(), 0..7);
    let mut wrong = result(&dir, 7);
    wrong["agree"] = json!(false);
    publish(&dir, 7, &wrong);
    assert_eq!(dir.own_cell(7).unwrap().unwrap().code(UndecidedCodes::DEFAULT), Code::Disagree);
    let merged = merged::merge(&dir).unwrap();
    assert_eq!(merged.disagreeing, [7]);
    assert!(merged.points.iter().all(|point| point.cell != 7));
    assert!(report::sweep_table(&merged, 80, Paint::Plain).starts_with("THE DESIGNS DISAGREE"));
}

#[test]
fn a_page_is_not_wider_than_asked_and_has_every_point_and_knee() {
    let path = tempfile::tempdir().unwrap();
    let merged = merged::merge(&filled(path.path(), 0..8)).unwrap();
    for width in [24, 60, 80, 140] {
        let page = report::sweep_table(&merged, width, Paint::Plain);
        assert!(page.lines().all(|line| line.width() <= width), "{width}: {page}");
    }
    let page = report::sweep_table(&merged, 80, Paint::Plain);
    let mut few = merged.clone();
    few.points.iter_mut().for_each(|point| point.mgas_per_s_ci95 = None);
    let few = report::sweep_table(&few, 80, Paint::Plain);
    let note = "95 %: the ends of the interval";
    assert!(page.contains(note) && !few.contains(note), "{few}");
    for index in 0..8 {
        let speed = 200.0 + f64::from(index);
        let line = format!("{speed:.0} {:.0}–{:.0}", speed * 0.98, speed * 1.02);
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&line), "{line}: {page}");
    }
    let wide = report::sweep_table(&merged, 140, Paint::Plain);
    assert!(wide.contains("ms per block  MGas/s "), "{wide}");
    let warning = "warning  the load was 0 (in all cells, with other numbers in the others)\n";
    assert_eq!((page.contains(warning), page.matches("the load was").count()), (true, 1));
    assert!(
        !merged.knees.is_empty() && page.contains("the fewest I/O threads within 5 %"),
        "{page}"
    );
}

#[test]
fn what_is_not_of_the_sweep_stays() {
    let place = tempfile::tempdir().unwrap();
    let dir = filled(place.path(), 0..1);
    let strange =
        ["running/cell-0000-mine/f", "cell-0000/notes.md"].map(|name| dir.path().join(name));
    for path in &strange {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "mine").unwrap();
    }
    let file = dir.cell_path(0).join("cell.json");
    let mut json: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    json["program"]["commit"] = json!("older");
    fs::write(&file, json.to_string()).unwrap();
    let lock = dir.try_lock(0).unwrap().expect("free");
    let scratch = dir.scratch(0, &lock).unwrap();
    fs::write(scratch.path().join("result.json"), result(&dir, 0).to_string()).unwrap();
    let error = dir.publish(0, &scratch, "0x1").unwrap_err().to_string();
    assert!(error.contains("notes.md") && error.contains("move it away"), "{error}");
    drop(scratch);
    assert!(strange.iter().all(|path| fs::read_to_string(path).unwrap() == "mine"));
}
