//! Chains of blocks on a client: each block in its order, and each sample from the beginning.

use std::{fs, sync::OnceLock};

use serde_json::Value;
use tempfile::TempDir;

use super::{
    fake::{serve, valid, written},
    payloads,
};
use crate::{
    found::geth,
    tool::{printed, stress, text},
};

/// An export of two blocks with two siblings each, `chain`, and one without siblings, `alone`.
fn chain() -> &'static TempDir {
    static EXPORT: OnceLock<TempDir> = OnceLock::new();
    EXPORT.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let small =
            ["--gas", "2M", "--slots", "2k", "--set", "state.accounts=500", "--blocks", "2"];
        let args = ["export", "--scenario", "sstore-storm", "--out"];
        for (output, siblings) in [("chain", "2"), ("alone", "1")] {
            let own = [output, "--siblings", siblings];
            printed(&[&args[..], &own, &small].concat(), dir.path());
        }
        fs::write(dir.path().join("jwt.hex"), "07".repeat(32)).unwrap();
        dir
    })
}

fn manifest(name: &str) -> Value {
    serde_json::from_slice(&fs::read(chain().path().join(name).join("export.json")).unwrap())
        .unwrap()
}

/// Hashes of the blocks of the chain, in order.
fn hashes(name: &str) -> Vec<String> {
    let blocks = manifest(name)["blocks"].as_array().unwrap().clone();
    blocks.iter().map(|block| block["hash"].as_str().unwrap().to_owned()).collect()
}

fn result(args: &[&str]) -> Value {
    let output = stress(&[args, &["--format", "json"]].concat(), chain().path());
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Each sample must have all blocks of the chain in order; its time must be theirs.
fn assert_chain(client: &Value, name: &str, sample_count: usize) {
    let samples = client["samples"].as_array().unwrap();
    assert_eq!((samples.len(), &client["warm_up_sample_count"]), (sample_count, &0.into()));
    for sample in samples {
        let blocks = sample["blocks"].as_array().unwrap();
        let sent: Vec<_> =
            blocks.iter().map(|block| block["block_hash"].as_str().unwrap()).collect();
        assert_eq!(sent, hashes(name));
        let ns = |block: &Value, key: &str| block[key].as_u64().unwrap();
        let all: u64 =
            blocks.iter().map(|b| ns(b, "new_payload_ns") + ns(b, "forkchoice_ns")).sum();
        assert_eq!(sample["wall_ns"].as_u64(), Some(all), "{sample}");
    }
}

#[test]
fn a_client_that_runs_takes_a_chain_once_in_its_order() {
    let hash = manifest("alone")["genesis_hash"].as_str().unwrap().to_owned();
    let (url, calls) = serve(move |call| valid(call, &hash));
    // One that keeps its reads in caches is warm, and nothing warmed it for the blocks.
    let attached = ["client", "chain", "--url", &url, "--jwt", "jwt.hex"];
    let client = &result(&attached)["clients"][0];
    assert_chain(client, "chain", 1);
    let sent = payloads(&calls);
    assert_eq!(sent.len(), 4, "a sibling before each block: {sent:?}");
    assert_eq!([&sent[1], &sent[3]], [&hashes("chain")[0], &hashes("chain")[1]]);
    let output = stress(&[&attached[..], &["--samples", "2"]].concat(), chain().path());
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("--samples 1") && error.contains("--client"), "{error}");
}

#[test]
fn each_sample_of_a_chain_begins_on_a_new_copy_of_the_database() {
    let own = tempfile::tempdir().unwrap();
    let file = written(own.path(), "fake", "", "", "");
    let kept = own.path().join("kept");
    let args = ["client", "alone", "--client", &file, "--samples", "3", "--client-data"];
    let page = own.path().join("page");
    let out = ["--out", page.to_str().unwrap()];
    let result = result(&[&args[..], &[kept.to_str().unwrap()], &out].concat());
    let client = &result["clients"][0];
    assert_chain(client, "alone", 3);
    assert_eq!(client["samples"][0]["blocks"][1]["own_ns"], 1_500_000, "{client}");
    assert!(kept.join("fake/genesis").exists() && !kept.join("fake/known").exists());
    assert!(!kept.join("fake.stress/copy").exists(), "copies are removed");
    let table = printed(&["report", page.to_str().unwrap()], own.path());
    assert!(table.contains("client `fake`"), "{table}");
    let html = own.path().join("page.html");
    printed(&["report", page.to_str().unwrap(), "--out", html.to_str().unwrap()], own.path());
    assert!(fs::read_to_string(&html).unwrap().contains("block 2"));
}

#[test]
fn a_warm_chain_needs_siblings_that_warm_it() {
    let own = tempfile::tempdir().unwrap();
    let file = written(own.path(), "fake", "", "", "");
    let warm = |name: &'static str| {
        ["client", name, "--client", &file, "--cache", "warm", "--samples", "2"]
    };
    assert_chain(&result(&warm("chain"))["clients"][0], "chain", 2);
    let output = stress(&warm("alone"), chain().path());
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("2 blocks") && error.contains("--siblings 2"), "{error}");
}

#[test]
fn geth_takes_a_chain_cold_and_warm() {
    let Some(geth) = geth() else { return };
    let program = geth.to_str().unwrap();
    // One database for both: no sample changes it.
    let own = tempfile::tempdir().unwrap();
    let kept = own.path().join("kept");
    let kept = ["--client-data", kept.to_str().unwrap()];
    let args = ["client", "chain", "--client", "geth", "--program", program, "--samples", "2"];
    let ours = ["--design", "sequential", "--store", "memory", "--threads", "1"];
    for cache in ["cold", "warm"] {
        let result = result(&[&args[..], &kept, &ours, &["--cache", cache]].concat());
        let client = &result["clients"][0];
        assert_chain(client, "chain", 2);
        assert!(client["in_order_ratio"].is_f64(), "{client}");
        assert!(client["samples"][1]["blocks"][1]["own_ns"].as_u64() > Some(0), "{client}");
    }
}
