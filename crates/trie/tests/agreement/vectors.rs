//! Roots of blocks that were made outside of this project. The state before a block has the root of
//! the genesis header, and its writes lead to the root of its own header. Runs if `STRESS_VECTORS`
//! names the folder of the vectors.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use alloy_primitives::{Address, B256, U256, hex, keccak256};
use serde_json::Value;
use trie::{AccountValue, Format, MemoryTrie, Rows, SlotValue};

use crate::{
    oracle::{State, formats, root, update_by},
    updating::SHARD_COUNTS,
};

/// An account with its slots by hashed key.
#[derive(Clone, Default)]
struct Account {
    value: AccountValue,
    slots: State,
}

fn number(value: &Value) -> U256 {
    value.as_str().expect("a string").parse().expect("a number")
}

fn hash(value: &Value) -> B256 {
    value.as_str().expect("a string").parse().expect("a hash")
}

fn accounts(value: &Value) -> BTreeMap<Address, Account> {
    let account = |(address, fields): (&String, &Value)| {
        let slot = |(key, value): (&String, &Value)| {
            let key: U256 = key.parse().expect("a slot");
            let value = SlotValue::new(&number(value))?;
            Some((keccak256(key.to_be_bytes::<32>()), value.as_slice().to_vec()))
        };
        let slots: State =
            fields["storage"].as_object().expect("slots").iter().filter_map(slot).collect();
        let code = hex::decode(fields["code"].as_str().expect("a code")).expect("hex");
        let value = AccountValue {
            nonce: number(&fields["nonce"]).to(),
            balance: number(&fields["balance"]),
            storage_root: root(&slots),
            code_hash: keccak256(code),
        };
        (address.parse().expect("an address"), Account { value, slots })
    };
    value.as_object().expect("accounts").iter().map(account).collect()
}

/// Returns the values of the accounts' leaves by hashed address.
fn leaves(accounts: &BTreeMap<Address, Account>) -> State {
    let leaf = |(address, account): (&Address, &Account)| {
        let mut value = Vec::new();
        account.value.encode_to(&mut value);
        (keccak256(address), value)
    };
    accounts.iter().map(leaf).collect()
}

/// Returns the writes that lead from one state to another.
fn writes(before: &State, after: &State) -> Rows {
    let mut rows = Rows::default();
    for key in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
        if before.get(key) != after.get(key) {
            rows.push(*key, after.get(key).map(Vec::as_slice).unwrap_or_default());
        }
    }
    rows
}

/// Returns the root after an update of the trie of `before` to the state `after`.
fn updated(format: Format, shard_count: Option<u8>, before: &State, after: &State) -> B256 {
    let (trie, _) = MemoryTrie::build(format, before.clone()).expect("rows");
    let folded = update_by(format, shard_count, &writes(before, after), &trie);
    folded.expect("a trie").root
}

fn check(name: &str, case: &Value) {
    let (before, after) = (accounts(&case["pre"]), accounts(&case["postState"]));
    let header =
        &case["blocks"].as_array().and_then(|all| all.last()).expect("a block")["blockHeader"];
    let expected = hash(&header["stateRoot"]);
    for format in formats() {
        let (_, genesis) = MemoryTrie::build(format, leaves(&before)).expect("accounts");
        assert_eq!(genesis, hash(&case["genesisBlockHeader"]["stateRoot"]), "{name} {format:?}");
        for shard_count in SHARD_COUNTS {
            let mut made = after.clone();
            for (address, account) in &mut made {
                let old = before.get(address).cloned().unwrap_or_default().slots;
                account.value.storage_root = updated(format, shard_count, &old, &account.slots);
            }
            let root = updated(format, shard_count, &leaves(&before), &leaves(&made));
            assert_eq!(root, expected, "{name}, {format:?}, {shard_count:?} shards");
        }
    }
}

/// Checks all cases in a folder and returns how many there are.
fn check_folder(folder: &Path) -> usize {
    let mut count = 0;
    let files = fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    paths.retain(|path| !path.to_string_lossy().contains("invalid-of"));
    for path in paths {
        let text = fs::read_to_string(&path).expect("a file");
        let cases: Value = serde_json::from_str(&text).expect("JSON");
        for (name, case) in cases.as_object().expect("cases") {
            check(name, case);
            count += 1;
        }
    }
    count
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped must say so")]
fn states_of_foreign_blocks_have_the_roots_of_their_headers() {
    let Some(vectors) = std::env::var_os("STRESS_VECTORS").map(PathBuf::from) else {
        eprintln!("SKIPPED: STRESS_VECTORS does not name the folder of the vectors");
        return;
    };
    assert_eq!(check_folder(&vectors.join("eip7928")), 28);
    let temp = tempfile::tempdir().expect("a folder");
    let archive = vectors.join("eip7928-eest.tar.xz");
    let tar = Command::new("tar").arg("-xJf").arg(archive).arg("-C").arg(temp.path()).status();
    assert!(tar.expect("tar").success(), "tar cannot extract the archive");
    assert_eq!(check_folder(&temp.path().join("eest")), 272);
}
