//! The laws of loads whose transactions depend on each other by shape. Blocks are full, and rate
//! and lengths are as asked. An impossible request is one error with its remedy.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as it does")]

use std::collections::{BTreeMap, HashMap, HashSet};

use alloy_primitives::{Address, U256};
use generator::{GeneratorError, generate, reference};
use workload::{Transaction, Workload};

use crate::blocks::{assert_full, list, parse};

const BASE: &str = r#"
schema = 1
name = "test"
seed = 1
[state]
accounts = "4k"
[block]
gas = "30M"
[[load]]
kind = "chains"
"#;

fn workload(overrides: &[(&str, &str)]) -> Workload {
    generate(&parse(BASE, overrides), |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn error(overrides: &[(&str, &str)]) -> GeneratorError {
    generate(&parse(BASE, overrides), |_| {}).unwrap_err()
}

/// A word of a transaction's calldata.
fn word(tx: &Transaction, index: usize) -> U256 {
    U256::from_be_slice(&tx.input[4 + 32 * index..36 + 32 * index])
}

fn transactions(made: &Workload) -> Vec<&Transaction> {
    made.blocks().flat_map(|block| &block.transactions).collect()
}

/// Indices at which each slot of the contracts that are called is written, by the list.
fn writes(made: &Workload) -> Vec<Vec<u64>> {
    let called: HashSet<Address> = transactions(made).iter().filter_map(|tx| tx.to).collect();
    let mut out = Vec::new();
    for account in list(&made.batches[0]) {
        if called.contains(&account.address) {
            let slots = account.storage_changes.iter();
            out.extend(slots.map(|slot| {
                let at = slot.changes.iter().map(|change| change.block_access_index.get());
                at.collect::<Vec<u64>>()
            }));
        }
    }
    out
}

/// How many slots are written how often.
fn group_lengths(made: &Workload) -> BTreeMap<usize, usize> {
    let mut out = BTreeMap::new();
    for indices in writes(made) {
        *out.entry(indices.len()).or_insert(0) += 1;
    }
    out
}

#[test]
fn blocks_of_every_shape_are_full_and_each_transaction_has_its_own_sender() {
    let forks = ["amsterdam", "osaka"];
    for (fork, shape) in forks.into_iter().flat_map(|f| SHAPES.map(|shape| (f, shape))) {
        for through in ["slot", "account"] {
            let made = workload(&[
                ("fork", fork),
                ("load.shape", shape),
                ("load.through", through),
                ("block.blocks", "2"),
                ("block.batch", "2"),
            ]);
            assert_full(&made, 30_000_000);
            let txs = transactions(&made);
            let senders: HashSet<_> = txs.iter().map(|tx| tx.sender).collect();
            assert_eq!(senders.len(), txs.len(), "{fork} {shape} {through}");
            reference::verify(&made, || {}).unwrap();
        }
    }
}

const SHAPES: [&str; 4] = ["shared", "relay", "tree", "star"];

#[test]
fn as_many_transactions_are_in_chains_as_asked_and_chains_are_whole() {
    for (conflict, length) in [("0.0", 5), ("0.3", 5), ("0.5", 2), ("1.0", 7), ("1.0", 100)] {
        let text = length.to_string();
        let made = workload(&[("load.conflict", conflict), ("load.lengths", &text)]);
        let tx_count = transactions(&made).len();
        let lengths = group_lengths(&made);
        let in_chains = length * lengths.get(&length).copied().unwrap_or(0);
        let alone = lengths.get(&1).copied().unwrap_or(0);
        assert_eq!(in_chains + alone, tx_count, "{conflict} {length}: {lengths:?}");
        let wanted = conflict.parse::<f64>().unwrap() * tx_count as f64;
        let missed = wanted - in_chains as f64;
        assert!((-1.0..=length as f64 + 1.0).contains(&missed), "{conflict} {length}: {missed}");
    }
}

#[test]
fn hotspots_are_the_same_in_every_block_and_share_the_conflicts_equally() {
    for through in ["slot", "account"] {
        let made = workload(&[
            ("load.hotspots", "3"),
            ("load.conflict", "0.5"),
            ("load.through", through),
            ("block.blocks", "2"),
        ]);
        let mut hot: Vec<HashMap<U256, usize>> = Vec::new();
        for block in made.blocks() {
            let mut counts = HashMap::new();
            for tx in &block.transactions {
                *counts.entry(word(tx, 1)).or_insert(0) += 1;
            }
            let tx_count = block.transactions.len();
            counts.retain(|_, count| *count > 1);
            let sum: usize = counts.values().sum();
            assert!((2 * sum).abs_diff(tx_count) <= 4, "{through}: {sum} of {tx_count}");
            let (least, most) = (counts.values().min(), counts.values().max());
            assert!(most.unwrap() - least.unwrap() <= 1, "{through}: {counts:?}");
            hot.push(counts);
        }
        assert_eq!(hot[0].len(), 3);
        assert!(hot[0].keys().all(|index| hot[1].contains_key(index)), "{through}");
    }
}

/// The length of the longest chain that ends at each transaction, by the keys in calldata.
fn depths(made: &Workload) -> Vec<(usize, U256)> {
    let mut depth_of: HashMap<U256, usize> = HashMap::new();
    let mut out = Vec::new();
    for tx in transactions(made) {
        let (from, to) = (word(tx, 0), word(tx, 1));
        let depth = 1 + [from, to]
            .map(|at| depth_of.get(&at).copied().unwrap_or(0))
            .into_iter()
            .max()
            .unwrap();
        depth_of.insert(to, depth);
        out.push((depth, to));
    }
    out
}

#[test]
fn the_longest_chain_of_a_group_is_that_of_its_shape() {
    for (shape, least, most) in
        [("shared", 50, 50), ("relay", 50, 50), ("tree", 5, 25), ("star", 2, 2)]
    {
        for order in ["shuffled", "interleaved", "together"] {
            let made =
                workload(&[("load.shape", shape), ("load.lengths", "50"), ("load.order", order)]);
            let longest = depths(&made).iter().map(|(depth, _)| *depth).max().unwrap();
            assert!((least..=most).contains(&longest), "{shape} {order}: {longest}");
        }
    }
}

#[test]
fn groups_are_ordered_as_asked() {
    let of = |order| {
        let made = workload(&[("load.lengths", "5"), ("load.order", order)]);
        let full: Vec<_> = writes(&made).into_iter().filter(|at| at.len() == 5).collect();
        assert!(full.len() > 70, "{order}");
        full
    };
    assert!(of("together").iter().all(|at| at.windows(2).all(|two| two[1] == two[0] + 1)));
    let interleaved = of("interleaved");
    let step = interleaved.len() as u64;
    // Groups take turns; a rest of transactions that stand alone may be among them.
    for at in &interleaved {
        for two in at.windows(2) {
            assert!((step..=step + 4).contains(&(two[1] - two[0])), "{at:?} of {step}");
        }
    }
    let spans: Vec<u64> = of("shuffled").iter().map(|at| at[4] - at[0]).collect();
    let mean = spans.iter().sum::<u64>() as f64 / spans.len() as f64;
    // The first and the last of five uniform places are 4/6 of the block apart.
    let expected = 5.0 * spans.len() as f64 * 4.0 / 6.0;
    assert!((mean / expected - 1.0).abs() < 0.15, "{mean}, {expected}");
}

#[test]
fn a_mixed_graph_has_groups_of_each_length() {
    let made = workload(&[("load.lengths", "1,2,5"), ("load.order", "interleaved")]);
    let lengths = group_lengths(&made);
    assert_eq!(lengths.keys().copied().collect::<Vec<_>>(), [1, 2, 5]);
    assert!(lengths[&2] - lengths[&5] <= 1 && lengths[&1] - lengths[&5] <= 8, "{lengths:?}");
}

#[test]
fn a_rate_that_a_block_is_too_small_for_is_an_error_that_names_the_keys() {
    let message = error(&[("load.lengths", "1000")]).to_string();
    assert!(message.contains("load[0].lengths needs 1000"), "{message}");
    let message = error(&[("load.hotspots", "300"), ("load.conflict", "0.9")]).to_string();
    assert!(message.contains("load[0].hotspots needs 600"), "{message}");
    for kind in ["chains", "non-conflicting"] {
        let few = [("load.kind", kind), ("state.accounts", "100")];
        let GeneratorError::TooFewSenders { needed_count, held_count, .. } = error(&few) else {
            panic!("{kind}")
        };
        assert_eq!(held_count, 100);
        workload(&[few[0], ("state.accounts", &needed_count.to_string())]);
        let least = (needed_count - 1).to_string();
        error(&[few[0], ("state.accounts", &least)]);
    }
    let few = [("load.kind", "dapps"), ("state.accounts", "20")];
    assert!(matches!(error(&few), GeneratorError::TooFewSenders { held_count: 20, .. }));
}

#[test]
fn what_contradicts_itself_is_refused_where_it_stands() {
    for (load, key) in [
        ("kind = \"chains\"\nlengths = [1]", "load[0].lengths"),
        ("kind = \"chains\"\nlengths = []", "load[0].lengths"),
        ("kind = \"chains\"\nlengths = [5]\nhotspots = 2", "load[0].hotspots"),
        ("kind = \"chains\"\nhotspots = 100_000", "load[0].hotspots"),
        ("kind = \"dapps\"\ndapps = 1_000\nresources = 1_001", "load[0].resources"),
        ("kind = \"dapps\"\nper_user_sigma = 4", "load[0].per_user_sigma"),
        ("kind = \"dapps\"\nper_user = \"normal\"", "load[0].per_user"),
        ("kind = \"non-conflicting\"\nsupply = 1", "load[0].supply"),
    ] {
        let text = format!(
            "schema = 1\nname = \"wrong\"\n[block]\ngas = \"30M\"\n[state]\n[[load]]\n{load}\n"
        );
        let error = spec::Scenario::parse("wrong.toml", &text, &[]);
        let error = error.unwrap_err().to_string();
        assert!(error.contains(key) && error.contains("wrong.toml:"), "{load}: {error}");
    }
}

#[test]
fn non_conflicting_transactions_have_nothing_in_common_but_the_supply() {
    for (supply, shared) in [("false", 0), ("true", 1)] {
        let made = workload(&[("load.kind", "non-conflicting"), ("load.supply", supply)]);
        assert_full(&made, 30_000_000);
        let txs = transactions(&made);
        let senders: HashSet<_> = txs.iter().map(|tx| tx.sender).collect();
        assert_eq!(senders.len(), txs.len());
        let lengths = group_lengths(&made);
        assert_eq!(lengths.get(&1), Some(&txs.len()), "own balances");
        assert_eq!(lengths.get(&txs.len()).copied().unwrap_or(0), shared, "the supply");
        assert_eq!(lengths.values().sum::<usize>(), txs.len() + shared);
        reference::verify(&made, || {}).unwrap();
    }
}

#[test]
fn users_of_dapps_read_and_write_resources_and_blocks_are_full_at_any_size() {
    for (gas, per_user) in [("30M", "log-normal"), ("30M", "published"), ("300M", "log-normal")] {
        for fork in ["amsterdam", "osaka"] {
            let made = workload(&[
                ("load.kind", "dapps"),
                ("load.per_user", per_user),
                ("load.dapps", "20"),
                ("load.home", "1.0"),
                ("block.gas", gas),
                ("fork", fork),
            ]);
            let wanted = gas.replace('M', "000000").parse().unwrap();
            assert_full(&made, wanted);
            let txs = transactions(&made);
            // Every resource that is called is written as often, and by nobody else.
            let mut called: HashMap<(Address, U256), usize> = HashMap::new();
            let mut dapps_of: HashMap<Address, HashSet<Address>> = HashMap::new();
            for tx in &txs {
                *called.entry((tx.to.unwrap(), word(tx, 0))).or_default() += 1;
                dapps_of.entry(tx.sender).or_default().insert(tx.to.unwrap());
            }
            let mut counts: Vec<_> = called.into_values().collect();
            let mut seen: Vec<_> = writes(&made).iter().map(Vec::len).collect();
            counts.sort_unstable();
            seen.sort_unstable();
            assert_eq!(counts, seen);
            assert!(dapps_of.values().all(|dapps| dapps.len() == 1), "home alone");
            // The aim of the default of `work`.
            let mean = made.gas_used() / txs.len() as u64;
            assert!((72_000..77_000).contains(&mean), "{fork}: {mean} gas a transaction");
            reference::verify(&made, || {}).unwrap();
        }
    }
}

#[test]
fn slots_of_the_state_do_not_matter_to_loads_without_any() {
    for kind in ["dapps", "chains", "non-conflicting"] {
        let small = [("load.kind", kind), ("block.gas", "3M")];
        let made = workload(&small);
        let with_slots = workload(&[small[0], small[1], ("state.slots", "200k")]);
        assert!(made.blocks().eq(with_slots.blocks()), "{kind}");
        assert_eq!(made.genesis.digest(), with_slots.genesis.digest(), "{kind}");
    }
}
