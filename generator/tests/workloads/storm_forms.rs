//! The laws of storms in special forms: chains from contract to contract, keys in the order of the
//! store or against it, calldata beside reads.

use std::collections::{HashMap, HashSet};

use alloy_primitives::{Address, B256, U256};
use generator::{GeneratorError, generate, reference};
use workload::{SlotFamily, Transaction, TxOutcome, Workload};

use crate::blocks::{assert_full, list, parse};

const BASE: &str = r#"
schema = 1
name = "test"
seed = 1
[state]
accounts = "1k"
slots = "40k"
[block]
gas = "30M"
[[load]]
kind = "sload-storm"
"#;

fn try_make(overrides: &[(&str, &str)]) -> Result<Workload, GeneratorError> {
    generate(&parse(BASE, overrides), |_| {})
}

fn make(overrides: &[(&str, &str)]) -> Workload {
    try_make(overrides).unwrap_or_else(|error| panic!("{overrides:?}: {error}"))
}

/// The transactions of the first batch with their outcomes.
fn run(made: &Workload) -> impl Iterator<Item = (&Transaction, &TxOutcome)> {
    let batch = &made.batches[0];
    batch.blocks.iter().flat_map(|block| &block.transactions).zip(&batch.expected.transactions)
}

/// Slots that the lists declare as read, of accounts that have a family.
fn reads(made: &Workload) -> HashSet<(Address, U256)> {
    let families: HashSet<Address> = made.genesis.slots.iter().map(|of| of.address).collect();
    let mut out = HashSet::new();
    for account in made.batches.iter().flat_map(list) {
        for key in account.storage_reads {
            if families.contains(&account.address) {
                assert!(out.insert((account.address, key)), "a slot is read in two batches");
            }
        }
    }
    out
}

/// The number that a message has behind `words`.
fn number_after(message: &str, words: &str) -> String {
    let rest = message.split(words).nth(1).unwrap_or_else(|| panic!("{words}: {message}"));
    rest.chars().take_while(char::is_ascii_digit).collect()
}

const CHASE: [(&str, &str); 2] = [("load.kind", "contract-chase"), ("load.contracts", "4k")];

#[test]
fn every_hop_of_a_chain_is_to_another_contract_which_the_value_before_names() {
    for (fork, extra) in [
        ("amsterdam", &[][..]),
        ("osaka", &[("block.tx_gas", "1M")]),
        // Around the end of the chain, whose first slot is wherever the load's seed has it.
        ("amsterdam", &[("state.slots", "8k"), ("load.seed", "3")]),
    ] {
        let made = make(&[&CHASE[..], &[("fork", fork)], extra].concat());
        assert_full(&made, 30_000_000);
        let families = made.genesis.slots.iter();
        let families: HashMap<Address, &SlotFamily> =
            families.map(|family| (family.address, family)).collect();
        let mut values = HashMap::new();
        for family in families.values() {
            for index in 0..family.count {
                values.insert((family.address, family.key(index)), family.value(index));
            }
        }
        let mut met = HashSet::new();
        for (tx, _) in run(&made) {
            let mut key = U256::from_be_slice(&tx.input[..32]);
            let hop_count = U256::from_be_slice(&tx.input[32..]).to::<u64>();
            let mut contracts = HashSet::new();
            for _ in 0..hop_count {
                let contract = Address::from_word(B256::from(key));
                assert!(contracts.insert(contract), "a contract is warm");
                assert!(met.insert((contract, key)), "a slot is read twice");
                key = values[&(contract, key)];
            }
        }
        assert_eq!(reads(&made), met, "{fork}: the list has the hops and nothing else");
        reference::verify(&made, || {}).unwrap();
    }
}

#[test]
fn a_hop_costs_a_cold_account_and_a_cold_slot_and_little_more() {
    // EIP-2929; an account is 3,000 under Amsterdam. contracts/README.md has the part above.
    for (fork, least) in [("osaka", 4_700.0), ("amsterdam", 5_100.0)] {
        let made = make(&[&CHASE[..], &[("fork", fork), ("block.transactions", "1")]].concat());
        let gas = made.gas_used() as f64 / reads(&made).len() as f64;
        // And the transaction's own 22,000 over 3,000 hops.
        assert!((least..least + 67.0 + 8.0).contains(&gas), "{fork}: {gas}");
    }
}

#[test]
fn a_chain_that_would_come_back_to_a_warm_contract_is_an_error_that_says_how_many_it_takes() {
    let few = [CHASE[0], ("load.contracts", "1k")];
    let message = try_make(&few).unwrap_err().to_string();
    let enough = number_after(&message, "raise load[0].contracts to ");
    assert!((3_000..4_000).contains(&enough.parse::<u64>().unwrap()), "{message}");
    assert_full(&make(&[CHASE[0], ("load.contracts", &enough)]), 30_000_000);
    // Smaller transactions hop through fewer.
    assert_full(&make(&[few[0], few[1], ("load.tx_gas", "4M")]), 30_000_000);
}

#[test]
fn more_hops_than_slots_is_an_error_that_names_the_key() {
    let message = try_make(&[CHASE[0], CHASE[1], ("state.slots", "4k")]).unwrap_err().to_string();
    let enough = number_after(&message, "raise state.slots to ");
    assert_full(&make(&[CHASE[0], CHASE[1], ("state.slots", &enough)]), 30_000_000);
    let message = try_make(&[CHASE[0], ("state.slots", "1k")]).unwrap_err().to_string();
    assert!(message.contains("load[0].contracts = 1000, and a transaction"), "{message}");
}

/// The indices that a transaction of a storm in an order carries.
fn indices(tx: &Transaction) -> Vec<u64> {
    let bytes = tx.input[32..].chunks_exact(4);
    bytes.map(|index| U256::from_be_slice(index).to::<u64>()).collect()
}

#[test]
fn a_storm_in_an_order_asks_for_its_rows_in_that_order_of_either_layout() {
    for layout in ["hashed", "plain"] {
        for extra in [&[][..], &[("load.contracts", "3")], &[("load.overlap", "all")]] {
            let of = |order| {
                let order = [("load.order", order), ("state.layout", layout)];
                make(&[&order, extra].concat())
            };
            let (up, down) = (of("ascending"), of("descending"));
            assert_full(&down, 30_000_000);
            let mut asked = HashSet::new();
            for ((tx, outcome), (upwards, same)) in run(&down).zip(run(&up)) {
                let address = tx.to.unwrap();
                let family = down.genesis.slots.iter().find(|of| of.address == address).unwrap();
                let account = down.layout.account_key(&address);
                let indices = indices(tx);
                let rows: Vec<_> = indices
                    .iter()
                    .map(|index| down.layout.slot_key(&account, &family.key(*index)))
                    .collect();
                assert!(rows.len() > 1_000 && rows.is_sorted_by(|a, b| a > b), "{layout}");
                asked.extend(indices.iter().map(|index| (address, family.key(*index))));
                // The same work the other way round: the output tells the order of the values.
                assert!(self::indices(upwards).iter().rev().eq(&indices));
                assert_eq!(outcome.gas_used, same.gas_used);
                assert_ne!(outcome.output, same.output);
            }
            assert_eq!(reads(&down), asked);
            assert_eq!((&up.genesis, &up.batches[0].list), (&down.genesis, &down.batches[0].list));
        }
    }
    reference::verify(&make(&[("load.order", "descending")]), || {}).unwrap();
}

#[test]
fn a_slot_in_an_order_costs_what_is_documented_and_its_calldata() {
    for fork in ["osaka", "amsterdam"] {
        let one = [("load.order", "descending"), ("fork", fork), ("block.transactions", "1")];
        let made = make(&one);
        let gas = made.gas_used() as f64 / reads(&made).len() as f64;
        // 2,179 with 16 to 64 gas of calldata; and the transaction's own 21,000 over 7,000 slots.
        assert!((2_195.0..2_246.0).contains(&gas), "{fork}: {gas}");
    }
}

const PADDED: [(&str, &str); 2] = [("load.keys", "weyl"), ("load.calldata", "1.0")];

/// The floor of calldata: EIP-7623, and under Amsterdam EIP-7976, above what EIP-2780 has for a
/// transaction that calls.
fn floor_gas(fork: &str, input: &[u8]) -> u64 {
    let zero_count = input.iter().filter(|byte| **byte == 0).count() as u64;
    let rest_count = input.len() as u64 - zero_count;
    match fork {
        "amsterdam" => 15_000 + 64 * (zero_count + rest_count),
        _ => 21_000 + 10 * zero_count + 40 * rest_count,
    }
}

#[test]
fn calldata_is_all_that_costs_its_standard_price_and_a_byte_more_would_be_dearer() {
    for (fork, byte, floor_byte_gas, byte_gas) in [
        ("amsterdam", "random", 64, 16),
        ("amsterdam", "zero", 64, 4),
        ("osaka", "random", 40, 16),
        ("osaka", "zero", 10, 4),
    ] {
        let made = make(&[&PADDED[..], &[("fork", fork), ("load.calldata_byte", byte)]].concat());
        assert_full(&made, 30_000_000);
        let mut slot_count = 0;
        let mut execution_gas = 0;
        for (tx, outcome) in run(&made) {
            let floor = floor_gas(fork, &tx.input);
            assert!(
                floor <= outcome.gas_used,
                "{fork}: the floor binds: {floor} of {}",
                outcome.gas_used
            );
            let (more, spent) = (floor + floor_byte_gas, outcome.gas_used + byte_gas);
            assert!(more > spent, "{fork}: a byte more would do");
            // The bytes after the ranges are not read, and none of them is cheap.
            let range_count = U256::from_be_slice(&tx.input[32..64]).to::<usize>();
            let padding = &tx.input[64 + 64 * range_count..];
            let is_zero = byte == "zero";
            assert!(padding.iter().all(|byte| (*byte == 0) == is_zero), "{fork}");
            assert!(padding.len() > 1_000, "{fork}");
            let zero_count = tx.input.iter().filter(|byte| **byte == 0).count() as u64;
            let standard = 4 * zero_count + 16 * (tx.input.len() as u64 - zero_count);
            execution_gas += outcome.gas_used - floor_gas(fork, &[]) - standard;
            let ranges = tx.input[64..64 + 64 * range_count].chunks_exact(64);
            slot_count +=
                ranges.map(|range| U256::from_be_slice(&range[32..]).to::<u64>()).sum::<u64>();
        }
        assert_eq!(reads(&made).len() as u64, slot_count);
        let gas = execution_gas as f64 / slot_count as f64;
        assert!((2_120.0..2_124.0).contains(&gas), "{fork}: reads pay for nothing else: {gas}");
        reference::verify(&made, || {}).unwrap();
    }
}

#[test]
fn list_and_calldata_are_the_larger_for_the_gas_the_more_of_it_is_used() {
    let bytes_per_mgas = |overrides: &[(&str, &str)]| {
        let made = make(overrides);
        let calldata: usize = run(&made).map(|(tx, _)| tx.input.len()).sum();
        let bytes = calldata as u64 + made.batches[0].list_sizes.batched_io_bytes;
        bytes as f64 / (made.gas_used() as f64 / 1e6)
    };
    let shares = ["0.0", "0.25", "0.5", "0.75", "1.0"];
    let bytes = shares.map(|share| bytes_per_mgas(&[PADDED[0], ("load.calldata", share)]));
    assert!(bytes.is_sorted_by(|less, more| less < more), "{bytes:?}");
    // At 64 gas a byte of calldata, and 33 bytes of list for 2,122 gas of the other three quarters.
    let most = 1e6 / 64.0 + 0.75 * 1e6 / 2_122.0 * 33.0;
    assert!((0.97 * most..1.01 * most).contains(&bytes[4]), "{} of {most}", bytes[4]);
    assert!(bytes[4] > 1.7 * bytes[0], "{bytes:?}");
    // Zeros are as many, and leave 60 of 64 parts of the gas for reads.
    let zeros = bytes_per_mgas(&[PADDED[0], PADDED[1], ("load.calldata_byte", "zero")]);
    let most = 1e6 / 64.0 + 60.0 / 64.0 * 1e6 / 2_122.0 * 33.0;
    assert!((0.97 * most..1.01 * most).contains(&zeros), "{zeros} of {most}");
}

#[test]
fn blocks_of_every_form_are_full_at_three_sizes() {
    for (gas, value) in [("30M", 30_000_000), ("640M", 640_000_000), ("2.2G", 2_200_000_000)] {
        let size = [("block.gas", gas), ("state.slots", "2M")];
        for form in [&CHASE[..], &PADDED, &[("load.order", "descending")]] {
            assert_full(&make(&[&size, form].concat()), value);
        }
    }
}
