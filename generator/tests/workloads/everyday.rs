//! The laws of loads of everyday traffic. Blocks of every kind are full, transactions conflict
//! where the kind says and nowhere else, and they do their work.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use alloy_primitives::{Address, U256, keccak256};
use generator::{BENEFICIARY, GeneratorError, generate, reference};
use spec::{Scenario, shipped};
use workload::{TxType, Workload};

use crate::blocks::{assert_full, list, parse};

const SMALL: &str = r#"
schema = 1
name = "small"
seed = 3
[state]
accounts = "4k"
[block]
gas = "30M"
[[load]]
kind = "amm"
"#;

/// Every kind, in each of its forms.
const LOADS: &[&[(&str, &str)]] = &[
    &[("load.kind", "amm")],
    &[("load.kind", "amm"), ("load.pairs", "1"), ("load.traders", "1")],
    &[("load.kind", "amm"), ("load.pair_zipf", "1.2")],
    &[("load.kind", "erc721")],
    &[("load.kind", "erc721"), ("load.holders", "3")],
    &[("load.kind", "nft-mint")],
    &[("load.kind", "airdrop"), ("load.to", "fresh")],
    &[("load.kind", "airdrop"), ("load.to", "holders"), ("load.recipients", "400")],
    &[("load.kind", "deploy"), ("load.by", "create")],
    &[("load.kind", "deploy"), ("load.by", "create2"), ("load.code", "1000")],
    &[("load.kind", "deploy"), ("load.calls", "2"), ("load.code", "500")],
    &[("load.kind", "deploy"), ("load.by", "create2"), ("load.calls", "1")],
    &[("load.kind", "delegate")],
    &[("load.kind", "delegate"), ("load.delegations", "7"), ("load.authorities", "30")],
    &[("load.kind", "delegate"), ("load.calls", "0")],
    &[("load.kind", "compute"), ("load.work", "keccak")],
    &[("load.kind", "compute"), ("load.work", "modexp")],
    &[("load.kind", "compute"), ("load.work", "pairing")],
    &[("load.kind", "compute"), ("load.work", "loop"), ("load.rounds", "300")],
    &[("load.kind", "logs")],
    &[("load.kind", "logs"), ("load.topics", "0"), ("load.data", "1024"), ("load.logs", "9")],
];

fn scenario(overrides: &[&[(&str, &str)]]) -> Scenario {
    parse(SMALL, &overrides.concat())
}

fn made(overrides: &[(&str, &str)]) -> Workload {
    generate(&scenario(&[overrides]), |_| {})
        .unwrap_or_else(|error| panic!("{overrides:?}: {error}"))
}

/// Indices of the transactions that write each slot.
fn writers(workload: &Workload) -> BTreeMap<(Address, U256), BTreeSet<u64>> {
    let mut out = BTreeMap::new();
    for account in list(&workload.batches[0]) {
        for slot in &account.storage_changes {
            let indices = slot.changes.iter().map(|change| change.block_access_index.0);
            out.insert((account.address, slot.slot), indices.collect());
        }
    }
    out
}

#[test]
fn blocks_of_every_kind_are_full_and_true() {
    for load in LOADS {
        for fork in ["amsterdam", "osaka"] {
            let head: &[_] = &[("fork", fork)];
            let made = generate(&scenario(&[head, load]), |_| {});
            let made = made.unwrap_or_else(|error| panic!("{load:?} {fork}: {error}"));
            assert_full(&made, 30_000_000);
            reference::verify(&made, || {}).unwrap();
        }
    }
}

#[test]
fn several_blocks_go_on_where_the_last_ended() {
    for load in LOADS {
        let head: &[_] = &[
            ("block.gas", "3M"),
            ("block.blocks", "4"),
            ("block.batch", "2"),
            ("state.accounts", "25"),
        ];
        // Counts that depend on the accounts fit this small state.
        let fits = |(key, _): &(&str, &str)| !["load.recipients", "load.code"].contains(key);
        let load: Vec<_> = load.iter().copied().filter(fits).collect();
        let few: &[_] = match load[0].1 {
            "airdrop" => &[("load.recipients", "20")],
            "deploy" => &[("load.code", "300")],
            _ => &[],
        };
        let load = [few, &load[..]].concat();
        let made = generate(&scenario(&[head, &load]), |_| {});
        let made = made.unwrap_or_else(|error| panic!("{load:?}: {error}"));
        assert_eq!(made.batches.len(), 2);
        reference::verify(&made, || {}).unwrap();
    }
}

#[test]
fn the_genesis_does_not_depend_on_the_blocks() {
    for load in LOADS {
        let of = |gas| generate(&scenario(&[load, &[("block.gas", gas)]]), |_| {}).unwrap();
        assert_eq!(of("3M").genesis, of("4M").genesis, "{load:?}");
    }
}

#[test]
fn swaps_meet_at_their_pair_alone_and_the_hot_pair_has_its_share() {
    for (hot, pairs) in [("0.0", 50_usize), ("0.25", 50), ("0.6", 50), ("0.25", 1)] {
        let pair_count = pairs.to_string();
        let made = made(&[("load.hot", hot), ("load.pairs", &pair_count)]);
        let txs = &made.batches[0].blocks[0].transactions;
        let mut swaps: BTreeMap<Address, u64> = BTreeMap::new();
        for tx in txs {
            *swaps.entry(tx.to.unwrap()).or_default() += 1;
        }
        assert!(swaps.len() <= pairs && swaps.len() * 2 >= pairs, "{} pairs", swaps.len());
        // Reserves are slot 2: every swap at a pair writes them.
        let writers = writers(&made);
        for (pair, count) in &swaps {
            assert_eq!(writers[&(*pair, U256::from(2))].len() as u64, *count);
        }
        // No slot is written by swaps of two pairs.
        for ((address, key), indices) in &writers {
            let to: HashSet<_> = indices
                .iter()
                .filter_map(|index| txs.get((*index).checked_sub(1)? as usize)?.to)
                .collect();
            assert!(to.len() <= 1 || !swaps.contains_key(address), "{address} {key}");
        }
        let hottest = *swaps.values().max().unwrap() as f64;
        let expected = if pairs == 1 { 1.0 } else { hot.parse::<f64>().unwrap() };
        let count = txs.len() as f64;
        let spread = 4.0 * (expected * (1.0 - expected) / count).sqrt() + 3.0 / pairs as f64;
        let share = hottest / count;
        assert!((share - expected).abs() <= spread, "{hot} of {count}: {share}");
    }
}

#[test]
fn the_pairs_that_are_not_hot_are_traded_at_by_zipfs_law() {
    for (hot, exponent) in [(0.0, 0.5), (0.25, 1.0), (0.5, 2.0)] {
        let (hot_text, exponent_text) = (hot.to_string(), exponent.to_string());
        let made = made(&[
            ("load.hot", &hot_text),
            ("load.pairs", "9"),
            ("load.pair_zipf", &exponent_text),
            ("load.traders", "4k"),
            ("block.transactions", "4k"),
        ]);
        let mut swaps: BTreeMap<Address, u64> = BTreeMap::new();
        for tx in &made.batches[0].blocks[0].transactions {
            *swaps.entry(tx.to.unwrap()).or_default() += 1;
        }
        let pair = |index: usize| {
            let name = format!("stress contract load[0]/Pair/{index}");
            Address::from_word(keccak256(name))
        };
        let norm: f64 = (1..=8).map(|rank| f64::from(rank).powf(-exponent)).sum();
        for index in 0..=8 {
            let law = (index as f64).powf(-exponent) / norm;
            let share = if index == 0 { hot } else { (1.0 - hot) * law };
            let found = swaps.get(&pair(index)).copied().unwrap_or(0) as f64;
            // Five standard errors: every trader swaps once.
            let error = 5.0 * (4_000.0 * share * (1.0 - share)).sqrt();
            assert!((found - 4_000.0 * share).abs() <= error, "{exponent} {index}: {found}");
        }
    }
}

#[test]
fn an_exponent_of_zero_is_the_spread_that_there_was_without_one() {
    let without = made(&[("block.gas", "3M")]);
    let with = made(&[("block.gas", "3M"), ("load.pair_zipf", "0")]);
    assert_eq!(without.digest(), with.digest());
}

#[test]
fn every_mint_writes_the_one_counter_and_every_transfer_slots_of_its_own() {
    let mints = made(&[("load.kind", "nft-mint")]);
    let tx_count = mints.batches[0].blocks[0].transactions.len();
    let by_all = writers(&mints).into_values().filter(|writers| writers.len() == tx_count);
    assert_eq!(by_all.count(), 1, "one slot, which all write");
    let transfers = made(&[("load.kind", "erc721")]);
    let nft = transfers.batches[0].blocks[0].transactions[0].to.unwrap();
    let of_nft = writers(&transfers).into_iter().filter(|((address, _), _)| *address == nft);
    let of_nft: Vec<_> = of_nft.collect();
    let tx_count = transfers.batches[0].blocks[0].transactions.len();
    assert_eq!(of_nft.len(), 3 * tx_count, "an owner and two balances each");
    assert!(of_nft.iter().all(|(_, writers)| writers.len() == 1), "no two transfers meet");
}

#[test]
fn an_airdrop_reaches_as_many_as_it_says() {
    let made = made(&[("load.kind", "airdrop"), ("load.recipients", "40")]);
    let batch = &made.batches[0];
    let (last, whole) = batch.blocks[0].transactions.split_last().unwrap();
    let recipients = |input: &[u8]| U256::from_be_slice(&input[68..100]).to::<usize>();
    assert!(whole.iter().all(|tx| recipients(&tx.input) == 40));
    assert!((1..=40).contains(&recipients(&last.input)), "the last takes what is left");
    let txs = || batch.blocks[0].transactions.iter();
    let all: HashSet<_> =
        txs().flat_map(|tx| tx.input[100..].chunks(32).map(|word| word.to_vec())).collect();
    assert_eq!(all.len(), txs().map(|tx| recipients(&tx.input)).sum::<usize>(), "each once");
}

#[test]
fn what_is_deployed_is_as_large_as_asked_unlike_others_and_called_in_its_block() {
    for by in ["create", "create2"] {
        let load = [("load.kind", "deploy"), ("load.by", by), ("load.code", "700")];
        let made = made(&[&load[..], &[("load.calls", "2")]].concat());
        let batch = &made.batches[0];
        let changes = list(batch);
        let mut codes = BTreeMap::new();
        for account in changes.iter().filter(|account| !account.code_changes.is_empty()) {
            let [change] = &account.code_changes[..] else { panic!("{:?}", account.address) };
            codes.insert(account.address, (change.block_access_index.0, change.new_code.clone()));
        }
        let sizes = codes.values().filter(|(_, code)| code.len() == 700).count();
        assert!(codes.len() > 10 && sizes + 1 >= codes.len(), "{by}: {sizes} of {}", codes.len());
        let distinct: HashSet<_> = codes.values().map(|(_, code)| keccak256(code)).collect();
        assert_eq!(distinct.len(), codes.len(), "{by}");
        let mut calls: BTreeMap<Address, u64> = BTreeMap::new();
        for (place, tx) in batch.blocks[0].transactions.iter().enumerate() {
            if let Some((deployed_at, _)) = tx.to.and_then(|to| codes.get(&to)) {
                assert!((place as u64) + 1 > *deployed_at, "{by}: called after it is there");
                *calls.entry(tx.to.unwrap()).or_default() += 1;
            }
        }
        let whole = calls.values().filter(|count| **count == 2).count();
        assert!(whole + 1 >= codes.len(), "{by}: {whole} of {} called twice", codes.len());
    }
}

#[test]
fn accounts_delegate_and_are_called_and_delegate_elsewhere_the_next_time() {
    let load = [("load.kind", "delegate"), ("load.authorities", "12"), ("block.gas", "3M")];
    let made = made(&[&load[..], &[("load.delegations", "3")]].concat());
    let batch = &made.batches[0];
    let txs = &batch.blocks[0].transactions;
    let is_set_code = |tx: &&workload::Transaction| tx.tx_type == TxType::SetCode;
    let setting = txs.iter().filter(is_set_code).count();
    assert!(setting > 4 && setting.abs_diff(txs.len() - setting) <= 1, "{setting}");
    assert!(txs.iter().filter(is_set_code).all(|tx| tx.authorizations.len() == 3));
    let delegating: Vec<_> =
        list(batch).into_iter().filter(|account| !account.code_changes.is_empty()).collect();
    assert_eq!(delegating.len(), 12);
    for account in &delegating {
        let codes: Vec<_> = account.code_changes.iter().map(|change| &change.new_code).collect();
        assert!(codes.iter().all(|code| code.starts_with(&[0xef, 0x01, 0x00])));
        assert!(codes.windows(2).all(|two| two[0] != two[1]), "one wallet, then the other");
    }
    assert!(delegating.iter().any(|account| account.code_changes.len() > 1));
    // Each call counts in the account that it is made on.
    let counted = delegating.iter().flat_map(|account| &account.storage_changes);
    assert_eq!(counted.map(|slot| slot.changes.len()).sum::<usize>(), txs.len());
}

#[test]
fn computing_and_logging_touch_no_slot() {
    for load in LOADS.iter().filter(|load| ["compute", "logs"].contains(&load[0].1)) {
        let made = made(load);
        let called = made.batches[0].blocks[0].transactions[0].to.unwrap();
        let changes = list(&made.batches[0]);
        let account = changes.iter().find(|account| account.address == called).unwrap();
        let touched = account.storage_changes.len() + account.storage_reads.len();
        assert_eq!(touched, 0, "{load:?}");
        let outputs = made.batches[0].expected.transactions.iter().map(|tx| tx.output);
        let count = made.batches[0].blocks[0].transactions.len();
        assert_eq!(outputs.collect::<HashSet<_>>().len(), count, "no two compute the same");
    }
}

#[test]
fn a_transaction_that_no_gas_can_pay_is_an_error_that_names_its_key_and_what_fits() {
    for (load, key) in [
        ([("load.kind", "airdrop"), ("load.recipients", "1000")], "recipients"),
        ([("load.kind", "deploy"), ("load.code", "24576")], "code"),
        ([("load.kind", "compute"), ("load.rounds", "1000000")], "rounds"),
        ([("load.kind", "logs"), ("load.logs", "100000")], "logs"),
    ] {
        let error = generate(&scenario(&[&load]), |_| {}).unwrap_err();
        let GeneratorError::TooLarge { key: found, most_count, .. } = error else {
            panic!("{load:?}: {error}")
        };
        assert_eq!(found, key);
        assert!(error.to_string().contains(&format!("load[0].{key} = ")), "{error}");
        let enough = most_count.to_string();
        let made = made(&[load[0], (load[1].0, &enough)]);
        let used = made.batches[0].expected.transactions[0].gas_used;
        assert!(used <= 1 << 24, "{used}");
    }
}

/// Facts of a block, from the slots and balances that transactions write.
struct Traffic {
    tx_count: f64,
    written_slots: f64,
    read_slots: f64,
    /// Transactions that write nothing that another writes, fees apart.
    independent_count: f64,
    /// The most transactions that write one slot.
    longest_chain: f64,
}

fn traffic(workload: &Workload) -> Traffic {
    let batch = &workload.batches[0];
    let tx_count = batch.blocks[0].transactions.len();
    let (mut written, mut read, mut longest) = (0, 0, 0);
    let mut conflicting = BTreeSet::new();
    for account in list(batch) {
        read += account.storage_reads.len();
        written += account.storage_changes.len();
        let slots = account.storage_changes.iter().map(|slot| &slot.changes);
        let slots = slots.map(|all| all.iter().map(|one| one.block_access_index.0).collect());
        let balances = account.balance_changes.iter().map(|one| one.block_access_index.0).collect();
        let of_account = (account.address != BENEFICIARY).then_some(balances);
        for writers in slots.chain(of_account) {
            let mut writers: BTreeSet<u64> = writers;
            writers.retain(|index| (1..=tx_count as u64).contains(index));
            longest = longest.max(writers.len());
            if writers.len() > 1 {
                conflicting.extend(writers);
            }
        }
    }
    Traffic {
        tx_count: tx_count as f64,
        written_slots: written as f64,
        read_slots: read as f64,
        independent_count: (tx_count - conflicting.len()) as f64,
        longest_chain: longest as f64,
    }
}

/// The figures of docs/workloads.md.
#[test]
fn mainnet_like_is_as_like_mainnet_as_its_page_says() {
    let text = shipped::find("mainnet-like").unwrap();
    let made = generate(&parse(text, &[]), |_| {}).unwrap();
    assert_full(&made, 60_000_000);
    let Traffic { tx_count, written_slots, read_slots, independent_count, longest_chain } =
        traffic(&made);
    let figures = [
        ("gas a transaction", made.gas_used() as f64 / tx_count, 65_000.0, 75_000.0),
        ("slots written a transaction", written_slots / tx_count, 1.5, 1.9),
        ("slots read a transaction", read_slots / tx_count, 4.4, 4.9),
        ("share without conflict", independent_count / tx_count, 0.68, 0.76),
        ("longest chain", longest_chain / tx_count, 0.15, 0.2),
    ];
    for (name, figure, least, most) in figures {
        assert!((least..=most).contains(&figure), "{name}: {figure}, all: {figures:?}");
    }
}
