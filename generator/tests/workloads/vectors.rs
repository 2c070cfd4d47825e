//! The reference against blocks that others made, with the lists, gas and state of go-ethereum.
//! Runs if `STRESS_VECTORS` names the folder of the vectors.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as it does")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use alloy_primitives::{b256, keccak256};
use generator::{
    import::{self, Imported, NamedText, TransitionInput},
    reference::{self, BatchReference},
};
use workload::{
    Fork, Workload,
    list::{ListBounds, ListIndex},
};

/// The folder of the vectors; says aloud when it is not given.
#[expect(clippy::print_stderr, reason = "a test that is skipped must say so")]
fn vectors(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("STRESS_VECTORS").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("SKIPPED {test}: STRESS_VECTORS does not name the folder of the vectors");
    }
    folder
}

fn unpack(archive: &Path) -> tempfile::TempDir {
    let temp = tempfile::tempdir().unwrap();
    let tar = Command::new("tar").arg("-xJf").arg(archive).arg("-C").arg(temp.path()).status();
    assert!(tar.unwrap().success(), "tar cannot extract the archive");
    temp
}

fn import_all(folder: &Path) -> Vec<Imported> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    paths.retain(|path| !path.to_string_lossy().contains("invalid-of"));
    paths.sort();
    let read = |path: &PathBuf| {
        let json = fs::read_to_string(path).unwrap();
        import::blockchain_tests("vector", &json)
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    paths.iter().flat_map(read).collect()
}

/// The values of these files that an import compares, in order.
const COMPARED: [&str; 16] = [
    "genesis hash",
    "genesis RLP",
    "genesis state root",
    "last block hash",
    "transactions root",
    "withdrawals root",
    "blob gas",
    "gas used",
    "receipts root",
    "logs bloom",
    "list",
    "list hash",
    "requests hash",
    "state root",
    "block hash",
    "block RLP",
];

/// The first difference between the reference and the file, if there is one.
fn disagreement(imported: &Imported) -> Option<String> {
    let made = match reference::run(&imported.workload, || {}) {
        Ok(made) => made,
        Err(error) => return Some(error.to_string()),
    };
    for (batch, made) in imported.workload.batches.iter().zip(&made) {
        let bounds = ListBounds::new(batch, &imported.workload.rules);
        match ListIndex::decode(&made.list, &bounds).map(|index| index.encode()) {
            Ok(again) if again == made.list => {}
            other => return Some(format!("the list is not accepted: {other:?}")),
        }
    }
    for (block, made) in imported.blocks.iter().zip(&made) {
        if block.lists.iter().any(|list| *list != made.list) {
            return Some(format!("list\n {:?}\n {}", block.lists, made.list));
        }
        if block.list_hash != Some(keccak256(&made.list)) {
            return Some(format!("list hash; made {}", made.list));
        }
        if made.expected.header_gas.first() != block.gas_used.as_ref() {
            return Some(format!("gas {:?} {:?}", made.expected.header_gas, block.gas_used));
        }
    }
    let mut completed = imported.clone();
    match import::complete(&mut completed, || {}) {
        Ok(compared) if compared.iter().ne(COMPARED.iter().chain(&["post state"])) => {
            return Some(format!("compared was {compared:?}"));
        }
        Ok(_) => {}
        Err(error) => return Some(error.to_string()),
    }
    let changes: Vec<_> = made.iter().map(|made| made.changes.clone()).collect();
    let state = import::state_after(&imported.workload.genesis, &changes);
    let said = imported.post_state.as_deref().unwrap_or_default();
    let differs = state.iter().zip(said).find(|(a, b)| a != b);
    if differs.is_some() || state.len() != said.len() {
        return Some(format!("state {} {}: {differs:?}", state.len(), said.len()));
    }
    None
}

#[expect(clippy::print_stderr, reason = "the number of blocks is to be seen")]
fn assert_agreement(all: &[Imported], expected_count: usize) {
    let wrong: Vec<String> = all
        .iter()
        .filter_map(|test| disagreement(test).map(|why| format!("{}: {why}", test.name)))
        .collect();
    let (count, matching) = (all.len(), all.len() - wrong.len());
    eprintln!("{matching} of {count} blocks agree");
    assert!(wrong.is_empty(), "{matching} of {count} agree; not:\n{}", wrong.join("\n"));
    assert_eq!(count, expected_count);
}

#[test]
fn lists_gas_and_state_equal_those_of_go_ethereum() {
    let Some(folder) = vectors("lists_gas_and_state_equal_those_of_go_ethereum") else { return };
    let all = import_all(&folder.join("eip7928"));
    assert!(all.iter().all(|test| test.blocks[0].lists.len() == 2));
    assert_agreement(&all, 28);
}

#[test]
fn the_official_cases_equal_those_of_go_ethereum() {
    let Some(folder) = vectors("the_official_cases_equal_those_of_go_ethereum") else { return };
    let temp = unpack(&folder.join("eip7928-eest.tar.xz"));
    assert_agreement(&import_all(&temp.path().join("eest")), 272);
}

#[test]
#[expect(clippy::print_stderr, reason = "the number of lists is to be seen")]
fn a_file_with_a_wrong_list_is_not_imported() {
    let Some(folder) = vectors("a_file_with_a_wrong_list_is_not_imported") else { return };
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_slice(&fs::read(folder.join("eip7928").join(name)).unwrap()).unwrap()
    };
    let (mut tests, lists) = (read("combined.json"), read("invalid-of-combined.json"));
    let mut refused_count = 0;
    for entry in lists["variants"].as_array().unwrap() {
        tests["combined"]["_info"]["balRlp"] = entry["blockAccessList"].clone();
        let mut imported = import::blockchain_tests("combined.json", &tests.to_string()).unwrap();
        let completed = import::complete(&mut imported[0], || {});
        if entry["valid"].as_bool().unwrap() {
            assert!(completed.unwrap().contains(&"list"));
            continue;
        }
        let error = completed.unwrap_err().to_string();
        assert!(error.contains("list is") && error.contains("in the file"), "{error}");
        assert!(error.len() < 300, "{error}");
        assert!(imported[0].workload.batches[0].list.is_empty(), "nothing is filled in");
        refused_count += 1;
    }
    eprintln!("{refused_count} files with wrong lists are refused");
    assert_eq!(refused_count, 29);
}

#[test]
fn a_completed_workload_verifies_and_a_changed_one_does_not() {
    let Some(folder) = vectors("a_completed_workload_verifies") else { return };
    let json = fs::read_to_string(folder.join("eip7928/combined.json")).unwrap();
    let mut workload: Workload =
        import::blockchain_tests("combined.json", &json).unwrap().remove(0).workload;
    reference::complete(&mut workload, || {}).unwrap();
    reference::verify(&workload, || {}).unwrap();
    let made: Vec<BatchReference> = reference::run(&workload, || {}).unwrap();
    assert_eq!(made[0].list, workload.batches[0].list);
    workload.batches[0].expected.transactions[3].gas_used += 1;
    let error = reference::verify(&workload, || {}).unwrap_err();
    assert!(error.to_string().contains("outcome of a transaction"), "{error}");
}

#[test]
fn a_mainnet_block_comes_to_the_gas_receipts_and_state_that_it_had() {
    let Some(folder) = vectors("a_mainnet_block_comes_to_the_receipts") else { return };
    let temp = unpack(&folder.join("mainnet-24476005.tar.xz"));
    let read = |name| fs::read_to_string(temp.path().join("mainnet-24476005").join(name)).unwrap();
    let [alloc, env, txs, result] =
        ["alloc.json", "env.json", "txs.json", "result.BPO2.json"].map(read);
    let import = |fork| {
        let text = |name, text| NamedText { name, text };
        let files = TransitionInput::Files {
            alloc: text("alloc.json", &alloc),
            env: text("env.json", &env),
            txs: text("txs.json", &txs),
        };
        let result = Some(text("result.json", &result));
        let mut block = import::transition(files, result, fork, 1).unwrap();
        // The file's state root is that of other accounts than `alloc.json` has. This is what
        // go-ethereum 1.17.10 makes of these files.
        block.blocks[0].state_root =
            Some(b256!("c6897eb4d196739d7770fe1fa0f264ef4aab19ac4264691b9de3a26064af1a62"));
        block
    };
    let mut block = import(Fork::Bpo2);
    let compared = import::complete(&mut block, || {}).unwrap();
    let expected = [
        "transactions root",
        "withdrawals root",
        "blob gas",
        "status and gas of receipts",
        "gas used",
        "receipts root",
        "logs hash",
        "requests hash",
        "state root",
    ];
    assert_eq!(compared, expected);
    let workload = block.workload;
    assert_eq!(workload.batches[0].expected.header_gas, [0x7b_790b]);
    assert_eq!(workload.gas_used(), 0x7b_790b);
    assert_eq!((workload.tx_count(), workload.genesis.slot_count()), (109, 396));
    assert_eq!(workload.genesis.account_count(), 250);
    reference::verify(&workload, || {}).unwrap();

    // Its own rules, not later ones.
    let error = import::complete(&mut import(Fork::Amsterdam), || {}).unwrap_err().to_string();
    assert!(error.contains("receipt"), "{error}");
}

/// The files below `folder`.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, mut files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| files_below(folder)));
    files.sort();
    files
}

#[test]
#[expect(clippy::print_stderr, reason = "the cases that are left are to be seen")]
fn cases_of_paris_to_cancun_come_out_as_in_their_files() {
    let Some(folder) = vectors("cases_of_paris_to_cancun") else { return };
    let temp = unpack(&folder.join("blocktests-paris-cancun.tar.xz"));
    let files = files_below(temp.path());
    let mut left = Vec::new();
    for path in &files {
        let json = fs::read_to_string(path).unwrap();
        for (name, test) in import::each_blockchain_test("case", &json).unwrap() {
            let done = test.and_then(|mut test| import::complete(&mut test, || {}));
            left.extend(done.err().map(|error| format!("{name}: {error}")));
        }
    }
    eprintln!("{} of {} cases are left:\n{}", left.len(), files.len(), left.join("\n"));
    let expected = [("SELFDESTRUCT removes", 4), ("EIP-7610", 2)];
    for (reason, count) in expected {
        assert_eq!(left.iter().filter(|left| left.contains(reason)).count(), count, "{reason}");
    }
    assert_eq!(left.len(), expected.iter().map(|(_, count)| count).sum::<usize>());
}
