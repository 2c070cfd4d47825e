//! Measures the cost of a block-level access list before any transaction runs: to decode, check and
//! index it, and to look up every slot. Prints nanoseconds per slot, the best and the median of the
//! rounds, and the BLAKE3 hash of the list. `cargo bench` runs the full size; `cargo test` runs a
//! small size, which keeps the benchmark working.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::{hint::black_box, time::Instant};

use alloy_eip7928::AccountChanges;
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use workload::{
    AccountId, ListBounds, ListIndex,
    list::{self, ITEM_COST_GAS},
};

/// Number of slots that a storm block of 640M gas reads.
const FULL_SLOT_COUNT: u64 = 291_160;
const SMALL_SLOT_COUNT: u64 = 2_000;

fn main() {
    let is_full = std::env::args().any(|argument| argument == "--bench");
    let (slot_count, rounds) = if is_full { (FULL_SLOT_COUNT, 21) } else { (SMALL_SLOT_COUNT, 3) };
    println!("{slot_count} slots, best / median of {rounds} rounds");
    let random = (0..slot_count).map(|i| keccak256(U256::from(i).to_be_bytes::<32>()).into());
    bench("one contract, random keys", &[random.collect()], rounds);
    bench("one contract, keys 0..n", &[(0..slot_count).map(U256::from).collect()], rounds);
    let group = |address: u64| {
        (0..10).map(move |i| keccak256(U256::from(address * 10 + i).to_be_bytes::<32>()).into())
    };
    let groups: Vec<Vec<U256>> =
        (0..slot_count / 10).map(|address| group(address).collect()).collect();
    bench("n/10 contracts, 10 random keys each", &groups, rounds);
}

fn bench(name: &str, accounts: &[Vec<U256>], rounds: usize) {
    let (bytes, lookups) = build(accounts);
    let slot_count = lookups.len();
    let bounds = ListBounds {
        last_index: 41,
        gas_limit: 2 * slot_count as u64 * ITEM_COST_GAS,
        free_item_count: 0,
        surplus_item_count: 0,
        max_code_bytes: 0,
    };
    let decode = || ListIndex::decode(&bytes, &bounds).unwrap_or_else(|error| panic!("{error}"));
    let index = decode();
    let decode_ns = time_ns(rounds, || drop(black_box(decode())));
    let alloy_ns = time_ns(rounds, || {
        let mut rest = &bytes[..];
        drop(black_box(<Vec<AccountChanges> as alloy_rlp::Decodable>::decode(&mut rest)));
    });
    let encode_ns = time_ns(rounds, || drop(black_box(index.encode())));
    let get_ns = time_ns(rounds, || {
        for (account, key) in &lookups {
            assert!(black_box(index.slot_id(*account, key)).is_some());
        }
    });
    let per_slot = |[best, median]: [u64; 2]| {
        let ns = |time: u64| time as f64 / slot_count as f64;
        format!("{:.1} / {:.1}", ns(best), ns(median))
    };
    println!(
        "{name}: decode {} (alloy {}), to_changes and encode {}, look up {} ns a \
         slot; list {} B, BLAKE3 {}",
        per_slot(decode_ns),
        per_slot(alloy_ns),
        per_slot(encode_ns),
        per_slot(get_ns),
        bytes.len(),
        B256::from(*blake3::hash(&bytes).as_bytes()),
    );
}

/// Builds a list that reads the keys of each account. Returns its bytes, and all pairs of account
/// and key in a random order.
fn build(accounts: &[Vec<U256>]) -> (Bytes, Vec<(AccountId, U256)>) {
    let address = |index: usize| {
        Address::from_slice(&keccak256((index as u64).to_be_bytes()).as_slice()[..20])
    };
    let entry = |(index, keys): (usize, &Vec<U256>)| {
        AccountChanges::new(address(index)).extend_storage_reads(keys.iter().copied())
    };
    let mut changes: Vec<AccountChanges> = accounts.iter().enumerate().map(entry).collect();
    changes.sort_unstable_by_key(|account| account.address);
    changes.iter_mut().for_each(AccountChanges::sort);
    let ids = (0..).map(AccountId);
    let lookups = ids.zip(&changes).flat_map(|(id, account)| {
        account.storage_reads.iter().map(move |key| (id, *key)).collect::<Vec<_>>()
    });
    let mut lookups: Vec<(AccountId, U256)> = lookups.collect();
    lookups.sort_by_cached_key(|(account, key)| {
        keccak256((*key ^ U256::from(account.0)).as_le_slice())
    });
    (list::encode(&changes), lookups)
}

/// Returns the best and the median time of `rounds` runs, in nanoseconds.
fn time_ns(rounds: usize, mut run: impl FnMut()) -> [u64; 2] {
    let mut times: Vec<u64> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_nanos() as u64
        })
        .collect();
    times.sort_unstable();
    [times[0], times[rounds / 2]]
}
