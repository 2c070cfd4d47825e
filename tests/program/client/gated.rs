//! The gate on two clients whose difference is known: go-ethereum against a copy of itself, and against
//! itself with settings that slow it down.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    found::geth,
    machine,
    tool::{printed, text},
};

/// One thread for all of it, and a memory limit below its needs, so that it collects garbage all the time.
const DELAY: &str = "[env]\nGOMAXPROCS = \"1\"\nGOMEMLIMIT = \"16MiB\"\n";

/// An export with siblings, and start files beside it.
struct Bench {
    dir: TempDir,
    geth: PathBuf,
}

impl Bench {
    /// `None`, said aloud, where there is no go-ethereum.
    fn new() -> Option<Self> {
        let bench = Self { geth: geth()?, dir: tempfile::tempdir().unwrap() };
        let small = ["--gas", "10M", "--slots", "20k", "--set", "state.accounts=500"];
        let args = ["export", "--scenario", "sload-storm", "--siblings", "64", "--out", "storm"];
        printed(&[&args[..], &small].concat(), bench.dir.path());
        Some(bench)
    }

    /// The shipped start file with another name, this program, and `last` at its end.
    fn start_file(&self, name: &str, program: &Path, last: &str) -> String {
        let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/clients/geth.toml");
        let text = fs::read_to_string(shipped).unwrap();
        let text = text.replace("program = \"geth\"", &format!("program = {program:?}"));
        let text = text.replace("name = \"geth\"", &format!("name = {name:?}"));
        let path = self.dir.path().join(format!("{name}.toml"));
        fs::write(&path, format!("{text}\n{last}")).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The result of a gate on warm samples, while nothing else of these tests runs. One sample a slot of time
    /// keeps an octet at 12 samples: the change is far from δ on either side.
    fn gated(&self, new: &str, against: &str, delta: &str) -> (Option<i32>, Value) {
        let mut command = machine::program();
        command.args(["gate", "--client", new, "--against", against, "storm", "--cache", "warm"]);
        command.args(["--delta", delta, "--slot-time", "1ms", "--format", "json"]);
        command.current_dir(self.dir.path());
        command.env("STRESS_DATA_DIR", self.dir.path());
        let output = machine::output_alone(&mut command);
        let result = serde_json::from_slice(&output.stdout);
        let result = result.unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
        (output.status.code(), result)
    }
}

#[test]
fn a_copy_of_geth_is_no_regression() {
    let Some(bench) = Bench::new() else { return };
    let copy = bench.dir.path().join("geth-copy");
    fs::copy(&bench.geth, &copy).unwrap();
    let (new, old) = (bench.start_file("new", &copy, ""), bench.start_file("old", &bench.geth, ""));
    let (code, result) = bench.gated(&new, &old, "30%");
    let (verdict, reason) = (&result["gate"]["verdict"], &result["gate"]["reason"]);
    // A machine whose time others take may decide nothing.
    let expected = match verdict.as_str() {
        Some("pass" | "inconclusive") => 0,
        Some("untrusted") => 5,
        _ => panic!("{verdict}: {reason}"),
    };
    assert_eq!(code, Some(expected), "{reason}");
    for binary in result["binaries"].as_array().unwrap() {
        assert!(binary["client"].as_str().unwrap().contains("go-ethereum"), "{binary}");
        assert_eq!(binary["settings"], Value::Array(Vec::new()), "they are started alike");
    }
    let hashes = [0, 1].map(|side| &result["binaries"][side]["binary_hash"]);
    assert!(hashes[0].is_string() && hashes[0] == hashes[1], "{hashes:?}");
}

#[test]
fn geth_with_a_planted_delay_is_a_regression() {
    let Some(bench) = Bench::new() else { return };
    let (new, old) =
        (bench.start_file("new", &bench.geth, DELAY), bench.start_file("old", &bench.geth, ""));
    let (code, result) = bench.gated(&new, &old, "3%");
    // The delay is many times δ: a sure regression stands above all disturbances of the machine.
    assert_eq!(result["gate"]["verdict"], "regression", "{}", result["gate"]["reason"]);
    assert_eq!(code, Some(1));
    let settings = &result["binaries"][1]["settings"];
    assert_eq!(settings, &serde_json::json!(["GOMAXPROCS=1", "GOMEMLIMIT=16MiB"]));
    let looks = result["gate"]["attempts"][0]["cells"][0]["figures"][0]["looks"].as_array();
    let last = looks.unwrap().last().unwrap();
    assert!(last["lower"].as_f64() > Some(0.03), "{last}");
}
