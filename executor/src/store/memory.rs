//! State in hash maps, for tests and for measurements of the EVM without a device. Its samples are
//! never cold.

use std::{num::NonZeroUsize, sync::atomic::AtomicBool, thread};

use alloy_primitives::{Address, B256, Bytes, U256, map::HashMap};
use trie::Format;
use workload::{
    AccountFamily, Genesis, NetChanges, accounts::CodeHashes, genesis::AccountState,
    senders::SenderError,
};

mod tries;

use self::tries::{BaseTries, OverlaidTries, SampleTries};
use super::{
    Background, ReadCounters, Reader, Sample, Store, StoreError,
    handicap::{Handicap, SampleHandicap},
    overlay::Overlay,
};
use crate::tries::{StateTries, Tries};
use variant::{CacheMode, StoreKind};

/// Approximate number of bytes of a slot in memory. Key, value and control byte take 65 bytes. A
/// hash table doubles when 7/8 of it are full, so it takes 74 to 149 bytes for each slot.
const BYTES_PER_SLOT: u64 = 110;
/// Approximate number of bytes of an account in memory.
const BYTES_PER_ACCOUNT: u64 = 150;

/// Approximate number of bytes of the tries for each row, without nodes: the hashed key and the
/// value.
const TRIE_BYTES_PER_ROW: u64 = 110;

/// Approximate number of bytes of the nodes for each row, with their keys.
const fn node_bytes_per_row(format: Format) -> u64 {
    match format {
        Format::Cut(_) => 20,
        Format::RethLike => 40,
        Format::Branches => 120,
        Format::All => 300,
    }
}

/// A genesis that cannot be held in memory.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The genesis needs more memory than is allowed.
    #[error(
        "memory store: {slot_count} slots and {account_count} accounts need about {}, and {} are \
         allowed; lower state.slots, or take --store rocksdb",
        workload::size(*need_bytes), workload::size(*limit_bytes)
    )]
    TooLarge {
        /// Number of slots.
        slot_count: u64,
        /// Number of accounts.
        account_count: u64,
        /// Number of bytes that the slots and accounts would need.
        need_bytes: u64,
        /// Number of bytes that the store may use.
        limit_bytes: u64,
    },
    /// The addresses of senders could not be computed.
    #[error(transparent)]
    Senders(#[from] SenderError),
    /// The tries of the rows could not be built.
    #[error("memory store: cannot make a trie: {0}")]
    Tries(String),
}

type Slots = HashMap<U256, U256>;

/// Flat state in maps.
#[derive(Debug, Default)]
struct Maps {
    accounts: HashMap<Address, AccountState>,
    slots: HashMap<Address, Slots>,
    codes: HashMap<B256, Bytes>,
}

/// A whole state in memory.
#[derive(Debug)]
pub struct MemoryStore {
    base: Maps,
    tries: Option<BaseTries>,
    handicap: Option<Handicap>,
}

impl MemoryStore {
    /// Makes a store with all rows of `genesis` and, if `format` is given, with the nodes of all
    /// tries. The store may use `limit_bytes` of memory.
    ///
    /// # Errors
    /// [`MemoryError`].
    pub fn build(
        genesis: &Genesis,
        format: Option<Format>,
        limit_bytes: u64,
    ) -> Result<Self, MemoryError> {
        let row_bytes = format.map_or(0, |format| TRIE_BYTES_PER_ROW + node_bytes_per_row(format));
        check_size(genesis, row_bytes, limit_bytes)?;
        let mut store = Self::from_genesis(genesis)?;
        if let Some(format) = format {
            let tries = BaseTries::build(&store.base.accounts, &store.base.slots, format);
            store.tries = Some(tries.map_err(|error| MemoryError::Tries(error.to_string()))?);
        }
        Ok(store)
    }

    /// Adds `handicap` to the reads of all samples.
    #[must_use]
    pub fn with_handicap(self, handicap: Handicap) -> Self {
        Self { handicap: Some(handicap), ..self }
    }

    fn from_genesis(genesis: &Genesis) -> Result<Self, MemoryError> {
        let mut maps = Maps::default();
        for account in &genesis.accounts {
            let state = account.state();
            maps.accounts.insert(account.address, state);
            if !account.code.is_empty() {
                maps.codes.insert(state.code_hash, account.code.clone());
            }
            if !account.storage.is_empty() {
                maps.slots.insert(account.address, account.storage.iter().copied().collect());
            }
        }
        for family in &genesis.senders {
            let row = AccountState { balance: family.balance, ..AccountState::default() };
            for address in family.addresses(0..family.count)? {
                maps.accounts.insert(address, row);
            }
        }
        add_families(&mut maps, genesis);
        for family in &genesis.slots {
            let slots = maps.slots.entry(family.address).or_default();
            slots.reserve(usize::try_from(family.count).unwrap_or(usize::MAX));
            slots.extend((0..family.count).map(|i| (family.key(i), family.value(i))));
        }
        Ok(Self { base: maps, tries: None, handicap: None })
    }
}

/// Checks that the rows of `genesis` fit within `limit_bytes`. Each row takes `row_bytes` more than
/// its maps.
fn check_size(genesis: &Genesis, row_bytes: u64, limit_bytes: u64) -> Result<(), MemoryError> {
    let (slot_count, account_count) = (genesis.slot_count(), genesis.account_count());
    let codes = genesis.account_families.iter().map(AccountFamily::code_bytes);
    let need_bytes = slot_count
        .saturating_mul(BYTES_PER_SLOT + row_bytes)
        .saturating_add(codes.fold(0, u64::saturating_add))
        .saturating_add(account_count.saturating_mul(BYTES_PER_ACCOUNT + row_bytes));
    if need_bytes <= limit_bytes {
        return Ok(());
    }
    Err(MemoryError::TooLarge { slot_count, account_count, need_bytes, limit_bytes })
}

/// Adds the accounts and codes of families.
fn add_families(maps: &mut Maps, genesis: &Genesis) {
    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let hashes = CodeHashes::new(genesis, threads, &AtomicBool::new(false)).unwrap_or_default();
    for (family_index, family) in genesis.account_families.iter().enumerate() {
        for index in 0..family.count {
            let row = family.state(index, hashes.get(family_index, family, index));
            maps.accounts.insert(family.address(index), row);
        }
    }
    let codes = hashes.iter();
    maps.codes.extend(
        codes.map(|(hash, family, code)| (hash, genesis.account_families[family].code(code))),
    );
}

impl Store for MemoryStore {
    fn kind(&self) -> StoreKind {
        StoreKind::Memory
    }

    fn open_sample(&self, _cache: CacheMode) -> Result<Box<dyn Sample + '_>, StoreError> {
        Ok(Box::new(MemorySample {
            base: &self.base,
            overlay: Overlay::default(),
            tries: self.tries.as_ref().map(SampleTries::new),
            handicap: self.handicap.map(SampleHandicap::new),
        }))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = vec![("rows".to_owned(), "hash maps, all in memory".to_owned())];
        facts.extend(self.tries().map(|tries| tries.fact()));
        facts.extend(self.handicap.iter().flat_map(Handicap::facts));
        facts
    }

    fn tries(&self) -> Option<StateTries> {
        self.tries.as_ref().map(|tries| tries.known)
    }

    fn never_cold_reason(&self) -> Option<&'static str> {
        Some("the memory store has no device")
    }

    fn slots_per_block(&self) -> Option<f64> {
        None
    }
}

/// One sample: the base, which is never written, and the commits of the sample's batches.
#[derive(Debug)]
struct MemorySample<'s> {
    base: &'s Maps,
    overlay: Overlay,
    tries: Option<SampleTries<'s>>,
    handicap: Option<SampleHandicap>,
}

impl Sample for MemorySample<'_> {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, StoreError> {
        let reader = MemoryReader { sample: self, last: None, key_count: 0 };
        Ok(match &self.handicap {
            Some(handicap) => handicap.on(reader),
            None => Box::new(reader),
        })
    }

    fn commit(&self, changes: &NetChanges) -> Result<(), StoreError> {
        self.overlay.add(changes);
        Ok(())
    }

    fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn tries(&self) -> Option<Box<dyn Tries + '_>> {
        let tries = self.tries.as_ref()?;
        Some(Box::new(OverlaidTries { tries, overlay: &self.overlay }))
    }

    fn background(&self) -> Option<&dyn Background> {
        None
    }

    fn file_bytes(&self) -> Option<u64> {
        None
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}

/// One thread's reads of a [`MemorySample`].
#[derive(Debug)]
struct MemoryReader<'a> {
    sample: &'a MemorySample<'a>,
    /// Address of the last read, and the account's slots in the base. The next read is mostly of
    /// the same account.
    last: Option<(Address, Option<&'a Slots>)>,
    key_count: u64,
}

impl<'a> MemoryReader<'a> {
    /// Returns the slots of `address` in the base.
    #[inline]
    fn base_slots(&mut self, address: &Address) -> Option<&'a Slots> {
        if let Some((last, slots)) = self.last
            && last == *address
        {
            return slots;
        }
        let slots = self.sample.base.slots.get(address);
        self.last = Some((*address, slots));
        slots
    }
}

impl Reader for MemoryReader<'_> {
    fn is_timed(&self) -> bool {
        false
    }

    fn account(&mut self, address: &Address) -> Result<Option<AccountState>, StoreError> {
        self.key_count += 1;
        if let Some(found) = self.sample.overlay.find(|changed| changed.account(address)) {
            return Ok(found);
        }
        Ok(self.sample.base.accounts.get(address).copied())
    }

    #[inline]
    fn slot(&mut self, address: &Address, key: &U256) -> Result<U256, StoreError> {
        self.key_count += 1;
        if let Some(value) = self.sample.overlay.find(|changed| changed.slot(address, key)) {
            return Ok(value);
        }
        let slots = self.base_slots(address);
        Ok(slots.and_then(|slots| slots.get(key)).copied().unwrap_or_default())
    }

    fn code(&mut self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        self.key_count += 1;
        if let Some(code) = self.sample.overlay.find(|changed| changed.code(hash)) {
            return Ok(Some(code));
        }
        Ok(self.sample.base.codes.get(hash).cloned())
    }

    fn counters(&self) -> ReadCounters {
        ReadCounters { key_count: self.key_count, ..ReadCounters::default() }
    }
}
