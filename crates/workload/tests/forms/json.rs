//! The JSON form of a workload: whoever reads it has the workload that the file's reader gives, and
//! the rows that its families make. The reader here knows nothing of the writer's types.

mod draw;
mod read;

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::Value;
use workload::{
    AccountState, Batch, KeyRule, SlotFamily, ValueRule, Workload, block::IndexRange, file,
    json::WorkloadJson, list,
};

use self::{
    draw::workloads,
    read::{array, hash, number, text, word},
};

fn written(workload: &Workload) -> String {
    serde_json::to_string(&WorkloadJson::new(workload)).expect("a valid workload has a JSON form")
}

fn parsed(workload: &Workload) -> Value {
    serde_json::from_str(&written(workload)).expect("it is JSON")
}

/// Rows of the families that a batch plans, one index at a time.
#[derive(Debug, Default, PartialEq)]
struct Rows {
    accounts: BTreeMap<Address, AccountState>,
    codes: BTreeMap<B256, Bytes>,
    slots: BTreeMap<(Address, U256), U256>,
}

fn planned(workload: &Workload, batch: &Batch) -> Rows {
    let (genesis, plan, mut rows) = (&workload.genesis, &batch.plan, Rows::default());
    for range in &plan.senders {
        let family = &genesis.senders[range.family as usize];
        for index in range.start..range.start + range.count {
            let state = AccountState { balance: family.balance, ..AccountState::default() };
            rows.accounts.insert(family.address(index).expect("a valid secret"), state);
        }
    }
    for range in &plan.accounts {
        let family = &genesis.account_families[range.family as usize];
        for index in (range.start..range.start + range.count).filter(|at| *at < family.count) {
            let code = family.code_index(index).map(|place| family.code(place));
            let code_hash = code.as_ref().map(keccak256);
            rows.accounts.insert(family.address(index), family.state(index, code_hash));
            rows.codes.extend(code_hash.zip(code));
        }
    }
    for range in &plan.slots {
        let family = &genesis.slots[range.family as usize];
        for index in (range.start..range.start + range.count).filter(|at| *at < family.count) {
            rows.slots.insert((family.address, family.key(index)), family.value(index));
        }
    }
    rows
}

fn rows(state: &Value) -> Rows {
    let mut rows = Rows::default();
    for account in array(&state["accounts"]) {
        let row = AccountState {
            nonce: number(&account["nonce"]),
            balance: word(&account["balance"]),
            code_hash: hash(&account["code_hash"]),
        };
        rows.accounts.insert(read::address(&account["address"]), row);
    }
    for code in array(&state["codes"]) {
        rows.codes.insert(hash(&code["hash"]), read::bytes(&code["code"]));
    }
    for contract in array(&state["slots"]) {
        let address = read::address(&contract["address"]);
        for row in array(&contract["slots"]) {
            rows.slots.insert((address, word(&row[0])), word(&row[1]));
        }
    }
    rows
}

proptest! {
    #[test]
    fn whoever_reads_the_json_has_the_workload_that_the_reader_of_the_file_gives(
        workload in workloads()
    ) {
        let bytes = file::encode(&workload).expect("it is consistent");
        let of_file = file::decode(&bytes).expect("it was just written");
        let json = parsed(&of_file);
        prop_assert_eq!(read::workload(&json), of_file);
        prop_assert_eq!(hash(&json["digest"]), workload.digest());
        prop_assert_eq!(hash(&json["genesis"]["digest"]), workload.genesis.digest());
        prop_assert_eq!(number(&json["format_version"]), u64::from(file::FORMAT_VERSION));
    }

    #[test]
    fn the_state_of_a_batch_has_the_planned_rows_that_exist_and_their_codes(
        workload in workloads()
    ) {
        let json = parsed(&workload);
        for (batch, said) in workload.batches.iter().zip(array(&json["batches"])) {
            prop_assert_eq!(rows(&said["state"]), planned(&workload, batch));
        }
    }

    #[test]
    fn the_decoded_list_encodes_to_the_encoded_one(workload in workloads()) {
        for said in array(&parsed(&workload)["batches"]) {
            let encoded = read::bytes(&said["list"]["encoded"]);
            let again = list::encode(&read::list(&said["list"]["accounts"]));
            prop_assert_eq!(&again, &encoded);
            prop_assert_eq!(hash(&said["list"]["keccak256"]), keccak256(&encoded));
        }
    }
}

/// The keys of an object in the order of its text: those of the first level of `text`.
fn keys(text: &str) -> Vec<String> {
    let (mut depth, mut keys, mut start, mut in_text) = (0, Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' if !in_text => (start, in_text) = (at + 1, true),
            '"' => {
                in_text = false;
                if depth == 1 && text[at + 1..].starts_with(':') {
                    keys.push(text[start..at].to_owned());
                }
            }
            '{' | '[' if !in_text => depth += 1,
            '}' | ']' if !in_text => depth -= 1,
            _ => {}
        }
    }
    keys
}

#[test]
fn the_keys_stand_in_the_order_of_the_page_and_every_one_is_in_it() {
    let page = include_str!("../../../../docs/contributing.md");
    let empty = Batch { list: Bytes::from_static(&[0xc0]), ..Batch::default() };
    let text = written(&Workload { batches: vec![empty], ..Workload::default() });
    assert!(text.starts_with("{\"schema\":\"stress.workload/1\",\"format_version\":"), "{text}");
    let batch = text.split_once("\"batches\":[").expect("there are batches").1;
    let (mut at, all) = (0, [keys(&text), keys(batch)].concat());
    assert_eq!(all.len(), 22, "{all:?}");
    for key in all {
        let found = page[at..].find(&format!("| `{key}`"));
        at += found
            .unwrap_or_else(|| panic!("{key} is not in docs/contributing.md, or out of order"));
    }
}

#[test]
fn every_key_of_the_json_is_in_the_page() {
    fn collect(value: &Value, out: &mut BTreeSet<String>) {
        match value {
            Value::Object(object) => object.iter().for_each(|(key, value)| {
                out.insert(key.clone());
                collect(value, out);
            }),
            Value::Array(all) => all.iter().for_each(|value| collect(value, out)),
            _ => {}
        }
    }
    let page = include_str!("../../../../docs/contributing.md");
    let mut runner = TestRunner::deterministic();
    let mut all = BTreeSet::new();
    for _ in 0..64 {
        let tree = workloads().new_tree(&mut runner).expect("workloads can be drawn");
        collect(&parsed(&tree.current()), &mut all);
    }
    let missing: Vec<_> = all.iter().filter(|key| !page.contains(&format!("`{key}`"))).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn a_list_that_is_none_and_a_plan_without_its_family_are_errors_and_no_panic() {
    let write = |batch| {
        let workload = Workload { batches: vec![batch], ..Workload::default() };
        serde_json::to_string(&WorkloadJson::new(&workload)).map_err(|error| error.to_string())
    };
    let list = Batch { list: Bytes::from_static(&[0x80]), ..Batch::default() };
    assert!(write(list).expect_err("no list").contains("list"));
    let mut batch = Batch { list: Bytes::from_static(&[0xc0]), ..Batch::default() };
    batch.plan.slots.push(IndexRange { family: 3, start: 0, count: 1 });
    assert!(write(batch).expect_err("no family").contains("no family 3"));
}

/// A writer that keeps nothing but how much was written, and how much the largest part was.
#[derive(Default)]
struct Parts {
    all_bytes: usize,
    largest_bytes: usize,
}

impl std::io::Write for Parts {
    fn write(&mut self, part: &[u8]) -> std::io::Result<usize> {
        self.all_bytes += part.len();
        self.largest_bytes = self.largest_bytes.max(part.len());
        Ok(part.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn rows_are_written_as_they_are_made_and_the_whole_is_never_in_memory() {
    let family = SlotFamily {
        address: Address::repeat_byte(1),
        count: 100_000,
        keys: KeyRule::Keccak,
        values: ValueRule::Random,
        seed: B256::ZERO,
    };
    let mut workload = Workload {
        batches: vec![Batch { list: Bytes::from_static(&[0xc0]), ..Batch::default() }],
        ..Workload::default()
    };
    workload.genesis.slots.push(family);
    workload.batches[0].plan.slots.push(IndexRange { family: 0, start: 0, count: 100_000 });
    let mut parts = Parts::default();
    serde_json::to_writer(&mut parts, &WorkloadJson::new(&workload)).expect("it has a JSON form");
    assert!(parts.all_bytes > 100_000 * 100, "{} bytes", parts.all_bytes);
    assert!(parts.largest_bytes < 100, "{} bytes", parts.largest_bytes);
}

#[test]
fn numbers_beyond_53_bits_keep_every_digit() {
    let workload = Workload {
        seed: u64::MAX,
        batches: vec![Batch { list: Bytes::from_static(&[0xc0]), ..Batch::default() }],
        ..Workload::default()
    };
    assert_eq!(number(&parsed(&workload)["seed"]), u64::MAX);
    assert_eq!(text(&parsed(&workload)["fork"]), "amsterdam");
}
