//! Laws of reading ahead, under every policy. Each declared key is read once, and no other key is
//! read. Orders are as named. A failure or an interrupt ends the run.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use alloy_primitives::{Address, B256, Bytes, U256};
use executor::{
    engine::{self, EngineError, Executed, Task},
    sample,
    store::{Background, ReadCounters, Reader, Sample, Store, StoreError, memory::MemoryStore},
};
use spec::Scenario;
use variant::{
    AccountReads, CacheMode, CodeReads, Design, Io, Prefetch, ReadOrder, ReadTime, Variant,
};
use workload::{
    Layout, NetChanges, Workload,
    genesis::AccountState,
    list::{ListBounds, ListIndex},
};

use crate::common::policies::policies;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Account(Address),
    Slot(Address, U256),
    Code(B256),
}

/// The effect of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    None,
    Fail { at: usize },
    Interrupt { at: usize },
}

/// A sample in memory that claims that its rows lie by hash, and records its reads in order.
#[derive(Debug)]
struct Watched<'s> {
    inner: Box<dyn Sample + 's>,
    reads: Mutex<Vec<Key>>,
    read_count: AtomicUsize,
    trouble: Trouble,
    cancel: AtomicBool,
}

#[derive(Debug)]
struct WatchedReader<'a> {
    sample: &'a Watched<'a>,
    inner: Box<dyn Reader + 'a>,
}

impl WatchedReader<'_> {
    fn note(&self, key: Key) -> Result<(), StoreError> {
        let number = self.sample.read_count.fetch_add(1, Ordering::Relaxed);
        self.sample.reads.lock().unwrap().push(key);
        match self.sample.trouble {
            Trouble::Fail { at } if at == number => {
                let (action, reason) = ("read".to_owned(), "it was told to".to_owned());
                return Err(StoreError::Failed { store: "watched", action, reason });
            }
            Trouble::Interrupt { at } if at == number => {
                self.sample.cancel.store(true, Ordering::Relaxed);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Reader for WatchedReader<'_> {
    fn is_timed(&self) -> bool {
        true
    }

    fn account(&mut self, address: &Address) -> Result<Option<AccountState>, StoreError> {
        self.note(Key::Account(*address))?;
        self.inner.account(address)
    }

    fn slot(&mut self, address: &Address, key: &U256) -> Result<U256, StoreError> {
        self.note(Key::Slot(*address, *key))?;
        self.inner.slot(address, key)
    }

    fn code(&mut self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        self.note(Key::Code(*hash))?;
        self.inner.code(hash)
    }

    fn counters(&self) -> ReadCounters {
        self.inner.counters()
    }
}

impl Sample for Watched<'_> {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, StoreError> {
        Ok(Box::new(WatchedReader { sample: self, inner: self.inner.reader()? }))
    }

    fn row_layout(&self) -> Option<Layout> {
        Some(Layout::Hashed)
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

/// A workload with its state in memory.
struct Work {
    workload: Workload,
    store: MemoryStore,
}

fn work() -> Work {
    storm("3M")
}

fn storm(gas: &str) -> Work {
    let text = format!(
        "schema = 1\nname = \"small\"\ndescription = \"\"\nseed = 7\n\
         [state]\naccounts = 100\nslots = 60_000\n[block]\ngas = \"{gas}\"\ntx_gas = \"500k\"\n\
         [[load]]\nkind = \"sload-storm\"\ncontracts = 3\n"
    );
    let scenario = Scenario::parse("small.toml", &text, &[]).unwrap();
    let workload = generator::generate(&scenario, |_| ()).unwrap();
    let store = MemoryStore::build(&workload.genesis, None, 1 << 30).unwrap();
    Work { workload, store }
}

fn variant(policy: Prefetch, threads: usize, io_threads: usize) -> Variant {
    let count = |n| NonZeroUsize::new(n).unwrap();
    let variant = Variant::of(Design::BatchedIo, count(threads), count(io_threads));
    Variant { io: Io::Batched(policy), ..variant }
}

/// Runs the workload. Returns the outcome, and the reads in their order.
fn run(
    Work { workload, store }: &Work,
    variant: Variant,
    trouble: Trouble,
) -> (Result<Executed, EngineError>, Vec<Key>) {
    let watched = Watched {
        inner: store.open_sample(CacheMode::Cold).unwrap(),
        reads: Mutex::default(),
        read_count: AtomicUsize::new(0),
        trouble,
        cancel: AtomicBool::new(false),
    };
    let lists = sample::lists_for(workload, variant.list, Vec::new).unwrap();
    let task = Task::new(workload, &lists, variant, &watched.cancel);
    let executed = engine::execute(&watched, &task);
    (executed, watched.reads.into_inner().unwrap())
}

fn list(workload: &Workload) -> ListIndex {
    let batch = &workload.batches[0];
    ListIndex::decode(&batch.list, &ListBounds::new(batch, &workload.rules)).unwrap()
}

#[test]
fn each_declared_key_is_read_once_and_nothing_else_is_under_every_policy() {
    let work = work();
    let list = list(&work.workload);
    let mut declared = BTreeMap::new();
    for account in list.accounts() {
        let address = *list.address(account);
        declared.insert(Key::Account(address), 1);
        for slot in list.slots_of(account) {
            let key = list.slot_keys()[slot as usize];
            declared.insert(Key::Slot(address, key), 1);
        }
    }
    for policy in policies() {
        for (threads, io_threads) in [(1, 1), (2, 5)] {
            let variant = variant(policy, threads, io_threads);
            let (executed, reads) = run(&work, variant, Trouble::None);
            let executed = executed.unwrap_or_else(|e| panic!("{variant}: {e}"));
            let mut counts = BTreeMap::new();
            reads.iter().for_each(|key| *counts.entry(*key).or_insert(0) += 1);
            let is_code = |key: &Key| matches!(key, Key::Code(_));
            assert!(counts.iter().all(|(_, count)| *count == 1), "{variant}: read twice");
            let codes = counts.keys().filter(|key| is_code(key)).count();
            assert!(codes >= 3, "{variant}: each contract's code is its own or shared");
            counts.retain(|key, _| !is_code(key));
            assert_eq!(counts, declared, "{variant}");
            let (ahead, on_demand) = (&executed.prefetched, &executed.on_demand);
            let counted = ahead.read_count + on_demand.read_count;
            assert_eq!(counted, reads.len() as u64, "{variant}: the tallies");
            if policy.time == ReadTime::Before && policy.accounts != AccountReads::OnDemand {
                let codes = if policy.codes == CodeReads::OnDemand { codes as u64 } else { 0 };
                assert_eq!(on_demand.read_count, codes, "{variant}: all was there");
                assert_eq!(on_demand.waited_count, 0, "{variant}");
            }
        }
    }
}

/// Indices of the rows of the reads, in the order of the reads: accounts, then slots.
fn read_by_one(work: &Work, order: ReadOrder) -> (Vec<Address>, Vec<(Address, U256)>) {
    let policy = Prefetch { order, ..Prefetch::default() };
    let (executed, reads) = run(work, variant(policy, 1, 1), Trouble::None);
    executed.unwrap();
    let (mut accounts, mut slots) = (Vec::new(), Vec::new());
    for read in reads {
        match read {
            Key::Account(address) => accounts.push(address),
            Key::Slot(address, key) => slots.push((address, key)),
            Key::Code(_) => {}
        }
    }
    (accounts, slots)
}

#[test]
fn the_order_on_disk_is_that_of_the_rows_keys() {
    let layout = Layout::Hashed;
    // Several threads sort the larger workload, where there are several cores.
    for (gas, slot_count) in [("3M", 1_000), ("60M", 20_000)] {
        let (accounts, slots) = read_by_one(&storm(gas), ReadOrder::OnDisk);
        assert!(accounts.len() > 6 && slots.len() > slot_count, "{}", slots.len());
        assert!(accounts.is_sorted_by_key(|address| layout.account_key(address)));
        assert!(slots.is_sorted_by_key(|(a, key)| layout.slot_key(&layout.account_key(a), key)));
    }
}

#[test]
fn the_listed_order_is_the_lists() {
    let (accounts, slots) = read_by_one(&work(), ReadOrder::Listed);
    assert!(accounts.is_sorted() && slots.is_sorted());
}

#[test]
fn the_order_of_first_writes_reads_first_what_is_written_first_and_last_what_never_is() {
    let work = work();
    let list = list(&work.workload);
    let (accounts, slots) = read_by_one(&work, ReadOrder::FirstWrite);
    let of_slot = |(address, key): &(Address, U256)| {
        let slot = list.slot_id(list.account_id(address).unwrap(), key).unwrap();
        list.first_slot_change(slot).unwrap_or(u32::MAX)
    };
    assert!(slots.is_sorted_by_key(of_slot));
    assert!(slots.iter().any(|slot| of_slot(slot) == 0), "a system call writes a slot");
    let of_account = |address: &Address| {
        let account = list.account_id(address).unwrap();
        let slots = list.slots_of(account).map(|slot| {
            let key = list.slot_keys()[slot as usize];
            of_slot(&(*address, key))
        });
        slots.chain(list.first_account_change(account)).min().unwrap_or(u32::MAX)
    };
    assert!(accounts.is_sorted_by_key(of_account));
}

#[test]
fn a_failing_store_and_an_interrupt_end_every_policy() {
    let work = work();
    for policy in policies() {
        for at in [0, 5, 40, 700] {
            let variant = variant(policy, 2, 3);
            let (failed, _) = run(&work, variant, Trouble::Fail { at });
            let error = failed.unwrap_err();
            assert!(matches!(error, EngineError::Store(_)), "{variant}, read {at}: {error}");
            let (cancelled, _) = run(&work, variant, Trouble::Interrupt { at });
            let error = cancelled.unwrap_err();
            assert!(matches!(error, EngineError::Cancelled), "{variant}, read {at}: {error}");
        }
    }
}
