//! The laws of storms for the state root: slots below one nibble, one slot in each of many
//! contracts, slots at the end of deep paths.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as it does")]

use std::collections::{BTreeMap, HashMap};

use alloy_primitives::{Address, B256, U256, keccak256};
use generator::{GeneratorError, describe::describe, generate, reference};
use workload::{SlotFamily, Workload, deep::DEEP_KEYS};

use crate::blocks::{assert_full, list, parse};

const BASE: &str = r#"
schema = 1
name = "test"
seed = 1
[state]
accounts = "1k"
slots = "100k"
[block]
gas = "30M"
[[load]]
kind = "sstore-storm"
"#;

fn try_make(overrides: &[(&str, &str)]) -> Result<Workload, GeneratorError> {
    generate(&parse(BASE, overrides), |_| {})
}

fn make(overrides: &[(&str, &str)]) -> Workload {
    try_make(overrides).unwrap_or_else(|error| panic!("{overrides:?}: {error}"))
}

/// The number that a message has behind `words`.
fn number_after(message: &str, words: &str) -> String {
    let rest = message.split(words).nth(1).unwrap_or_else(|| panic!("{words}: {message}"));
    rest.chars().take_while(char::is_ascii_digit).collect()
}

/// The written keys of the lists with their values, by contract with a family of slots. No slot is
/// written twice.
fn written(made: &Workload) -> BTreeMap<Address, Vec<(U256, U256)>> {
    let families = families(made);
    let mut out: BTreeMap<Address, Vec<(U256, U256)>> = BTreeMap::new();
    // System contracts write slots of their own.
    let listed = made.batches.iter().flat_map(list);
    for account in listed.filter(|account| families.contains_key(&account.address)) {
        assert!(account.storage_reads.is_empty(), "{}", account.address);
        for slot in account.storage_changes {
            let [change] = &slot.changes[..] else { panic!("{}: written twice", slot.slot) };
            let slots = out.entry(account.address).or_default();
            assert!(slots.iter().all(|(key, _)| *key != slot.slot), "{}: again", slot.slot);
            slots.push((slot.slot, change.new_value));
        }
    }
    out
}

fn families(made: &Workload) -> HashMap<Address, &SlotFamily> {
    made.genesis.slots.iter().map(|family| (family.address, family)).collect()
}

fn hash(key: U256) -> B256 {
    keccak256(B256::from(key))
}

/// The description of a workload has as many written slots.
fn assert_described(made: &Workload, written_count: usize) {
    let described = describe(made, || {}).unwrap();
    let counts = described.transactions.iter().map(|keys| keys.written_slot_count as usize);
    assert_eq!(counts.sum::<usize>(), written_count);
}

#[test]
fn all_slots_that_are_written_below_a_nibble_have_it() {
    for (fork, op, nibble, contracts) in [
        ("amsterdam", "update", 0, 1),
        ("amsterdam", "clear", 7, 1),
        ("osaka", "update", 15, 1),
        ("osaka", "clear", 9, 3),
    ] {
        let (nibble_key, contracts_key) = (nibble.to_string(), contracts.to_string());
        let made = make(&[
            ("fork", fork),
            ("load.op", op),
            ("load.nibble", &nibble_key),
            ("load.contracts", &contracts_key),
            ("block.gas", "10M"),
            ("block.tx_gas", "1M"),
            ("block.blocks", "2"),
        ]);
        assert_full(&made, 10_000_000);
        let written = written(&made);
        assert_eq!(written.len(), contracts, "{op}");
        let families = families(&made);
        for (address, slots) in &written {
            let family = families[address];
            let held: HashMap<U256, U256> =
                (0..family.count).map(|index| (family.key(index), family.value(index))).collect();
            for (key, value) in slots {
                assert_eq!(hash(*key)[0] >> 4, nibble, "{op}");
                assert!(held[key] != *value && value.is_zero() == (op == "clear"), "{op}");
            }
        }
        let written_count = written.values().map(Vec::len).sum::<usize>();
        let planned: u64 =
            made.batches.iter().flat_map(|batch| &batch.plan.slots).map(|range| range.count).sum();
        assert_eq!(written_count as u64, planned, "{op}: each slot once");
        assert_described(&made, written_count);
        reference::verify(&made, || {}).unwrap();
    }
}

#[test]
fn a_slot_below_a_nibble_costs_a_write_and_its_index_and_little_more() {
    for (fork, least) in [("osaka", 5_000.0), ("amsterdam", 12_100.0)] {
        let made = make(&[("fork", fork), ("load.nibble", "3"), ("block.transactions", "1")]);
        let count = written(&made).values().map(Vec::len).sum::<usize>();
        let gas = made.gas_used() as f64 / count as f64;
        // contracts/README.md; an index of 4 bytes, and the transaction's own 22,000.
        assert!((least..least + 87.0 + 64.0 + 20.0).contains(&gas), "{fork}: {gas}");
    }
}

#[test]
fn more_slots_than_lie_below_a_nibble_is_an_error_that_names_the_key() {
    for (slots, contracts) in [("20k", "1"), ("9", "1"), ("20k", "2")] {
        let few = [("state.slots", slots), ("load.nibble", "4"), ("load.contracts", contracts)];
        let error = try_make(&few).unwrap_err();
        assert!(matches!(error, GeneratorError::TooFewSlotsBelow { nibble: 4, .. }), "{error}");
        let enough = number_after(&error.to_string(), "raise state.slots to ");
        assert_full(&make(&[("state.slots", &enough), few[1], few[2]]), 30_000_000);
    }
}

#[test]
fn one_slot_is_written_in_each_of_many_contracts() {
    for (fork, op, keys) in [
        ("amsterdam", "update", "first"),
        ("amsterdam", "create", "first"),
        ("amsterdam", "clear", "deep"),
        ("osaka", "clear", "first"),
        ("osaka", "create", "first"),
        ("osaka", "update", "deep"),
    ] {
        let overrides =
            [("fork", fork), ("load.op", op), ("load.keys", keys), ("load.contracts", "9k")];
        let blocks = [("block.gas", "20M"), ("block.blocks", "2"), ("block.tx_gas", "4M")];
        let made = make(&[&overrides[..], &blocks].concat());
        assert_full(&made, 20_000_000);
        let (written, families) = (written(&made), families(&made));
        assert_eq!(families.len(), 9_000);
        for (address, slots) in &written {
            let [(key, value)] = slots[..] else { panic!("{op}: {slots:?}") };
            let family = families[address];
            assert_eq!(family.count, 11, "{keys}");
            let index = if op == "create" { family.count } else { 0 };
            assert_eq!(key, family.key(index), "{op}, {keys}");
            assert_eq!(value.is_zero(), op == "clear");
            assert_ne!(value, family.value(0));
        }
        let planned: u64 =
            made.batches.iter().flat_map(|batch| &batch.plan.slots).map(|range| range.count).sum();
        assert_eq!(written.len() as u64, planned, "{op}: each contract once in all blocks");
        assert_described(&made, written.len());
        reference::verify(&made, || {}).unwrap();
    }
}

#[test]
fn a_slot_in_each_contract_costs_an_account_and_a_write_and_little_more() {
    for (fork, op, least) in [
        ("osaka", "update", 2_600.0 + 5_000.0),
        ("osaka", "create", 2_600.0 + 22_100.0),
        ("amsterdam", "update", 3_000.0 + 12_100.0),
    ] {
        let made = make(&[
            ("fork", fork),
            ("load.op", op),
            ("load.keys", "first"),
            ("load.contracts", "9k"),
            ("block.transactions", "1"),
        ]);
        let gas = made.gas_used() as f64 / written(&made).len() as f64;
        // contracts/README.md, and the transaction's own 22,000.
        assert!((least..least + 146.0 + 40.0).contains(&gas), "{fork}, {op}: {gas}");
    }
}

#[test]
fn the_written_slot_of_a_deep_trie_lies_below_ten_branches() {
    let made = make(&[("load.keys", "deep")]);
    assert_eq!(made.genesis.slots.len(), 100_000 / 11);
    let family = &made.genesis.slots[0];
    let hashes: Vec<B256> = (0..family.count).map(|index| hash(family.key(index))).collect();
    let nibbles =
        |hash: &B256| -> Vec<u8> { hash.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect() };
    let deepest = nibbles(&hashes[0]);
    let shared = |hash: &B256| {
        nibbles(hash).iter().zip(&deepest).take_while(|(one, other)| one == other).count()
    };
    let depths: Vec<usize> = hashes[1..].iter().map(shared).collect();
    assert_eq!(depths, (0..=9).collect::<Vec<_>>(), "one slot leaves the path at each depth");
    assert_eq!(DEEP_KEYS.len(), hashes.len());
    for slots in written(&made).values() {
        assert_eq!(slots[0].0, U256::from(DEEP_KEYS[0]));
    }
    // Values differ, or all tries would be one.
    assert_ne!(made.genesis.slots[0].value(0), made.genesis.slots[1].value(0));
}

#[test]
fn fewer_contracts_than_writes_is_an_error_that_says_how_many_it_takes() {
    for keys in ["first", "deep"] {
        let few = [("load.keys", keys), ("load.contracts", "1k")];
        let error = try_make(&few).unwrap_err();
        assert!(matches!(error, GeneratorError::TooFewTries { .. }), "{error}");
        let message = error.to_string();
        let contracts = number_after(&message, "raise load[0].contracts to ");
        let slots = number_after(&message, "and state.slots to ");
        let enough = [few[0], ("load.contracts", &contracts), ("state.slots", &slots)];
        assert_full(&make(&enough), 30_000_000);
    }
}

#[test]
fn several_loads_have_contracts_of_their_own() {
    let text = BASE.replace("[[load]]\n", "[[load]]\nshare = 0.5\nkeys = \"first\"\n");
    let text = format!(
        "{text}contracts = 2_000\n[[load]]\nkind = \"sstore-storm\"\nshare = 0.5\nkeys = \"deep\"\n\
         contracts = 2_000\n"
    );
    let made = generate(&parse(&text, &[]), |_| {}).unwrap();
    assert_full(&made, 30_000_000);
    let (written, families) = (written(&made), families(&made));
    assert_eq!(families.len(), 4_000);
    let is_deep = |address: &Address| families[address].count == 11;
    let deep = written.keys().filter(|address| is_deep(address)).count();
    let first = written.len() - deep;
    assert!(deep.abs_diff(first) * 50 < written.len(), "{deep} and {first}");
    // Each has 50,000 of the slots: too few for so many deep tries.
    let many = text.replace("contracts = 2_000\n", "contracts = 5_000\n");
    let error = generate(&parse(&many, &[]), |_| {}).unwrap_err().to_string();
    assert!(error.contains("less than the 55000 that its 5000 contracts have"), "{error}");
}
