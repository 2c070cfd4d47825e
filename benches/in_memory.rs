//! Cost of the executor above the EVM: the engines over the memory store against a bare revm loop
//! over a bare map, on the same block, interleaved.
//!
//! Bare means: revm's own cache (`CacheDB`) over maps of accounts and slots, into which each
//! transaction is committed, and no more: no system calls, no list, no check, no receipts kept, no
//! net changes, no commit to a store, no time taken of a transaction. An engine's figure is its whole
//! wall, with all of that. The row `bare-revm` is such a loop with all of it, too, but for list and check.
//!
//! `cargo bench --bench in_memory [-- scenario=NAME gas=GAS WORD]`: a shipped scenario without
//! families of accounts (`sload-storm`, `transfers`, `erc20`, `one-slot`), and only variants whose name
//! has the word. Under `cargo test` a small block runs once.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it found")]

use std::{num::NonZeroUsize, sync::atomic::AtomicBool, time::Duration, time::Instant};

use alloy_primitives::{
    Address, B256, U256,
    map::{AddressMap, B256Map, HashMap},
};
use evm::Runner;
use executor::{
    engine::Task,
    sample,
    span::{self},
    store::memory::MemoryStore,
};
use revm::{
    DatabaseCommit, DatabaseRef,
    database::CacheDB,
    state::{AccountInfo, Bytecode},
};
use spec::{Override, Scenario};
use variant::{CacheMode, Design, Io, Phase, Variant};
use workload::{StepKind, Workload};

#[derive(Debug, Default)]
struct Bare {
    accounts: AddressMap<AccountInfo>,
    codes: B256Map<Bytecode>,
    slots: AddressMap<HashMap<U256, U256>>,
}

impl Bare {
    fn new(workload: &Workload) -> Self {
        let genesis = &workload.genesis;
        assert!(genesis.account_families.is_empty(), "a scenario without families of accounts");
        let mut bare = Self::default();
        for account in &genesis.accounts {
            let state = account.state();
            let info = AccountInfo {
                balance: state.balance,
                nonce: state.nonce,
                code_hash: state.code_hash,
                code: None,
                ..AccountInfo::default()
            };
            bare.accounts.insert(account.address, info);
            bare.codes.insert(state.code_hash, Bytecode::new_raw(account.code.clone()));
            let slots = bare.slots.entry(account.address).or_default();
            slots.extend(account.storage.iter().copied());
        }
        for family in &genesis.senders {
            let info = AccountInfo { balance: family.balance, ..AccountInfo::default() };
            for address in family.addresses(0..family.count).expect("senders") {
                bare.accounts.insert(address, info.clone());
            }
        }
        for family in &genesis.slots {
            let slots = bare.slots.entry(family.address).or_default();
            slots.extend((0..family.count).map(|i| (family.key(i), family.value(i))));
        }
        bare
    }
}

impl DatabaseRef for Bare {
    type Error = std::convert::Infallible;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, Self::Error> {
        Ok(self.accounts.get(&address).cloned())
    }

    fn code_by_hash_ref(&self, code_hash: B256) -> Result<Bytecode, Self::Error> {
        Ok(self.codes[&code_hash].clone())
    }

    fn storage_ref(&self, address: Address, index: U256) -> Result<U256, Self::Error> {
        let slots = self.slots.get(&address);
        Ok(slots.and_then(|slots| slots.get(&index)).copied().unwrap_or_default())
    }

    fn block_hash_ref(&self, _number: u64) -> Result<B256, Self::Error> {
        Ok(B256::ZERO)
    }
}

fn bare_loop(workload: &Workload, bare: &Bare) -> Duration {
    let start = Instant::now();
    let mut runner = Runner::new(workload, CacheDB::new(bare));
    let mut gas = 0;
    for block in workload.blocks() {
        runner.set_block(block);
        for tx_index in 0..block.transactions.len() {
            let step = StepKind::Transaction(tx_index);
            let output = runner.run(block, step, |state, changes| state.commit(changes));
            gas += output.expect("valid").receipt_gas().expect("a transaction");
        }
    }
    let wall = start.elapsed();
    assert_eq!(gas, workload.gas_used(), "the bare loop did the same work");
    wall
}

/// Wall time, and time of each phase.
fn engine(workload: &Workload, store: &MemoryStore, variant: Variant) -> Vec<Duration> {
    let cancel = AtomicBool::new(false);
    let full = || generator::reference::full_lists(workload, || ()).expect("values");
    let lists = sample::lists_for(workload, variant.list, full).expect("lists");
    let task = Task::new(workload, &lists, variant, &cancel);
    let taken = sample::take(store, &task, CacheMode::Warm).expect("runs");
    assert_eq!(taken.disagreement, None);
    let phases = Phase::ALL.iter().map(|&phase| span::total(&taken.executed.spans, phase));
    std::iter::once(taken.executed.wall).chain(phases).collect()
}

fn main() {
    let is_test = std::env::args().all(|argument| argument != "--bench");
    let arguments: Vec<_> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    let given = |key: &str| {
        let value =
            arguments.iter().find_map(|argument| argument.strip_prefix(key)?.strip_prefix('='));
        value.map(str::to_owned)
    };
    let name = given("scenario").unwrap_or_else(|| "sload-storm".to_owned());
    let (gas, slots, rounds) = if is_test { ("4M", "20k", 1) } else { ("640M", "2M", 15) };
    let gas = given("gas").unwrap_or_else(|| gas.to_owned());
    let set = |key: &str, value: &str| Override {
        key: key.to_owned(),
        value: value.to_owned(),
        origin: key.to_owned(),
    };
    let mut overrides = vec![set("block.gas", &gas)];
    if name == "sload-storm" {
        overrides.extend([set("state.slots", slots), set("state.accounts", "1k")]);
    }
    let scenario: Scenario = spec::load(&name, &overrides).unwrap_or_else(|e| panic!("{e}"));
    let workload = generator::generate(&scenario, |_| ()).expect("generates");
    let bare = Bare::new(&workload);
    let store = MemoryStore::build(&workload.genesis, None, 8 << 30).expect("fits");
    let word = arguments.iter().find(|argument| !argument.contains('='));
    let variants = variants(word.map_or("", |word| word.as_str()));
    let mut bare_walls = Vec::new();
    let mut samples = vec![Vec::new(); variants.len()];
    for _ in 0..rounds {
        bare_walls.push(bare_loop(&workload, &bare));
        for (times, variant) in samples.iter_mut().zip(&variants) {
            times.push(engine(&workload, &store, *variant));
        }
    }
    let tx_count = workload.tx_count();
    println!("{name}: {} gas, {tx_count} tx, digest {}", workload.gas_used(), workload.digest());
    print_rows(&workload, bare_walls, &variants, &samples);
}

/// The measured variants: those with `word` in their name.
fn variants(word: &str) -> Vec<Variant> {
    let count = |n| NonZeroUsize::new(n).expect("not zero");
    let batched = |threads| Variant::of(Design::BatchedIo, count(threads), count(1));
    let on_demand = |threads| Variant { io: Io::OnDemand, io_thread_count: 0, ..batched(threads) };
    let before = |threads| batched(threads).without_readers();
    let mut variants = vec![
        on_demand(1),
        on_demand(2),
        before(1),
        Variant { io_thread_count: 1, ..before(1) },
        before(2),
    ];
    // The others as they are.
    for design in Design::ALL.iter().rev().filter(|design| **design != Design::BatchedIo) {
        let at = |threads| Variant::of(*design, count(threads), count(threads));
        variants.push(at(1));
        variants.extend(design.preset().engine.is_parallel().then(|| at(2)));
    }
    variants.retain(|variant| variant.to_string().contains(word));
    variants
}

/// The bare loop, then each variant with the times of `samples`: the wall, then its phases.
fn print_rows(
    workload: &Workload,
    bare_walls: Vec<Duration>,
    variants: &[Variant],
    samples: &[Vec<Vec<Duration>>],
) {
    let us_per_tx = |wall: Duration| wall.as_secs_f64() * 1e6 / workload.tx_count() as f64;
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    let rate = |wall: Duration| workload.gas_used() as f64 / 1e6 / wall.as_secs_f64();
    let bare_wall = median(bare_walls);
    let bare_rate = rate(bare_wall);
    let us = us_per_tx(bare_wall);
    println!(
        "{bare_rate:>7.0} MGas/s {us:>7.2} us/tx  1.00  bare revm loop over a bare map, 1 thread"
    );
    for (samples, variant) in samples.iter().zip(variants) {
        let times = |index: usize| median(samples.iter().map(|times| times[index]).collect());
        let (rate, us) = (rate(times(0)), us_per_tx(times(0)));
        let share = rate / bare_rate;
        print!("{rate:>7.0} MGas/s {us:>7.2} us/tx  {share:.2}  memory/{variant} ");
        for (index, phase) in Phase::ALL.iter().enumerate() {
            print!(" {} {:.1}", phase.name(), times(index + 1).as_secs_f64() * 1e3);
        }
        println!(" ms");
    }
}
