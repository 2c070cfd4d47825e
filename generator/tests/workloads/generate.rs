//! The laws of generated workloads: full blocks, distinct slots, exact shares, one work to one
//! digest. Amsterdam rules where nothing else is said.

use std::{
    cell::Cell,
    collections::{BTreeMap, HashSet},
    ops::ControlFlow,
};

use alloy_primitives::{Address, Bytes, U256};
use generator::{
    GeneratorError,
    artifact::Contract,
    generate, import,
    meter::{Meter, ProbeInputs},
    reference::{self, ReferenceError},
};
use spec::{Scenario, shipped};
use workload::{Batch, Fork, GenesisError, NetChanges, Workload, WorkloadError, list::ListBounds};

use crate::{
    blocks::{assert_full, list, parse},
    receipts::receipt_gas,
};

const BASE: &str = r#"
schema = 1
name = "test"
seed = 1
[state]
accounts = "1k"
slots = "100k"
[block]
gas = "64M"
[[load]]
kind = "sload-storm"
keys = "keccak"
"#;

fn scenario(overrides: &[(&str, &str)]) -> Scenario {
    parse(BASE, overrides)
}

fn workload(overrides: &[(&str, &str)]) -> Workload {
    generate(&scenario(overrides), |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

/// Keys that a batch's list declares as read of the workload's slot families.
fn storm_reads(workload: &Workload, batch: &Batch) -> Vec<(Address, U256)> {
    let families: HashSet<Address> = workload.genesis.slots.iter().map(|f| f.address).collect();
    let mut out = Vec::new();
    for account in list(batch).iter().filter(|account| families.contains(&account.address)) {
        out.extend(account.storage_reads.iter().map(|key| (account.address, *key)));
    }
    out
}

/// Slots that a batch's plan has, and how many of them exist.
fn planned(workload: &Workload, batch: &Batch) -> (u64, u64) {
    let present = batch
        .plan
        .slots
        .iter()
        .filter(|range| range.start < workload.genesis.slots[range.family as usize].count);
    let all = batch.plan.slots.iter().map(|range| range.count).sum();
    (all, present.map(|range| range.count).sum())
}

#[test]
fn a_storm_slot_costs_at_least_a_cold_read_and_at_most_what_is_documented() {
    // contracts/README.md: 2,174.39, 2,121.25 and 2,100.64 in unrolled blocks.
    for (contract, most, rest) in [
        (Contract::KeccakStorm, 2_175, 2_236),
        (Contract::WeylStorm, 2_122, 2_170),
        (Contract::ChaseStorm, 2_101, 2_141),
    ] {
        for fork in Fork::GENERATED {
            let meter = Meter::measure(contract, &ProbeInputs::default(), fork).unwrap();
            let (name, gas) = (contract.name(), meter.operation_gas());
            assert!((2_100..=most).contains(&gas), "{name} {gas}");
            assert!((2_100..=rest).contains(&meter.rest_gas()), "{name} rest");
        }
    }
}

#[test]
fn a_transaction_of_2_to_24_gas_reads_as_many_distinct_slots_as_its_gas_buys() {
    for (keys, least, most) in
        [("keccak", 7_700, 7_715), ("weyl", 7_893, 7_908), ("chase", 7_970, 7_989)]
    {
        let workload = workload(&[("load.keys", keys), ("block.transactions", "1")]);
        let reads = storm_reads(&workload, &workload.batches[0]);
        let distinct = reads.iter().collect::<HashSet<_>>().len();
        assert_eq!(distinct as u64, planned(&workload, &workload.batches[0]).0);
        assert!((least..=most).contains(&distinct), "{keys}: {distinct}");
        let used = workload.batches[0].expected.transactions[0].gas_used;
        assert!(used <= 1 << 24 && used + 2_300 > 1 << 24, "{keys}: {used}");
    }
}

#[test]
fn blocks_are_full_and_their_lists_are_reads() {
    for keys in ["keccak", "weyl", "chase"] {
        let workload = workload(&[("load.keys", keys)]);
        assert_full(&workload, 64_000_000);
        let batch = &workload.batches[0];
        assert_eq!(batch.expected.header_gas, receipt_gas(batch));
        let reads = storm_reads(&workload, batch).len();
        assert!(reads > 29_000, "{keys}: {reads}");
        let sizes = batch.list_sizes;
        assert_eq!(sizes.batched_io_bytes, batch.list.len() as u64);
        assert!(sizes.parallel_io_bytes * 100 < sizes.batched_io_bytes);
        assert!(sizes.full_bytes > sizes.batched_io_bytes + 32 * reads as u64);
    }
}

#[test]
fn no_slot_is_read_twice_in_a_workload_of_several_batches() {
    let workload = workload(&[
        ("block.gas", "20M"),
        ("block.blocks", "6"),
        ("block.batch", "2"),
        ("block.tx_gas", "5M"),
    ]);
    assert_eq!(workload.batches.len(), 3);
    assert_full(&workload, 20_000_000);
    let mut seen = HashSet::new();
    for batch in &workload.batches {
        assert_eq!(batch.blocks.len(), 2);
        for read in storm_reads(&workload, batch) {
            assert!(seen.insert(read), "{read:?} is read twice");
        }
    }
    let total: u64 = workload.batches.iter().map(|batch| planned(&workload, batch).0).sum();
    assert_eq!(seen.len() as u64, total);
    reference::verify(&workload, || {}).unwrap();
}

#[test]
fn the_last_slot_of_the_state_can_be_used() {
    // 9,000 slots hold one transaction of 7,705; its range goes around the family's end for
    // about every other seed.
    let mut around = 0;
    for seed in ["1", "2", "3", "4", "5", "6", "7", "8"] {
        for keys in ["keccak", "chase"] {
            let workload = workload(&[
                ("state.slots", "8k"),
                ("block.transactions", "1"),
                ("seed", seed),
                ("load.keys", keys),
            ]);
            around += u32::from(workload.batches[0].plan.slots.len() > 1);
        }
    }
    assert!(around > 0);
}

#[test]
fn more_slots_than_the_state_holds_is_an_error_whose_remedy_works() {
    let error = generate(&scenario(&[("state.slots", "20k")]), |_| {}).unwrap_err();
    let GeneratorError::TooFewSlots { wanted_count, held_count, enough_count, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(held_count, 20_000);
    assert!((29_000..30_500).contains(&wanted_count), "{wanted_count}");
    let text = error.to_string();
    assert!(text.contains("20000") && text.contains(&wanted_count.to_string()), "{text}");
    workload(&[("state.slots", &enough_count.to_string())]);
}

#[test]
fn the_share_of_present_keys_is_exact_within_a_slot_a_transaction() {
    for share in ["0.0", "0.25", "0.9"] {
        let workload = workload(&[("state.present", share)]);
        assert_full(&workload, 64_000_000);
        let (all, present) = planned(&workload, &workload.batches[0]);
        let wanted = share.parse::<f64>().unwrap() * all as f64;
        assert!((present as f64 - wanted).abs() <= 1.0, "{share}: {present} of {all}");
        assert_eq!(storm_reads(&workload, &workload.batches[0]).len() as u64, all);
    }
}

#[test]
fn loads_share_the_gas_and_have_contracts_of_their_own() {
    let text = r#"
schema = 1
name = "two"
[state]
slots = "100k"
[block]
gas = "64M"
[[load]]
kind = "sload-storm"
keys = "weyl"
share = 0.75
contracts = 3
[[load]]
kind = "sload-storm"
keys = "chase"
share = 0.25
"#;
    let workload = generate(&parse(text, &[]), |_| {}).unwrap();
    assert_full(&workload, 64_000_000);
    assert_eq!(workload.genesis.slots.len(), 4);
    let counts: Vec<u64> = workload.genesis.slots.iter().map(|family| family.count).collect();
    assert_eq!(counts, [25_000, 25_000, 25_000, 25_000]);
    let chase = workload.genesis.slots[3].address;
    let mut gas = [0, 0];
    let batch = &workload.batches[0];
    for (tx, outcome) in batch.blocks[0].transactions.iter().zip(&batch.expected.transactions) {
        gas[usize::from(tx.to == Some(chase))] += outcome.gas_used;
    }
    assert!(gas[0].abs_diff(48_000_000) < 50_000 && gas[1].abs_diff(16_000_000) < 50_000);
}

#[test]
fn every_shipped_scenario_is_generated_on_its_own_state() {
    for (name, text) in shipped::all() {
        let workload = generate(&parse(text, &[("block.gas", "20M")]), |_| {});
        let workload = workload.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_full(&workload, 20_000_000);
    }
}

#[test]
fn the_same_work_gives_the_same_bytes_and_another_seed_gives_others() {
    let small = [("block.gas", "20M")];
    let first = workload(&small);
    assert_eq!(first.digest(), workload(&small).digest());
    let other = workload(&[small[0], ("seed", "2")]);
    assert_ne!(first.digest(), other.digest());
    assert_ne!(first.genesis.digest(), other.genesis.digest());
    assert_eq!(first.scenario, "test");
    assert_eq!(first.work, scenario(&small).work_identity());
}

#[test]
fn a_seed_of_a_part_changes_that_part_only() {
    let small = ("block.gas", "20M");
    let first = workload(&[small]);
    let (state, blocks, load) = (
        workload(&[small, ("state.seed", "7")]),
        workload(&[small, ("block.seed", "7")]),
        workload(&[small, ("load.seed", "7")]),
    );
    assert_ne!(first.genesis.digest(), state.genesis.digest());
    assert_eq!(first.block_hashes, state.block_hashes);
    assert_eq!(first.batches[0].plan.slots[0].start, state.batches[0].plan.slots[0].start);
    assert_eq!(first.genesis, blocks.genesis);
    assert_ne!(first.block_hashes, blocks.block_hashes);
    assert_eq!(first.batches[0].plan.slots, blocks.batches[0].plan.slots);
    assert_eq!(first.genesis, load.genesis);
    assert_eq!(first.block_hashes, load.block_hashes);
    assert_ne!(first.batches[0].plan.slots, load.batches[0].plan.slots);
}

#[test]
fn the_genesis_does_not_depend_on_the_blocks() {
    let small = workload(&[("block.gas", "1M")]);
    let large = workload(&[("block.gas", "30M"), ("block.blocks", "2"), ("block.tx_gas", "3M")]);
    assert_eq!(small.genesis, large.genesis);
}

#[test]
fn few_senders_take_turns_and_count_their_nonces() {
    let workload = workload(&[
        ("state.accounts", "3"),
        ("block.gas", "10M"),
        ("block.tx_gas", "1M"),
        ("block.blocks", "2"),
    ]);
    assert_full(&workload, 10_000_000);
    let nonces: Vec<u64> =
        workload.blocks().flat_map(|b| &b.transactions).map(|tx| tx.nonce).collect();
    let turns: Vec<u64> = (0..nonces.len() as u64).map(|t| t / 3).collect();
    assert_eq!(nonces, turns);
}

#[test]
fn osaka_blocks_are_generated_too() {
    let workload = workload(&[("fork", "osaka"), ("block.gas", "20M")]);
    assert_full(&workload, 20_000_000);
}

#[test]
fn too_little_gas_is_an_error_that_names_the_key() {
    let error = generate(&scenario(&[("block.gas", "30k")]), |_| {}).unwrap_err();
    assert!(error.to_string().contains("raise block.gas"), "{error}");
    let error = generate(&scenario(&[("block.tx_gas", "30k")]), |_| {}).unwrap_err();
    assert!(error.to_string().contains("raise block.tx_gas"), "{error}");
}

#[test]
fn awkward_remainders_of_a_block_are_used_too() {
    for (gas, tx_gas) in [
        ("60k", "16_777_216"),
        ("1M", "1M"),
        ("16_780_000", "16_777_216"),
        ("16_800_000", "16_777_216"),
        ("16_850_000", "16_777_216"),
        ("2_000_001", "100k"),
        ("999_999", "50k"),
        ("5M", "4_999_999"),
    ] {
        let (gas, tx_gas) = (gas.replace('_', ""), tx_gas.replace('_', ""));
        let workload = workload(&[("block.gas", &gas), ("block.tx_gas", &tx_gas)]);
        let used = workload.gas_used();
        let slack = gas.replace('M', "000000").replace('k', "000").parse::<u64>().unwrap() - used;
        assert!(slack < 2_300, "{slack} of {gas} in transactions of {tx_gas}");
    }
}

#[test]
fn batches_change_where_blocks_are_committed_and_nothing_else() {
    let blocks = [("block.gas", "10M"), ("block.blocks", "4"), ("state.accounts", "5")];
    let one = workload(&[blocks[0], blocks[1], blocks[2], ("block.batch", "1")]);
    let all = workload(&[blocks[0], blocks[1], blocks[2], ("block.batch", "4")]);
    assert_eq!((one.batches.len(), all.batches.len()), (4, 1));
    assert!(one.blocks().eq(all.blocks()));
    let outcomes = one.batches.iter().flat_map(|batch| &batch.expected.transactions);
    assert!(outcomes.eq(&all.batches[0].expected.transactions));
    let (parts, whole) = (reference::run(&one, || {}), reference::run(&all, || {}));
    let parts: Vec<_> = parts.unwrap().into_iter().map(|batch| batch.changes).collect();
    let whole = whole.unwrap().remove(0).changes;
    let after = |changes: &[NetChanges]| import::state_after(&one.genesis, changes);
    let (a, b) = (after(&parts), after(&[whole]));
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(&b) {
        assert_eq!((a.address, a.nonce, a.balance), (b.address, b.nonce, b.balance));
        assert_eq!(a.storage, b.storage);
    }
}

#[test]
fn a_workload_file_can_be_checked_by_itself() {
    let made = workload(&[("block.gas", "3M"), ("block.blocks", "2"), ("state.present", "0.5")]);
    let read = workload::file::decode(&workload::file::encode(&made).unwrap()).unwrap();
    assert_eq!(read, made);
    reference::verify(&read, || {}).unwrap();
}

#[test]
fn a_read_outside_the_plan_fails_and_names_what_was_read() {
    let made = workload(&[("block.gas", "1M")]);
    let mut short = made.clone();
    short.batches[0].plan.slots[0].count -= 1;
    let error = reference::verify(&short, || {}).unwrap_err().to_string();
    let address = made.genesis.slots[0].address;
    assert!(error.contains("slot 0x") && error.contains(&address.to_string()), "{error}");
    let mut fresh = made.clone();
    let address = fresh.batches[0].plan.absent_accounts.remove(0);
    let error = reference::verify(&fresh, || {}).unwrap_err().to_string();
    assert!(error.contains(&format!("account {address} is read")), "{error}");
    // Nor does a block's gas limit, which costs a file nothing to claim, make room for a plan.
    let mut huge = made;
    huge.batches[0].blocks[0].env.gas_limit = workload::file::MAX_BLOCK_GAS;
    huge.batches[0].plan.slots[0].count = 1 << 20;
    let error = reference::verify(&huge, || {}).unwrap_err().to_string();
    assert!(error.contains("can touch"), "{error}");
}

#[test]
fn a_transaction_beyond_what_its_block_has_left_is_not_admitted() {
    let mut made = workload(&[("block.gas", "3M"), ("block.tx_gas", "1M")]);
    let last = made.batches[0].blocks[0].transactions.len() - 1;
    made.batches[0].blocks[0].transactions[last].gas_limit += 1;
    let error = reference::verify(&made, || {}).unwrap_err();
    let expected = matches!(error, ReferenceError::Admission { tx_index, .. } if tx_index == last);
    assert!(expected, "{error}");
}

#[test]
fn with_full_overlap_every_transaction_reads_the_same_slots() {
    let workload = workload(&[("load.overlap", "all")]);
    assert_full(&workload, 64_000_000);
    let batch = &workload.batches[0];
    let reads = storm_reads(&workload, batch).len() as u64;
    // Where the family ends, a transaction's slots go on at its start: two ranges then.
    let mut longest = BTreeMap::new();
    for range in &batch.plan.slots {
        let count = longest.entry(range.start).or_insert(0);
        *count = range.count.max(*count);
    }
    assert!(longest.len() <= 2, "{longest:?}");
    let most: u64 = longest.values().sum();
    assert_eq!(reads, most, "the longest transaction reads all that any reads");
    assert!(batch.blocks[0].transactions.len() > 1);
    reference::verify(&workload, || ()).unwrap();
}

#[test]
fn the_plan_of_a_full_block_is_within_what_its_transactions_can_touch() {
    for fork in ["amsterdam", "osaka"] {
        let made = workload(&[("fork", fork), ("block.gas", "20M"), ("state.present", "0.5")]);
        for batch in &made.batches {
            let planned: u64 = batch.plan.slots.iter().map(|range| range.count).sum();
            assert!(planned <= ListBounds::max_touched_count(batch, &made.rules), "{fork}");
        }
    }
}

/// Asks to stop when `count`, which goes up at each call, reaches `last`.
fn stop_at(last: u64, count: &Cell<u64>) -> ControlFlow<()> {
    count.set(count.get() + 1);
    if count.get() < last { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

#[test]
fn whoever_is_told_of_a_transaction_can_stop_the_run() {
    let blocks = [("block.gas", "2M"), ("block.tx_gas", "500k"), ("block.blocks", "2")];
    let made = workload(&blocks);
    assert!(made.tx_count() > 6);
    for last in [1, 6] {
        let count = Cell::new(0);
        let error = generate(&scenario(&blocks), |_| stop_at(last, &count)).unwrap_err();
        assert!(matches!(error, GeneratorError::Cancelled), "{error}");
        assert_eq!(count.take(), last);
        let mut again = made.clone();
        for error in [
            reference::verify(&made, || stop_at(last, &count)).unwrap_err(),
            reference::run(&made, || stop_at(2 * last, &count)).unwrap_err(),
            reference::complete(&mut again, || stop_at(3 * last, &count)).unwrap_err(),
        ] {
            assert!(matches!(error, ReferenceError::Cancelled), "{error}");
        }
        assert_eq!(count.get(), 3 * last, "nothing is called after it asked to stop");
        assert_eq!(again, made, "what is stopped changes nothing");
    }
    reference::verify(&made, || ControlFlow::Continue(())).unwrap();
}

#[test]
fn genesis_code_that_is_none_is_an_error_and_no_panic() {
    let made = workload(&[("block.gas", "1M")]);
    let of_version = |version| [&[0xef, 1, version][..], &[7; 20]].concat();
    for code in [&[0xef, 1][..], &[0xef, 1, 0], &of_version(1)] {
        let mut wrong = made.clone();
        wrong.genesis.accounts[0].code = Bytes::copy_from_slice(code);
        let address = wrong.genesis.accounts[0].address;
        for error in [
            reference::verify(&wrong, || {}).unwrap_err(),
            reference::run(&wrong, || {}).unwrap_err(),
            reference::complete(&mut wrong, || {}).unwrap_err(),
        ] {
            let expected = WorkloadError::from(GenesisError::Code { address });
            let is_expected = matches!(error, ReferenceError::Inconsistent(e) if e == expected);
            assert!(is_expected, "{code:02x?}: {error}");
        }
    }
}
