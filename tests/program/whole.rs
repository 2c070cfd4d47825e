//! Whole rows as a user sees them: there by default, above the rows of execution alone, or
//! declined. Where work cannot be whole, a line gives the reason.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::tool::{RUN, printed};

/// Two designs with a row each.
const DESIGNS: [&str; 6] =
    ["--design", "sequential,batched-io", "--threads", "1", "--samples", "1"];

fn result(args: &[&str], dir: &Path) -> Value {
    serde_json::from_str(&printed(&[args, &["--format", "json"]].concat(), dir)).unwrap()
}

fn run(more: &[&str], dir: &Path) -> Value {
    result(&[&RUN[..], &DESIGNS, more].concat(), dir)
}

fn variants(result: &Value) -> Vec<&str> {
    let cells = result["cells"].as_array().unwrap();
    cells.iter().map(|cell| cell["variant"].as_str().unwrap()).collect()
}

const ALONE: [&str; 2] = ["memory/none/sequential+on-demand@1", "memory/batched-io/bal+batched@1"];
const WHOLE: [&str; 2] = [
    "memory/none/sequential+on-demand+root-after+whole@1",
    "memory/batched-io/bal+batched+root-after+whole@1",
];

#[test]
fn a_run_has_a_whole_row_of_each_design_on_top_and_the_rows_of_before_below() {
    let dir = tempfile::tempdir().unwrap();
    let by_default = run(&[], dir.path());
    assert_eq!(variants(&by_default), [WHOLE[0], ALONE[0], WHOLE[1], ALONE[1]]);
    assert_eq!(
        (&by_default["agree"], &by_default["not_whole"]),
        (&Value::Bool(true), &Value::Null)
    );
    for cell in by_default["cells"].as_array().unwrap() {
        let is_whole = cell["variant"].as_str().unwrap().contains("+whole");
        let phases = &cell["samples"][0]["phases_ns"];
        for phase in ["block_decode", "recover", "receipts", "header", "root_fold"] {
            assert_eq!(phases[phase].as_u64() > Some(0), is_whole, "{phase} of {cell}");
        }
        let duties = ["block-decode", "recover", "receipts", "header", "sync"];
        let expected =
            if is_whole { Value::from(duties.to_vec()) } else { Value::from(Vec::<Value>::new()) };
        assert_eq!(cell["duties"], expected);
    }
    assert_eq!(variants(&run(&["--whole=none"], dir.path())), ALONE);
    let how = ["--design", "sequential,batched-io", "--threads", "1,2", "--samples", "1"];
    let all = result(&[&RUN[..], &how, &["--whole=all"]].concat(), dir.path());
    let whole = variants(&all).iter().filter(|name| name.contains("+whole@")).count();
    assert_eq!((whole, variants(&all).len()), (3, 6), "every row: {:?}", variants(&all));
    let page = printed(&[&RUN[..], &DESIGNS].concat(), dir.path());
    assert!(
        page.contains("\n  sequential, whole ") && page.contains("\n  batched-io, whole "),
        "{page}"
    );
    assert!(page.starts_with("fastest  "), "{page}");
}

#[test]
fn a_run_on_disk_has_a_state_with_tries_beside_the_one_of_execution_alone() {
    let dir = tempfile::tempdir().unwrap();
    let work = ["sload-storm", "--gas", "1M", "--slots", "10k", "--store", "rocksdb"];
    // Counters of samples that draw keys of their own are unknown.
    let work = [&work[..], &["--set", "run.keys=same"]].concat();
    let on_disk = |more: &[&str]| result(&[&work[..], &DESIGNS, more].concat(), dir.path());
    let states = || printed(&["state", "list"], dir.path()).lines().count();
    let alone = on_disk(&["--whole=none"]);
    assert_eq!(states(), 1);
    let whole = on_disk(&[]);
    assert_eq!(states(), 2, "the old one stays");
    let facts = |result: &Value| result["stores"][0]["facts"].clone();
    let tries = facts(&whole)["tries"].as_str().unwrap().to_owned();
    assert!(tries.starts_with("reth-like, state root 0x"), "{tries}");
    assert_eq!(facts(&alone)["tries"], Value::Null);
    assert_eq!(facts(&whole)["commit"], facts(&alone)["commit"], "rows of before are not synced");
    // Rows of execution alone do the same work over both.
    for cell in alone["cells"].as_array().unwrap() {
        let cells = whole["cells"].as_array().unwrap();
        let same = cells.iter().find(|other| other["variant"] == cell["variant"]).unwrap();
        assert!(cell["counters"]["gas"].as_u64() > Some(0), "{cell}");
        assert_eq!(same["counters"]["gas"], cell["counters"]["gas"]);
        assert_eq!(same["samples"][0]["phases_ns"]["sync"], 0);
    }
    let synced = &whole["cells"][0]["samples"][0]["phases_ns"]["sync"];
    assert!(synced.as_u64() > Some(0), "{synced}");
    on_disk(&[]);
    assert_eq!(states(), 2, "both are kept");
}

/// The transactions of a file as they are told without signatures: by their senders, which the workload
/// that was imported from them has.
fn without_signatures(txs: &Path, dir: &Path) -> PathBuf {
    let shown = printed(&["show", "--workload", "signed.workload", "--json"], dir);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let mut all: Value = serde_json::from_slice(&std::fs::read(txs).unwrap()).unwrap();
    let known = shown["batches"][0]["blocks"][0]["transactions"].as_array().unwrap();
    for (tx, known) in all.as_array_mut().unwrap().iter_mut().zip(known) {
        let tx = tx.as_object_mut().unwrap();
        tx.retain(|key, _| !["v", "r", "s", "yParity"].contains(&key.as_str()));
        tx.insert("from".to_owned(), known["sender"].clone());
    }
    let path = dir.join("unsigned.json");
    std::fs::write(&path, all.to_string()).unwrap();
    path
}

#[test]
fn work_that_cannot_be_whole_runs_alone_and_one_line_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let plain = ["--set", "state.layout=plain"];
    let args = [&RUN[..], &DESIGNS, &plain].concat();
    let page = printed(&args, dir.path());
    let line = "\nwhole    not run: the plain layout has no tries; --set state.layout=hashed\n";
    assert!(page.contains(line), "{page}");
    let json = run(&plain, dir.path());
    assert_eq!(variants(&json), ALONE);
    assert!(json["not_whole"].as_str().unwrap().starts_with("the plain layout"));
    assert_eq!(
        run(&["--set", "state.layout=plain", "--whole=none"], dir.path())["not_whole"],
        Value::Null
    );
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/t8n");
    let file = |name: &str| from.join(name).to_str().unwrap().to_owned();
    let (alloc, env, txs) = (file("alloc.json"), file("env.json"), file("txs.json"));
    let import = |txs: &str, to: &str| {
        printed(&["import", &alloc, &env, txs, "--fork", "BPO2", "-o", to], dir.path());
    };
    let sampled = ["--store", "memory", "--design", "sequential", "--samples", "1"];
    import(&txs, "signed.workload");
    let signed = result(&[&["signed.workload"], &sampled[..]].concat(), dir.path());
    assert_eq!(signed["not_whole"], Value::Null);
    assert_eq!(signed["agree"], true);
    assert_eq!(signed["cells"].as_array().unwrap().len(), 2, "whole and alone: {signed}");
    let phases = &signed["cells"][0]["samples"][0]["phases_ns"];
    assert!(phases["recover"].as_u64() > Some(0), "{phases}");
    import(without_signatures(Path::new(&txs), dir.path()).to_str().unwrap(), "block.workload");
    let one = [&["block.workload"], &sampled[..]].concat();
    let page = printed(&one, dir.path());
    let remedy = ["--set", "run.trie=reth-like", "--set", "run.root=after"];
    let told = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = format!(
        "not run: blocks cannot be signed: they were imported without signatures, and secrets of their \
         senders are not known; for the state root alone {}",
        remedy.join(" ")
    );
    assert!(told.contains(&line), "{page}");
    let rooted = result(&[&one[..], &remedy].concat(), dir.path());
    assert_eq!(variants(&rooted), ["memory/none/sequential+on-demand+root-after@1"]);
}

#[test]
fn gates_and_sweeps_run_execution_alone_and_a_baseline_is_judged_with_its_own_rows() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let samples = ["--samples", "8", "--design", "sequential,batched-io", "--threads", "1"];
    let work = [&RUN[..], &samples].concat();
    printed(&[&work[..], &["--save-baseline", "whole"]].concat(), dir);
    printed(&[&work[..], &["--whole=none", "--save-baseline", "alone"]].concat(), dir);
    let gate = |baseline: &str| -> Value {
        let args = [&["gate", "--baseline", baseline], &work[1..], &["--format", "json"]].concat();
        let output = crate::tool::stress(&args, dir);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    for (name, ratios) in [("alone", 1), ("whole", 3)] {
        let compared = &gate(name)["gate"]["baseline"];
        assert_eq!(compared["ratios"].as_array().unwrap().len(), ratios, "{name}: {compared}");
        assert_eq!(compared["reference"], ALONE[0], "{compared}");
        for nothing in ["only_in_one", "setting_changes", "counter_changes"] {
            assert_eq!(compared[nothing].as_array().unwrap().len(), 0, "{name}: {compared}");
        }
    }
    let cell = |work: &[&str], out: &str| -> Value {
        let sweep = [&["sweep"], work, &["--samples", "1", "threads=1,2", "--out", out]].concat();
        printed(&sweep, dir);
        let cell = std::fs::read(dir.join(out).join("cell-0000/result.json")).unwrap();
        serde_json::from_slice(&cell).unwrap()
    };
    let is_whole = |cell: &Value| variants(cell).iter().any(|name| name.contains("whole"));
    assert!(!is_whole(&cell(&RUN[1..], "sweep")));
    // A claim on whole blocks has them run, and one on execution has not.
    for (claim, has_whole) in [("{}", true), ("execution({})", false)] {
        let claim = claim.replace("{}", "ms_per_block(sequential)");
        let text = format!(
            "schema = 1\nname = \"claims\"\n[state]\nslots = 1_000\naccounts = 10\n[block]\ngas = \
             \"1M\"\n[[load]]\nkind = \"sload-storm\"\n[run]\nstores = [\"memory\"]\ndesigns = \
             [\"sequential\"]\n[[expect]]\nmetric = \"{claim}\"\nmax = 1e6\n"
        );
        std::fs::write(dir.join("claims.toml"), text).unwrap();
        let cell = cell(&["claims.toml"], &format!("claims-{has_whole}"));
        assert_eq!(is_whole(&cell), has_whole, "{claim}");
        assert_eq!(cell["expects"]["claims"][0]["metric"], claim.as_str());
        assert_eq!(cell["expects"]["claims"][0]["verdict"], "inconclusive", "of one sample");
    }
}
