//! Twins of official benchmark tests against the figures in the tests' sources: transactions of a
//! block, gas of each, and touched keys.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as it does")]

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, U256};
use generator::{GeneratorError, generate, reference};
use spec::shipped;
use workload::{
    Transaction, Workload,
    deep::{self, DEEP_KEYS},
};

use crate::blocks::{list, parse};

/// The most gas of a transaction (EIP-7825).
const TX_GAS: u64 = 1 << 24;
/// The gas at which the official tests are given here: those of this repository's scenarios.
const GAS: u64 = 120_000_000;

fn twin(name: &str, overrides: &[(&str, &str)]) -> Result<Workload, GeneratorError> {
    let name = format!("official/{name}");
    let text = shipped::find(&name).unwrap_or_else(|| panic!("{name} is not shipped"));
    generate(&parse(text, overrides), |_| {})
}

fn made(name: &str, overrides: &[(&str, &str)]) -> Workload {
    let made = twin(name, overrides).unwrap_or_else(|error| panic!("{name}: {error}"));
    reference::verify(&made, || ()).unwrap_or_else(|error| panic!("{name}: {error}"));
    made
}

fn transactions(made: &Workload) -> Vec<&Transaction> {
    made.blocks().flat_map(|block| &block.transactions).collect()
}

fn gas_used(made: &Workload) -> Vec<u64> {
    let outcomes = made.batches.iter().flat_map(|batch| &batch.expected.transactions);
    outcomes.map(|outcome| outcome.gas_used).collect()
}

/// Per contract whose slot 0 is written, the transactions that write it.
fn writers_of_slot_0(made: &Workload) -> BTreeMap<Address, BTreeSet<u64>> {
    let mut out = BTreeMap::new();
    for account in list(&made.batches[0]) {
        for slot in account.storage_changes.iter().filter(|slot| slot.slot == U256::ZERO) {
            let writers = slot.changes.iter().map(|change| change.block_access_index.get());
            out.insert(account.address, writers.collect());
        }
    }
    out
}

/// The transactions' gas is that of a greedy division of `gas`: the cap, and last the rest. A call
/// leaves less than a hash and a few bytes of calldata.
fn assert_greedy(made: &Workload, gas: u64) {
    let used = gas_used(made);
    let rest = gas % TX_GAS;
    assert_eq!(used.len() as u64, gas / TX_GAS + 1);
    for (index, used) in used.iter().enumerate() {
        let limit = if index + 1 < (gas / TX_GAS + 1) as usize { TX_GAS } else { rest };
        assert!((limit - 200..=limit).contains(used), "{index}: {used} of {limit}");
    }
}

#[test]
fn a_serial_chain_has_eight_transactions_at_120m_that_all_meet_in_one_slot() {
    let made = made("test_parallel_execution_serial_chain", &[]);
    assert_greedy(&made, GAS);
    let writers = writers_of_slot_0(&made);
    assert_eq!(writers.into_values().collect::<Vec<_>>(), [(1..=8).collect()]);
    let senders: BTreeSet<_> = transactions(&made).iter().map(|tx| tx.sender).collect();
    assert_eq!(senders.len(), 8);
}

#[test]
fn groups_have_the_lengths_and_the_densities_of_the_official_test_and_take_turns() {
    for length in [1, 2, 5_u64] {
        let mut counts = Vec::new();
        for density in ["greedy", "half", "max"] {
            let group = length.to_string();
            let overrides = [("load.group", group.as_str()), ("load.density", density)];
            let made = made("test_mixed_dependency_graph", &overrides);
            let all = transactions(&made);
            let (tx_count, group_count) = (all.len() as u64, all.len() as u64 / length);
            assert_eq!(tx_count % length, 0, "{length} {density}");
            let writers = writers_of_slot_0(&made);
            assert_eq!(writers.len() as u64, group_count, "{length} {density}");
            assert!(writers.values().all(|writers| writers.len() as u64 == length));
            for (index, tx) in all.iter().enumerate() {
                let first = all[index % group_count as usize];
                assert_eq!(tx.to, first.to, "groups take turns");
            }
            counts.push((tx_count, gas_used(&made)));
        }
        let [(greedy, _), (half, of_half), (max, of_max)] = &counts[..] else { panic!("three") };
        // 7 at the cap and one of 2.6M; a group that is not whole is left out.
        assert_eq!(*greedy, 8 / length * length);
        // The most that fit with one hash each, or half as many with equal gas.
        let least = *of_max.iter().max().unwrap();
        assert!((GAS / least).abs_diff(*max) <= length + 1, "{max} of {least} gas");
        assert!((max / 2).abs_diff(*half) <= length, "{half} and {max}");
        for of in [of_half, of_max] {
            let (low, high) = (of.iter().min().unwrap(), of.iter().max().unwrap());
            assert!(high - low < 200, "equal gas: {low} to {high}");
        }
    }
}

#[test]
fn a_block_too_small_for_a_group_is_an_error_that_says_what_to_do() {
    let overrides = [("block.gas", "60M"), ("load.density", "greedy")];
    let error = twin("test_mixed_dependency_graph", &overrides).unwrap_err();
    assert!(
        matches!(error, GeneratorError::NoWholeGroup { length: 5, tx_count: 4, .. }),
        "{error}"
    );
    let error = twin("test_mixed_dependency_graph", &[("load.contracts", "3")]).unwrap_err();
    assert!(matches!(error, GeneratorError::TooFewGroupContracts { held_count: 3, .. }), "{error}");
}

#[test]
fn contracts_are_deployed_and_called_in_pairs_or_one_is_called_by_all() {
    // The densest block: its calls have the least gas.
    let densest = made("test_deploy_then_interact", &[("load.density", "max")]);
    let [deploys, calls] = &transactions(&densest)[..2] else { panic!("pairs") };
    let (deploy, least) = (deploys.gas_limit, calls.gas_limit);
    for density in ["greedy", "half", "max"] {
        let overrides = [("load.deployed", "pairs"), ("load.density", density)];
        let made_pairs = made("test_deploy_then_interact", &overrides);
        let all = transactions(&made_pairs);
        if density == "greedy" {
            let pair = deploy + TX_GAS;
            let last = u64::from(GAS % pair >= deploy + least);
            assert_eq!(all.len() as u64 / 2, GAS / pair + last, "pairs at the cap, and the rest");
        }
        for pair in all.chunks(2) {
            let [deploys, calls] = pair else { panic!("pairs") };
            assert_eq!((deploys.to, calls.to), (None, Some(deploys.sender.create(deploys.nonce))));
        }
        let contracts: BTreeSet<_> = all.iter().filter_map(|tx| tx.to).collect();
        assert_eq!(contracts.len(), all.len() / 2, "each contract is called once");

        let overrides = [("load.deployed", "first"), ("load.density", density)];
        let made_one = made("test_deploy_then_interact", &overrides);
        let all = transactions(&made_one);
        if density == "greedy" {
            assert_eq!(all.len(), 1 + 8, "one deployment and eight calls");
        }
        let deployed = all[0].sender.create(all[0].nonce);
        assert_eq!(all[0].to, None);
        assert!(all[1..].iter().all(|tx| tx.to == Some(deployed)));
        let writers = writers_of_slot_0(&made_one);
        assert_eq!(writers[&deployed].len(), all.len(), "all meet in one slot");
        for made in [made_pairs, made_one] {
            let used: u64 = gas_used(&made).iter().sum();
            assert!(used > GAS - GAS / 100 && used <= GAS, "{density}: {used}");
        }
    }
}

#[test]
fn a_linked_list_is_followed_by_four_transactions_at_60m_and_a_small_one() {
    let made = made("test_prefetch_cold_storage", &[("state.slots", "40k")]);
    let gas = gas_used(&made);
    let limits: Vec<u64> = transactions(&made).iter().map(|tx| tx.gas_limit).collect();
    assert_eq!(limits[..3], [TX_GAS; 3]);
    // The fourth has the gas that three limits leave. All four leave enough gas for a small one.
    assert_eq!((limits.len(), gas.len()), (5, 5));
    assert!(gas[..3].iter().all(|used| TX_GAS - used < 300_000), "{gas:?}");
    assert!(gas[4] < 4 * 300_000, "{gas:?}");
    let official: u64 = gas[..4].iter().sum();
    assert!(official > 58_000_000, "{official} of 60M by four transactions");
}

/// Keys in the list of a bloated account: those that are only read, and those that are written.
fn bloated_keys(made: &Workload) -> (Vec<u64>, Vec<u64>) {
    let to = transactions(made)[0].to.unwrap();
    let code = &made.genesis.accounts.iter().find(|account| account.address == to).unwrap().code;
    assert!(code.starts_with(&[0xef, 0x01, 0x00]) && code.len() == 23, "it delegates its code");
    let list = list(&made.batches[0]);
    let account = list.iter().find(|account| account.address == to).unwrap();
    let mut read: Vec<u64> = account.storage_reads.iter().map(|key| key.to()).collect();
    let mut written: Vec<u64> = account.storage_changes.iter().map(|slot| slot.slot.to()).collect();
    read.sort_unstable();
    written.sort_unstable();
    (read, written)
}

/// Keys of a block by the official loop, whose iteration costs this much: it ends where 65,535 gas
/// are left. Beside the loop a transaction pays about 30,000.
fn official_key_count(iteration_gas: u64) -> u64 {
    let limits = (0..GAS / TX_GAS).map(|_| TX_GAS).chain([GAS % TX_GAS]);
    limits.map(|limit| (limit - 30_000 - 65_535) / iteration_gas).sum()
}

#[test]
fn a_bloated_account_is_read_from_key_1_on_by_eight_transactions_of_one_sender() {
    let made = made("test_sload_bloated", &[("state.slots", "100k")]);
    let all = transactions(&made);
    assert_eq!(all.len(), 8);
    assert!(all.iter().all(|tx| tx.sender == all[0].sender && tx.to == all[0].to));
    assert!(all[..7].iter().all(|tx| tx.gas_limit == TX_GAS));
    let (read, written) = bloated_keys(&made);
    assert_eq!(written, [0]);
    assert_eq!(read, (1..=read.len() as u64).collect::<Vec<_>>(), "keys 1 to N");
    // SLOAD 2,100, and 38 of the loop.
    let official = official_key_count(2_138) as f64;
    let share = read.len() as f64 / official;
    assert!((0.98..1.02).contains(&share), "{} keys, officially {official}", read.len());
    assert_eq!(writers_of_slot_0(&made).into_values().next().unwrap(), (1..=8).collect());
}

#[test]
fn each_jump_reads_where_its_predecessor_said_and_none_where_the_state_says() {
    let made = made("test_sload_bloated_prefetch_miss", &[("state.slots", "200k")]);
    let all = transactions(&made);
    // A small one, 7 at the cap, and the rest.
    assert_eq!(all.len(), 9);
    let senders: BTreeSet<_> = all.iter().map(|tx| tx.sender).collect();
    assert_eq!(senders.len(), 9);
    assert!(all[0].gas_limit < 100_000 && all[1..8].iter().all(|tx| tx.gas_limit == TX_GAS));
    let word = |tx: &Transaction, index: usize| -> u64 {
        U256::from_be_slice(&tx.input[32 * index..32 * index + 32]).to()
    };
    let mut expected = BTreeSet::new();
    for two in all.windows(2) {
        let (start, count) = (word(two[0], 1), word(two[1], 2));
        for key in start..start + count {
            assert!(expected.insert(key), "ranges are apart");
        }
    }
    let (read, written) = bloated_keys(&made);
    assert_eq!((read, written), (expected.into_iter().collect(), vec![0]));
    // A client that runs ahead on the state reads from key 1 on.
    assert!(bloated_keys(&made).0[0] > word(all[1], 2), "no key that the state leads to");
}

#[test]
fn a_bloated_account_is_written_from_key_1_on() {
    let made = made("test_sstore_bloated", &[("state.slots", "100k")]);
    let all = transactions(&made);
    assert_eq!(all.len(), 8);
    assert!(all.iter().all(|tx| tx.sender == all[0].sender));
    let (read, written) = bloated_keys(&made);
    assert_eq!(read, Vec::<u64>::new());
    assert_eq!(written, (1..=written.len() as u64).collect::<Vec<_>>(), "keys 1 to N");
    assert!(gas_used(&made).iter().sum::<u64>() > GAS - GAS / 100);
}

#[test]
fn the_deepest_slot_of_one_contract_after_another_is_changed_by_eight_transactions() {
    let made = made("test_worst_depth_stateroot_recomp", &[]);
    let all = transactions(&made);
    assert_eq!(all.len(), 8);
    assert!(all.iter().all(|tx| tx.to == all[0].to), "one contract calls all others");
    let used = gas_used(&made);
    assert!(used[..7].iter().all(|used| used + 16_000 > TX_GAS), "{used:?}");
    assert!(used.iter().sum::<u64>() > GAS - GAS / 100);
    let mut contracts = BTreeSet::new();
    for account in list(&made.batches[0]) {
        let deepest = U256::from(DEEP_KEYS[0]);
        for slot in account.storage_changes.iter().filter(|slot| slot.slot == deepest) {
            assert_eq!(slot.changes.len(), 1);
            assert!(contracts.insert(account.address));
        }
    }
    // 15,100 gas are the account and the write under Amsterdam.
    let most = GAS / 15_100;
    assert!((most - most / 50..most).contains(&(contracts.len() as u64)), "{}", contracts.len());
    // The depth of 10: other slots share 1 to 9 nibbles.
    let shared = DEEP_KEYS[2..]
        .iter()
        .map(|key| deep::shared_nibble_count(U256::from(DEEP_KEYS[0]), U256::from(*key)));
    assert_eq!(shared.collect::<Vec<_>>(), (1..=9).collect::<Vec<_>>());
}

#[test]
fn accounts_are_accessed_by_eight_transactions_each_once() {
    let made = made("test_account_access", &[]);
    assert_eq!(transactions(&made).len(), 8);
    let keys: u64 = gas_used(&made).iter().map(|gas| gas / 3_100).sum();
    let accessed = list(&made.batches[0]).len() as u64;
    assert!(accessed > keys, "{accessed} accounts");
}

#[test]
fn a_state_with_too_few_slots_for_a_bloated_block_says_how_many_it_takes() {
    let error = twin("test_sload_bloated", &[("state.slots", "10k")]).unwrap_err();
    let GeneratorError::TooFewSlots { enough_count, .. } = error else { panic!("{error}") };
    let enough = enough_count.to_string();
    twin("test_sload_bloated", &[("state.slots", &enough)]).unwrap();
}
