//! Reads one chunk of keys ahead. Claims the keys that nobody has claimed yet, and reads them from
//! the store together. Gives each value to a [`Sink`] when it comes. The sinks are the cells from
//! which transactions read, and the verifier of a full list.

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
    trace::KeyKind,
};

/// The destination of the values that are read.
pub(crate) trait Sink: Copy {
    /// Records that the thread begins the chunk with this number, which it then reads to its end.
    fn begin_chunk(self, _number: usize) {}

    /// Claims the read of an account. Returns false if the read was claimed before.
    fn claim_account(self, id: AccountId) -> bool;

    /// Takes the row of a claimed account.
    fn put_account(self, id: AccountId, row: Option<AccountState>);

    /// Claims the read of a slot. Returns false if the read was claimed before.
    fn claim_slot(self, id: SlotId) -> bool;

    /// Takes the value of a claimed slot.
    fn put_slot(self, id: SlotId, value: U256);

    /// Returns whether the thread can stop, because no further value is needed.
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

/// The list whose keys are read, and the destinations of the values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a, S> {
    /// The list that declares the keys.
    pub(crate) list: &'a ListIndex,
    /// The destination of the keys' values.
    pub(crate) values: S,
    /// The destination of codes.
    pub(crate) codes: &'a CodeRows,
}

/// A thread's buffers for the keys of one call of the store, reused from chunk to chunk.
#[derive(Debug)]
pub(super) struct CallBuffers<'a, S> {
    target: Target<'a, S>,
    sequence: Option<&'a Sequence>,
    account_ids: Vec<AccountId>,
    slot_ids: Vec<SlotId>,
    addresses: Vec<Address>,
    keys: Vec<U256>,
    rows: Vec<SlotRow<'a>>,
    /// Hashes of the codes of accounts that this thread has read, for [`Self::read_codes`].
    codes: Vec<B256>,
}

impl<'a, S: Sink> CallBuffers<'a, S> {
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
            (Chunk::Accounts(positions), _) => self.accounts(positions, reader, tally),
            (Chunk::Slots(positions), Some(sequence)) => {
                self.slots_in(sequence, positions, reader, tally)
            }
            (Chunk::Slots(positions), None) => self.listed_slots(positions, reader, tally),
        }
    }

    /// Reads the codes of the accounts that were read since the last call, while `goes_on` returns
    /// true. Each code is read once for all readers.
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
            self.target.codes.fill(hash, || tally.read(KeyKind::Code, || reader.code(&hash)))?;
        }
        Ok(())
    }

    fn accounts(
        &mut self,
        positions: Range<usize>,
        reader: &mut dyn Reader,
        tally: &mut ReadTally,
    ) -> Result<(), StoreError> {
        let Self { target: Target { list, values, .. }, sequence, addresses, codes, .. } = self;
        let ids = &mut self.account_ids;
        ids.clear();
        addresses.clear();
        for position in positions {
            let id =
                sequence.map_or(AccountId(position as u32), |sequence| sequence.account(position));
            if values.claim_account(id) {
                ids.push(id);
                addresses.push(*list.address(id));
            }
        }
        let mut clock = CallClock::start(reader, KeyKind::Account, tally);
        reader.accounts(addresses, &mut |position, row| {
            values.put_account(ids[position], row);
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
        positions: Range<usize>,
        reader: &mut dyn Reader,
        tally: &mut ReadTally,
    ) -> Result<(), StoreError> {
        let Self { target: Target { list, values, .. }, slot_ids: ids, rows, .. } = self;
        ids.clear();
        rows.clear();
        for position in positions {
            let (id, row) = sequence.slot(list, position);
            if values.claim_slot(id) {
                ids.push(id);
                rows.push(row);
            }
        }
        let mut clock = CallClock::start(reader, KeyKind::Slot, tally);
        reader.slot_rows(rows, &mut |position, value| {
            values.put_slot(ids[position], value);
            clock.arrived();
        })?;
        clock.stop(reader, ids.len());
        Ok(())
    }

    /// Reads slots in the list's order. Each call of the store is for the slots of one account,
    /// which the store itself sorts by their rows.
    fn listed_slots(
        &mut self,
        positions: Range<usize>,
        reader: &mut dyn Reader,
        tally: &mut ReadTally,
    ) -> Result<(), StoreError> {
        let Self { target: Target { list, values, .. }, slot_ids: ids, keys, .. } = self;
        let mut next = positions.start;
        while next < positions.end {
            let account = list.account_of(SlotId(next as u32));
            let end = positions.end.min(list.slots_of(account).end as usize);
            ids.clear();
            keys.clear();
            for id in (next..end).map(|id| SlotId(id as u32)) {
                if values.claim_slot(id) {
                    ids.push(id);
                    keys.push(list.slot_key(id));
                }
            }
            next = end;
            tally.read_slots(reader, list.address(account), keys, &mut |position, value| {
                values.put_slot(ids[position], value);
            })?;
        }
        Ok(())
    }
}
