//! The laws of several loads in one block: none changes another, in whatever order they come.

use alloy_primitives::{Address, Bytes, U256};
use generator::{Generated, generate_by_load, reference};

use proptest::prelude::*;

use crate::{
    blocks::{assert_full, list, parse},
    receipts::receipt_gas,
};

/// A load of a scenario: its kind, its share of the gas in parts, and further keys.
type Load<'a> = (&'a str, u64, String);

const PART_GAS: u64 = 1_500_000;
const PART_SLOTS: u64 = 20_000;

/// A scenario of these loads. A part of the gas is always the same gas, and a storm's part of it
/// always the same slots.
fn text(loads: &[Load<'_>]) -> String {
    let parts: u64 = loads.iter().map(|load| load.1).sum();
    let storms = loads.iter().filter(|load| load.0 == "sload-storm").map(|load| load.1);
    let slots = (storms.sum::<u64>() * PART_SLOTS).max(1);
    let mut text = format!(
        "schema = 1\nname = \"composed\"\nseed = 5\n[state]\naccounts = 20_000\nslots = {slots}\n\
         [block]\ngas = {}\ntx_gas = 400_000\nblocks = 2\n",
        parts * PART_GAS
    );
    for (kind, share, keys) in loads {
        let share = *share as f64 / parts as f64;
        text.push_str(&format!("[[load]]\nkind = \"{kind}\"\nshare = {share:?}\n{keys}\n"));
    }
    text
}

fn made(text: &str, overrides: &[(&str, &str)]) -> Generated {
    generate_by_load(&parse(text, overrides), |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

type Tx = (Address, Option<Address>, U256, Bytes, u64);

/// The transactions of a load without nonces, which count an account's.
fn of_load(made: &Generated, load: u32) -> Vec<Tx> {
    let txs = made.workload.blocks().flat_map(|block| &block.transactions);
    let of = txs.zip(&made.loads).filter(|(_, of)| **of == load);
    of.map(|(tx, _)| (tx.sender, tx.to, tx.value, tx.input.clone(), tx.gas_limit)).collect()
}

/// Whether one is the other with more at its end, which is what spare gas makes of the load with
/// the smallest transactions.
fn goes_on_as(one: &[Tx], other: &[Tx]) -> bool {
    let common = one.len().min(other.len());
    common > 0 && one[..common] == other[..common]
}

fn loads() -> impl Strategy<Value = Vec<Load<'static>>> {
    let load = prop_oneof![
        Just(("transfers", String::new())),
        Just(("erc20", "holders = 5_000".to_owned())),
        Just(("one-slot", "work = 3".to_owned())),
        Just(("sload-storm", String::new())),
        Just(("sload-storm", "keys = \"weyl\"\ncontracts = 3".to_owned())),
        Just(("sload-storm", "sizes = \"zipf\"\ntx_gas_least = 60_000".to_owned())),
        Just(("transfers", "pattern = \"fresh\"".to_owned())),
    ];
    let load = (load, 1..4_u64).prop_map(|((kind, keys), parts)| (kind, parts, keys));
    proptest::collection::vec(load, 2..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_load_that_is_appended_changes_none_before_it(loads in loads()) {
        let all = made(&text(&loads), &[]);
        let before = made(&text(&loads[..loads.len() - 1]), &[]);
        for load in 0..loads.len() as u32 - 1 {
            prop_assert!(goes_on_as(&of_load(&all, load), &of_load(&before, load)), "{}", load);
        }
        reference::verify(&all.workload, || {}).unwrap();
    }

    #[test]
    fn a_load_with_a_name_is_the_same_wherever_it_stands(loads in loads(), place in 0..4_usize) {
        let mut named = loads.clone();
        let last = named.last_mut().unwrap();
        last.2.push_str("\nname = \"own\"");
        let mut moved = named.clone();
        let own = moved.pop().unwrap();
        let place = place.min(moved.len());
        moved.insert(place, own);
        let (named, moved) = (made(&text(&named), &[]), made(&text(&moved), &[]));
        let (last, place) = (loads.len() as u32 - 1, place as u32);
        prop_assert!(goes_on_as(&of_load(&named, last), &of_load(&moved, place)));
    }

    #[test]
    fn the_order_of_loads_changes_no_transaction(loads in loads()) {
        let text = text(&loads);
        let (turns, phases) = (made(&text, &[]), made(&text, &[("block.order", "phases")]));
        for load in 0..loads.len() as u32 {
            prop_assert_eq!(of_load(&turns, load), of_load(&phases, load), "{}", load);
        }
        let mut left = &phases.loads[..];
        for block in phases.workload.blocks() {
            let (block, rest) = left.split_at(block.transactions.len());
            left = rest;
            // Transactions from spare gas come last, and are of one load.
            let is_last = |load: &&u32| Some(*load) == block.last();
            let spare_count = block.iter().rev().take_while(is_last).count();
            prop_assert!(block[..block.len() - spare_count].is_sorted(), "{:?}", block);
        }
    }
}

/// Covers every kind, also kinds that come later.
#[test]
fn no_kind_is_changed_by_a_load_after_it() {
    for kind in spec::kinds() {
        let starter = spec::starter("mine", &[kind]).unwrap();
        let share = |share: &str| starter.replacen("share = 1.0", &format!("share = {share}"), 1);
        let doubled = format!("{}\n[[load]]\nkind = \"transfers\"\nshare = 0.5\n", share("0.5"));
        let alone = made(&starter, &[("block.gas", "20M")]);
        let both = made(&doubled, &[("block.gas", "40M")]);
        assert_eq!(of_load(&alone, 0), of_load(&both, 0), "{kind}");
        assert!(both.loads.contains(&1));
    }
}

#[test]
fn a_kind_fills_what_it_is_given_or_needs_what_it_needs_as_it_says() {
    for kind in spec::kinds() {
        let starter = spec::starter("mine", &[kind]).unwrap();
        // Its greedy density divides the block by the cap: its transactions do not need a size of
        // their own.
        let dense = (kind == "hash-chain").then_some(("load.density", "max"));
        let most = |tx_gas: &str| {
            let sizes = [("block.gas", "40M"), ("block.tx_gas", tx_gas)];
            let overrides: Vec<_> = sizes.into_iter().chain(dense).collect();
            let made = made(&starter, &overrides);
            let outcomes = made.workload.batches[0].expected.transactions.clone();
            outcomes.iter().map(|outcome| outcome.gas_used).max().unwrap()
        };
        let fills = parse(&starter, &[]).loads[0].kind.fills_room();
        let (less, whole) = (most("12M"), most("16M"));
        assert_eq!(whole > less, fills, "{kind}: at most {less} of 12M, {whole} of 16M");
        assert!(!fills || whole > 15_000_000, "{kind} leaves much of 16M: {whole}");
    }
}

#[test]
fn the_seed_of_a_load_changes_that_load_alone() {
    let loads = [("sload-storm", 1, String::new()), ("sload-storm", 1, String::new())];
    let text = text(&loads);
    let (plain, seeded) = (made(&text, &[]), made(&text, &[("load[1].seed", "77")]));
    assert_eq!(of_load(&plain, 0), of_load(&seeded, 0));
    assert_ne!(of_load(&plain, 1), of_load(&seeded, 1));
}

#[test]
fn accounts_of_loads_side_by_side_do_not_meet_while_there_are_enough() {
    let loads = ["a-to-b", "a-to-b", "fresh"]
        .map(|pattern| ("transfers", 1, format!("pattern = \"{pattern}\"")));
    let made = made(&text(&loads), &[("block.blocks", "1")]);
    let seen = generator::describe::describe(&made.workload, || {}).unwrap();
    assert_eq!(seen.batches[0].graph.hottest(), None);
}

#[test]
fn sizes_are_within_their_bounds_and_blocks_are_full_all_the_same() {
    for (keys, distinct) in [
        ("tx_gas = 200_000", 1),
        ("sizes = \"range\"\ntx_gas_least = \"60k\"", 20),
        ("sizes = \"zipf\"\ntx_gas_least = \"60k\"\nzipf = 1.2", 4),
    ] {
        let text = text(&[("sload-storm", 6, keys.to_owned())]);
        let made = made(&text, &[]);
        assert_full(&made.workload, 6 * PART_GAS);
        let most = if distinct == 1 { 200_000 } else { 400_000 };
        for batch in &made.workload.batches {
            assert!(!list(batch).is_empty());
            let limits: Vec<u64> =
                batch.blocks[0].transactions.iter().map(|tx| tx.gas_limit).collect();
            // The last may have less, or the one before it, so that the last has enough.
            let (last, others) = limits.split_at(limits.len() - 2);
            assert!(last.iter().all(|gas| (60_000..=most).contains(gas)), "{keys}: {limits:?}");
            assert!(others.iter().all(|gas| *gas <= most), "{keys}: {limits:?}");
            let mut different = last.to_vec();
            different.sort_unstable();
            different.dedup();
            assert!(different.len() >= distinct, "{keys}: {different:?}");
            assert_eq!(receipt_gas(batch).len(), 1);
        }
    }
}

#[test]
fn sizes_that_no_transaction_can_have_are_errors_that_name_the_key() {
    let error = |loads: &[Load<'_>], overrides: &[(&str, &str)]| {
        let text = text(loads);
        let overrides = overrides.iter().map(|(key, value)| spec::Override {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            origin: format!("--set {key}={value}"),
        });
        let read = spec::Scenario::parse("my.toml", &text, &overrides.collect::<Vec<_>>());
        match read {
            Err(error) => error.to_string(),
            Ok(scenario) => generate_by_load(&scenario, |_| {}).unwrap_err().to_string(),
        }
    };
    let storm = |keys: &str| [("sload-storm", 2, keys.to_owned())];
    for (keys, words) in [
        ("sizes = \"range\"", &["load[0].tx_gas_least: missing", "100k"][..]),
        ("tx_gas_least = \"60k\"", &["load[0].tx_gas_least", "sizes = \"range\" or \"zipf\""]),
        ("sizes = \"range\"\ntx_gas_least = \"60k\"\nzipf = 2", &["load[0].zipf", "\"zipf\""]),
        ("sizes = \"zipf\"\ntx_gas_least = \"60k\"\nzipf = 0", &["load[0].zipf", "at most 10"]),
        ("sizes = \"zipf\"\ntx_gas = \"50k\"\ntx_gas_least = \"60k\"", &["60k", "tx_gas"]),
        ("tx_gas = \"1M\"", &["load[0].tx_gas", "above 400,000", "block.tx_gas"]),
        ("sizes = \"zipfy\"", &["did you mean zipf?"]),
        // Enough for a transaction, too little for a storm's.
        ("sizes = \"range\"\ntx_gas_least = \"30k\"", &["load.tx_gas_least", "load[0]"]),
        ("name = \"7\"", &["load[0].name", "begins with a letter"]),
    ] {
        let error = error(&storm(keys), &[]);
        assert!(words.iter().all(|word| error.contains(word)), "{keys}: {error}");
    }
    let transfers = [("transfers", 2, "tx_gas = \"100k\"".to_owned())];
    let message = error(&transfers, &[]);
    assert!(message.contains("load[0].tx_gas") && message.contains("sload-storm"), "{message}");
    let twins = ["one-slot", "transfers"].map(|kind| (kind, 1, "name = \"a\"".to_owned()));
    let message = error(&twins, &[]);
    assert!(message.contains("load[1].name") && message.contains("before it"), "{message}");
    let message = error(&storm(""), &[("block.order", "phased")]);
    assert!(message.contains("did you mean phases?"), "{message}");
}
