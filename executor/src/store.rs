//! The interface of a store of flat state (rows of accounts, slots and codes) to engines, and the
//! facts that the store reports.
//!
//! A new store implements three traits: [`Store`] (a built state), [`Sample`] (that state open for
//! one timed execution) and [`Reader`] (one thread's reads). A store is chosen at run time: engines
//! see trait objects, and are compiled once for all stores.

use std::fmt;

use ::rocksdb::Cache;
use alloy_primitives::{Address, B256, Bytes, U256};
use trie::NodeKey;
use variant::{CacheMode, StoreKind};
use workload::{Layout, NetChanges, genesis::AccountState, layout::RowKey};

use crate::{
    place::{Places, RequestedRow, RowPages},
    state::BuiltState,
    tries::{StateTries, TrieId, Tries},
};

pub use crate::{
    background::{Background, Settled, WriteCounters},
    error::StoreError,
    read_counters::ReadCounters,
};

pub mod flat;
pub mod formats;
pub mod handicap;
mod hashed_overlay;
mod lookup;
pub mod mdbx;
pub mod memory;
mod ordered;
mod overlay;
pub mod recorded;
pub mod redis;
pub mod rocksdb;
mod sealed;
mod trie_stream;

/// A slot to read.
#[derive(Clone, Copy, Debug)]
pub struct SlotRow<'a> {
    /// Account of the slot.
    pub address: &'a Address,
    /// Key of the slot.
    pub key: U256,
    /// Key of the slot's row in the layout of [`Sample::row_layout`]; `None` if the caller has not
    /// computed it.
    pub row: Option<RowKey>,
}

/// Sizes of a reader's calls that suit the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSizes {
    /// Suitable number of keys for one call of [`Reader::slots`], if the keys are in any order.
    pub slots_per_call: usize,
    /// Suitable number of keys for one call, if the keys are in the order of their rows.
    pub rows_per_call: usize,
    /// True if a call of [`Reader::accounts`] reads its accounts together.
    pub reads_accounts_together: bool,
    /// Maximal number of reads that a call for many slots makes together. The time of each key is
    /// then the time of the whole call. `None` if a call reads one slot after the other.
    pub reads_at_once: Option<usize>,
}

impl CallSizes {
    /// Sizes for a reader that reads one key after the other.
    pub const ONE_BY_ONE: Self = Self {
        slots_per_call: 32,
        rows_per_call: 32,
        reads_accounts_together: false,
        reads_at_once: None,
    };

    /// True if a call for many slots reads them together.
    pub const fn reads_together(&self) -> bool {
        self.reads_at_once.is_some()
    }
}

/// One thread's reads of the state in the store: the state before the batch that executes.
pub trait Reader: fmt::Debug + Send {
    /// Returns whether the caller should time each read. Reading the clock takes about 50 ns, which
    /// is too much beside a read from a store in memory.
    fn is_timed(&self) -> bool;

    /// Reads an account; `None` if it does not exist.
    ///
    /// # Errors
    /// [`StoreError`].
    fn account(&mut self, address: &Address) -> Result<Option<AccountState>, StoreError>;

    /// Reads a slot's value; zero if the slot does not exist.
    ///
    /// # Errors
    /// [`StoreError`].
    fn slot(&mut self, address: &Address, key: &U256) -> Result<U256, StoreError>;

    /// Reads accounts, in any order. Calls `sink` once for each account, with its index in
    /// `addresses` and its state.
    ///
    /// # Errors
    /// [`StoreError`]; some accounts may have reached `sink` before.
    fn accounts(
        &mut self,
        addresses: &[Address],
        sink: &mut dyn FnMut(usize, Option<AccountState>),
    ) -> Result<(), StoreError> {
        for (index, address) in addresses.iter().enumerate() {
            sink(index, self.account(address)?);
        }
        Ok(())
    }

    /// Reads slots of any accounts. The caller puts slots of one account side by side. Calls `sink`
    /// once for each slot, with its index in `rows` and its value.
    ///
    /// # Errors
    /// [`StoreError`]; some slots may have reached `sink` before.
    fn slot_rows(
        &mut self,
        rows: &[SlotRow<'_>],
        sink: &mut dyn FnMut(usize, U256),
    ) -> Result<(), StoreError> {
        let mut keys = Vec::new();
        let mut first = 0;
        for account_rows in rows.chunk_by(|a, b| a.address == b.address) {
            keys.clear();
            keys.extend(account_rows.iter().map(|row| row.key));
            let address = account_rows[0].address;
            self.slots(address, &keys, &mut |index, value| sink(first + index, value))?;
            first += keys.len();
        }
        Ok(())
    }

    /// Reads `keys` of one account, in any order. Calls `sink` once for each key, with its index in
    /// `keys` and its value.
    ///
    /// # Errors
    /// [`StoreError`]; some keys may have reached `sink` before.
    fn slots(
        &mut self,
        address: &Address,
        keys: &[U256],
        sink: &mut dyn FnMut(usize, U256),
    ) -> Result<(), StoreError> {
        for (index, key) in keys.iter().enumerate() {
            sink(index, self.slot(address, key)?);
        }
        Ok(())
    }

    /// Sizes of this reader's calls that suit the store.
    fn call_sizes(&self) -> CallSizes {
        CallSizes::ONE_BY_ONE
    }

    /// Average number of device reads in flight during a call that reads `key_count` keys together
    /// from `block_count` blocks. At most `block_count`.
    fn reads_in_flight(&self, _key_count: usize, _block_count: u64) -> f64 {
        1.0
    }

    /// Reads the code with this hash; `None` if it does not exist.
    ///
    /// # Errors
    /// [`StoreError`].
    fn code(&mut self, hash: &B256) -> Result<Option<Bytes>, StoreError>;

    /// Counts of this reader's reads, on its thread, since it was made.
    fn counters(&self) -> ReadCounters;
}

/// A built state open for one sample.
pub trait Sample: fmt::Debug + Sync {
    /// Makes a reader for the calling thread. No other thread may use it.
    ///
    /// # Errors
    /// [`StoreError`].
    fn reader(&self) -> Result<Box<dyn Reader + '_>, StoreError>;

    /// Returns `count` readers, one for each fiber of the calling thread. If the store supports
    /// fibers, a reader that waits for the device lets the other fibers run. Otherwise the reader
    /// blocks the thread, as a reader of [`Sample::reader`] does.
    ///
    /// # Errors
    /// [`StoreError`].
    fn fiber_readers(&self, count: usize) -> Result<Vec<Box<dyn Reader + '_>>, StoreError> {
        (0..count).map(|_| self.reader()).collect()
    }

    /// Layout of the row keys if the store keeps its rows in the order of these keys. `None` if the
    /// order of reads does not matter.
    fn row_layout(&self) -> Option<Layout> {
        None
    }

    /// Writes the changes of a batch to flat state.
    ///
    /// # Errors
    /// [`StoreError`].
    fn commit(&self, changes: &NetChanges) -> Result<(), StoreError>;

    /// Waits until all commits are durable on the device, even if the store's settings make commits
    /// less durable. Does nothing in a store without files.
    ///
    /// # Errors
    /// [`StoreError`].
    fn sync(&self) -> Result<(), StoreError>;

    /// The state's tries; `None` if the state has no tries.
    fn tries(&self) -> Option<Box<dyn Tries + '_>> {
        None
    }

    /// The store's background work, such as compactions. `None` if the store does all its work
    /// inside its calls. There is no default, since a wrapper must return the background work of
    /// the sample that it wraps.
    fn background(&self) -> Option<&dyn Background>;

    /// Number of bytes of the sample's files now; `None` if the store has no such files or cannot
    /// read their sizes.
    fn file_bytes(&self) -> Option<u64>;

    /// Finds the blocks of the store's files that this sample reads for `rows`.
    ///
    /// # Errors
    /// The reason why the blocks are unknown, as a sentence.
    fn locate(&self, _rows: &[RequestedRow]) -> Result<Places, String> {
        Err("the store has no files".to_owned())
    }

    /// Ends the sample and undoes its commits.
    ///
    /// # Errors
    /// [`StoreError`].
    fn close(self: Box<Self>) -> Result<(), StoreError>;
}

/// The block cache of warm samples. RocksDB's key of a block names the block's file, whatever
/// directory links to that file. So a store that is closed and opened again finds its blocks.
#[derive(Clone)]
pub struct WarmBlocks(pub(crate) Cache);

impl fmt::Debug for WarmBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WarmBlocks").field(&self.0.get_usage()).finish()
    }
}

/// A built state.
pub trait Store: fmt::Debug + Send + Sync {
    /// Kind of the store, the first part of a variant's name.
    fn kind(&self) -> StoreKind;

    /// Opens the state for one sample, with indices and filters in memory. If `cache` is cold, no
    /// value is cached.
    ///
    /// # Errors
    /// [`StoreError`].
    fn open_sample(&self, cache: CacheMode) -> Result<Box<dyn Sample + '_>, StoreError>;

    /// Empties the block cache that warm samples share, if the store has one. Called at the end of
    /// a cold sample: the check of its state root opens a warm sample, whose blocks are not needed
    /// again.
    fn clear_warm_blocks(&self) {}

    /// Block cache of the store's warm samples. `None` before the first warm sample, and for a
    /// store without a block cache.
    fn warm_blocks(&self) -> Option<WarmBlocks> {
        None
    }

    /// Makes warm samples use `blocks`, the block cache of an earlier store over the same state.
    /// Has no effect after the first warm sample of this store.
    fn use_warm_blocks(&self, _blocks: &WarmBlocks) {}

    /// Facts of the store's files and settings for the result: names and values.
    fn facts(&self) -> Vec<(String, String)>;

    /// Reason why a sample cannot be cold; `None` if it can be. `memory` always has a reason.
    fn never_cold_reason(&self) -> Option<&'static str>;

    /// Facts of the state's tries; `None` if the state has no tries.
    fn tries(&self) -> Option<StateTries> {
        None
    }

    /// The state's files; `None` for a store without files.
    fn built_state(&self) -> Option<&BuiltState> {
        None
    }

    /// Reason why rows of this store move during a sample, so that [`Sample::locate`] fails. `None`
    /// if rows stay in place.
    fn rows_move_reason(&self) -> Option<&'static str> {
        None
    }

    /// True if the search for an absent row reads a block; false if a filter makes that read
    /// unnecessary.
    fn reads_absent_rows(&self) -> bool {
        true
    }

    /// True if a block that one call has read stays in memory for later calls.
    fn keeps_blocks(&self) -> bool {
        true
    }

    /// Maximal number of adjacent blocks that the store reads by one request to the device.
    fn merged_block_count_max(&self) -> usize {
        1
    }

    /// Counts the pages of files that hold the given rows and nodes of tries, and counts how many
    /// of these pages are in memory. `None` if a cold sample reads past the page cache.
    fn row_pages(
        &self,
        _rows: &[RequestedRow],
        _nodes: &[(TrieId, NodeKey)],
    ) -> Option<Result<RowPages, String>> {
        None
    }

    /// Approximate number of slots in a block of 4 KiB; `None` if the store has no blocks or does
    /// not know the number yet.
    fn slots_per_block(&self) -> Option<f64>;
}
