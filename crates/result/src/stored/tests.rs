//! Laws of reading results back.

use super::*;
use crate::{
    Claim, Expects, example,
    sweep::{
        Axis, CELL_FILE, CELL_SCHEMA, Ceiling, CellFile, DEVICE_SCHEMA, LeftOut, MANIFEST_SCHEMA,
        Manifest, Matrix, MergedSchema, SweepDevice, cell_dir_name,
    },
};
use variant::{CacheMode, StoreKind};

fn error(text: &str) -> String {
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), text).expect("written");
    let error = Stored::read(file.path()).expect_err(text);
    assert!(format!("{error}").contains(&file.path().display().to_string()), "{error}");
    format!("{error}")
}

#[test]
fn what_is_no_result_is_refused_with_its_reason() {
    assert!(error("{\"schema\": \"stress.res").contains("not valid JSON (truncated?)"));
    assert!(error("").contains("not valid JSON (truncated?)"));
    assert!(error("# a scenario\nschema = 1\n").contains("stress FILE --out DIR"));
    let dir = tempfile::tempdir().expect("a directory");
    let scenario = dir.path().join("my.toml");
    fs::write(&scenario, "[state]\n").expect("written");
    let refused = Stored::read(&scenario).expect_err("a scenario").to_string();
    assert!(refused.contains("my.toml is not a result") && !refused.contains("truncated"));
    assert!(error("{}").contains("has no `schema`"));
    assert!(error("{\"schema\": 7}").contains("has no `schema`"));
    assert!(error("[]").contains("has no `schema`"));
    assert!(error("{\"schema\": \"stress.result/9\"}").contains("stress.result/9"));
    let missing = Stored::read(Path::new("/no/such/file")).expect_err("is not there");
    assert!(format!("{missing}").contains("/no/such/file"));
}

#[test]
fn a_directory_without_one_stands_for_all_results_below_it_but_unfinished_ones() {
    let dir = tempfile::tempdir().expect("a directory");
    let json = crate::json(&example::typical()).expect("finite");
    for name in ["cell-0001", "cell-0000", "running/cell-0002"] {
        fs::create_dir_all(dir.path().join(name)).expect("made");
        fs::write(dir.path().join(name).join("result.json"), &json).expect("written");
    }
    fs::write(dir.path().join("sweep.json"), "{\"schema\": \"stress.sweep/1\"}").expect("written");
    fs::write(dir.path().join("cell-0000/note.json"), [0xff, 0xfe]).expect("written");
    let all = Shown::read_all(dir.path()).expect("has results");
    let names: Vec<_> = all.iter().map(|stored| stored.path.clone()).collect();
    let cell = |name: &str| dir.path().join(name).join("result.json");
    assert_eq!(names, [cell("cell-0000"), cell("cell-0001")]);

    // One that is cut short is not left out.
    fs::write(cell("cell-0001"), &json[..json.len() / 2]).expect("written");
    let error = format!("{:#}", Shown::read_all(dir.path()).expect_err("cut short"));
    assert!(
        error.contains("cell-0001") && error.contains("not valid JSON (truncated?)"),
        "{error}"
    );
    let empty = tempfile::tempdir().expect("a directory");
    let error = Shown::read_all(empty.path()).expect_err("nothing there").to_string();
    assert!(error.contains("holds no result"), "{error}");
}

#[test]
fn a_cell_of_a_sweep_has_its_keys_those_left_out_for_it_and_the_doubt_of_its_device() {
    let sweep = tempfile::tempdir().expect("a directory");
    let write = |path: PathBuf, json: String| fs::write(path, json).expect("written");
    let axis = Axis {
        key: "run.threads".to_owned(),
        label: "threads".to_owned(),
        values: ["1", "2", "4"].map(str::to_owned).to_vec(),
    };
    let matrix = Matrix {
        scenario: "one-slot".to_owned(),
        quick: false,
        fixed: Vec::new(),
        axes: vec![axis],
        cell_count: 3,
        settings_digest: "0x1".to_owned(),
        left_out: vec![LeftOut { cell: 1, same_as: 0 }, LeftOut { cell: 2, same_as: 0 }],
    };
    let manifest = Manifest { schema: MANIFEST_SCHEMA.to_owned(), matrix: matrix.clone() };
    let mut run = example::typical();
    let cell = CellFile {
        schema: CELL_SCHEMA.to_owned(),
        index: 0,
        keys: matrix.keys(0),
        settings_digest: matrix.settings_digest.clone(),
        program: run.tool.program.clone(),
        work_digest: run.workload.digest.clone(),
    };
    let (device, shared) = (run.device.clone().expect("a device"), example::shared_device());
    let ceiling = |measured_unix_s, ceiling_iops| Ceiling { measured_unix_s, ceiling_iops };
    let known = SweepDevice {
        schema: DEVICE_SCHEMA,
        measured_unix_s: shared.measured_unix_s,
        state: shared.state.clone(),
        draw_seed: shared.draw_seed,
        read_count: 7,
        device,
        ceilings: vec![ceiling(1, 100.0), ceiling(2, 50.0)],
    };
    run.device.as_mut().expect("a device").shared = Some(shared);
    let folder = sweep.path().join(cell_dir_name(0));
    fs::create_dir(&folder).expect("made");
    write(folder.join("result.json"), crate::json(&run).expect("finite"));
    write(folder.join(CELL_FILE), crate::json(&cell).expect("finite"));
    write(sweep.path().join("sweep.json"), crate::json(&manifest).expect("finite"));
    write(sweep.path().join("device-1-1.json"), crate::json(&known).expect("finite"));
    // Another machine has run cell 2.
    fs::create_dir(sweep.path().join(cell_dir_name(2))).expect("made");
    for path in [sweep.path(), &folder] {
        let all = Shown::read_all(path).expect("has a result");
        assert_eq!((all.len(), &all[0].swept), (1, &matrix.keys(0)));
        assert_eq!(all[0].left_out, [matrix.keys(1)]);
        assert_eq!(all[0].sweep_command, ["stress", "sweep", "one-slot", "threads=1,2,4"]);
        let warnings = all[0].warnings();
        assert!(warnings.iter().any(|text| text.contains("100 reads/s at first")), "{warnings:?}");
    }
}

#[test]
fn joined_results_and_those_of_a_gate_are_read_by_their_schema() {
    let json = crate::json(&example::typical()).expect("finite");
    let file = tempfile::NamedTempFile::new().expect("a file");
    let merged = MergedSchema::NAME;
    let joined = format!(
        "{{\"schema\": \"{merged}\", \"cells\": [{{\"index\": 7, \"keys\": {{}}, \"result\": {json}}}]}}"
    );
    fs::write(file.path(), joined).expect("written");
    let all = Shown::read_all(file.path()).expect("joined");
    assert!(all.len() == 1 && all[0].path.to_string_lossy().ends_with("cell 7"));
    assert!(all[0].is_sound());
    fs::write(file.path(), crate::json(&example::gate::passed()).expect("finite"))
        .expect("written");
    let all = Shown::read_all(file.path()).expect("a gate's");
    assert_eq!(all[0].gate(), Some(&example::gate::passed()));
    assert!(Stored::read(file.path()).is_err());
}

#[test]
fn a_store_without_a_device_has_no_cache_state_in_an_earlier_file_either() {
    let mut result = example::typical();
    result.cells[0].store = StoreKind::Memory;
    let read = Stored::from_json("r.json".into(), serde_json::to_value(&result).expect("finite"));
    let want = |cell: &Cell| cell.cache.want;
    let read = read.expect("a result").result;
    assert_eq!(want(&read.cells[0]), None);
    assert!(read.cells[1..].iter().all(|cell| want(cell) == Some(CacheMode::Cold)));
    let written = serde_json::to_value(&read).expect("finite");
    assert_eq!(written["cells"][0]["cache"]["want"], Value::Null);
}

/// The keys of a cell that version 2 called otherwise: before and now.
const RENAMED: [[&str; 2]; 3] =
    [["vain_share", "abort_rate"], ["binds", "bottleneck"], ["binds_share", "bottleneck_share"]];

/// A result as version 2 of the schema wrote it.
fn of_version_2(result: &RunResult) -> String {
    let text = crate::json(result).expect("finite").replace(RunSchema::NAME, "stress.result/2");
    RENAMED.iter().fold(text, |text, [before, now]| {
        let (before, now) = (format!("\"{before}\":"), format!("\"{now}\":"));
        assert_eq!(text.matches(&now).count(), result.cells.len(), "{now}");
        text.replace(&now, &before)
    })
}

#[test]
fn a_result_of_version_2_is_read_by_its_former_keys_and_one_of_version_1_is_refused() {
    let mut result = example::typical();
    result.cells[0].abort_rate = Some(0.25);
    let text = of_version_2(&result);
    let older: Value = serde_json::from_str(&text).expect("JSON");
    let read = Stored::from_json("r.json".into(), older.clone()).expect("of version 2");
    assert_eq!(read.result, result);
    let written = serde_json::to_value(&read.result).expect("finite");
    assert_eq!(written["schema"], "stress.result/3");
    for [before, now] in RENAMED {
        let cell = &written["cells"][0];
        assert!(cell.get(before).is_none() && cell.get(now).is_some(), "{before} {now}");
    }

    let dir = tempfile::tempdir().expect("a directory");
    fs::create_dir(dir.path().join("cell-0000")).expect("made");
    fs::write(dir.path().join("cell-0000/any.json"), text).expect("written");
    let below = Shown::read_every(dir.path()).expect("one below");
    assert_eq!((below.len(), below[0].run()), (1, Some(&result)));

    let merged = serde_json::json!({
        "schema": "stress.sweep-merged/1",
        "cells": [{"index": 7, "keys": {}, "result": older}],
    });
    let file = dir.path().join("merged.json");
    fs::write(&file, merged.to_string()).expect("written");
    let all = Shown::read_all(&file).expect("joined");
    assert_eq!((all.len(), all[0].run()), (1, Some(&result)));

    let mut oldest = older;
    oldest["schema"] = "stress.result/1".into();
    let error = Stored::from_json("r.json".into(), oldest).expect_err("refused").to_string();
    assert!(error.contains("stress.result/3, stress.result/2"), "{error}");
}

#[test]
fn a_directory_stands_for_the_result_in_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let json = crate::json(&example::typical()).expect("finite");
    fs::write(dir.path().join("result.json"), json).expect("written");
    let stored = Stored::read(dir.path()).expect("is a result");
    assert_eq!(stored.result.cells.len(), 5);
    assert_eq!((stored.agrees(), &*stored.result.workload.fork), (Some(true), "amsterdam"));
    assert!(stored.cell("rocksdb/none/sequential+on-demand@1").is_some());
}

/// A written value is read back as the same one, which is written as the same bytes.
fn returns<T>(written: &T)
where
    T: serde::Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let text = crate::json(written).expect("finite");
    let read: T = serde_json::from_str(&text).expect("what is written can be read");
    assert_eq!(&read, written);
    assert_eq!(crate::json(&read).expect("finite"), text);
}

#[test]
fn a_result_read_back_is_the_one_that_was_written_to_the_last_bit() {
    returns(&example::typical());
    returns(&example::sampled(9));
    returns(&example::pooled(&[vec![10, 11, 13], vec![20, 21, 22], vec![30, 31, 37]]));
    returns(&example::gate::passed());
    let mut result = example::typical();
    for (cell, third) in result.cells.iter_mut().zip(1..) {
        cell.abort_rate = Some(1.0 / f64::from(3 * third));
        cell.tx_latency_ns.p999 = Some(u64::MAX - third as u64);
        cell.samples[0].phases_ns[variant::Phase::WarmUp] = third as u64;
    }
    returns(&result);
}

#[test]
fn a_key_that_is_not_known_is_left_out_and_one_that_is_missing_is_absent() {
    let mut json = serde_json::to_value(example::typical()).expect("JSON");
    json["of_tomorrow"] = serde_json::json!({"a": 1});
    json["cells"][0]["samples"][0]["phases_ns"]["of_tomorrow"] = serde_json::json!(7);
    let cell = json["cells"][0].as_object_mut().expect("a cell");
    cell.remove("abort_rate");
    cell.remove("bottleneck");
    let read = Stored::from_json("r.json".into(), json).expect("a result");
    let mut wanted = example::typical();
    wanted.cells[0].bottleneck = None;
    assert_eq!(read.result, wanted);
}

#[test]
fn a_name_that_is_none_is_refused_with_those_that_there_are() {
    let mut result = example::typical();
    let claim = Claim { limit: 1.5, ..result.expects.claims[0].clone() };
    result.expects = Expects { count: 1, status: None, claims: vec![claim] };
    let text = crate::json(&result).expect("finite");
    for (name, words) in [("\"holds\"", "holds, fails"), ("\"device\"", "device, cpu, chain")] {
        let json = serde_json::from_str(&text.replace(name, "\"odd\"")).expect("JSON");
        let error = Stored::from_json("r.json".into(), json).expect_err("an unknown name");
        let error = format!("{error}");
        assert!(error.contains("r.json") && error.contains(words), "{error}");
    }
}

/// Writes a result under `name` that began at `started_unix_s`.
fn begun(dir: &Path, name: &str, started_unix_s: u64) {
    let result = RunResult { started_unix_s, ..example::typical() };
    fs::write(dir.join(name), crate::json(&result).expect("finite")).expect("written");
}

#[test]
fn a_directory_of_several_runs_stands_for_the_one_that_began_last() {
    let dir = tempfile::tempdir().expect("a directory");
    let of = |name: &str| dir.path().join(name);
    begun(dir.path(), "result.json", 900);
    begun(dir.path(), "result-1000.json", 1_000);
    // Neither is a result that `--out` wrote.
    begun(dir.path(), "results.json", 5_000);
    begun(dir.path(), "result-1000.json.old", 5_000);
    let read = || {
        let all = Shown::read_all(dir.path()).expect("has results");
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].path, Stored::read(dir.path()).expect("a result").path);
        all[0].path.clone()
    };
    assert_eq!(read(), of("result-1000.json"));
    begun(dir.path(), "result-1000-2.json", 1_000);
    begun(dir.path(), "result-1000-10.json", 1_000);
    assert_eq!(read(), of("result-1000-10.json"));
    begun(dir.path(), "result.json", 2_000);
    assert_eq!(read(), of("result.json"));
}

#[test]
fn a_directory_of_a_gate_stands_for_its_newest_verdict() {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, started_unix_s) in [("gate.json", 10), ("gate-20.json", 20)] {
        let gate = crate::gate::GateResult { started_unix_s, ..example::gate::passed() };
        let json = crate::json(&gate).expect("finite");
        fs::write(dir.path().join(name), json).expect("written");
    }
    let all = Shown::read_all(dir.path()).expect("a gate's");
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].gate().map(|gate| gate.started_unix_s), Some(20));
}

#[test]
fn a_result_of_a_build_that_knew_no_clients_has_none() {
    let result = example::client::beside_designs();
    let mut json = serde_json::to_value(&result).expect("finite");
    let stored = Stored::from_json("r.json".into(), json.clone()).expect("a result");
    assert_eq!(stored.result, result);
    json.as_object_mut().expect("an object").remove("clients");
    let stored = Stored::from_json("r.json".into(), json).expect("a result of before");
    assert!(stored.result.clients.is_empty() && stored.result.cells == result.cells);
}
