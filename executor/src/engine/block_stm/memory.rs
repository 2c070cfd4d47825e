//! The state of a batch during execution: a cell with an id for each key that a step has touched.
//! With the id, a later access to the cell needs no search by the whole key. The first step that
//! needs a key's value before the batch reads it from the store; the others wait.

use std::{
    fmt,
    hash::{BuildHasher, Hash},
    sync::{
        Mutex, MutexGuard, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use alloy_primitives::{
    Address, B256, U256,
    map::{DefaultHashBuilder, Entry, HashMap},
};
use revm::state::Bytecode;
use workload::genesis::AccountState;

use super::cell::Cell;
use crate::{
    engine::gates::Gates, lock::lock, shards::versions::AccountVersion, single_flight::SingleFlight,
};

/// Number of maps that make a table, each with a lock. There are far more maps than threads, so
/// that threads seldom wait for the same lock.
const MAP_COUNT: usize = 256;
/// Number of cells in each of the first [`CHUNKS_OF_A_SIZE`] chunks. Later chunks are larger, so
/// that few chunks have room for all cells.
const FIRST_CHUNK: usize = 1024;
/// Number of chunks of one size.
const CHUNKS_OF_A_SIZE: usize = 64;
/// Number of chunk sizes, each twice the size before. The chunks have room for 268 million keys,
/// more than fit in memory.
const SIZES: usize = 12;

/// A key's index in its table, which is also the index of its cell.
pub(super) type CellId = u32;

/// An account as a step of the batch left it.
#[derive(Clone, Debug, Default, Eq)]
pub(super) struct Account {
    /// `None` if the account does not exist; never an empty account (EIP-161).
    pub(super) state: Option<AccountState>,
    /// The code, if the batch may have created it, so that the store does not have it.
    pub(super) code: Option<Bytecode>,
    /// True if the batch created the account. Then slots that no step wrote are zero, whatever the
    /// store has.
    pub(super) is_born: bool,
}

impl PartialEq for Account {
    fn eq(&self, other: &Self) -> bool {
        // The code's hash in `state` stands for the code.
        self.state == other.state && self.is_born == other.is_born
    }
}

/// An account that a step of the batch wrote, as a later step read it.
pub(super) type SeenAccount = AccountVersion;

impl Account {
    /// The account before the batch.
    pub(super) fn from_base(state: Option<AccountState>) -> Self {
        Self { state, ..Self::default() }
    }
}

impl From<&Account> for SeenAccount {
    fn from(account: &Account) -> Self {
        Self { state: account.state, is_born: account.is_born }
    }
}

impl From<SeenAccount> for Account {
    fn from(seen: SeenAccount) -> Self {
        Self { state: seen.state, code: None, is_born: seen.is_born }
    }
}

impl PartialEq<Account> for SeenAccount {
    fn eq(&self, account: &Account) -> bool {
        *self == Self::from(account)
    }
}

/// A cell with its key.
#[derive(Debug)]
pub(super) struct Keyed<K, B, V> {
    /// The whole key.
    pub(super) key: K,
    /// The value before the batch, and the writes of steps.
    pub(super) cell: Cell<B, V>,
}

type Chunk<K, B, V> = Box<[Mutex<Keyed<K, B, V>>]>;

/// Cells by key and by id.
pub(super) struct Table<K, B, V> {
    maps: Vec<Mutex<HashMap<K, CellId>>>,
    /// Randomly seeded, like the maps' own hashers, because keys may be crafted to collide.
    hasher: DefaultHashBuilder,
    chunks: Vec<OnceLock<Chunk<K, B, V>>>,
    count: AtomicU32,
}

/// The cells of accounts.
pub(super) type Accounts = Table<Address, Option<AccountState>, Account>;
/// The cells of slots, by the id of their account and their key.
pub(super) type Slots = Table<(CellId, U256), U256, U256>;

impl<K, B, V> fmt::Debug for Table<K, B, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("count", &self.count).finish_non_exhaustive()
    }
}

impl<K: Copy + Default + Eq + Hash, B: Clone, V: Clone + PartialEq> Table<K, B, V> {
    /// Makes an empty table with room for about `expected` keys.
    fn new(expected: usize) -> Self {
        let maps = (0..MAP_COUNT)
            .map(|_| HashMap::with_capacity_and_hasher(expected / MAP_COUNT, <_>::default()));
        Self {
            maps: maps.map(Mutex::new).collect(),
            hasher: DefaultHashBuilder::default(),
            chunks: (0..CHUNKS_OF_A_SIZE * SIZES).map(|_| OnceLock::new()).collect(),
            count: AtomicU32::new(0),
        }
    }

    /// Returns the id of `key`. A new key gets the next id.
    pub(super) fn id(&self, key: &K) -> CellId {
        let map = &self.maps[self.hasher.hash_one(key) as usize % MAP_COUNT];
        match lock(map).entry(*key) {
            Entry::Occupied(occupied) => *occupied.get(),
            Entry::Vacant(vacant) => {
                let id = self.count.fetch_add(1, Ordering::Relaxed);
                self.cell(id).key = *key;
                *vacant.insert(id)
            }
        }
    }

    /// Returns the number of keys.
    pub(super) fn count(&self) -> CellId {
        self.count.load(Ordering::Relaxed)
    }

    /// Locks the cell with this id.
    #[inline]
    pub(super) fn cell(&self, id: CellId) -> MutexGuard<'_, Keyed<K, B, V>> {
        let (chunk, size, offset) = locate(id as usize);
        let cells = self.chunks[chunk].get_or_init(|| {
            (0..size)
                .map(|_| Keyed { key: K::default(), cell: Cell::default() })
                .map(Mutex::new)
                .collect()
        });
        lock(&cells[offset])
    }

    /// Returns whether the value before the batch of the key with this id is known.
    pub(super) fn has_base(&self, id: CellId) -> bool {
        self.cell(id).cell.base().is_some()
    }
}

/// Returns a cell's chunk, the size of the chunk, and the cell's offset in the chunk.
#[inline]
const fn locate(id: usize) -> (usize, usize, usize) {
    const FIRST_SIZE: usize = FIRST_CHUNK * CHUNKS_OF_A_SIZE;
    let power = (id / FIRST_SIZE + 1).ilog2() as usize;
    let offset = id - ((1 << power) - 1) * FIRST_SIZE;
    let size = FIRST_CHUNK << power;
    (power * CHUNKS_OF_A_SIZE + offset / size, size, offset % size)
}

/// The state that the workers of a batch share.
#[derive(Debug)]
pub(super) struct Memory {
    /// Accounts; the beneficiaries have the first ids.
    pub(super) accounts: Accounts,
    /// Slots.
    pub(super) slots: Slots,
    /// Condition variables for waits for another worker's read of an account or slot.
    pub(super) gates: Gates,
    /// Codes that runs have read, by hash; each code is analysed once.
    pub(super) codes: SingleFlight<B256, Bytecode>,
}

impl Memory {
    /// Makes the memory for a batch of `step_count` steps.
    pub(super) fn new(step_count: usize) -> Self {
        Self {
            accounts: Table::new(step_count * 2),
            slots: Table::new(step_count),
            gates: Gates::new(),
            codes: SingleFlight::default(),
        }
    }

    /// Returns the address of the account with this id.
    pub(super) fn address(&self, id: CellId) -> Address {
        self.accounts.cell(id).key
    }

    /// Returns the account and the key of the slot with this id.
    pub(super) fn slot(&self, id: CellId) -> (Address, U256) {
        let (account, key) = self.slots.cell(id).key;
        (self.address(account), key)
    }

    /// Returns the id of a slot. A new slot gets the next id.
    pub(super) fn slot_id(&self, address: &Address, key: &U256) -> CellId {
        self.slots.id(&(self.accounts.id(address), *key))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_number_has_a_place_of_its_own() {
        let mut offsets = BTreeSet::new();
        let most = FIRST_CHUNK * CHUNKS_OF_A_SIZE * ((1 << SIZES) - 1);
        let ids = (0..700_000).chain(most - 10..most);
        for id in ids.clone() {
            let (chunk, size, offset) = locate(id);
            assert!(offset < size && chunk < CHUNKS_OF_A_SIZE * SIZES, "{id}");
            assert!(offsets.insert((chunk, offset)), "{id}");
        }
        assert_eq!(offsets.len(), ids.count());
    }

    #[test]
    fn a_key_has_one_number_whichever_thread_asks_first() {
        let table = Table::<u64, u64, u64>::new(0);
        let ids = || (0..5000).map(|key| table.id(&key)).collect::<Vec<_>>();
        let all: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(ids)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(all.iter().all(|ids| *ids == all[0]));
        assert_eq!(table.count(), 5000);
        assert!(all[0].iter().zip(0..).all(|(id, key)| table.cell(*id).key == key));
    }
}
