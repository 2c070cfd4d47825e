//! Reads the values that a shard requests from the coordinator's store. Accounts that no thread has
//! claimed are read in one call of the store, and such slots in another. If the thread of another
//! shard reads a key, this thread waits for its value.

use std::{sync::atomic::AtomicBool, time::Instant};

use workload::list::{AccountId, SlotId};

use crate::{
    engine::{
        bal::{
            prestate::{Declared, PreState},
            view::Shared,
        },
        error::ViewError,
        tally::{CallClock, Reading},
    },
    error::StoreError,
    shards::{KeyRequest, StateValues},
    store::SlotRow,
    trace::KeyKind,
};

/// The state before a batch, read from the coordinator's store.
pub(super) struct Source<'a> {
    pub(super) shared: &'a Shared<Declared>,
    pub(super) reading: Reading<'a>,
    pub(super) stop: &'a AtomicBool,
}

impl Source<'_> {
    /// Returns the values of `keys`, which must be in the list. Each key is read once, even if
    /// several shards want it.
    ///
    /// # Errors
    /// [`ViewError`]: the store failed, or the sample was stopped.
    pub(super) fn answer_to(&mut self, keys: &KeyRequest) -> Result<StateValues, ViewError> {
        let own_accounts = self.read_unclaimed_accounts(&keys.accounts)?;
        let own_slots = self.read_unclaimed_slots(&keys.slots)?;
        let Shared { list, pre_state, code_rows, .. } = self.shared;
        let stop = self.stop;
        let Reading { reader, tally } = &mut self.reading;
        let mut values = StateValues::default();
        for id in keys.accounts.iter().map(|id| AccountId(*id)) {
            let (address, since) = (list.address(id), Instant::now());
            let (value, arrival) = pre_state.account(Some(id), address, stop, || {
                tally.timed(KeyKind::Account, || reader.account(address)).map_err(ViewError::from)
            })?;
            if own_accounts.binary_search(&id).is_err() {
                tally.note(KeyKind::Account, arrival, Some(since));
            }
            values.accounts.push(value);
        }
        for id in keys.slots.iter().map(|id| SlotId(*id)) {
            let (address, key) = (list.address(list.account_of(id)), list.slot_key(id));
            let since = Instant::now();
            let (value, arrival) = pre_state.slot(Some(id), address, &key, stop, || {
                tally.timed(KeyKind::Slot, || reader.slot(address, &key)).map_err(ViewError::from)
            })?;
            if own_slots.binary_search(&id).is_err() {
                tally.note(KeyKind::Slot, arrival, Some(since));
            }
            values.slots.push(value);
        }
        for hash in &keys.codes {
            let since = Instant::now();
            let (code, arrival) = code_rows.get_or_read(*hash, stop, || {
                tally.timed(KeyKind::Code, || reader.code(hash)).map_err(ViewError::from)
            })?;
            tally.note(KeyKind::Code, arrival, Some(since));
            values.codes.push(code);
        }
        Ok(values)
    }

    /// Reads the accounts that nobody has claimed. Returns their ids, ascending.
    fn read_unclaimed_accounts(&mut self, ids: &[u32]) -> Result<Vec<AccountId>, StoreError> {
        let Shared { list, pre_state, .. } = self.shared;
        let Reading { reader, tally } = &mut self.reading;
        let mut claimed: Vec<_> = ids.iter().map(|id| AccountId(*id)).collect();
        claimed.retain(|id| pre_state.accounts.claims().claim(id.get()));
        claimed.sort_unstable();
        let addresses: Vec<_> = claimed.iter().map(|id| *list.address(*id)).collect();
        let mut clock = CallClock::start(&**reader, KeyKind::Account, tally);
        reader.accounts(&addresses, &mut |index, row| {
            pre_state.accounts.put(claimed[index].get(), row);
            clock.arrived();
        })?;
        clock.stop(&**reader, claimed.len());
        Ok(claimed)
    }

    /// Reads the slots that nobody has claimed. Returns their ids, ascending.
    fn read_unclaimed_slots(&mut self, ids: &[u32]) -> Result<Vec<SlotId>, StoreError> {
        let Shared { list, pre_state, .. } = self.shared;
        let Reading { reader, tally } = &mut self.reading;
        let mut claimed: Vec<_> = ids.iter().map(|id| SlotId(*id)).collect();
        claimed.retain(|id| pre_state.slots.claims().claim(id.get()));
        // This order makes the slots of an account consecutive.
        claimed.sort_unstable();
        let rows = claimed.iter().map(|id| SlotRow {
            address: list.address(list.account_of(*id)),
            key: list.slot_key(*id),
            row: None,
        });
        let rows: Vec<_> = rows.collect();
        let mut clock = CallClock::start(&**reader, KeyKind::Slot, tally);
        reader.slot_rows(&rows, &mut |index, value| {
            pre_state.slots.put(claimed[index].get(), value);
            clock.arrived();
        })?;
        clock.stop(&**reader, claimed.len());
        Ok(claimed)
    }
}
