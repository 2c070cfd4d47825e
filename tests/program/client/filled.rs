//! Databases that a program makes from an export's rows. The programs are a fake, and
//! `tools/geth-fill` of go-ethereum where Go and its modules are available.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use serde_json::Value;
use tempfile::TempDir;

use super::{
    dir,
    fake::{fill, written},
};
use crate::{
    found::geth,
    go, machine,
    tool::{printed, stress, text},
};

/// Contracts with slots, contracts with one of a few codes, and plain accounts.
const MIXED: &str = r#"
schema = 1
name = "mixed"
seed = 7
[state]
accounts = "500"
slots = "5k"
[block]
gas = "6M"
[[load]]
kind = "sstore-storm"
share = 0.6
contracts = 3
[[load]]
kind = "account-storm"
share = 0.4
op = "code-size"
target = "contracts"
accounts = "2k"
code = "1KiB"
codes = 40
"#;

/// Three exports with rows: `whole` of a block, `rows`, the same without a genesis, and `chain` of two
/// blocks.
fn exports() -> &'static Path {
    static EXPORTS: OnceLock<TempDir> = OnceLock::new();
    let made = EXPORTS.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("mixed.toml"), MIXED).unwrap();
        let args = ["export", "--scenario", "mixed.toml", "--format", "engine,rows", "--out"];
        printed(&[&args[..], &["whole", "--siblings", "3"]].concat(), dir.path());
        printed(&[&args[..], &["chain", "--blocks", "2", "--gas", "3M"]].concat(), dir.path());
        copied(&dir.path().join("whole"), &dir.path().join("rows"));
        let genesis = dir.path().join("rows/genesis.json");
        let mut settings: Value = serde_json::from_slice(&fs::read(&genesis).unwrap()).unwrap();
        settings["alloc"] = serde_json::json!({});
        let text = settings.to_string();
        fs::write(dir.path().join("rows/genesis-without-alloc.json"), text).unwrap();
        fs::remove_file(genesis).unwrap();
        dir
    });
    made.path()
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// The names of all that is in a directory.
fn names(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn rows_are_read_where_there_is_no_genesis_and_where_the_user_asks() {
    let own = tempfile::tempdir().unwrap();
    let kept = own.path().join("kept");
    for (name, export, more, is_filled) in [
        ("a", "rows", &[][..], true),
        ("b", "whole", &[][..], false),
        ("c", "whole", &["--fill"][..], true),
    ] {
        let file = written(own.path(), name, &fill(""), "", "");
        let args = ["client", export, "--client", &file, "--samples", "1", "--client-data"];
        printed(&[&args[..], &[kept.to_str().unwrap()], more].concat(), exports());
        assert_eq!(kept.join(name).join("filled").exists(), is_filled, "{name}");
        let beside = names(&kept.join(format!("{name}.stress")));
        assert!(!beside.contains(&"unfinished".to_owned()), "{beside:?}");
    }
    // A database that is there is used as it is.
    let file = written(own.path(), "a", &fill(", \"fails\""), "", "");
    let args = ["client", "rows", "--client", &file, "--samples", "1", "--client-data"];
    printed(&[&args[..], &[kept.to_str().unwrap()]].concat(), exports());
}

#[test]
fn a_database_that_cannot_be_made_is_one_error_before_our_designs_run() {
    let own = tempfile::tempdir().unwrap();
    let file = |name: &str, first: &str| written(own.path(), name, first, "", "");
    let without = file("without", "");
    let missing = file("missing", "fill = [\"no-such-filler\", \"{rows}\", \"{datadir}\"]\n");
    let fills = file("fills", &fill(""));
    let out = dir().join("out");
    let out = out.to_str().unwrap();
    let cases: [(&[&str], i32, &[&str]); 4] = [
        (&["rows", "--client", &without], 2, &["rows alone", "fill = …", "--client-data"]),
        (
            &["rows", "--client", &missing],
            6,
            &["cannot start no-such-filler", "docs/import-export.md"],
        ),
        (&["whole", "--client", &without, "--fill"], 2, &["--fill", "fill = …"]),
        (&[out, "--client", &fills, "--fill"], 2, &["no rows", "--format engine,rows"]),
    ];
    for (args, code, words) in cases {
        let ours = ["--design", "sequential", "--store", "memory", "--threads", "1"];
        let output = stress(&[&["client"], args, &ours].concat(), exports());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {error}");
        assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
        assert!(!error.contains("sequential"), "no design was run: {error}");
        for word in words {
            assert!(error.contains(word), "{args:?}: {word:?} is not in: {error}");
        }
    }
}

#[test]
fn a_filler_that_fails_is_told_with_its_output_and_leaves_nothing() {
    let own = tempfile::tempdir().unwrap();
    let file = written(own.path(), "fake", &fill(", \"fails\""), "", "");
    let kept = own.path().join("kept");
    let args = ["client", "rows", "--client", &file, "--client-data", kept.to_str().unwrap()];
    let output = stress(&args, exports());
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{error}");
    assert!(error.contains("exit status: 2") && error.contains("slots.rows is cut off"), "{error}");
    assert_eq!(names(&kept), ["fake.stress"]);
    assert_eq!(names(&kept.join("fake.stress")), ["init.log"]);
}

/// The program that fills go-ethereum's database, built once; `None`, said aloud, where it cannot be.
fn filler() -> Option<&'static Path> {
    static FILLER: OnceLock<Option<PathBuf>> = OnceLock::new();
    FILLER.get_or_init(|| go::built("tools/geth-fill")).as_deref()
}

/// Writes the shipped start file with these programs and another name.
fn start_file(dir: &Path, name: &str, programs: [&Path; 2]) -> String {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/clients/geth.toml"));
    let [program, filler] = programs.map(|path| format!("{:?}", path.to_str().unwrap()));
    let text = text.unwrap().replace("\"geth-fill\"", &filler);
    let text = text.replace("program = \"geth\"", &format!("program = {program}"));
    let text = text.replace("name = \"geth\"", &format!("name = {name:?}"));
    let path = dir.join(format!("{name}.toml"));
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_filler_in_go_passes_its_own_tests() {
    if filler().is_none() {
        return;
    }
    let _shared = machine::shared();
    go::passes("tools/geth-fill", &["test", "./..."]);
}

#[test]
fn rows_that_are_cut_off_are_refused_through_the_client() {
    let Some(filler) = filler() else { return };
    let own = tempfile::tempdir().unwrap();
    copied(&exports().join("rows"), &own.path().join("cut"));
    let slots = own.path().join("cut/slots.rows");
    let rows = fs::read(&slots).unwrap();
    fs::write(&slots, &rows[..rows.len() - 7]).unwrap();
    let file = start_file(own.path(), "geth", [Path::new("geth"), filler]);
    let args = ["client", "cut", "--client", &file, "--client-data", "kept"];
    let output = stress(&args, own.path());
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{error}");
    for words in ["slots.rows: ", "is cut off", "export again"] {
        assert!(error.contains(words), "{words:?} is not in: {error}");
    }
    assert_eq!(names(&own.path().join("kept")), ["geth.stress"]);
}

#[test]
fn geth_has_one_genesis_by_its_own_init_and_by_the_filler_and_finds_blocks_valid_on_both() {
    let Some(geth) = geth() else { return };
    let Some(filler) = filler() else { return };
    let own = tempfile::tempdir().unwrap();
    let kept = own.path().join("kept");
    let kept = kept.to_str().unwrap();
    let run = |export: &str, client: &str, more: &[&str]| {
        let args = ["client", export, "--client", client, "--format", "json"];
        let output = stress(&[&args[..], more].concat(), exports());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{export}, {client}: {error}");
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["agree"], true, "{error}");
        let clients = result["clients"].as_array().unwrap();
        clients.iter().map(|client| client["samples"].as_array().unwrap().len()).sum::<usize>()
    };
    let file = |name: &str| start_file(own.path(), name, [&geth, filler]);
    let (initialised, filled) = (file("initialised"), file("filled"));
    let more = ["--samples", "1", "--client-data", kept];
    assert_eq!(run("whole", &initialised, &more), 1);
    assert_eq!(run("whole", &filled, &[&more[..], &["--fill"]].concat()), 1);
    // The program compares the genesis hash of every client, and so its state root, with the export's.
    let manifest = fs::read(exports().join("whole/export.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let log = fs::read_to_string(Path::new(kept).join("filled.stress/init.log")).unwrap();
    for key in ["state_root", "genesis_hash"] {
        assert!(log.contains(manifest[key].as_str().unwrap()), "{key}: {log}");
    }
    // Nobody asks for rows where there is nothing else.
    assert_eq!(run("rows", &file("rows"), &["--samples", "1"]), 1);
    assert_eq!(run("chain", &file("chain"), &["--samples", "1", "--fill"]), 1);
}
