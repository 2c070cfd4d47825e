//! Wrong lists of every kind are rejected with their reason, by every way to execute that takes a
//! list. They are rejected before they cost the reads that they declare. A correct list finds a
//! wrong store.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

use std::{collections::BTreeSet, num::NonZeroUsize, path::PathBuf, sync::atomic::AtomicBool};

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use executor::{
    engine::{self, EngineError, ListFault, Spent, Task},
    sample,
    store::{Store, memory::MemoryStore},
};
use generator::{import, reference};
use spec::Scenario;
use variant::{CacheMode, Design, Io, ListForm, ReadTime, Variant, WarmCache, Warming};
use workload::{
    AccountState, GenesisAccount, Workload,
    list::{self, FullList, ListBounds, ListError, ListIndex, SlotId, full_encode},
};

use crate::{common::agree, hostile};

pub(crate) fn storm() -> Workload {
    let text = "schema = 1\nname = \"s\"\ndescription = \"\"\n[state]\naccounts = 50\n\
        slots = 30_000\n[block]\ngas = \"8M\"\ntx_gas = \"1M\"\n[[load]]\nkind = \"sload-storm\"\n";
    let scenario = Scenario::parse("s.toml", text, &[]).unwrap();
    generator::generate(&scenario, |_| ()).unwrap()
}

/// Every way to execute with a list.
pub(crate) fn variants() -> Vec<Variant> {
    let ways = Design::ALL.iter().flat_map(|design| agree::ways(*design, 2, 2));
    ways.filter(|variant| variant.list.is_some()).collect()
}

pub(crate) fn memory(workload: &Workload) -> MemoryStore {
    MemoryStore::build(&workload.genesis, None, 1 << 30).unwrap()
}

fn rejection(
    store: &MemoryStore,
    workload: &Workload,
    list: &Bytes,
    variant: Variant,
) -> Rejection {
    let cancel = AtomicBool::new(false);
    let task = Task::new(workload, std::slice::from_ref(list), variant, &cancel);
    match sample::take(store, &task, CacheMode::Cold) {
        Err(EngineError::List { fault, spent, .. }) => Rejection { fault, spent: *spent },
        other => panic!("{variant}: {:?}", other.map(|taken| taken.disagreement)),
    }
}

struct Rejection {
    fault: ListFault,
    spent: Spent,
}

/// Whether `fault` is the expected reason for a list of this kind and form.
fn is_the_reason(what: &str, form: ListForm, fault: &ListFault) -> bool {
    use ListFault as F;
    let changes_only = form == ListForm::ParallelIo;
    match what {
        "a wrong value" => matches!(fault, F::WrongValue { .. }),
        "a wrong change" => matches!(fault, F::WrongChange { .. }),
        // On the state of such a list, the sender's next transaction has a wrong nonce.
        "a missing key" if changes_only => {
            matches!(fault, F::WrongChange { .. } | F::InvalidStep { .. })
        }
        "a missing key" => matches!(fault, F::Undeclared { .. }),
        "a surplus key" if changes_only => matches!(fault, F::SurplusChanges { .. }),
        "a surplus key" => matches!(fault, F::SurplusAccount(_)),
        "wrong order" => matches!(fault, F::Malformed(ListError::AccountOrder { .. })),
        "an index out of range" => matches!(fault, F::Malformed(ListError::IndexTooHigh { .. })),
        "a truncated encoding" => matches!(fault, F::Malformed(ListError::Truncated { .. })),
        "10M phantom reads" => matches!(
            fault,
            F::Malformed(ListError::TooManyItems { .. } | ListError::TooLong { .. })
        ),
        "phantom reads up to the bound" if changes_only => {
            matches!(fault, F::MoreThanChanges(_))
        }
        "phantom reads up to the bound" => matches!(fault, F::Infeasible { .. }),
        other => panic!("{other}"),
    }
}

#[test]
fn every_wrong_list_is_rejected_with_its_reason_by_every_way_that_takes_one() {
    let mut workload = storm();
    // A higher gas limit allows more phantom reads in the list than may be free.
    workload.batches[0].blocks[0].env.gas_limit += 1_000_000;
    reference::complete(&mut workload, || ()).unwrap();
    let store = memory(&workload);
    let most_items = ListBounds::new(&workload.batches[0], &workload.rules).max_item_count();
    for form in ListForm::ALL.iter().copied() {
        let lists = hostile::lists(&workload, form);
        assert_eq!(lists.len(), 8 + usize::from(form == ListForm::Full));
        for variant in variants().into_iter().filter(|variant| variant.list == Some(form)) {
            for list in &lists {
                let Rejection { fault, spent } = rejection(&store, &workload, &list.bytes, variant);
                let name = format!("{variant}, {}: {fault}", list.what);
                assert!(is_the_reason(list.what, form, &fault), "{name}");
                assert!(!spent.wall.is_zero(), "{name}");
                let read_count = spent.counters.key_count;
                if matches!(fault, ListFault::Malformed(_)) {
                    assert_eq!(read_count, 0, "{name}");
                }
                // Without reads ahead, unused declarations are not read.
                if matches!(fault, ListFault::Infeasible { .. }) && variant.io_thread_count == 0 {
                    let reads_ahead = matches!(variant.io, Io::Batched(_));
                    assert_eq!(read_count < most_items / 2, !reads_ahead, "{name}: {spent:?}");
                }
            }
        }
    }
}

/// An account whose balance [`small`] reads, and which does not exist.
const ABSENT: Address = Address::with_last_byte(0xbb);

/// A workload of one block whose account 0xaa writes a slot and reads another.
fn small() -> Workload {
    let mut workload = storm();
    let code = alloy_primitives::hex!("60bb31506005545060096001555f5ff3");
    let account = GenesisAccount {
        address: Address::repeat_byte(0xaa),
        code: Bytes::copy_from_slice(&code),
        storage: vec![(U256::from(5), U256::from(77))],
        ..GenesisAccount::default()
    };
    workload.genesis.accounts.push(account);
    workload.genesis.accounts.sort_by_key(|account| account.address);
    let tx = &mut workload.batches[0].blocks[0].transactions[0];
    (tx.to, tx.input) = (Some(Address::repeat_byte(0xaa)), Bytes::new());
    let absent = &mut workload.batches[0].plan.absent_accounts;
    absent.push(ABSENT);
    absent.sort();
    reference::complete(&mut workload, || ()).unwrap_or_else(|e| panic!("{e}"));
    workload
}

#[test]
fn each_field_that_is_wrong_in_the_list_is_named_with_both_values() {
    let workload = small();
    let bounds = ListBounds::new(&workload.batches[0], &workload.rules);
    let right = reference::full_lists(&workload, || ()).unwrap().remove(0);
    let right = FullList::decode(&right, &bounds).unwrap();
    let (index, target) = (right.index(), Address::repeat_byte(0xaa));
    let store = memory(&workload);
    let id = |address: &Address| index.account_id(address).unwrap();
    let wrong = |which: usize| {
        let account = |address: &Address| {
            let mut state = right.account(id(address));
            if *address == target {
                match (which, &mut state) {
                    (0, Some(state)) => state.nonce += 3,
                    (1, Some(state)) => state.balance += U256::from(7),
                    (2, state) => *state = None,
                    _ => {}
                }
            } else if *address == ABSENT && which == 3 {
                state = Some(AccountState::default());
            }
            state
        };
        let slot = |address: &Address, key: &U256| {
            let value = right.slot(index.slot_id(id(address), key).unwrap());
            if *address == target && *key == U256::from(5) && which == 4 {
                U256::from(6)
            } else {
                value
            }
        };
        full_encode(&index.to_changes(), account, slot)
    };
    let design = Variant::of(Design::Full, NonZeroUsize::new(2).unwrap(), NonZeroUsize::MIN);
    for io_thread_count in [0, 1] {
        let variant = Variant { io_thread_count, ..design };
        let reason = |which| rejection(&store, &workload, &wrong(which), variant).fault.to_string();
        assert!(reason(0).contains("the nonce of 0xaAaA"), "{}", reason(0));
        assert!(reason(1).contains("is 0 in the state before the batch, and the list has 7"));
        let absent = "is absent in the state before the batch, and the list has there";
        assert!(reason(3).contains(absent), "{}", reason(3));
        assert!(reason(4).contains("slot 0x5 of 0xaAaA"), "{}", reason(4));
        assert!(reason(4).contains("is 0x4d in the state") && reason(4).contains("has 0x6"));
        // Without its code the account does nothing, so steps fail, too; the error names the cause.
        assert!(reason(2).contains("account 0xaAaA"), "{}", reason(2));
        assert!(reason(2).contains("is there in the state before the batch"), "{}", reason(2));
    }
}

/// Numbers of executing and of verifying threads that reject a full list.
const CREWS: [(usize, usize); 6] = [(1, 0), (1, 1), (2, 0), (2, 2), (8, 0), (8, 3)];

/// The `full` design with these threads.
fn full_on((threads, io_thread_count): (usize, usize)) -> Variant {
    let threads = NonZeroUsize::new(threads).unwrap();
    Variant { io_thread_count, ..Variant::of(Design::Full, threads, NonZeroUsize::MIN) }
}

#[test]
fn of_several_faults_of_a_full_list_the_same_one_is_told_however_threads_meet() {
    const REPEATS: usize = 20;
    // Far enough apart for three verifiers to read them at once; two of them share a chunk.
    const WRONG_SLOTS: &[usize] = &[300, 303, 340, 2_000];
    let workload = storm();
    let store = memory(&workload);
    let bounds = ListBounds::new(&workload.batches[0], &workload.rules);
    let right = reference::full_lists(&workload, || ()).unwrap().remove(0);
    let right = &FullList::decode(&right, &bounds).unwrap();
    let index = right.index();
    let id = |address: &Address| index.account_id(address).unwrap();
    let account = |address: &Address| right.account(id(address));
    let slot = |wrong: &'static [usize]| {
        move |address: &Address, key: &U256| {
            let id = index.slot_id(id(address), key).unwrap();
            right.slot(id) ^ U256::from(u8::from(wrong.contains(&id.get())))
        }
    };
    let key = index.slot_key(SlotId(WRONG_SLOTS[0] as u32));
    // First and last transaction with a balance in the list.
    let mut wrong_changes = index.to_changes();
    let mut balances: Vec<_> =
        wrong_changes.iter_mut().flat_map(|account| &mut account.balance_changes).collect();
    balances.sort_by_key(|change| change.block_access_index);
    let first = balances[0].block_access_index;
    balances[0].post_balance += U256::from(1);
    balances.last_mut().unwrap().post_balance += U256::from(1);
    let lists = [
        (full_encode(&index.to_changes(), account, slot(WRONG_SLOTS)), format!("slot {key:#x} of")),
        (full_encode(&wrong_changes, account, slot(WRONG_SLOTS)), format!("slot {key:#x} of")),
        (full_encode(&wrong_changes, account, slot(&[])), format!("index {first}: the balance")),
    ];
    for (list, reason) in lists {
        let mut told = BTreeSet::new();
        for variant in CREWS.map(full_on) {
            for _ in 0..REPEATS {
                told.insert(rejection(&store, &workload, &list, variant).fault.to_string());
            }
        }
        assert_eq!(told.len(), 1, "{told:#?}");
        assert!(told.iter().all(|told| told.starts_with(&reason)), "{reason}: {told:?}");
    }
}

#[test]
fn a_wrong_code_hash_is_a_rejected_list_whoever_meets_it_first() {
    const REPEATS: usize = 40;
    let workload = small();
    let bounds = ListBounds::new(&workload.batches[0], &workload.rules);
    let right = reference::full_lists(&workload, || ()).unwrap().remove(0);
    let right = FullList::decode(&right, &bounds).unwrap();
    let index = right.index();
    let id = |address: &Address| index.account_id(address).unwrap();
    let with_hash = |hash: B256| {
        let account = |address: &Address| {
            let state = right.account(id(address));
            let is_target = *address == Address::repeat_byte(0xaa);
            state.map(
                |state| if is_target { AccountState { code_hash: hash, ..state } } else { state },
            )
        };
        let slot =
            |address: &Address, key: &U256| right.slot(index.slot_id(id(address), key).unwrap());
        full_encode(&index.to_changes(), account, slot)
    };
    // A hash without code, and the hash of another code of the state, which then runs in place of
    // this one.
    let other = workload.genesis.accounts.iter().map(GenesisAccount::state);
    let other = other.map(|state| state.code_hash).find(|hash| {
        ![KECCAK256_EMPTY, right.account(id(&Address::repeat_byte(0xaa))).unwrap().code_hash]
            .contains(hash)
    });
    let lists = [with_hash(B256::repeat_byte(7)), with_hash(other.unwrap())];
    let store = memory(&workload);
    for variant in CREWS.map(full_on) {
        for list in lists.iter().cycle().take(2 * REPEATS) {
            let fault = rejection(&store, &workload, list, variant).fault;
            let is_told = matches!(&fault, ListFault::WrongValue { what, .. }
                if what.starts_with("the code hash of 0xaAaA"));
            assert!(is_told, "{variant}: {fault}");
        }
    }
}

#[test]
fn wrong_lists_of_another_client_are_rejected_in_every_form_that_they_can_take() {
    let Some(dir) = std::env::var_os("STRESS_VECTORS").map(PathBuf::from) else {
        eprintln!("STRESS_VECTORS is not set: lists that nobody here wrote are NOT tested");
        return;
    };
    let read = |name: &str| std::fs::read_to_string(dir.join("eip7928").join(name)).unwrap();
    let mut tests = import::blockchain_tests("combined.json", &read("combined.json")).unwrap();
    let mut workload = tests.remove(0).workload;
    reference::complete(&mut workload, || ()).unwrap();
    let store = memory(&workload);
    let bounds = ListBounds::new(&workload.batches[0], &workload.rules);
    let lists: serde_json::Value = serde_json::from_str(&read("invalid-of-combined.json")).unwrap();
    let right = ListIndex::decode(&workload.batches[0].list, &bounds).unwrap().to_changes();
    let (right_writes, mut counts) = (list::parallel_io_form(&right), [0; 3]);
    let account = |address: &Address| workload.genesis.account(address).map(GenesisAccount::state);
    let slot = |address: &Address, key: &U256| {
        let storage = workload.genesis.account(address).map_or(&[][..], |a| &a.storage);
        let place = storage.binary_search_by(|(at, _)| at.cmp(key));
        place.map_or(U256::ZERO, |place| storage[place].1)
    };
    let wrong =
        lists["variants"].as_array().unwrap().iter().filter(|entry| entry["valid"] == false);
    for entry in wrong {
        let bytes: Bytes = entry["blockAccessList"].as_str().unwrap().parse().unwrap();
        // An undecodable list has no other form. If only its reads are wrong, its form without
        // reads is correct.
        let changes = ListIndex::decode(&bytes, &bounds).map(|index| index.to_changes());
        let writes = changes.as_ref().map(|changes| list::parallel_io_form(changes));
        let forms = [
            (ListForm::BatchedIo, Some(bytes)),
            (ListForm::Full, changes.as_ref().ok().map(|all| full_encode(all, account, slot))),
            (
                ListForm::ParallelIo,
                writes.ok().filter(|all| *all != right_writes).map(|all| list::encode(&all)),
            ),
        ];
        for (place, (form, bytes)) in forms.into_iter().enumerate() {
            let Some(bytes) = bytes else { continue };
            for variant in variants().into_iter().filter(|variant| variant.list == Some(form)) {
                rejection(&store, &workload, &bytes, variant);
            }
            counts[place] += 1;
        }
    }
    let [batched, full, parallel] = counts;
    eprintln!("rejected: {batched} wrong lists, {full} in full form, {parallel} of changes alone");
    assert_eq!(batched, 29);
    assert!(full >= 10 && parallel >= 8, "{full}, {parallel}");
}

#[test]
fn a_store_that_is_wrong_is_found_by_a_right_list_and_nothing_is_committed() {
    let workload = small();
    let target = Address::repeat_byte(0xaa);
    let lists = reference::full_lists(&workload, || ()).unwrap();
    let mut genesis = workload.genesis.clone();
    let place = genesis.accounts.iter().position(|account| account.address == target).unwrap();
    genesis.accounts[place].storage[0].1 = U256::from(78);
    let (right, wrong) = (memory(&workload), MemoryStore::build(&genesis, None, 1 << 30).unwrap());
    let run = |store: &MemoryStore, variant| {
        let sample = store.open_sample(CacheMode::Cold).unwrap();
        let cancel = AtomicBool::new(false);
        let task = Task::new(&workload, &lists, variant, &cancel);
        let executed = engine::execute(sample.as_ref(), &task);
        let written = sample.reader().unwrap().slot(&target, &U256::from(1)).unwrap();
        (executed, written)
    };
    for (threads, io_threads) in [(1, 0), (1, 1), (2, 8)] {
        let design =
            Variant::of(Design::Full, NonZeroUsize::new(threads).unwrap(), NonZeroUsize::MIN);
        let variant = Variant { io_thread_count: io_threads, ..design };
        let (executed, written) = run(&wrong, variant);
        let error = executed.unwrap_err().to_string();
        assert!(error.contains("slot 0x5") && error.contains("0x4e") && error.contains("0x4d"));
        assert_eq!(written, U256::ZERO, "nothing is committed");
        let (executed, written) = run(&right, variant);
        let executed = executed.unwrap();
        assert_eq!(written, U256::from(9));
        assert_eq!(executed.verifier_priority.is_some(), io_threads > 0);
        assert!(executed.verification_wait < executed.wall);
    }
}

#[test]
fn the_warm_up_finds_all_that_a_storm_reads_and_only_a_shared_one_saves_the_reads() {
    let workload = storm();
    let store = memory(&workload);
    let cancel = AtomicBool::new(false);
    let design = Variant::of(Design::Prewarm, NonZeroUsize::new(2).unwrap(), NonZeroUsize::MIN);
    let before = |cache| {
        let warming = Warming { cache, time: ReadTime::Before };
        Variant { engine: variant::Engine::Prewarm(warming), ..design }
    };
    let shared = before(WarmCache::Shared);
    for variant in [shared, before(WarmCache::PerWorker)] {
        let task = Task::new(&workload, &[], variant, &cancel);
        let executed = sample::take(&store, &task, CacheMode::Cold).unwrap().executed;
        let pass = executed.speculative_pass.unwrap();
        // The run ahead misses only the keys of system calls, a few per call.
        assert!(pass.requested_count - pass.found_count < 100, "{pass:?}");
        assert!(pass.found_count > 3_000, "{pass:?}");
        assert_eq!(pass.unused_count, 0, "{pass:?}");
        assert!(pass.pass_wait.is_zero(), "the pass ends first: {pass:?}");
        let in_order_count = executed.counters.key_count - pass.read_count;
        let is_shared = variant == shared;
        let expected = pass.requested_count - if is_shared { pass.found_count } else { 0 };
        assert_eq!(in_order_count, expected, "{variant}: {pass:?}");
    }
}

#[test]
fn a_run_in_order_that_nobody_waits_for_reads_each_key_once_with_those_who_run_ahead() {
    let workload = storm();
    let store = memory(&workload);
    let cancel = AtomicBool::new(false);
    let of = |threads| {
        let threads = NonZeroUsize::new(threads).unwrap();
        Variant::of(Design::Prewarm, threads, NonZeroUsize::MIN)
    };
    let in_order = Variant::of(Design::Sequential, NonZeroUsize::MIN, NonZeroUsize::MIN);
    let read_count = |variant| {
        let task = Task::new(&workload, &[], variant, &cancel);
        let taken = sample::take(&store, &task, CacheMode::Cold).unwrap();
        assert_eq!(taken.disagreement, None, "{variant}");
        (taken.executed.counters.key_count, taken.executed.speculative_pass)
    };
    let (alone, _) = read_count(in_order);
    for threads in [1, 2, 3, 8] {
        for _ in 0..10 {
            let (count, pass) = read_count(of(threads));
            let pass = pass.unwrap();
            assert_eq!(pass.requested_count, alone, "{threads}: {pass:?}");
            // Threads ahead may read keys that are not needed, but no key twice.
            assert_eq!(count, alone + pass.unused_count, "{threads}: {pass:?}");
            assert_eq!(pass.read_count, pass.found_count + pass.unused_count);
            if threads == 1 {
                assert_eq!(pass.read_count, 0, "nobody runs ahead");
            }
        }
    }
}
