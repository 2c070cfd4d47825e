//! Tests of the moment at which reading ahead stops.

use alloy_primitives::{Address, B256, Bytes, U256};
use workload::{genesis::AccountState, list::ListBounds};

use super::*;
use crate::{
    engine::{
        bal::{CodeRows, Declared},
        tally::ReadTally,
    },
    store::{ReadCounters, Reader},
};

const SLOT_COUNT: u8 = 99;

/// A reader of the store. During its read number `ends_at`, the last transaction ends.
#[derive(Debug)]
struct Ending<'a> {
    ahead: &'a ReadAhead,
    ends_at: usize,
    read_count: usize,
}

impl Reader for Ending<'_> {
    fn is_timed(&self) -> bool {
        false
    }

    fn account(&mut self, _: &Address) -> Result<Option<AccountState>, StoreError> {
        Ok(None)
    }

    fn slot(&mut self, _: &Address, key: &U256) -> Result<U256, StoreError> {
        self.read_count += 1;
        if self.read_count == self.ends_at {
            self.ahead.executor_ended();
        }
        Ok(*key)
    }

    fn code(&mut self, _: &B256) -> Result<Option<Bytes>, StoreError> {
        Ok(None)
    }

    fn counters(&self) -> ReadCounters {
        ReadCounters::default()
    }
}

/// One account with the read keys 1 to 99 and no change (EIP-7928, RLP).
fn encoded_list() -> Vec<u8> {
    let mut account = vec![0x94];
    account.extend([1; 20]);
    account.extend([0xc0, 0xf8, SLOT_COUNT]);
    account.extend(1..=SLOT_COUNT);
    account.extend([0xc0; 3]);
    let mut list = vec![0xf8, account.len() as u8 + 2, 0xf8, account.len() as u8];
    list.append(&mut account);
    list
}

/// Returns the number of slots that are read in chunks of `chunk`, if the last transaction ends
/// during the tenth read.
fn slots_read(policy: Prefetch, chunk: u32) -> usize {
    let bounds = ListBounds {
        last_index: 3,
        gas_limit: 10_000_000,
        free_item_count: 0,
        surplus_item_count: 0,
        max_code_bytes: 0,
    };
    let list = ListIndex::decode(&encoded_list(), &bounds).unwrap();
    assert_eq!(list.slot_count(), u32::from(SLOT_COUNT));
    let (values, codes) = (Declared::new(&list), CodeRows::default());
    let policy = Prefetch { chunk: std::num::NonZeroU32::new(chunk), ..policy };
    let ahead = ReadAhead::new(policy, Some(Layout::Hashed), Arc::new(Spans::start()), 1);
    let mut reader = Ending { ahead: &ahead, ends_at: 10, read_count: 0 };
    let target = Target { list: &list, values: &values, codes: &codes };
    let lane = Lane { number: 0, count: 1 };
    let mut tally = ReadTally::new(&reader, None);
    let cancel = AtomicBool::new(false);
    ahead.read(target, lane, Reading { reader: &mut reader, tally: &mut tally }, &cancel).unwrap();
    // A claimed value is there: a thread that asks later does not wait for ever.
    let slots = &values.slots;
    let is_free_or_there = |id| slots.get(id).is_some() || slots.claims().claim(id);
    assert!((0..usize::from(SLOT_COUNT)).all(is_free_or_there));
    reader.read_count
}

#[test]
fn readers_take_no_more_keys_once_the_last_transaction_is_done() {
    let beside = Prefetch { time: ReadTime::While, ..Prefetch::default() };
    assert_eq!(slots_read(beside, 1), 10);
    assert_eq!(slots_read(beside, 4), 12, "what was taken together is read");
    let own = Prefetch { share: ReaderShare::Ranges, ..beside };
    assert_eq!(slots_read(own, 1), 10);
}

#[test]
fn readers_that_read_all_or_read_before_do_not_stop() {
    let all = Prefetch { stop: StopRule::AllRead, time: ReadTime::While, ..Prefetch::default() };
    assert_eq!(slots_read(all, 1), usize::from(SLOT_COUNT));
    assert_eq!(slots_read(Prefetch::default(), 1), usize::from(SLOT_COUNT));
}
