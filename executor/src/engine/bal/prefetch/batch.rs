//! Reading one chunk: keys that nobody has claimed yet are claimed, asked of the store in one call
//! and handed over as they come.

use std::ops::Range;

use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256};
use workload::{
    genesis::AccountState,
    list::{AccountId, ListIndex, SlotId},
};

use super::{chunks::Chunk, sequence::Sequence};
use crate::{
    engine::{
        bal::{prestate::Declared, view::CodeRows},
        tally::{CallClock, ReadTally},
    },
    error::StoreError,
    store::{Reader, SlotRow},
    trace::Key,
};

/// The destination of the values that are read.
pub(crate) trait Sink: Copy {
    /// The chunk of this number is read next, to its end.
    fn begin_chunk(self, _number: usize) {}

    /// Takes the duty to read an account; false if somebody has it.
    fn claim_account(self, id: AccountId) -> bool;

    /// The row of an account that was claimed.
    fn put_account(self, id: AccountId, row: Option<AccountState>);

    /// Takes the duty to read a slot; false if somebody has it.
    fn claim_slot(self, id: SlotId) -> bool;

    /// The value of a slot that was claimed.
    fn put_slot(self, id: SlotId, value: U256);

    /// Returns whether no further value is wanted.
    fn is_full(self) -> bool {
        false
    }
}

/// Hands the values over to transactions.
impl Sink for &Declared {
    #[inline]
    fn claim_account(self, id: AccountId) -> bool {
        self.accounts.claims().claim(id.get())
    }

    #[inline]
    fn put_account(self, id: AccountId, row: Option<AccountState>) {
        self.accounts.put(id.get(), row);
    }

    #[inline]
    fn claim_slot(self, id: SlotId) -> bool {
        self.slots.claims().claim(id.get())
    }

    #[inline]
    fn put_slot(self, id: SlotId, value: U256) {
        self.slots.put(id.get(), value);
    }
}

/// The list that a reader reads for, and the destinations of its values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a, S> {
    /// The list that declares the keys.
    pub(crate) list: &'a ListIndex,
    /// The destination of their values.
    pub(crate) values: S,
    /// The destination of codes.
    pub(crate) codes: &'a CodeRows,
}

/// A reader's room for the keys of a call, kept from chunk to chunk.
#[derive(Debug)]
pub(super) struct Batch<'a, S> {
    target: Target<'a, S>,
    sequence: Option<&'a Sequence>,
    account_ids: Vec<AccountId>,
    slot_ids: Vec<SlotId>,
    addresses: Vec<Address>,
    keys: Vec<U256>,
    rows: Vec<SlotRow<'a>>,
    /// Codes of accounts that were read here.
    codes: Vec<B256>,
}

impl<'a, S: Sink> Batch<'a, S> {
    pub(super) const fn new(target: Target<'a, S>, sequence: Option<&'a Sequence>) -> Self {
        Self {
            target,
            sequence,
            account_ids: Vec::new(),
            slot_ids: Vec::new(),
            addresses: Vec::new(),
            keys: Vec::new(),
            rows: Vec::new(),
            codes: Vec::new(),
        }
    }

    /// Reads a chunk.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn read(
        &mut self,
        chunk: Chunk,
        reader: &mut dyn Reader,
        tally: &mut ReadTally,
    ) -> Result<(), StoreError> {
        match (chunk, self.sequence) {
            (Chunk::Accounts(places), _) => self.accounts(places, reader, tally),
            (Chunk::Slots(places), Some(sequence)) => {
                self.slots_in(sequence, places, reader, tally)
            }
            (Chunk::Slots(places), None) => self.listed_slots(places, reader, tally),
        }
    }

    /// Reads the codes of the accounts that were read since the last time, each once for all
    /// readers, while `goes_on` holds.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) fn read_codes(
        &mut self,
        reader: &mut dyn Reader,
        tally: &mut ReadTally,
        goes_on: impl Fn() -> bool,
    ) -> Result<(), StoreError> {
        for hash in self.codes.drain(..) {
            if !goes_on() {
                break;
            }
            self.target.codes.fill(hash, || tally.read(Key::Code, || reader.code(&hash)))?;
        }
        Ok(())
    }

    fn accounts(
        &mut self,
        places: Range<usize>,
        reader: &mut dyn Reader,
        tally: &mut ReadTally,
    ) -> Result<(), StoreError> {
        let Self { target: Target { list, values, .. }, sequence, addresses, codes, .. } = self;
        let ids = &mut self.account_ids;
        ids.clear();
        addresses.clear();
        for place in places {
            let id = sequence.map_or(AccountId(place as u32), |sequence| sequence.account(place));
            if values.claim_account(id) {
                ids.push(id);
                addresses.push(*list.address(id));
            }
        }
        let mut clock = CallClock::start(reader, Key::Account, tally);
        reader.accounts(addresses, &mut |place, row| {
            values.put_account(ids[place], row);
            clock.arrived();
            let code = row.map_or(KECCAK256_EMPTY, |row| row.code_hash);
            if code != KECCAK256_EMPTY {
                codes.push(code);
            }
        })?;
        clock.stop(reader, ids.len());
        Ok(())
    }

    fn slots_in(
        &mut self,
        sequence: &Sequence,
        places: Range<usize>,
        reader: &mut dyn Reader,
        tally: &mut ReadTally,
    ) -> Result<(), StoreError> {
        let Self { target: Target { list, values, .. }, slot_ids: ids, rows, .. } = self;
        ids.clear();
        rows.clear();
        for place in places {
            let (id, row) = sequence.slot(list, place);
            if values.claim_slot(id) {
                ids.push(id);
                rows.push(row);
            }
        }
        let mut clock = CallClock::start(reader, Key::Slot, tally);
        reader.slot_rows(rows, &mut |place, value| {
            values.put_slot(ids[place], value);
            clock.arrived();
        })?;
        clock.stop(reader, ids.len());
        Ok(())
    }

    /// In the list's order a call is for the slots of one account, and the store sorts them.
    fn listed_slots(
        &mut self,
        places: Range<usize>,
        reader: &mut dyn Reader,
        tally: &mut ReadTally,
    ) -> Result<(), StoreError> {
        let Self { target: Target { list, values, .. }, slot_ids: ids, keys, .. } = self;
        let mut next = places.start;
        while next < places.end {
            let account = list.account_of(SlotId(next as u32));
            let end = places.end.min(list.slots_of(account).end as usize);
            ids.clear();
            keys.clear();
            for id in (next..end).map(|id| SlotId(id as u32)) {
                if values.claim_slot(id) {
                    ids.push(id);
                    keys.push(list.slot_key(id));
                }
            }
            next = end;
            tally.read_slots(reader, list.address(account), keys, &mut |place, value| {
                values.put_slot(ids[place], value);
            })?;
        }
        Ok(())
    }
}
