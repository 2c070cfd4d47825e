//! A store made worse on purpose: each read takes longer, or one key is read twice. It exists to
//! judge those who judge: a gate that does not see what is known to be there is worth nothing.
//!
//! Never used in a measurement unless it was asked for by name; then the store's facts say so.

use std::{
    hint,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use alloy_primitives::{Address, B256, Bytes, U256};
use workload::{Layout, NetChanges, genesis::AccountState};

use super::{
    Background, Batching, ReadCounters, Reader, Sample, SlotRow, Store, StoreError,
    memory::MemoryStore,
};
use crate::tries::{StateTries, Tries};
use variant::{CacheMode, StoreKind};

/// Shortest delay that is spent at once.
const LEAST_DELAY: Duration = Duration::from_micros(2);

/// The handicapped operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handicap {
    /// Time that each read of an account or a slot takes longer. It is spent computing: no clock
    /// of the system is fine enough to sleep for it.
    pub read_delay: Duration,
    /// Whether the first slot that a sample reads is read a second time.
    pub reads_one_twice: bool,
}

impl Handicap {
    /// Whether nothing is made worse.
    pub const fn is_none(&self) -> bool {
        self.read_delay.is_zero() && !self.reads_one_twice
    }
}

/// The memory store under a handicap.
#[derive(Debug)]
pub struct Handicapped {
    store: MemoryStore,
    handicap: Handicap,
}

impl Handicapped {
    /// `store`, made worse.
    pub const fn new(store: MemoryStore, handicap: Handicap) -> Self {
        Self { store, handicap }
    }
}

impl Store for Handicapped {
    fn kind(&self) -> StoreKind {
        self.store.kind()
    }

    fn open_sample(&self, cache: CacheMode) -> Result<Box<dyn Sample + '_>, StoreError> {
        let Handicap { read_delay, reads_one_twice } = self.handicap;
        let sample = self.store.open_sample(cache)?;
        let is_due = AtomicBool::new(reads_one_twice);
        Ok(Box::new(HandicappedSample { sample, read_delay, is_due }))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = self.store.facts();
        let delay = self.handicap.read_delay.as_nanos().to_string();
        facts.push(("handicap_read_delay_ns".to_owned(), delay));
        let twice = self.handicap.reads_one_twice.to_string();
        facts.push(("handicap_reads_one_twice".to_owned(), twice));
        facts
    }

    fn never_cold(&self) -> Option<&'static str> {
        self.store.never_cold()
    }

    fn slots_per_block(&self) -> Option<f64> {
        self.store.slots_per_block()
    }

    fn tries(&self) -> Option<StateTries> {
        self.store.tries()
    }
}

/// A sample of a store under a handicap.
#[derive(Debug)]
struct HandicappedSample<'s> {
    sample: Box<dyn Sample + 's>,
    read_delay: Duration,
    /// Whether a slot is still to be read twice.
    is_due: AtomicBool,
}

impl Sample for HandicappedSample<'_> {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, StoreError> {
        let reader = self.sample.reader()?;
        let owed = Duration::ZERO;
        let (read_delay, is_due) = (self.read_delay, &self.is_due);
        Ok(Box::new(HandicappedReader { reader, read_delay, owed, is_due }))
    }

    fn row_layout(&self) -> Option<Layout> {
        self.sample.row_layout()
    }

    fn commit(&self, changes: &NetChanges) -> Result<(), StoreError> {
        self.sample.commit(changes)
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.sample.sync()
    }

    fn tries(&self) -> Option<Box<dyn Tries + '_>> {
        self.sample.tries()
    }

    fn background(&self) -> Option<&dyn Background> {
        self.sample.background()
    }

    fn file_bytes(&self) -> Option<u64> {
        self.sample.file_bytes()
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        self.sample.close()
    }
}

/// One thread's reads under a handicap.
#[derive(Debug)]
struct HandicappedReader<'a> {
    reader: Box<dyn Reader + 'a>,
    read_delay: Duration,
    /// Delay that is due and was not spent yet.
    owed: Duration,
    is_due: &'a AtomicBool,
}

impl HandicappedReader<'_> {
    /// Delays so many reads. Small delays are saved up: looking at the clock takes as long as
    /// some of them.
    fn delay(&mut self, read_count: usize) {
        let count = u32::try_from(read_count).unwrap_or(u32::MAX);
        self.owed += self.read_delay.saturating_mul(count);
        if self.owed < LEAST_DELAY {
            return;
        }
        let begun = Instant::now();
        let spent = loop {
            let spent = begun.elapsed();
            if spent >= self.owed {
                break spent;
            }
            hint::spin_loop();
        };
        self.owed = self.owed.saturating_sub(spent);
    }

    /// Reads a slot once more than is needed, where that is due.
    fn read_again(&mut self, address: &Address, key: &U256) -> Result<(), StoreError> {
        if self.is_due.load(Ordering::Relaxed) && self.is_due.swap(false, Ordering::Relaxed) {
            self.reader.slot(address, key)?;
        }
        Ok(())
    }
}

impl Reader for HandicappedReader<'_> {
    fn is_timed(&self) -> bool {
        self.reader.is_timed()
    }

    fn account(&mut self, address: &Address) -> Result<Option<AccountState>, StoreError> {
        self.delay(1);
        self.reader.account(address)
    }

    fn slot(&mut self, address: &Address, key: &U256) -> Result<U256, StoreError> {
        self.delay(1);
        self.read_again(address, key)?;
        self.reader.slot(address, key)
    }

    fn accounts(
        &mut self,
        addresses: &[Address],
        sink: &mut dyn FnMut(usize, Option<AccountState>),
    ) -> Result<(), StoreError> {
        self.delay(addresses.len());
        self.reader.accounts(addresses, sink)
    }

    fn slot_rows(
        &mut self,
        rows: &[SlotRow<'_>],
        sink: &mut dyn FnMut(usize, U256),
    ) -> Result<(), StoreError> {
        self.delay(rows.len());
        if let [first, ..] = rows {
            self.read_again(first.address, &first.key)?;
        }
        self.reader.slot_rows(rows, sink)
    }

    fn slots(
        &mut self,
        address: &Address,
        keys: &[U256],
        sink: &mut dyn FnMut(usize, U256),
    ) -> Result<(), StoreError> {
        self.delay(keys.len());
        if let [first, ..] = keys {
            self.read_again(address, first)?;
        }
        self.reader.slots(address, keys, sink)
    }

    fn batching(&self) -> Batching {
        self.reader.batching()
    }

    fn at_once(&self, key_count: usize, block_count: u64) -> f64 {
        self.reader.at_once(key_count, block_count)
    }

    fn code(&mut self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        self.reader.code(hash)
    }

    fn counters(&self) -> ReadCounters {
        self.reader.counters()
    }
}

#[cfg(test)]
mod tests {
    use workload::Genesis;

    use super::*;

    fn counted(handicap: Handicap) -> u64 {
        let store = MemoryStore::build(&Genesis::default(), u64::MAX).unwrap();
        let store = Handicapped::new(store, handicap);
        let sample = store.open_sample(CacheMode::Warm).unwrap();
        let mut reader = sample.reader().unwrap();
        for key in 0..5_u64 {
            assert_eq!(reader.slot(&Address::ZERO, &U256::from(key)).unwrap(), U256::ZERO);
        }
        let counted = reader.counters().key_count;
        drop(reader);
        sample.close().unwrap();
        counted
    }

    #[test]
    fn one_key_read_twice_is_one_read_more_in_a_sample() {
        assert_eq!(counted(Handicap::default()), 5);
        let twice = Handicap { reads_one_twice: true, ..Handicap::default() };
        assert_eq!(counted(twice), 6);
        let slow = Handicap { read_delay: Duration::from_nanos(10), ..Handicap::default() };
        assert_eq!(counted(slow), 5);
    }

    #[test]
    fn the_facts_of_a_store_under_a_handicap_say_so() {
        let store = MemoryStore::build(&Genesis::default(), u64::MAX).unwrap();
        let read_delay = Duration::from_nanos(7);
        let store = Handicapped::new(store, Handicap { read_delay, reads_one_twice: true });
        let facts = store.facts();
        let fact = |name: &str| facts.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        assert_eq!(fact("handicap_read_delay_ns"), Some("7"));
        assert_eq!(fact("handicap_reads_one_twice"), Some("true"));
        assert!(!Handicap { read_delay, reads_one_twice: false }.is_none());
    }
}
