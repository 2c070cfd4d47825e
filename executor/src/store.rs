//! The interface of a store of flat state to engines, and the facts that it reports.
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
    place::{AskedRow, Places, RowPages},
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

/// A slot to read, with the key of its row where the caller has made it already.
#[derive(Clone, Copy, Debug)]
pub struct SlotRow<'a> {
    /// The account that has it.
    pub address: &'a Address,
    /// Key of the slot.
    pub key: U256,
    /// Key of its row in the layout of [`Sample::row_layout`].
    pub row: Option<RowKey>,
}

/// Batches that suit a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batching {
    /// Keys for one call of [`Reader::slots`], if they do not come in the order of their rows.
    pub slots_per_call: usize,
    /// Keys for one call, if they come in the order of their rows.
    pub rows_per_call: usize,
    /// True if [`Reader::accounts`] reads together, too.
    pub reads_accounts_together: bool,
    /// Maximal number of reads that a call for many slots makes together. Each key then takes as
    /// long as all. `None`: one after the other.
    pub reads_at_once: Option<usize>,
}

impl Batching {
    /// Batching of a reader that reads one key after the other.
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

/// One thread's view of the state below the batch.
pub trait Reader: fmt::Debug + Send {
    /// Whether each read is long enough to be timed: a clock costs about 50 ns a read.
    fn is_timed(&self) -> bool;

    /// The account, or `None` where it does not exist.
    ///
    /// # Errors
    /// [`StoreError`].
    fn account(&mut self, address: &Address) -> Result<Option<AccountState>, StoreError>;

    /// The slot's value, zero where it does not exist.
    ///
    /// # Errors
    /// [`StoreError`].
    fn slot(&mut self, address: &Address, key: &U256) -> Result<U256, StoreError>;

    /// Reads accounts, in any order. Calls `sink` once for each, with its index in `addresses` and
    /// its row.
    ///
    /// # Errors
    /// [`StoreError`]; some accounts may have reached `sink` before.
    fn accounts(
        &mut self,
        addresses: &[Address],
        sink: &mut dyn FnMut(usize, Option<AccountState>),
    ) -> Result<(), StoreError> {
        for (place, address) in addresses.iter().enumerate() {
            sink(place, self.account(address)?);
        }
        Ok(())
    }

    /// Reads slots of any accounts; slots of an account are adjacent. Calls `sink` once for each,
    /// with its index in `rows` and its value.
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
        while let Some(SlotRow { address, .. }) = rows.get(first) {
            let of_account = rows[first..].iter().take_while(|row| row.address == *address);
            keys.clear();
            keys.extend(of_account.map(|row| row.key));
            self.slots(address, &keys, &mut |place, value| sink(first + place, value))?;
            first += keys.len();
        }
        Ok(())
    }

    /// Reads `keys` of one account, in any order. Calls `sink` once for each, with its index in
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
        for (place, key) in keys.iter().enumerate() {
            sink(place, self.slot(address, key)?);
        }
        Ok(())
    }

    /// Batch sizes that suit this reader.
    fn batching(&self) -> Batching {
        Batching::ONE_BY_ONE
    }

    /// Average number of device reads in flight during a call that reads `key_count` keys together,
    /// and `block_count` blocks for them. At most `block_count`.
    fn at_once(&self, _key_count: usize, _block_count: u64) -> f64 {
        1.0
    }

    /// The code with this hash.
    ///
    /// # Errors
    /// [`StoreError`].
    fn code(&mut self, hash: &B256) -> Result<Option<Bytes>, StoreError>;

    /// Counts of this reader's reads on the calling thread since it was made.
    fn counters(&self) -> ReadCounters;
}

/// A built state open for one sample.
pub trait Sample: fmt::Debug + Sync {
    /// A reader for the calling thread. No other thread may use it.
    ///
    /// # Errors
    /// [`StoreError`].
    fn reader(&self) -> Result<Box<dyn Reader + '_>, StoreError>;

    /// Readers for as many fibers of the calling thread. Where the store can, a reader that waits
    /// for the device lets the other fibers run. Otherwise it blocks the thread, as that of
    /// [`Sample::reader`] does.
    ///
    /// # Errors
    /// [`StoreError`].
    fn fiber_readers(&self, count: usize) -> Result<Vec<Box<dyn Reader + '_>>, StoreError> {
        (0..count).map(|_| self.reader()).collect()
    }

    /// Key layout if rows lie in the order of their keys; `None` where no order is better than
    /// another.
    fn row_layout(&self) -> Option<Layout> {
        None
    }

    /// Writes the changes of a batch to flat state.
    ///
    /// # Errors
    /// [`StoreError`].
    fn commit(&self, changes: &NetChanges) -> Result<(), StoreError>;

    /// Returns once the device has all commits, whatever the store's settings say about the end of
    /// a commit. A store without files has nothing to wait for.
    ///
    /// # Errors
    /// [`StoreError`].
    fn sync(&self) -> Result<(), StoreError>;

    /// The state's tries; `None` where it has none.
    fn tries(&self) -> Option<Box<dyn Tries + '_>> {
        None
    }

    /// Work beside commits; `None` for a store that does all of it inside its calls. There is no
    /// default, since a wrapper must hand out that of the sample below.
    fn background(&self) -> Option<&dyn Background>;

    /// Bytes of the sample's files now; `None` where there are none or they cannot be read.
    fn file_bytes(&self) -> Option<u64>;

    /// Places of `rows` in the store's files: the blocks that this sample reads.
    ///
    /// # Errors
    /// The reason, in words.
    fn locate(&self, _rows: &[AskedRow]) -> Result<Places, String> {
        Err("the store has no files".to_owned())
    }

    /// Ends the sample and undoes its commits.
    ///
    /// # Errors
    /// [`StoreError`].
    fn close(self: Box<Self>) -> Result<(), StoreError>;
}

/// The block cache of warm samples. A block's key names its file, whichever directory links to the
/// file. So a store that is closed and opened again finds its blocks.
#[derive(Clone)]
pub struct WarmBlocks(pub(crate) Cache);

impl fmt::Debug for WarmBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WarmBlocks").field(&self.0.get_usage()).finish()
    }
}

/// A built state.
pub trait Store: fmt::Debug + Send + Sync {
    /// Kind of the store, which variants name.
    fn kind(&self) -> StoreKind;

    /// Opens the state for one sample, with indices and filters loaded. If `cache` is cold, no
    /// value is cached.
    ///
    /// # Errors
    /// [`StoreError`].
    fn open_sample(&self, cache: CacheMode) -> Result<Box<dyn Sample + '_>, StoreError>;

    /// Forgets the blocks that warm samples share, where the store keeps any. The check of a cold
    /// sample leaves some blocks there, which other samples do not read.
    fn forget_warm(&self) {}

    /// Blocks of the store's warm samples; `None` before the first one, and where the store keeps
    /// none.
    fn warm_blocks(&self) -> Option<WarmBlocks> {
        None
    }

    /// Gives `blocks` to its warm samples, from an earlier store over the same state. Has no effect
    /// after its own first warm sample.
    fn keep_warm(&self, _blocks: &WarmBlocks) {}

    /// Facts of the files and settings for the result: names and values.
    fn facts(&self) -> Vec<(String, String)>;

    /// Reason why a sample cannot be cold; `memory` always has one.
    fn never_cold(&self) -> Option<&'static str>;

    /// Facts of the state's tries; `None` where it has none.
    fn tries(&self) -> Option<StateTries> {
        None
    }

    /// The state's files, where there are any.
    fn built_state(&self) -> Option<&BuiltState> {
        None
    }

    /// Reason for a failure of [`Sample::locate`]: rows of this store move during a sample. `None`
    /// where they stay.
    fn moves_rows(&self) -> Option<&'static str> {
        None
    }

    /// True if a block is read for a row that does not exist; false if a filter answers.
    fn reads_absent_rows(&self) -> bool {
        true
    }

    /// True if a block that one call has read is in memory for later calls.
    fn keeps_blocks(&self) -> bool {
        true
    }

    /// Maximal number of adjacent blocks that one request reads for a call.
    fn merged_block_count_max(&self) -> usize {
        1
    }

    /// Counts the pages that hold `rows` or the given nodes of tries, and those of them in memory.
    /// `None` if a cold sample reads past the page cache.
    fn row_pages(
        &self,
        _rows: &[AskedRow],
        _nodes: &[(TrieId, NodeKey)],
    ) -> Option<Result<RowPages, String>> {
        None
    }

    /// Approximate number of slots in a block of 4 KiB; `None` where there are no blocks, or the
    /// number is not known yet.
    fn slots_per_block(&self) -> Option<f64>;
}
