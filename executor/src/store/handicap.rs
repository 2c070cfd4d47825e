//! A known slowdown of a store, to test the gate: each read takes longer, or one key is read twice.
//! A gate that misses a known slowdown is worthless.
//!
//! Only `memory` can have a handicap, and only on request. The facts in the result then show it.

use std::{
    hint,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use alloy_primitives::{Address, B256, Bytes, U256};
use workload::genesis::AccountState;

use super::{ReadCounters, Reader, StoreError};

/// Shortest time that a thread spins. Shorter delays are added up until they reach this time.
const DELAY_MIN: Duration = Duration::from_micros(2);

/// Slowdown of reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handicap {
    /// Extra time of each read of an account or a slot. The thread spins, since the system cannot
    /// sleep for so short a time.
    pub read_delay: Duration,
    /// Whether the first slot that a sample reads is read a second time.
    pub reads_one_twice: bool,
}

impl Handicap {
    /// Whether there is no slowdown.
    pub const fn is_none(&self) -> bool {
        self.read_delay.is_zero() && !self.reads_one_twice
    }

    /// Both slowdowns as facts of a store: names and values.
    pub(super) fn facts(&self) -> [(String, String); 2] {
        let delay = self.read_delay.as_nanos().to_string();
        let twice = self.reads_one_twice.to_string();
        [("handicap_read_delay_ns", delay), ("handicap_reads_one_twice", twice)]
            .map(|(name, value)| (name.to_owned(), value))
    }
}

/// The handicap of a sample.
#[derive(Debug)]
pub(super) struct SampleHandicap {
    read_delay: Duration,
    /// True until the sample reads its first slot, if that slot is to be read twice.
    is_due: AtomicBool,
}

impl SampleHandicap {
    /// Makes the handicap of a sample without reads so far.
    pub(super) const fn new(handicap: Handicap) -> Self {
        let Handicap { read_delay, reads_one_twice } = handicap;
        Self { read_delay, is_due: AtomicBool::new(reads_one_twice) }
    }

    /// Returns `reader` under the handicap.
    pub(super) fn on<'a, R: Reader + 'a>(&'a self, reader: R) -> Box<dyn Reader + 'a> {
        Box::new(HandicappedReader { reader, handicap: self, owed: Duration::ZERO })
    }
}

/// One thread's reads under a handicap, one after the other.
#[derive(Debug)]
struct HandicappedReader<'a, R> {
    reader: R,
    handicap: &'a SampleHandicap,
    /// Delay that is due but not spent yet.
    owed: Duration,
}

impl<R> HandicappedReader<'_, R> {
    /// Delays a read. Adds up small delays, since reading the clock takes as long as a small delay.
    fn delay(&mut self) {
        self.owed += self.handicap.read_delay;
        if self.owed < DELAY_MIN {
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
}

impl<R: Reader> Reader for HandicappedReader<'_, R> {
    fn is_timed(&self) -> bool {
        self.reader.is_timed()
    }

    fn account(&mut self, address: &Address) -> Result<Option<AccountState>, StoreError> {
        self.delay();
        self.reader.account(address)
    }

    fn slot(&mut self, address: &Address, key: &U256) -> Result<U256, StoreError> {
        self.delay();
        let is_due = &self.handicap.is_due;
        if is_due.load(Ordering::Relaxed) && is_due.swap(false, Ordering::Relaxed) {
            self.reader.slot(address, key)?;
        }
        self.reader.slot(address, key)
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
    use variant::CacheMode;
    use workload::Genesis;

    use super::*;
    use crate::store::{Store, memory::MemoryStore};

    fn counted(handicap: Handicap) -> u64 {
        let store = MemoryStore::build(&Genesis::default(), None, u64::MAX).unwrap();
        let store = store.with_handicap(handicap);
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
        let store = MemoryStore::build(&Genesis::default(), None, u64::MAX).unwrap();
        let read_delay = Duration::from_nanos(7);
        let store = store.with_handicap(Handicap { read_delay, reads_one_twice: true });
        let facts = store.facts();
        let fact = |name: &str| facts.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        assert_eq!(fact("handicap_read_delay_ns"), Some("7"));
        assert_eq!(fact("handicap_reads_one_twice"), Some("true"));
        assert!(!Handicap { read_delay, reads_one_twice: false }.is_none());
    }
}
