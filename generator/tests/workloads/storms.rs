//! The laws of storms beside plain reads: the effect of a write, and of a predecessor. Blocks of
//! them are full and exact at every size.

use std::collections::{HashMap, HashSet};

use alloy_primitives::{Address, U256};
use generator::{generate, reference};
use workload::{SlotFamily, Workload};

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
kind = "sstore-storm"
"#;

/// Contracts of few codes, which keeps a large block in little memory.
const COPY: [(&str, &str); 3] =
    [("load.kind", "account-storm"), ("load.target", "contracts"), ("load.codes", "50")];

fn make(overrides: &[(&str, &str)]) -> Workload {
    let made = generate(&parse(BASE, overrides), |_| {});
    made.unwrap_or_else(|error| panic!("{overrides:?}: {error}"))
}

/// Per slot that a list says is written: the values it takes.
fn writes(made: &Workload) -> HashMap<(Address, U256), Vec<U256>> {
    let mut out = HashMap::new();
    for account in made.batches.iter().flat_map(list) {
        for slot in account.storage_changes {
            let values = slot.changes.iter().map(|change| change.new_value).collect();
            assert!(out.insert((account.address, slot.slot), values).is_none());
        }
    }
    out
}

/// Values before the first block of all that exists of a family.
fn held(family: &SlotFamily) -> HashMap<(Address, U256), U256> {
    let slot = |i| ((family.address, family.key(i)), family.value(i));
    (0..family.count).map(slot).collect()
}

#[test]
fn every_write_of_a_storm_does_what_its_operation_says() {
    for fork in ["amsterdam", "osaka"] {
        for op in ["create", "update", "clear"] {
            let made = make(&[("fork", fork), ("load.op", op)]);
            assert_full(&made, 30_000_000);
            let family = &made.genesis.slots[0];
            let held = held(family);
            let of_storm =
                |((address, _), _): &(&(Address, U256), &Vec<U256>)| *address == family.address;
            let writes = writes(&made);
            let writes: Vec<_> = writes.iter().filter(of_storm).collect();
            let planned: u64 = made.batches[0].plan.slots.iter().map(|range| range.count).sum();
            assert_eq!(writes.len() as u64, planned, "{op}: each slot once");
            for (key, values) in writes {
                let [value] = values[..] else { panic!("{op}: written twice") };
                let before = held.get(key).copied();
                assert_eq!(before.is_none(), op == "create");
                assert_eq!(value.is_zero(), op == "clear");
                assert_ne!(before, Some(value));
            }
            reference::verify(&made, || {}).unwrap();
        }
    }
}

#[test]
fn a_storm_that_changes_nothing_is_declared_as_reads() {
    for (present, share) in [("1.0", 1.0), ("0.25", 0.25), ("0.0", 0.0)] {
        let made = make(&[("load.op", "no-op"), ("state.present", present)]);
        assert_full(&made, 30_000_000);
        let family = &made.genesis.slots[0];
        let lists = list(&made.batches[0]);
        let of_storm = lists.iter().find(|account| account.address == family.address).unwrap();
        assert!(of_storm.storage_changes.is_empty());
        let held = held(family);
        let is_held = |key: &&U256| held.contains_key(&(family.address, **key));
        let found = of_storm.storage_reads.iter().filter(is_held).count() as f64;
        let all = of_storm.storage_reads.len() as f64;
        assert!((found - share * all).abs() <= 1.0 && all > 12_000.0, "{found} of {all}");
    }
}

#[test]
fn a_create_counts_its_state_gas_and_a_clear_gives_gas_back() {
    let gas_of = |op: &str, fork: &str| {
        let made = make(&[("load.op", op), ("fork", fork), ("block.transactions", "1")]);
        let slots: u64 = made.batches[0].plan.slots.iter().map(|range| range.count).sum();
        (made.gas_used() as f64 / slots as f64, slots)
    };
    // Osaka, EIP-2929 and EIP-3529; and no more than a hundredth of a contract's own.
    for (op, least, most) in
        [("create", 22_100.0, 22_400.0), ("update", 5_000.0, 5_130.0), ("no-op", 2_200.0, 2_330.0)]
    {
        let (gas, _) = gas_of(op, "osaka");
        assert!((least..most).contains(&gas), "{op}: {gas}");
    }
    // The refund of a clear is a fifth of the spent gas at most.
    let (gas, slots) = gas_of("clear", "osaka");
    assert!((4_000.0..4_120.0).contains(&gas), "clear: {gas}");
    assert!((3_270..3_340).contains(&slots), "clear: {slots}");
    // Under Amsterdam a new slot costs its state gas too (EIP-8037).
    let made = make(&[("load.op", "create"), ("block.transactions", "1")]);
    let slots: u64 = made.batches[0].plan.slots.iter().map(|range| range.count).sum();
    let (receipt, header) = (made.gas_used(), made.batches[0].expected.header_gas[0]);
    assert!((150..=153).contains(&slots), "{slots}");
    assert!(header < receipt && header * 10 > receipt * 8, "{header} of {receipt}");
}

#[test]
fn where_a_transaction_reads_was_written_by_the_one_before() {
    for keys in ["keccak", "weyl", "chase"] {
        let overrides = [
            ("load.kind", "prefetch-miss"),
            ("load.keys", keys),
            ("block.tx_gas", "1M"),
            ("block.blocks", "2"),
        ];
        let made = make(&overrides);
        assert_full(&made, 30_000_000);
        let family = &made.genesis.slots[0];
        let batch = &made.batches[0];
        let txs = &batch.blocks[0].transactions;
        let pointer = txs[0].to.unwrap();
        let pointed = writes(&Workload { batches: vec![batch.clone()], ..made.clone() });
        // Every transaction leaves another place, and calldata does not have it.
        let places = &pointed[&(pointer, U256::ZERO)];
        assert_eq!(places.len(), txs.len(), "{keys}");
        assert_eq!(places.iter().collect::<HashSet<_>>().len(), txs.len(), "{keys}");
        let inputs: HashSet<_> = txs.iter().map(|tx| &tx.input).collect();
        assert!(inputs.len() <= 3, "{keys}: {}", inputs.len());
        // No slot is read twice, in both blocks, and all are there.
        let mut read = HashSet::new();
        for account in made.batches.iter().flat_map(list) {
            if account.address == family.address {
                assert!(account.storage_reads.iter().all(|key| read.insert(*key)), "{keys}");
            }
        }
        assert!(read.len() > 25_000, "{keys}: {}", read.len());
        let held = held(family);
        assert!(read.iter().all(|key| held.contains_key(&(family.address, *key))), "{keys}");
        reference::verify(&made, || {}).unwrap();
    }
}

fn assert_full_at_three_sizes(loads: &[&[(&str, &str)]]) {
    for (gas, value) in [("30M", 30_000_000), ("640M", 640_000_000), ("2.2G", 2_200_000_000)] {
        for load in loads {
            let size = [("block.gas", gas), ("state.slots", "2M")];
            assert_full(&make(&[&size, *load].concat()), value);
        }
    }
}

#[test]
fn blocks_of_writes_are_full_at_three_sizes() {
    assert_full_at_three_sizes(&[
        &[("load.op", "create")],
        &[("load.op", "update")],
        &[("load.op", "clear")],
        &[("load.op", "no-op")],
    ]);
}

#[test]
fn blocks_that_a_slot_moves_on_and_of_balances_are_full_at_three_sizes() {
    assert_full_at_three_sizes(&[
        &[("load.kind", "balance-storm")],
        &[("load.kind", "prefetch-miss"), ("load.keys", "keccak")],
        &[("load.kind", "prefetch-miss"), ("load.keys", "chase"), ("block.tx_gas", "1M")],
    ]);
}

#[test]
fn blocks_of_accounts_are_full_at_three_sizes() {
    assert_full_at_three_sizes(&[
        &[("load.kind", "account-storm"), ("load.op", "balance")],
        &[("load.kind", "account-storm"), ("load.op", "code-hash"), ("load.target", "absent")],
        &[COPY[0], COPY[1], COPY[2], ("load.op", "code-copy")],
        &[COPY[0], COPY[1], COPY[2], ("load.op", "call")],
    ]);
}

#[test]
fn more_slots_than_the_state_holds_is_an_error_that_names_the_key() {
    for load in [
        &[("load.op", "update")][..],
        &[("load.op", "clear")],
        &[("load.kind", "prefetch-miss")],
        &[("load.kind", "prefetch-miss"), ("load.keys", "chase")],
    ] {
        let few = [&[("state.slots", "1k")], load].concat();
        let message = generate(&parse(BASE, &few), |_| {}).unwrap_err().to_string();
        assert!(message.contains("raise state.slots to"), "{message}");
        // The count in the message is enough.
        let enough = message.split("raise state.slots to ").nth(1).unwrap();
        let enough: String = enough.chars().take_while(char::is_ascii_digit).collect();
        let overrides = [&[("state.slots", enough.as_str())], load].concat();
        assert_full(&make(&overrides), 30_000_000);
    }
    // New slots need none that exist.
    assert_full(&make(&[("state.slots", "1"), ("load.op", "create")]), 30_000_000);
}

/// The accounts of the first family that a workload's lists name, by index.
fn named(made: &Workload) -> Vec<u64> {
    let family = &made.genesis.account_families[0];
    let by_address: HashMap<Address, u64> = made.batches[0]
        .plan
        .accounts
        .iter()
        .flat_map(|range| range.start..range.start + range.count)
        .map(|index| (family.address(index), index))
        .collect();
    let accounts = list(&made.batches[0]).into_iter();
    let mut named: Vec<u64> =
        accounts.filter_map(|account| by_address.get(&account.address).copied()).collect();
    named.sort_unstable();
    named
}

#[test]
fn an_account_storm_looks_at_each_account_once_and_the_list_names_it() {
    for fork in ["amsterdam", "osaka"] {
        for (op, target) in [
            ("balance", "plain"),
            ("balance", "absent"),
            ("code-size", "contracts"),
            ("code-hash", "contracts"),
            ("code-copy", "contracts"),
            ("code-copy", "plain"),
            ("call", "contracts"),
            ("call", "absent"),
        ] {
            let made = make(&[
                ("fork", fork),
                ("load.kind", "account-storm"),
                ("load.op", op),
                ("load.target", target),
                ("load.accounts", "15k"),
                ("load.codes", "100"),
            ]);
            assert_full(&made, 30_000_000);
            let named = named(&made);
            let planned: u64 = made.batches[0].plan.accounts.iter().map(|range| range.count).sum();
            assert_eq!(named.len() as u64, planned, "{op} {target}");
            let is_present = |index: &u64| *index < 15_000;
            assert!(named.iter().all(|index| is_present(index) == (target != "absent")), "{op}");
            reference::verify(&made, || {}).unwrap();
        }
    }
}

#[test]
fn an_account_costs_what_is_documented() {
    // Osaka: EIP-2929, and 3 gas a word of a copy; contracts/README.md.
    for (op, target, least, most) in [
        ("balance", "plain", 2_600.0, 2_690.0),
        ("code-hash", "absent", 2_600.0, 2_690.0),
        ("code-copy", "contracts", 4_904.0, 5_010.0),
        ("call", "contracts", 27_171.0, 27_400.0),
    ] {
        let made = make(&[
            ("fork", "osaka"),
            ("block.transactions", "1"),
            ("load.kind", "account-storm"),
            ("load.op", op),
            ("load.target", target),
            ("load.codes", "100"),
        ]);
        let gas = made.gas_used() as f64 / named(&made).len() as f64;
        assert!((least..most).contains(&gas), "{op}: {gas}");
    }
}

#[test]
fn what_an_account_storm_sees_depends_on_every_account() {
    // Code of another length, other codes, other accounts: another output, all else the same.
    let output = |overrides: &[(&str, &str)]| {
        let base = [("block.transactions", "1"), ("block.tx_gas", "1M")];
        let made = make(&[&base, overrides].concat());
        made.batches[0].expected.transactions[0].output
    };
    let storm = |op, code, codes| {
        output(&[COPY[0], COPY[1], ("load.op", op), ("load.code", code), ("load.codes", codes)])
    };
    assert_ne!(storm("code-size", "24KiB", "50"), storm("code-size", "20KiB", "50"));
    assert_ne!(storm("code-copy", "24KiB", "50"), storm("code-copy", "24KiB", "51"));
    let balances = |seed| output(&[COPY[0], ("load.op", "balance"), ("load.seed", seed)]);
    assert_ne!(balances("8"), balances("9"));
}

#[test]
fn more_accounts_than_the_state_holds_is_an_error_that_names_the_key() {
    let few = [("load.kind", "account-storm"), ("load.accounts", "1k")];
    let message = generate(&parse(BASE, &few), |_| {}).unwrap_err().to_string();
    assert!(message.contains("raise load[0].accounts to "), "{message}");
    let enough = message.split("accounts to ").nth(1).unwrap();
    let enough: String = enough.chars().take_while(char::is_ascii_digit).collect();
    let overrides = [("load.kind", "account-storm"), ("load.accounts", enough.as_str())];
    assert_full(&make(&overrides), 30_000_000);
}

#[test]
fn a_balance_storm_reads_balances_of_a_token_where_solidity_keeps_them() {
    for (present, share) in [("1.0", 1.0), ("0.5", 0.5)] {
        let kind = [("load.kind", "balance-storm"), ("state.present", present), ("fork", "osaka")];
        let made = make(&kind);
        assert_full(&made, 30_000_000);
        let family = &made.genesis.slots[0];
        let held = held(family);
        let lists = list(&made.batches[0]);
        let token = lists.iter().find(|account| account.address == family.address).unwrap();
        let is_held = |key: &&U256| held.contains_key(&(family.address, **key));
        let found = token.storage_reads.iter().filter(is_held).count() as f64;
        let all = token.storage_reads.len() as f64;
        assert!((found - share * all).abs() <= 1.0, "{found} of {all}");
        // A cold slot, a warm call, and the rest by contracts/README.md.
        let gas = made.gas_used() as f64 / all;
        assert!((2_680.0..2_740.0).contains(&gas), "{gas}");
        reference::verify(&made, || {}).unwrap();
    }
}
