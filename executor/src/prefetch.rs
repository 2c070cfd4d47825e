//! Readers that only read: all keys that a list declares, once each, ahead of the transactions
//! or beside them. Each takes a chunk of dense ids at a time; which keys a chunk holds is
//! decided by the list's order, in which order it is read by the store.

use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Instant,
};

use alloy_primitives::U256;
use workload::list::{AccountId, ListIndex, SlotId};

use crate::{
    prestate::Declared,
    store::{Reader, StoreError},
    trace::{Key, What},
    view::ReadTally,
};

/// Accounts that a reader takes at a time.
const ACCOUNT_CHUNK: usize = 8;

/// Reads what is left of `list`, together with others that share `next_chunk`.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn run<R: Reader>(
    list: &ListIndex,
    values: &Declared,
    next_chunk: &AtomicUsize,
    (reader, tally): (&mut R, &mut ReadTally),
    cancel: &AtomicBool,
) -> Result<(), StoreError> {
    let slots_per_chunk = reader.slots_per_batch().max(1);
    let account_chunks = (list.account_count() as usize).div_ceil(ACCOUNT_CHUNK);
    let slot_chunks = (list.slot_count() as usize).div_ceil(slots_per_chunk);
    let mut batch = Batch::default();
    while !cancel.load(Ordering::Relaxed) {
        let chunk = next_chunk.fetch_add(1, Ordering::Relaxed);
        if chunk < account_chunks {
            let first = chunk * ACCOUNT_CHUNK;
            let end = (first + ACCOUNT_CHUNK).min(list.account_count() as usize);
            accounts(list, values, first..end, reader, tally)?;
        } else if chunk < account_chunks + slot_chunks {
            let first = (chunk - account_chunks) * slots_per_chunk;
            let end = (first + slots_per_chunk).min(list.slot_count() as usize);
            batch.slots(list, values, first..end, reader, tally)?;
        } else {
            break;
        }
    }
    Ok(())
}

fn accounts<R: Reader>(
    list: &ListIndex,
    values: &Declared,
    ids: std::ops::Range<usize>,
    reader: &mut R,
    tally: &mut ReadTally,
) -> Result<(), StoreError> {
    for id in ids {
        if values.accounts.claims().claim(id) {
            let address = list.address(AccountId(id as u32));
            let row = tally.read::<R, _>(Key::Account, || reader.account(address))?;
            values.accounts.put(id, row);
        }
    }
    Ok(())
}

/// Slots of one account that are read together; its memory is kept from chunk to chunk.
#[derive(Debug, Default)]
struct Batch {
    ids: Vec<usize>,
    keys: Vec<U256>,
}

impl Batch {
    fn slots<R: Reader>(
        &mut self,
        list: &ListIndex,
        values: &Declared,
        ids: std::ops::Range<usize>,
        reader: &mut R,
        tally: &mut ReadTally,
    ) -> Result<(), StoreError> {
        let mut next = ids.start;
        while next < ids.end {
            let account = list.account_of(SlotId(next as u32));
            let end = ids.end.min(list.slots_of(account).end as usize);
            self.ids.clear();
            self.keys.clear();
            for id in next..end {
                if values.slots.claims().claim(id) {
                    self.ids.push(id);
                    self.keys.push(list.slot_key(SlotId(id as u32)));
                }
            }
            next = end;
            if !self.keys.is_empty() {
                self.read(list, account, values, reader, tally)?;
            }
        }
        Ok(())
    }

    fn read<R: Reader>(
        &self,
        list: &ListIndex,
        account: AccountId,
        values: &Declared,
        reader: &mut R,
        tally: &mut ReadTally,
    ) -> Result<(), StoreError> {
        let together = reader.reads_together();
        let mut since = tally.now::<R>();
        let start = since;
        reader.slots(list.address(account), &self.keys, &mut |place, value| {
            values.slots.put(self.ids[place], value);
            if let (Some(from), false) = (since, together) {
                let now = Instant::now();
                tally.lasted::<R>(What::Read { key: Key::Slot, count: 1 }, from, now);
                since = Some(now);
            }
        })?;
        if let (Some(from), true) = (start, together) {
            let what = What::Read { key: Key::Slot, count: self.keys.len() };
            tally.lasted::<R>(what, from, Instant::now());
        }
        tally.read_count += self.keys.len() as u64;
        Ok(())
    }
}
