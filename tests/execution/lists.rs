//! A list is checked, not trusted. A wrong list is rejected for its fault, and a correct list with
//! unusual reads is accepted. Any failure in a worker ends the run with its reason.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    num::NonZeroUsize,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use alloy_primitives::{Address, B256, Bytes, U256, hex};
use executor::{
    engine::{EngineError, ListFault, Task},
    sample::{self, Measurement},
    store::{Background, ReadCounters, Reader, Sample, Store, StoreError, memory::MemoryStore},
};
use generator::reference;
use variant::{CacheMode, Design, ListForm, Variant};
use workload::{
    Batch, Block, BlockEnv, Fork, Genesis, GenesisAccount, NetChanges, Transaction, Workload,
    block::Plan,
    genesis::AccountState,
    list::{self, AccountId, ListBounds, ListIndex},
};

const SENDER: Address = Address::repeat_byte(0x11);

/// A workload of one block with these transactions of one sender.
fn workload(transactions: Vec<Transaction>) -> Workload {
    let mut accounts = evm::system::contracts(Fork::Amsterdam);
    accounts.push(GenesisAccount {
        address: SENDER,
        balance: U256::from(10_u64).pow(U256::from(20)),
        ..GenesisAccount::default()
    });
    accounts.sort_by_key(|account| account.address);
    let mut absent: Vec<_> = (0..4).map(|nonce| SENDER.create(nonce)).collect();
    absent.push(Address::ZERO);
    absent.sort();
    let env = BlockEnv { number: 1, gas_limit: 60_000_000, base_fee: 7, ..BlockEnv::default() };
    let block = Block { env, transactions, ..Block::default() };
    let mut workload = Workload {
        chain_id: 1,
        genesis: Genesis { accounts, ..Genesis::default() },
        block_hashes: vec![B256::ZERO; 2],
        batches: vec![Batch {
            blocks: vec![block],
            plan: Plan { absent_accounts: absent, ..Plan::default() },
            ..Batch::default()
        }],
        ..Workload::default()
    };
    reference::complete(&mut workload, || ()).unwrap_or_else(|e| panic!("{e}"));
    workload
}

fn create(nonce: u64, init_code: &[u8]) -> Transaction {
    Transaction {
        sender: SENDER,
        nonce,
        gas_limit: 1_000_000,
        max_fee_per_gas: 10,
        max_priority_fee_per_gas: 1,
        input: Bytes::copy_from_slice(init_code),
        ..Transaction::default()
    }
}

fn variant(design: Design, threads: usize) -> Variant {
    let count = |n| NonZeroUsize::new(n).unwrap();
    Variant::of(design, count(threads), count(2))
}

fn lists(workload: &Workload, form: Option<ListForm>) -> Vec<Bytes> {
    sample::lists_for(workload, form, || reference::full_lists(workload, || ()).unwrap()).unwrap()
}

fn take(
    store: &dyn Store,
    workload: &Workload,
    list: Bytes,
    variant: Variant,
) -> Result<Measurement, EngineError> {
    let cancel = AtomicBool::new(false);
    let lists = [list];
    let task = Task::new(workload, &lists, variant, &cancel);
    sample::take(store, &task, CacheMode::Cold)
}

fn memory(workload: &Workload) -> MemoryStore {
    MemoryStore::build(&workload.genesis, None, 1 << 30).unwrap()
}

/// Init code that reads slot 5 and returns no code, and init code that reads it and reverts.
const INIT_CODES: [[u8; 7]; 2] = [hex!("600554505f5ff3"), hex!("600554505f5ffd")];

#[test]
fn a_slot_read_by_a_constructor_is_declared_even_if_the_creation_reverts() {
    for init_code in INIT_CODES {
        let workload = workload(vec![create(0, &init_code)]);
        let listed = workload.batches[0].list.clone();
        for design in Design::ALL.iter().copied() {
            let lists = lists(&workload, variant(design, 2).list);
            let taken = take(&memory(&workload), &workload, lists[0].clone(), variant(design, 2));
            assert_eq!(taken.unwrap().disagreement, None, "{design:?}");
        }
        let bounds = ListBounds::new(&workload.batches[0], &workload.rules);
        let mut changes = ListIndex::decode(&listed, &bounds).unwrap().to_changes();
        let created = changes.iter_mut().find(|a| a.address == SENDER.create(0)).unwrap();
        assert_eq!(created.storage_reads, [U256::from(5)]);
        created.storage_reads.clear();
        let without = list::encode(&changes);
        let taken = take(&memory(&workload), &workload, without, variant(Design::BatchedIo, 2));
        let error = taken.unwrap_err();
        let undeclared = EngineError::rejected(0, undeclared(&error));
        assert_eq!(error.to_string(), undeclared.to_string());
    }
}

/// Fault of an error that must be an undeclared read.
fn undeclared(error: &EngineError) -> ListFault {
    match error {
        EngineError::List { fault: ListFault::Undeclared { index, read }, .. } => {
            ListFault::Undeclared { index: *index, read: read.clone() }
        }
        other => panic!("{other}"),
    }
}

#[test]
fn the_form_without_reads_is_rejected_for_wrong_missing_and_surplus_changes() {
    let workload = workload(vec![create(0, &hex!("60015f55")), create(1, &hex!("60025f55"))]);
    let variant = variant(Design::ParallelIo, 2);
    let lists = lists(&workload, Some(ListForm::ParallelIo));
    let bounds = ListBounds::new(&workload.batches[0], &workload.rules);
    let right = ListIndex::decode(&lists[0], &bounds).unwrap();
    let mut place = None;
    for id in 0..right.account_count() {
        if *right.address(AccountId(id)) == SENDER.create(0) {
            place = Some(id as usize);
        }
    }
    let place = place.unwrap();
    let reject = |change: &dyn Fn(&mut alloy_eip7928::AccountChanges)| {
        let mut changes = right.to_changes();
        change(&mut changes[place]);
        let error = take(&memory(&workload), &workload, list::encode(&changes), variant);
        match error.unwrap_err() {
            EngineError::List { fault, .. } => fault.to_string(),
            other => panic!("{other}"),
        }
    };
    let wrong = reject(&|account| {
        account.storage_changes[0].changes[0].new_value = U256::from(9);
    });
    assert!(wrong.contains("slot 0x0") && wrong.contains("became 0x1"), "{wrong}");
    let missing = reject(&|account| account.storage_changes.clear());
    assert!(missing.contains("the list has no change"), "{missing}");
    let surplus = reject(&|account| {
        let mut more = account.storage_changes[0].clone();
        more.slot = U256::from(77);
        account.storage_changes.push(more);
    });
    assert!(surplus.contains("changes and the step made"), "{surplus}");
}

/// A store whose readers fail at chosen reads.
#[derive(Debug)]
struct Failing {
    inner: MemoryStore,
    reader_count: AtomicUsize,
    /// The reader that cannot be made, counted from 0.
    no_reader: usize,
    read_count: AtomicUsize,
    /// The account read at which a reader fails or panics.
    fail_at: usize,
    panic_at: usize,
}

#[derive(Debug)]
struct FailingSample<'s> {
    store: &'s Failing,
    inner: Box<dyn Sample + 's>,
}

#[derive(Debug)]
struct FailingReader<'a> {
    store: &'a Failing,
    inner: Box<dyn Reader + 'a>,
}

fn failure() -> StoreError {
    StoreError::Failed { store: "failing", action: "read".into(), reason: "it was told to".into() }
}

impl Reader for FailingReader<'_> {
    fn is_timed(&self) -> bool {
        false
    }

    fn account(&mut self, address: &Address) -> Result<Option<AccountState>, StoreError> {
        let number = self.store.read_count.fetch_add(1, Ordering::Relaxed);
        assert_ne!(number, self.store.panic_at, "told to panic");
        if number == self.store.fail_at { Err(failure()) } else { self.inner.account(address) }
    }

    fn slot(&mut self, address: &Address, key: &U256) -> Result<U256, StoreError> {
        self.inner.slot(address, key)
    }

    fn code(&mut self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        self.inner.code(hash)
    }

    fn counters(&self) -> ReadCounters {
        self.inner.counters()
    }
}

impl Sample for FailingSample<'_> {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, StoreError> {
        if self.store.reader_count.fetch_add(1, Ordering::Relaxed) == self.store.no_reader {
            return Err(failure());
        }
        Ok(Box::new(FailingReader { store: self.store, inner: self.inner.reader()? }))
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

impl Failing {
    fn run(workload: &Workload, set: impl FnOnce(&mut Self), variant: Variant) -> EngineError {
        let mut store = Self {
            inner: memory(workload),
            reader_count: AtomicUsize::new(0),
            no_reader: usize::MAX,
            read_count: AtomicUsize::new(0),
            fail_at: usize::MAX,
            panic_at: usize::MAX,
        };
        set(&mut store);
        let sample = FailingSample {
            inner: store.inner.open_sample(CacheMode::Cold).unwrap(),
            store: &store,
        };
        let lists = lists(workload, variant.list);
        let cancel = AtomicBool::new(false);
        let task = Task::new(workload, &lists, variant, &cancel);
        executor::engine::execute(&sample, &task).unwrap_err()
    }
}

#[test]
fn a_worker_that_cannot_begin_or_read_ends_the_run_with_the_stores_reason() {
    let workload = workload(vec![create(0, &INIT_CODES[0])]);
    for threads in [1, 4] {
        let variant = variant(Design::BatchedIo, threads);
        for reader in 0..threads + 3 {
            let error = Failing::run(&workload, |store| store.no_reader = reader, variant);
            assert!(matches!(error, EngineError::Store(_)), "reader {reader}: {error}");
        }
        for read in 0..5 {
            let error = Failing::run(&workload, |store| store.fail_at = read, variant);
            assert!(matches!(error, EngineError::Store(_)), "read {read}: {error}");
        }
    }
}

/// Designs that run in order on one thread: over our state, and over revm's.
const IN_ORDER: [Design; 2] = [Design::Sequential, Design::BareRevm];

#[test]
fn a_run_in_order_that_cannot_begin_or_read_ends_with_the_stores_reason() {
    let workload = workload(vec![create(0, &INIT_CODES[0])]);
    for design in IN_ORDER {
        let error = Failing::run(&workload, |store| store.no_reader = 0, variant(design, 1));
        assert!(matches!(error, EngineError::Store(_)), "{design}: {error}");
        for read in 0..5 {
            let error = Failing::run(&workload, |store| store.fail_at = read, variant(design, 1));
            assert!(matches!(error, EngineError::Store(_)), "{design}, read {read}: {error}");
        }
    }
}

#[test]
fn a_run_in_order_ends_at_an_invalid_transaction_and_says_why() {
    let mut workload = workload(vec![create(0, &INIT_CODES[0]), create(1, &INIT_CODES[0])]);
    workload.batches[0].blocks[0].transactions[1].nonce = 7;
    for design in IN_ORDER {
        let taken = take(&memory(&workload), &workload, Bytes::new(), variant(design, 1));
        let error = taken.unwrap_err();
        assert!(matches!(error, EngineError::Step { batch: 0, index: 2, .. }), "{design}: {error}");
        let said = "batch 0, index 2: invalid transaction: nonce 7 too high, expected 1";
        assert_eq!(error.to_string(), said, "{design}");
    }
}

#[test]
#[should_panic(expected = "told to panic")]
fn a_worker_that_panics_ends_the_run_with_its_panic() {
    let workload = workload(vec![create(0, &INIT_CODES[0])]);
    Failing::run(&workload, |store| store.panic_at = 3, variant(Design::BatchedIo, 2));
}

#[test]
fn an_interrupt_ends_a_run_as_cancelled() {
    let workload = workload(vec![create(0, &INIT_CODES[0])]);
    for design in Design::ALL.iter().copied() {
        let lists = lists(&workload, variant(design, 2).list);
        let cancel = AtomicBool::new(true);
        let variant = variant(design, 2);
        let task = Task::new(&workload, &lists, variant, &cancel);
        let taken = sample::take(&memory(&workload), &task, CacheMode::Cold);
        assert!(matches!(taken, Err(EngineError::Cancelled)), "{design:?}");
    }
}
