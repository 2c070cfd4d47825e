//! Reading one chunk: what nobody has claimed yet is claimed, asked of the store in one call and
//! handed over as it comes.

use std::ops::Range;

use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256};
use workload::list::{AccountId, ListIndex, SlotId};

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

/// What a reader reads for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    /// What declares the keys.
    pub(crate) list: &'a ListIndex,
    /// Where their values go.
    pub(crate) values: &'a Declared,
    /// Where codes go.
    pub(crate) codes: &'a CodeRows,
}

/// A reader's room for the keys of a call, kept from chunk to chunk.
#[derive(Debug)]
pub(super) struct Batch<'a> {
    target: Target<'a>,
    sequence: Option<&'a Sequence>,
    ids: Vec<usize>,
    addresses: Vec<Address>,
    keys: Vec<U256>,
    rows: Vec<SlotRow<'a>>,
    /// Codes of accounts that were read here.
    codes: Vec<B256>,
}

impl<'a> Batch<'a> {
    pub(super) const fn new(target: Target<'a>, sequence: Option<&'a Sequence>) -> Self {
        Self {
            target,
            sequence,
            ids: Vec::new(),
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
    pub(super) fn read<R: Reader>(
        &mut self,
        chunk: Chunk,
        reader: &mut R,
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
    pub(super) fn read_codes<R: Reader>(
        &mut self,
        reader: &mut R,
        tally: &mut ReadTally,
        goes_on: impl Fn() -> bool,
    ) -> Result<(), StoreError> {
        for hash in self.codes.drain(..) {
            if !goes_on() {
                break;
            }
            self.target
                .codes
                .fill(hash, || tally.read::<R, _>(Key::Code, || reader.code(&hash)))?;
        }
        Ok(())
    }

    fn accounts<R: Reader>(
        &mut self,
        places: Range<usize>,
        reader: &mut R,
        tally: &mut ReadTally,
    ) -> Result<(), StoreError> {
        let Self { target: Target { list, values, .. }, sequence, ids, addresses, codes, .. } =
            self;
        ids.clear();
        addresses.clear();
        for place in places {
            let id = sequence.map_or(AccountId(place as u32), |sequence| sequence.account(place));
            if values.accounts.claims().claim(id.get()) {
                ids.push(id.get());
                addresses.push(*list.address(id));
            }
        }
        let mut clock = CallClock::start(reader, Key::Account, tally);
        reader.accounts(addresses, &mut |place, row| {
            values.accounts.put(ids[place], row);
            clock.arrived::<R>();
            let code = row.map_or(KECCAK256_EMPTY, |row| row.code_hash);
            if code != KECCAK256_EMPTY {
                codes.push(code);
            }
        })?;
        clock.stop(reader, ids.len());
        Ok(())
    }

    fn slots_in<R: Reader>(
        &mut self,
        sequence: &Sequence,
        places: Range<usize>,
        reader: &mut R,
        tally: &mut ReadTally,
    ) -> Result<(), StoreError> {
        let Self { target: Target { list, values, .. }, ids, rows, .. } = self;
        ids.clear();
        rows.clear();
        for place in places {
            let (id, row) = sequence.slot(list, place);
            if values.slots.claims().claim(id.get()) {
                ids.push(id.get());
                rows.push(row);
            }
        }
        let mut clock = CallClock::start(reader, Key::Slot, tally);
        reader.slot_rows(rows, &mut |place, value| {
            values.slots.put(ids[place], value);
            clock.arrived::<R>();
        })?;
        clock.stop(reader, ids.len());
        Ok(())
    }

    /// In the list's order a call is for the slots of one account, and the store sorts them.
    fn listed_slots<R: Reader>(
        &mut self,
        places: Range<usize>,
        reader: &mut R,
        tally: &mut ReadTally,
    ) -> Result<(), StoreError> {
        let Self { target: Target { list, values, .. }, ids, keys, .. } = self;
        let mut next = places.start;
        while next < places.end {
            let account = list.account_of(SlotId(next as u32));
            let end = places.end.min(list.slots_of(account).end as usize);
            ids.clear();
            keys.clear();
            for id in next..end {
                if values.slots.claims().claim(id) {
                    ids.push(id);
                    keys.push(list.slot_key(SlotId(id as u32)));
                }
            }
            next = end;
            tally.read_slots(reader, list.address(account), keys, &mut |place, value| {
                values.slots.put(ids[place], value);
            })?;
        }
        Ok(())
    }
}
