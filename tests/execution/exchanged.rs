//! Two exchanged values are found. A storm that only reads leaves nothing but its result, and the
//! result depends on the order of the values.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{num::NonZeroUsize, sync::atomic::AtomicBool};

use alloy_primitives::{Address, U256, keccak256};
use executor::{
    engine::Task,
    sample::{self, Disagreement},
    store::memory::MemoryStore,
};
use generator::{artifact::Contract, reference};
use spec::Scenario;
use variant::{CacheMode, Design, Variant};
use workload::{GenesisAccount, Workload};

const STORM: Address = Address::repeat_byte(0xaa);
const SEED: U256 = U256::from_limbs([7, 0, 0, 0]);
/// More than one block of the unrolled loop, with a rest.
const SLOT_COUNT: u64 = 70;

fn key(index: u64) -> U256 {
    keccak256([SEED.to_be_bytes::<32>(), U256::from(index).to_be_bytes::<32>()].concat()).into()
}

/// A block whose first transaction reads [`SLOT_COUNT`] slots of a storm.
fn workload() -> Workload {
    let text = "schema = 1\nname = \"s\"\ndescription = \"\"\n[state]\naccounts = 5\n\
        slots = 3_000\n[block]\ngas = \"2M\"\ntx_gas = \"1M\"\n[[load]]\nkind = \"sload-storm\"\n";
    let scenario = Scenario::parse("s.toml", text, &[]).unwrap();
    let mut workload = generator::generate(&scenario, |_| ()).unwrap();
    let mut storage: Vec<_> = (0..SLOT_COUNT).map(|i| (key(i), U256::from(1_000 + i))).collect();
    storage.sort_unstable();
    let code = Contract::KeccakStorm.code().unwrap();
    let account = GenesisAccount { address: STORM, code, storage, ..GenesisAccount::default() };
    workload.genesis.accounts.push(account);
    workload.genesis.accounts.sort_by_key(|account| account.address);
    let tx = &mut workload.batches[0].blocks[0].transactions[0];
    let words = [SEED, U256::ZERO, U256::from(SLOT_COUNT)].map(|word| word.to_be_bytes::<32>());
    (tx.to, tx.input) = (Some(STORM), words.concat().into());
    reference::complete(&mut workload, || ()).unwrap_or_else(|e| panic!("{e}"));
    workload
}

fn disagreement(store: &MemoryStore, workload: &Workload, design: Design) -> Option<Disagreement> {
    let two = NonZeroUsize::new(2).unwrap();
    let variant = Variant::of(design, two, two);
    let lists = sample::lists_for(workload, variant.list, Vec::new).unwrap();
    let cancel = AtomicBool::new(false);
    let task = Task::new(workload, &lists, variant, &cancel);
    sample::take(store, &task, CacheMode::Cold).unwrap().disagreement
}

#[test]
fn two_values_of_a_store_in_each_others_place_are_a_disagreement() {
    let workload = workload();
    // A full list has the values, and so rejects them earlier.
    let designs = Design::ALL.iter().copied().filter(|design| *design != Design::Full);
    for (one, other) in [(0, 1), (0, 2), (3, 69), (67, 68), (31, 64)] {
        let mut genesis = workload.genesis.clone();
        let storm = genesis.accounts.iter_mut().find(|account| account.address == STORM).unwrap();
        let place = |index| storm.storage.iter().position(|(at, _)| *at == key(index)).unwrap();
        let (one, other) = (place(one), place(other));
        let values = [storm.storage[one].1, storm.storage[other].1];
        (storm.storage[one].1, storm.storage[other].1) = (values[1], values[0]);
        let right = MemoryStore::build(&workload.genesis, None, 1 << 30).unwrap();
        let wrong = MemoryStore::build(&genesis, None, 1 << 30).unwrap();
        for design in designs.clone() {
            assert_eq!(disagreement(&right, &workload, design), None, "{design}");
            let found = disagreement(&wrong, &workload, design);
            let is_told =
                matches!(found, Some(Disagreement::Outcome { batch: 0, tx_index: 0, .. }));
            assert!(is_told, "{design}: {found:?}");
        }
    }
}
