//! The list against vectors that nobody here wrote: lists that go-ethereum and revm agree on,
//! and wrong ones that both reject. They are in the folder that `STRESS_VECTORS` names.

use std::{collections::BTreeSet, fs, path::PathBuf};

use alloy_eip7928::AccountChanges;
use alloy_primitives::{Bytes, U256};
use serde_json::Value;
use workload::{
    Fork, ListBounds, ListError, ListIndex,
    list::{SYSTEM_ITEM_COUNT, encode},
};

/// The wrong lists that are well-formed: only executing the block can tell that they are wrong.
const ONLY_EXECUTION_TELLS: [&str; 16] = [
    "missing account (accessed, no change: SLOAD target)",
    "missing coinbase",
    "missing 7002 system contract entry (reads only)",
    "missing storage_read",
    "extra storage_read (never read)",
    "extra account, empty",
    "SYSTEM_ADDRESS surplus",
    "wrong balance value",
    "wrong nonce value",
    "wrong storage value",
    "storage change removed",
    "wrong code",
    "code change removed",
    "noop storage change (value = pre) for a read slot",
    "tx index off by one (coinbase first change)",
    "history 2935 write missing",
];

/// The folder of the vectors; without one it prints that the test is skipped.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn folder() -> Option<PathBuf> {
    let folder =
        std::env::var_os("STRESS_VECTORS").map(|folder| PathBuf::from(folder).join("eip7928"));
    if folder.is_none() {
        eprintln!("SKIPPED: STRESS_VECTORS names no folder of test vectors");
    }
    folder
}

fn json(path: &std::path::Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("the file can be read")).expect("it is JSON")
}

fn bytes(value: &Value) -> Bytes {
    value.as_str().expect("a string").parse().expect("hex")
}

fn bounds(block: &Value) -> ListBounds {
    let header = &block["blockHeader"];
    let gas_limit: U256 = header["gasLimit"].as_str().expect("a string").parse().expect("a number");
    let tx_count = block["transactions"].as_array().map_or(0, Vec::len) as u32;
    ListBounds {
        last_index: tx_count + 1,
        gas_limit: gas_limit.to(),
        free_item_count: SYSTEM_ITEM_COUNT,
        surplus_item_count: 0,
        max_code_bytes: Fork::Amsterdam.max_code_bytes() as usize,
    }
}

#[test]
fn lists_of_go_ethereum_decode_and_encode_to_their_own_bytes() {
    let Some(folder) = folder() else { return };
    let mut count = 0;
    for file in fs::read_dir(folder).expect("the folder can be read") {
        let path = file.expect("an entry").path();
        if path.extension().is_none_or(|ext| ext != "json")
            || path.ends_with("invalid-of-combined.json")
        {
            continue;
        }
        for (name, case) in json(&path).as_object().expect("cases") {
            let block = &case["blocks"][0];
            let list: Vec<AccountChanges> =
                serde_json::from_value(block["blockAccessList"].clone()).expect("a list");
            let expected = bytes(&case["_info"]["balRlp"]);
            assert_eq!(encode(&list), expected, "{name}");
            let index = ListIndex::decode(&expected, &bounds(block));
            let index = index.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(index.to_changes(), list, "{name}");
            assert_eq!(index.encode(), expected, "{name}");
            count += 1;
        }
    }
    assert_eq!(count, 28);
}

#[test]
fn wrong_lists_are_rejected_each_for_its_own_reason_where_their_form_is_wrong() {
    let Some(folder) = folder() else { return };
    let combined = json(&folder.join("combined.json"));
    let case = combined.as_object().expect("cases").values().next().expect("a case");
    let bounds = bounds(&case["blocks"][0]);
    let variants = json(&folder.join("invalid-of-combined.json"));
    let variants = variants["variants"].as_array().expect("variants");
    let mut reasons = BTreeSet::new();
    let mut accepted = Vec::new();
    for variant in variants {
        let name = variant["name"].as_str().expect("a name");
        match ListIndex::decode(&bytes(&variant["blockAccessList"]), &bounds) {
            Ok(_) => accepted.push(name),
            Err(error) => {
                check_reason(name, error);
                assert!(reasons.insert(format!("{error:?}")), "{name}: {error}");
            }
        }
    }
    assert_eq!(accepted[0], "canonical (control)");
    assert_eq!(accepted[1..], ONLY_EXECUTION_TELLS);
    assert_eq!(reasons.len(), 13);
}

/// Asserts that the error is of the kind that the wrong list `name` must be rejected for.
fn check_reason(name: &str, error: ListError) {
    let is_right = match error {
        ListError::AccountOrder { .. } => name == "accounts swapped (order)",
        ListError::DuplicateAccount { .. } => name == "duplicate account",
        ListError::ChangedSlotOrder { .. } => name == "storage slots swapped",
        ListError::ReadOrder { .. } => name == "storage reads swapped",
        ListError::DuplicateRead { .. } => name == "duplicate storage read",
        ListError::ReadAndChanged { .. } => name == "slot in both changes and reads",
        ListError::IndexOrder { .. } => name == "balance changes reversed",
        ListError::DuplicateIndex { .. } => name == "duplicate nonce index",
        ListError::NoSlotChanges { .. } => name == "empty slot_changes list",
        ListError::IndexTooHigh { .. } => name == "index out of range (n+2)",
        ListError::LeadingZero { .. } => name == "non-minimal scalar (storage read 0x0001)",
        ListError::AddressLength { .. } => name == "address 19 bytes",
        ListError::SurplusField { .. } => name == "extra field in account tuple",
        _ => false,
    };
    assert!(is_right, "{name} is rejected for another reason: {error}");
}
