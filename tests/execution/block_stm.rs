//! Traps of optimistic execution: contended keys, the beneficiary's account, contracts that come
//! and go, runs that cannot succeed, stores that fail. Every outcome is compared with the
//! reference's, repeatedly and at several thread counts.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    num::NonZeroUsize,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use alloy_primitives::{Address, B256, Bytes, U256, hex};
use executor::{
    engine::{self, EngineError, Executed, Task},
    sample,
    shards::Speculation,
    store::{Background, ReadCounters, Reader, Sample, Store, StoreError, memory::MemoryStore},
};
use variant::{CacheMode, Design, Variant};
use workload::{NetChanges, Workload, genesis::AccountState};

use self::workloads::{COINBASE, COUNTER_CODE, Recipe, sender};
use crate::sharded;

mod workloads;

/// Fault of a store.
#[derive(Clone, Copy, Debug, Default)]
struct Fault {
    /// Some reads yield the core, others sleep, so that steps meet in different orders each time.
    is_slow: bool,
    /// The read that fails, counted from 1.
    fails_at: usize,
    /// The read that panics, counted from 1.
    panics_at: usize,
}

#[derive(Debug)]
struct Faulty<'s> {
    inner: Box<dyn Sample + 's>,
    fault: Fault,
    read_count: AtomicUsize,
}

#[derive(Debug)]
struct FaultyReader<'a> {
    sample: &'a Faulty<'a>,
    inner: Box<dyn Reader + 'a>,
}

impl FaultyReader<'_> {
    fn meet(&self) -> Result<(), StoreError> {
        let fault = &self.sample.fault;
        let number = self.sample.read_count.fetch_add(1, Ordering::Relaxed) + 1;
        assert_ne!(number, fault.panics_at, "told to panic");
        if number == fault.fails_at {
            let (action, reason) = ("read".into(), "it was told to".into());
            return Err(StoreError::Failed { store: "faulty", action, reason });
        }
        match number % 7 {
            0 if fault.is_slow => thread::sleep(Duration::from_micros(60)),
            2 | 5 if fault.is_slow => thread::yield_now(),
            _ => {}
        }
        Ok(())
    }
}

impl Reader for FaultyReader<'_> {
    fn is_timed(&self) -> bool {
        false
    }

    fn account(&mut self, address: &Address) -> Result<Option<AccountState>, StoreError> {
        self.meet()?;
        self.inner.account(address)
    }

    fn slot(&mut self, address: &Address, key: &U256) -> Result<U256, StoreError> {
        self.meet()?;
        self.inner.slot(address, key)
    }

    fn code(&mut self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        self.meet()?;
        self.inner.code(hash)
    }

    fn counters(&self) -> ReadCounters {
        self.inner.counters()
    }
}

impl Sample for Faulty<'_> {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, StoreError> {
        Ok(Box::new(FaultyReader { sample: self, inner: self.inner.reader()? }))
    }

    fn commit(&self, changes: &NetChanges) -> Result<(), StoreError> {
        self.inner.commit(changes)
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.inner.sync()
    }

    fn background(&self) -> Option<&dyn Background> {
        self.inner.background()
    }

    fn file_bytes(&self) -> Option<u64> {
        self.inner.file_bytes()
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.close()
    }
}

fn run(workload: &Workload, threads: usize, fault: Fault) -> Result<Executed, EngineError> {
    let store = MemoryStore::build(&workload.genesis, None, 1 << 30).unwrap();
    let inner = store.open_sample(CacheMode::Cold).unwrap();
    let faulty = Faulty { inner, fault, read_count: AtomicUsize::new(0) };
    let cancel = AtomicBool::new(false);
    let variant =
        Variant::of(Design::BlockStm, NonZeroUsize::new(threads).unwrap(), NonZeroUsize::MIN);
    let lists = sample::lists_for(workload, variant.list, Vec::new).unwrap();
    let task = Task::new(workload, &lists, variant, &cancel);
    engine::execute(&faulty, &task)
}

/// Runs the workload many times. Returns the cost of all runs together.
fn assert_agrees(workload: &Workload, what: &str) -> Speculation {
    let mut all = Speculation::default();
    for round in 0..12 {
        for threads in [1, 2, 3, 8] {
            let fault = Fault { is_slow: round % 2 == 1, ..Fault::default() };
            let executed = run(workload, threads, fault)
                .unwrap_or_else(|e| panic!("{what} at {threads} threads: {e}"));
            for (place, batch) in workload.batches.iter().enumerate() {
                let got = &executed.batches[place].outcomes;
                assert_eq!(*got, batch.expected.transactions, "{what} at {threads} threads");
                let digest = executed.digests[place];
                assert_eq!(digest, batch.expected.net_changes, "{what} at {threads} threads");
            }
            let speculation = executed.speculation.unwrap();
            assert_eq!(
                speculation.execution_count,
                speculation.step_count + speculation.abort_count,
                "{what}: every execution but one of each step was aborted"
            );
            assert!(
                threads > 1 || speculation.abort_count == 0,
                "{what}: one thread runs in order"
            );
            all.abort_count += speculation.abort_count;
            all.validation_count += speculation.validation_count;
        }
    }
    let between = sharded::assert_agrees_on_shards(workload, &sharded::running(4), what);
    assert!(all.abort_count == 0 || between.value_count > 0, "{what}: {between:?}");
    all
}

const COUNTER: Address = Address::repeat_byte(0xc0);

#[test]
fn a_slot_that_every_transaction_counts_in_comes_out_as_in_order() {
    let speculation = assert_agrees(&workloads::one_slot(300).build(3), "one slot");
    assert!(speculation.abort_count > 0 && speculation.validation_count > 0, "{speculation:?}");
}

#[test]
fn transactions_that_have_nothing_in_common_are_neither_validated_nor_run_again() {
    for recipe in [workloads::transfers(400), workloads::token_transfers(400)] {
        let speculation = assert_agrees(&recipe.build(1), "apart");
        assert_eq!((speculation.abort_count, speculation.validation_count), (0, 0));
    }
}

#[test]
fn transactions_of_few_senders_follow_their_nonces() {
    let mut recipe = Recipe::new(4);
    recipe.account(COUNTER, U256::ZERO, COUNTER_CODE);
    for i in 0..240 {
        let to = if i % 5 == 0 { COUNTER } else { sender((i * 7 + 1) % 4) };
        recipe.send(sender(i % 3), Some(to), 3, &[]);
    }
    assert_agrees(&recipe.build(2), "nonce chains");
}

/// Returns the coinbase's balance, and stores it in the slot of the block's number: `COINBASE
/// BALANCE DUP1 NUMBER SSTORE …`.
const COINBASE_BALANCE: &[u8] = &hex!("41318043555f5260205ff3");

#[test]
fn the_coinbase_is_worth_what_it_was_paid_whoever_looks_and_whatever_it_does() {
    let teller = Address::repeat_byte(0x7e);
    for exists in [true, false] {
        let mut recipe = Recipe::new(60);
        recipe.account(teller, U256::ZERO, COINBASE_BALANCE);
        if exists {
            recipe.account(COINBASE, U256::from(10_u64).pow(U256::from(18)), &[]);
        }
        for i in 0..60 {
            recipe.send(sender(i), Some(sender((i + 1) % 60)), 5, &[]);
            match i % 10 {
                3 => recipe.send(sender(i), Some(teller), 0, &[1]),
                6 => recipe.send(sender(i), Some(COINBASE), 1 << 50, &[]),
                9 => recipe.send(COINBASE, Some(sender(i)), 77, &[]),
                _ => {}
            }
        }
        recipe.withdraw(COINBASE);
        assert_agrees(&recipe.build(3), "the coinbase");
    }
}

#[test]
fn a_coinbase_that_is_paid_nothing_does_not_come_to_be() {
    let mut recipe = Recipe::new(20).without_tip();
    (0..20).for_each(|i| recipe.send(sender(i), Some(sender((i + 1) % 20)), 5, &[]));
    recipe.send(sender(0), Some(COINBASE), 0, &[]);
    let workload = recipe.build(2);
    assert_agrees(&workload, "no fee");
    let executed = run(&workload, 2, Fault::default()).unwrap();
    let accounts = &executed.batches[0].net_changes.accounts;
    assert!(accounts.iter().all(|(address, _)| *address != COINBASE));
}

/// Creates a contract by CREATE2 with salt 0, with its calldata as init code; returns the
/// contract's address.
const FACTORY: &[u8] = &hex!("365f5f37 5f 36 5f 5f f5 5f52 60205ff3");
/// Init code: counts in slot 1, then destroys itself and sends its balance to the caller.
const SHORT_LIVED: &[u8] = &hex!("600154600101600155 33ff");
/// Init code of a contract that counts in slot 0, with a value in slot 3 from its creation on.
const LONG_LIVED: &[u8] = &hex!("6007600355 6d5f54600101805f555f5260205ff3 5f52 600e6012f3");

#[test]
fn contracts_that_come_and_go_and_come_again_are_seen_as_they_are() {
    let factory = Address::repeat_byte(0xfa);
    let child = |code: &[u8]| factory.create2_from_code(B256::ZERO, code);
    let mut recipe = Recipe::new(30);
    recipe.account(factory, U256::ZERO, FACTORY);
    for i in 0..90 {
        let from = sender(i % 30);
        match i % 9 {
            0 | 4 | 7 => recipe.send(from, Some(factory), 0, SHORT_LIVED),
            1 => recipe.send(from, Some(child(SHORT_LIVED)), 2, &[]),
            2 | 6 => recipe.send(from, Some(factory), 0, LONG_LIVED),
            3 | 8 => recipe.send(from, Some(child(LONG_LIVED)), 0, &[1]),
            _ => recipe.send(from, None, 0, LONG_LIVED),
        }
    }
    let workload = recipe.build(2);
    assert_agrees(&workload, "create, destroy, create again");
    let executed = run(&workload, 2, Fault::default()).unwrap();
    let slots = &executed.batches[0].net_changes.slots;
    let counted =
        slots.iter().find(|(address, key, _)| *address == child(LONG_LIVED) && key.is_zero());
    assert_eq!(counted.map(|(_, _, value)| *value), Some(U256::from(20)), "it was called");
}

#[test]
fn a_delegation_that_is_set_changed_and_cleared_counts_for_whoever_calls() {
    let (one, two) = (Address::repeat_byte(0xd1), Address::repeat_byte(0xd2));
    let mut recipe = Recipe::new(24);
    recipe.account(one, U256::ZERO, COUNTER_CODE);
    recipe.account(two, U256::ZERO, &hex!("5f54600a015f55"));
    let authority = sender(0);
    for i in 0..69 {
        let from = sender(1 + i % 23);
        match i % 8 {
            1 => recipe.delegate(from, authority, one),
            4 => recipe.delegate(from, authority, two),
            7 => recipe.delegate(from, authority, Address::ZERO),
            _ => recipe.send(from, Some(authority), 1, &[]),
        }
    }
    assert_agrees(&recipe.build(2), "delegations");
}

/// Counts in slot 0. Then stops if the count is odd, else loops until the gas is used up.
const PICKY: &[u8] = &hex!("5f54 6001 01 80 5f55 6002 90 06 6013 57 5b 600f 56 5b00");

#[test]
fn runs_that_are_invalid_or_halt_before_their_turn_neither_end_nor_hang_the_batch() {
    let mut recipe = Recipe::new(40);
    recipe.account(COUNTER, U256::ZERO, PICKY);
    // An account without wei cannot pay for its transaction before the earlier step pays it.
    let poor = |number: u32| Address::from_word(B256::with_last_byte(number as u8 + 100));
    for i in 0..40 {
        recipe.send(sender(i), Some(poor(i)), 100_000_000, &[]);
        recipe.send(poor(i), Some(sender((i + 1) % 40)), 1, &[]);
        recipe.send(sender(i), Some(COUNTER), 0, &[]);
    }
    assert_agrees(&recipe.build(2), "invalid before their turn");
}

#[test]
fn a_transaction_that_is_invalid_in_order_ends_the_batch_with_its_index() {
    let mut workload = workloads::transfers(50).build(1);
    workload.batches[0].blocks[0].transactions[30].nonce = 9;
    for threads in [1, 2, 8] {
        let error = run(&workload, threads, Fault::default()).unwrap_err();
        let EngineError::Step { batch: 0, index: 31, reason } = &error else { panic!("{error}") };
        assert!(reason.contains("nonce"), "{reason}");
    }
}

#[test]
fn a_store_that_fails_ends_the_batch_with_its_reason() {
    let workload = workloads::one_slot(40).build(1);
    for threads in [1, 2, 8] {
        for fails_at in [1, 2, 5, 20, 45] {
            let fault = Fault { fails_at, is_slow: true, ..Fault::default() };
            let error = run(&workload, threads, fault).unwrap_err();
            assert!(error.to_string().contains("it was told to"), "read {fails_at}: {error}");
        }
    }
}

#[test]
#[should_panic(expected = "told to panic")]
fn a_worker_that_panics_ends_the_batch_with_its_panic() {
    let fault = Fault { panics_at: 20, ..Fault::default() };
    drop(run(&workloads::one_slot(40).build(1), 4, fault));
}
