//! The laws of descriptions: the conflict graph against its definition, tried pair by pair, and the
//! descriptions of generated workloads.
#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as it does")]

use std::collections::HashSet;

use generator::{
    Generated,
    describe::{Access, Accesses, ConflictCounts, ConflictGraph, Description, describe},
    generate_by_load, reference,
};
use proptest::prelude::*;
use spec::shipped;
use workload::{StepKind, Steps, Workload};

use crate::blocks::{assert_full, list, parse};

const KEY_COUNT: u32 = 12;

/// Per transaction: its gas, the keys it reads and those it writes.
type Txs = Vec<(u64, HashSet<u32>, HashSet<u32>)>;

fn txs() -> impl Strategy<Value = Txs> {
    let keys = || proptest::collection::hash_set(0..KEY_COUNT, 0..3);
    proptest::collection::vec((1..50_u64, keys(), keys()), 0..14)
}

fn graph(txs: &Txs) -> ConflictGraph {
    let mut accesses = Accesses::default();
    for (_, reads, writes) in txs {
        let read = reads.difference(writes).map(|key| Access { key: *key, writes: false });
        let written = writes.iter().map(|key| Access { key: *key, writes: true });
        read.chain(written).for_each(|access| accesses.push(access));
        accesses.end_tx();
    }
    ConflictGraph::new(txs.iter().map(|tx| tx.0).collect(), &accesses, KEY_COUNT as usize)
}

fn touches(tx: &(u64, HashSet<u32>, HashSet<u32>), key: u32) -> bool {
    tx.1.contains(&key) || tx.2.contains(&key)
}

/// The component of each transaction, by spreading along conflicts until nothing changes.
fn components(txs: &Txs) -> Vec<usize> {
    let meet = |a: usize, b: usize| {
        (0..KEY_COUNT).any(|key| {
            touches(&txs[a], key)
                && touches(&txs[b], key)
                && (txs[a].2.contains(&key) || txs[b].2.contains(&key))
        })
    };
    let mut of: Vec<usize> = (0..txs.len()).collect();
    for _ in 0..txs.len() {
        for a in 0..txs.len() {
            for b in 0..txs.len() {
                if meet(a, b) {
                    of[a] = of[a].min(of[b]);
                    of[b] = of[a];
                }
            }
        }
    }
    of
}

/// Conflicts of writes with writes, and of reads with writes, tried pair by pair.
fn meetings(txs: &Txs) -> (ConflictCounts, ConflictCounts) {
    let meet = |is_such: &dyn Fn(usize, usize, u32) -> bool| {
        let (mut of_txs, mut keys) = (HashSet::new(), HashSet::new());
        for (a, b) in (0..txs.len()).flat_map(|a| (0..txs.len()).map(move |b| (a, b))) {
            for key in (0..KEY_COUNT).filter(|key| a != b && is_such(a, b, *key)) {
                of_txs.extend([a, b]);
                keys.insert(key);
            }
        }
        ConflictCounts { tx_count: of_txs.len() as u64, key_count: keys.len() as u64 }
    };
    let writes = |tx: usize, key: u32| txs[tx].2.contains(&key);
    let only_reads = |tx: usize, key: u32| txs[tx].1.contains(&key) && !writes(tx, key);
    (
        meet(&|a, b, key| writes(a, key) && writes(b, key)),
        meet(&|a, b, key| writes(a, key) && only_reads(b, key)),
    )
}

/// The transactions on which `tx` depends: the last writers before it of the keys that it touches.
fn dependencies(txs: &Txs, tx: usize) -> HashSet<usize> {
    let writer = |key: u32| (0..tx).rev().find(|earlier| txs[*earlier].2.contains(&key));
    (0..KEY_COUNT).filter(|key| touches(&txs[tx], *key)).filter_map(writer).collect()
}

proptest! {
    #[test]
    fn the_graph_is_what_its_definition_says(txs in txs()) {
        let graph = graph(&txs);
        let of = components(&txs);
        let roots: HashSet<_> = of.iter().collect();
        let (mut counts, mut gases) = (Vec::new(), 0);
        for root in &roots {
            counts.push(of.iter().filter(|at| at == root).count() as u64);
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let found: Vec<_> = graph.components().iter().map(|component| {
            gases += component.gas;
            component.tx_count
        }).collect();
        prop_assert_eq!(found, counts);
        prop_assert_eq!(gases, txs.iter().map(|tx| tx.0).sum::<u64>());
        let (write_write, read_write) = meetings(&txs);
        prop_assert_eq!(graph.write_write(), write_write);
        prop_assert_eq!(graph.read_write(), read_write);

        let mut chains: Vec<(u64, u64)> = Vec::new();
        for tx in 0..txs.len() {
            let before: Vec<_> =
                dependencies(&txs, tx).into_iter().map(|earlier| chains[earlier]).collect();
            let count = before.iter().map(|chain| chain.0).max().unwrap_or(0) + 1;
            chains.push((count, before.iter().map(|chain| chain.1).max().unwrap_or(0) + txs[tx].0));
        }
        let most = |of: &dyn Fn(&(u64, u64)) -> u64| chains.iter().map(of).max().unwrap_or(0);
        let (count, gas) = (most(&|chain| chain.0), most(&|chain| chain.1));
        let chain = graph.components().iter().map(|of| of.chain_tx_count).max().unwrap_or(0);
        prop_assert_eq!(chain, count);
        let chain = graph.components().iter().map(|of| of.chain_gas).max().unwrap_or(0);
        prop_assert_eq!(chain, gas);

        let total = txs.iter().map(|tx| tx.0).sum::<u64>();
        prop_assert_eq!(graph.makespan_gas(1), total);
        prop_assert_eq!(graph.makespan_gas(txs.len().max(1)), gas);
        for threads in 2..5 {
            let makespan = graph.makespan_gas(threads);
            let share = total.div_ceil(threads as u64);
            prop_assert!(makespan >= share.max(gas));
            // Graham's bound of list scheduling.
            prop_assert!(makespan <= total / threads as u64 + gas);
        }

        let meeting = |key: u32| {
            let all = txs.iter().filter(|tx| touches(tx, key)).count() as u64;
            let writers = txs.iter().filter(|tx| tx.2.contains(&key)).count() as u64;
            (all, writers)
        };
        let hottest = (0..KEY_COUNT).map(meeting).filter(|met| met.0 > 1 && met.1 > 0).max();
        let found = graph.hottest().map(|hottest| (hottest.tx_count, hottest.writer_count));
        prop_assert_eq!(found, hottest);
        if let Some(hottest) = graph.hottest() {
            prop_assert_eq!(meeting(hottest.key), (hottest.tx_count, hottest.writer_count));
        }
    }
}

const SMALL: &str = r#"
schema = 1
name = "small"
[state]
accounts = "4k"
slots = "50k"
[block]
gas = "6M"
[[load]]
kind = "transfers"
"#;

fn described(overrides: &[(&str, &str)]) -> (Workload, Description) {
    let Generated { workload, .. } = generate_by_load(&parse(SMALL, overrides), |_| {}).unwrap();
    let seen = describe(&workload, || {}).unwrap();
    (workload, seen)
}

#[test]
fn loads_meet_where_they_are_said_to_and_nowhere_else() {
    for (overrides, is_one, is_chain) in [
        (&[("load.kind", "one-slot")][..], true, true),
        (&[("load.pattern", "a-to-b")], false, false),
        (&[("load.pattern", "a-to-a")], false, false),
        (&[("load.pattern", "many-to-a")], true, true),
        (&[("load.pattern", "a-to-many")], true, true),
        (&[("load.kind", "erc20"), ("load.pattern", "a-to-b")], false, false),
        (&[("load.kind", "sload-storm"), ("block.tx_gas", "200k")], false, false),
        (
            &[("load.kind", "sload-storm"), ("block.tx_gas", "200k"), ("load.overlap", "all")],
            false,
            false,
        ),
    ] {
        let (workload, seen) = described(overrides);
        let graph = &seen.batches[0].graph;
        let tx_count = workload.tx_count();
        assert_eq!(seen.transactions.len() as u64, tx_count);
        let largest = graph.components()[0];
        assert_eq!(largest.tx_count, if is_one { tx_count } else { 1 }, "{overrides:?}");
        assert_eq!(graph.hottest().is_some(), is_one, "{overrides:?}");
        let chain = if is_chain { tx_count } else { 1 };
        assert_eq!(largest.chain_tx_count, chain, "{overrides:?}");
        if is_chain {
            assert_eq!(graph.makespan_gas(64), workload.gas_used(), "{overrides:?}");
            let hottest = graph.hottest().unwrap();
            assert_eq!((hottest.tx_count, hottest.writer_count), (tx_count, tx_count));
        }
    }
}

#[test]
fn the_hottest_key_is_named() {
    let (workload, seen) = described(&[("load.kind", "one-slot")]);
    let name = seen.batches[0].hottest.unwrap();
    assert_eq!(Some(name.address), workload.batches[0].blocks[0].transactions[0].to);
    assert!(name.slot.unwrap().is_zero());
    let (workload, seen) = described(&[("load.pattern", "a-to-many")]);
    let name = seen.batches[0].hottest.unwrap();
    assert_eq!(name.address, workload.batches[0].blocks[0].transactions[0].sender);
    assert_eq!(name.slot, None, "it gives: its row");
}

/// Covers every shipped scenario, also kinds that come later.
#[test]
fn the_writes_that_are_counted_are_those_of_the_list() {
    for (name, text) in shipped::all() {
        let small = [
            ("block.gas", "10M"),
            ("state.slots", "200k"),
            ("block.blocks", "2"),
            ("block.batch", "2"),
        ];
        let made = generate_by_load(&parse(text, &small), |_| {}).unwrap();
        let seen = describe(&made.workload, || {}).unwrap();
        let mut transactions = seen.transactions.iter();
        for batch in &made.workload.batches {
            let steps = Steps::of(batch);
            let mut in_list = vec![0; steps.count() as usize];
            for slot in list(batch).iter().flat_map(|account| &account.storage_changes) {
                for change in &slot.changes {
                    in_list[change.block_access_index.get() as usize] += 1;
                }
            }
            for (index, step) in steps.iter() {
                if matches!(step.kind, StepKind::Transaction(_)) {
                    let keys = transactions.next().unwrap();
                    assert_eq!(keys.written_slot_count, in_list[index as usize], "{name}");
                    assert!(keys.written_slot_count <= keys.slot_count, "{name}");
                    // At least the sender, whose nonce it changes.
                    assert!(keys.written_account_count >= 1, "{name}");
                }
            }
        }
        assert!(transactions.next().is_none());
    }
}

#[test]
fn a_list_that_lacks_what_is_touched_is_an_error() {
    let (mut workload, _) = described(&[("load.kind", "one-slot")]);
    let mut short = list(&workload.batches[0]);
    let contract = workload.batches[0].blocks[0].transactions[0].to.unwrap();
    short.retain(|account| account.address != contract);
    workload.batches[0].list = workload::list::encode(&short);
    let error = describe(&workload, || {}).unwrap_err().to_string();
    assert!(error.contains("lacks") && error.contains(&contract.to_string()), "{error}");
}

const MIXED: &str = r#"
schema = 1
name = "mixed"
[state]
accounts = "20k"
slots = "64k"
[block]
gas = "8M"
tx_gas = "400k"
[[load]]
kind = "transfers"
share = 0.25
[[load]]
kind = "one-slot"
share = 0.25
[[load]]
kind = "sload-storm"
share = 0.5
"#;

/// The kind by calldata: none, some work, a storm.
fn kind(tx: &workload::Transaction) -> u32 {
    match tx.input.len() {
        0 => 0,
        36 => 1,
        _ => 2,
    }
}

#[test]
fn every_transaction_is_of_its_load_and_phases_follow_one_another() {
    for (order, switches) in [("interleaved", false), ("phases", true)] {
        let made = generate_by_load(&parse(MIXED, &[("block.order", order)]), |_| {}).unwrap();
        assert_full(&made.workload, 8_000_000);
        let txs: Vec<_> = made.workload.blocks().flat_map(|block| &block.transactions).collect();
        let kinds: Vec<_> = txs.iter().map(|tx| kind(tx)).collect();
        assert_eq!(made.loads, kinds, "{order}");
        assert_eq!(kinds.is_sorted(), switches, "{order}");
        assert_eq!(kinds.iter().collect::<HashSet<_>>().len(), 3, "{order}");
        reference::verify(&made.workload, || {}).unwrap();
    }
}
