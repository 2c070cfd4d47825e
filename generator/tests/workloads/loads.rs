//! The laws of loads that are no storms: who takes part, what a transaction costs, and that loads
//! of different kinds share blocks.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as it does")]

use std::collections::{BTreeMap, HashSet};

use alloy_primitives::Address;
use generator::{generate, reference};
use spec::{Override, Scenario};
use workload::{Transaction, Workload};

use crate::blocks::{assert_full, list, parse};

const SMALL: &str = r#"
schema = 1
name = "small"
[state]
accounts = "4k"
[block]
gas = "30M"
[[load]]
kind = "transfers"
"#;

/// Transfers of `kind` by `pattern`.
fn transfers(kind: &str, pattern: &str, overrides: &[(&str, &str)]) -> Workload {
    let overrides = [&[("load.kind", kind), ("load.pattern", pattern)], overrides].concat();
    generate(&parse(SMALL, &overrides), |_| {}).unwrap()
}

#[test]
fn a_block_of_transfers_is_full_and_its_parties_are_as_the_pattern_says() {
    for kind in ["transfers", "erc20"] {
        for (pattern, giver_count, taker_count) in [
            ("a-to-b", None, None),
            ("a-to-a", None, None),
            ("a-to-many", Some(1), None),
            ("many-to-a", None, Some(1)),
            ("fresh", None, None),
        ] {
            for fork in ["amsterdam", "osaka"] {
                let made = transfers(kind, pattern, &[("fork", fork)]);
                assert_full(&made, 30_000_000);
                let txs = &made.batches[0].blocks[0].transactions;
                let givers: HashSet<_> = txs.iter().map(|tx| tx.sender).collect();
                let taker = |tx: &Transaction| match kind {
                    "erc20" => Address::from_slice(&tx.input[16..36]),
                    _ => tx.to.unwrap(),
                };
                let takers: HashSet<_> = txs.iter().map(taker).collect();
                assert_eq!(givers.len(), giver_count.unwrap_or(txs.len()), "{kind} {pattern}");
                assert_eq!(takers.len(), taker_count.unwrap_or(txs.len()), "{kind} {pattern}");
                let are_apart = givers.is_disjoint(&takers);
                assert_eq!(are_apart, pattern != "a-to-a", "{kind} {pattern}");
                reference::verify(&made, || {}).unwrap();
            }
        }
    }
}

#[test]
fn a_transfer_costs_what_it_must() {
    let gas = |made: &Workload| made.batches[0].expected.transactions[0].gas_used;
    assert_eq!(gas(&transfers("transfers", "a-to-b", &[("fork", "osaka")])), 21_000);
    // 21,000 and calldata, two slots read and written, a log, and the contract's own steps.
    let token = gas(&transfers("erc20", "a-to-b", &[("fork", "osaka")]));
    assert!((33_000..36_000).contains(&token), "{token}");
}

#[test]
fn every_transaction_of_one_slot_changes_it_again() {
    for work in ["0", "10", "1k"] {
        let made = parse(SMALL, &[("load.kind", "one-slot"), ("load.work", work)]);
        let made = generate(&made, |_| {}).unwrap();
        let batch = &made.batches[0];
        let changed = list(batch).into_iter().flat_map(|account| account.storage_changes);
        let of_slot = changed.filter(|slot| slot.slot.is_zero()).map(|slot| slot.changes.len());
        let tx_count = batch.blocks[0].transactions.len();
        assert!(of_slot.max() >= Some(tx_count), "{work}");
        let outputs: HashSet<_> = batch.expected.transactions.iter().map(|tx| tx.output).collect();
        assert_eq!(outputs.len(), tx_count, "{work}: each returns what it left");
    }
}

#[test]
fn loads_of_different_kinds_share_a_block_and_take_turns() {
    let text = r#"
schema = 1
name = "mixed"
[state]
accounts = "2k"
slots = "50k"
[block]
gas = "30M"
tx_gas = "500k"
blocks = 2
batch = 2
[[load]]
kind = "transfers"
share = 0.25
[[load]]
kind = "erc20"
share = 0.25
[[load]]
kind = "one-slot"
share = 0.25
[[load]]
kind = "sload-storm"
share = 0.25
"#;
    let made = generate(&parse(text, &[]), |_| {}).unwrap();
    assert_full(&made, 30_000_000);
    assert_eq!(made.genesis.slot_count(), 50_000 + 2_000 + 1, "slots are the storm's");
    let batch = &made.batches[0];
    // The kind by calldata: none, a transfer, some work, a storm.
    let kind = |tx: &Transaction| match tx.input.len() {
        0 => 0,
        68 => 1,
        36 => 2,
        _ => 3,
    };
    let mut gas = [0; 4];
    let txs: Vec<_> = batch.blocks.iter().flat_map(|block| &block.transactions).collect();
    for (tx, outcome) in txs.iter().zip(&batch.expected.transactions) {
        gas[kind(tx)] += outcome.gas_used;
    }
    assert!(gas.iter().all(|gas| gas.abs_diff(15_000_000) < 150_000), "{gas:?}");
    let kinds: HashSet<_> = txs.iter().take(200).map(|tx| kind(tx)).collect();
    assert_eq!(kinds.len(), 4, "they come interleaved");
}

#[test]
fn nonces_go_on_through_the_blocks_of_a_batch() {
    let overrides = [("block.blocks", "4"), ("block.batch", "4"), ("state.accounts", "20")];
    for pattern in ["a-to-b", "a-to-many", "many-to-a"] {
        let made = transfers("transfers", pattern, &overrides);
        assert_eq!((made.batches.len(), made.batches[0].blocks.len()), (1, 4));
        let mut next = BTreeMap::new();
        for tx in made.blocks().flat_map(|block| &block.transactions) {
            let nonce = next.entry(tx.sender).or_insert(0);
            assert_eq!(tx.nonce, *nonce, "{pattern}");
            *nonce += 1;
        }
        reference::verify(&made, || {}).unwrap();
    }
}

#[test]
fn too_few_accounts_and_too_many_holders_are_errors_that_name_the_key() {
    let error = |overrides: &[(&str, &str)]| {
        let overrides = overrides.iter().map(|(key, value)| Override {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            origin: format!("--set {key}={value}"),
        });
        let overrides: Vec<_> = overrides.collect();
        Scenario::parse("small.toml", SMALL, &overrides).unwrap_err().to_string()
    };
    let message = error(&[("state.accounts", "1")]);
    assert!(message.contains("state.accounts"), "{message}");
    let message = error(&[("load.kind", "erc20"), ("load.holders", "4001")]);
    assert!(message.contains("holders"), "{message}");
    let message = error(&[("load.kind", "sload-storm")]);
    assert!(message.contains("slots"), "{message}");
}
