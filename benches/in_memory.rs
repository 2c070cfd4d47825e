//! What the executor costs above the EVM: the `bal` engine over the memory store against a bare
//! revm loop over a bare map, on the same block, interleaved.
//!
//! Bare means: one `HashMap<U256, U256>` of the contract's planned slots and one of accounts,
//! no list, no check, no commit, no reading back; transactions have senders of their own, so
//! they need no commit to be valid. The engine's figure is its whole wall: decoding the list,
//! reading, executing, checking against the list, joining and committing.
//!
//! `cargo bench --bench in_memory [-- WORD]`, where only variants whose name has the word run;
//! under `cargo test` a small block runs once.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it found")]

use std::{num::NonZeroUsize, sync::atomic::AtomicBool, time::Duration, time::Instant};

use alloy_primitives::{Address, B256, U256, map::HashMap};
use evm::Runner;
use executor::{
    engine::Task,
    sample,
    span::{self},
    store::memory::MemoryStore,
};
use revm::{
    Database,
    state::{AccountInfo, Bytecode},
};
use spec::{Override, Scenario};
use variant::{CacheMode, Design, Io, Phase, Variant};
use workload::{StepKind, Workload};

struct Bare {
    accounts: HashMap<Address, AccountInfo>,
    codes: HashMap<B256, Bytecode>,
    slots: HashMap<U256, U256>,
}

impl Bare {
    fn new(workload: &Workload) -> Self {
        let genesis = &workload.genesis;
        let mut bare = Self {
            accounts: HashMap::default(),
            codes: HashMap::default(),
            slots: HashMap::default(),
        };
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
        }
        for family in &genesis.senders {
            let info = AccountInfo { balance: family.balance, ..AccountInfo::default() };
            for address in family.addresses(0..family.count).expect("senders") {
                bare.accounts.insert(address, info.clone());
            }
        }
        for family in &genesis.slots {
            bare.slots.extend((0..family.count).map(|i| (family.key(i), family.value(i))));
        }
        bare
    }
}

impl Database for &Bare {
    type Error = std::convert::Infallible;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Self::Error> {
        Ok(self.accounts.get(&address).cloned())
    }

    fn code_by_hash(&mut self, code_hash: B256) -> Result<Bytecode, Self::Error> {
        Ok(self.codes[&code_hash].clone())
    }

    fn storage(&mut self, _address: Address, index: U256) -> Result<U256, Self::Error> {
        Ok(self.slots.get(&index).copied().unwrap_or_default())
    }

    fn block_hash(&mut self, _number: u64) -> Result<B256, Self::Error> {
        Ok(B256::ZERO)
    }
}

fn bare_loop(workload: &Workload, bare: &Bare) -> Duration {
    let start = Instant::now();
    let mut runner = Runner::new(workload, bare);
    let mut gas = 0;
    for block in workload.blocks() {
        runner.enter(block);
        for tx_index in 0..block.transactions.len() {
            let output = runner.run(block, StepKind::Transaction(tx_index), |_, _| ());
            gas += output.expect("valid").gas.receipt_gas;
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
    let (gas, slots, rounds) = if is_test { ("4M", "20k", 1) } else { ("640M", "2M", 15) };
    let set = |key: &str, value: &str| Override {
        key: key.to_owned(),
        value: value.to_owned(),
        origin: key.to_owned(),
    };
    let overrides = [set("block.gas", gas), set("state.slots", slots), set("state.accounts", "1k")];
    let scenario: Scenario =
        spec::load("sload-storm", &overrides).unwrap_or_else(|e| panic!("{e}"));
    let workload = generator::generate(&scenario, |_| ()).expect("generates");
    let bare = Bare::new(&workload);
    let store = MemoryStore::build(&workload.genesis, 8 << 30).expect("fits");
    let count = |n| NonZeroUsize::new(n).expect("not zero");
    let batched = |threads| Variant::of(Design::BatchedIo, count(threads), count(1));
    let on_demand = |threads| Variant { io: Io::OnDemand, io_thread_count: 0, ..batched(threads) };
    let before = |threads| batched(threads).reading_before_by_itself();
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
    if let Some(word) = std::env::args().skip(1).find(|argument| !argument.starts_with('-')) {
        variants.retain(|variant| variant.to_string().contains(&word));
    }
    let mut bare_walls = Vec::new();
    let mut samples = vec![Vec::new(); variants.len()];
    for _ in 0..rounds {
        bare_walls.push(bare_loop(&workload, &bare));
        for (times, variant) in samples.iter_mut().zip(&variants) {
            times.push(engine(&workload, &store, *variant));
        }
    }
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    let rate = |wall: Duration| workload.gas_used() as f64 / 1e6 / wall.as_secs_f64();
    let bare_rate = rate(median(bare_walls));
    println!("{} gas, digest {}", workload.gas_used(), workload.digest());
    println!("{bare_rate:>7.0} MGas/s  1.00  bare loop over a bare map, 1 thread");
    for (samples, variant) in samples.iter().zip(&variants) {
        let times = |place: usize| median(samples.iter().map(|times| times[place]).collect());
        let rate = rate(times(0));
        print!("{rate:>7.0} MGas/s  {:.2}  memory/{variant} ", rate / bare_rate);
        for (place, phase) in Phase::ALL.iter().enumerate() {
            print!(" {} {:.1}", phase.name(), times(place + 1).as_secs_f64() * 1e3);
        }
        println!(" ms");
    }
}
