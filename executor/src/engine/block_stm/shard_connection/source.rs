//! Reads the values before the batch that a shard requests, from the coordinator's store into the
//! coordinator's memory. Each key is read once. If the thread of another shard reads a key, this
//! thread waits for its value.

use std::{sync::atomic::AtomicBool, time::Instant};

use alloy_primitives::{Address, B256, Bytes, U256};

use super::super::{cell::Found, memory::Memory};
use crate::{
    engine::{
        error::ViewError,
        tally::{CallClock, Reading},
    },
    shards::versions::RequestedKeys,
    single_flight::{Arrival, SingleFlight},
    store::SlotRow,
    trace::KeyKind,
};

/// The state before a batch, read from the coordinator's store.
pub(super) struct Source<'a> {
    pub(super) memory: &'a Memory,
    pub(super) codes: &'a SingleFlight<B256, Option<Bytes>>,
    pub(super) reading: Reading<'a>,
    pub(super) stop: &'a AtomicBool,
}

impl Source<'_> {
    /// Brings the values of the accounts and slots in `keys` into the memory. Returns the codes in
    /// `keys`; `created` returns codes that the batch created.
    ///
    /// # Errors
    /// [`ViewError`]: the store failed, or the sample was stopped.
    pub(super) fn read(
        mut self,
        keys: &RequestedKeys,
        created: impl Fn(&B256) -> Option<Bytes>,
    ) -> Result<Vec<(B256, Option<Bytes>)>, ViewError> {
        self.read_accounts(&keys.accounts)?;
        self.read_slots(&keys.slots)?;
        let Reading { reader, tally } = self.reading;
        let mut codes = Vec::with_capacity(keys.codes.len());
        for hash in &keys.codes {
            if let Some(code) = created(hash) {
                codes.push((*hash, Some(code)));
                continue;
            }
            let since = Instant::now();
            let (code, arrival) = self.codes.get_or_read(*hash, self.stop, || {
                tally.timed(KeyKind::Code, || reader.code(hash)).map_err(ViewError::from)
            })?;
            tally.note(KeyKind::Code, arrival, Some(since));
            codes.push((*hash, code));
        }
        Ok(codes)
    }

    fn read_accounts(&mut self, addresses: &[Address]) -> Result<(), ViewError> {
        let Memory { accounts: table, gates, .. } = self.memory;
        let Reading { reader, tally } = &mut self.reading;
        let (mut new, mut waited) = (Vec::new(), Vec::new());
        for address in addresses {
            let id = table.id(address);
            // A statement of its own: in the match, the arms would hold the cell's lock.
            let found = table.cell(id).cell.base_or_claim();
            match found {
                Found::ToRead => new.push((*address, id)),
                Found::BeingRead => waited.push(id),
                _ => tally.note(KeyKind::Account, Arrival::Ready, None),
            }
        }
        let rows: Vec<Address> = new.iter().map(|(address, _)| *address).collect();
        let mut clock = CallClock::start(&**reader, KeyKind::Account, tally);
        reader.accounts(&rows, &mut |index, row| {
            let (_, id) = new[index];
            table.cell(id).cell.set_base(row);
            gates.open(id as usize);
            clock.arrived();
        })?;
        clock.stop(&**reader, rows.len());
        for id in waited {
            let since = Instant::now();
            gates.wait(id as usize, self.stop, || table.has_base(id))?;
            tally.note(KeyKind::Account, Arrival::Waited, Some(since));
        }
        Ok(())
    }

    fn read_slots(&mut self, slots: &[(Address, U256)]) -> Result<(), ViewError> {
        let Memory { accounts, slots: table, gates, .. } = self.memory;
        let Reading { reader, tally } = &mut self.reading;
        let (mut new, mut waited) = (Vec::new(), Vec::new());
        for (address, key) in slots {
            let id = table.id(&(accounts.id(address), *key));
            let found = table.cell(id).cell.base_or_claim();
            match found {
                Found::ToRead => new.push((*address, *key, id)),
                Found::BeingRead => waited.push(id),
                _ => tally.note(KeyKind::Slot, Arrival::Ready, None),
            }
        }
        // This order makes the slots of an account consecutive.
        new.sort_unstable();
        let rows = new.iter().map(|(address, key, _)| SlotRow { address, key: *key, row: None });
        let rows: Vec<_> = rows.collect();
        let mut clock = CallClock::start(&**reader, KeyKind::Slot, tally);
        reader.slot_rows(&rows, &mut |index, value| {
            let id = new[index].2;
            table.cell(id).cell.set_base(value);
            gates.open(id as usize);
            clock.arrived();
        })?;
        clock.stop(&**reader, rows.len());
        for id in waited {
            let since = Instant::now();
            gates.wait(id as usize, self.stop, || table.has_base(id))?;
            tally.note(KeyKind::Slot, Arrival::Waited, Some(since));
        }
        Ok(())
    }
}
