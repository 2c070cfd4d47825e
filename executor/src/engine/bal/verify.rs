//! Verifying the values of a full list: readers that read every key of it from the store, once,
//! beside execution, and compare. The first value that differs rejects the list.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use alloy_primitives::{Address, U256};
use workload::{
    genesis::AccountState,
    list::{AccountId, ListIndex, SlotId},
};

use super::prestate::Listed;
use crate::{
    engine::{error::ListFault, tally::Reading},
    error::StoreError,
    store::Reader,
    trace::Key,
};

/// Accounts that a reader takes at a time.
const ACCOUNT_CHUNK: usize = 8;

/// Why verification ended before its end.
#[derive(Debug)]
pub(crate) enum Unverified {
    /// A value is wrong.
    Fault(ListFault),
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for Unverified {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Verifies what is left of `list`, together with others that share `next_chunk`. Ends early,
/// without an error, when `cancel` is set.
///
/// # Errors
/// [`Unverified`].
pub(crate) fn run<R: Reader>(
    list: &ListIndex,
    listed: &Listed,
    next_chunk: &AtomicUsize,
    reading: Reading<'_, R>,
    cancel: &AtomicBool,
) -> Result<(), Unverified> {
    let Reading { reader, tally } = reading;
    let slots_per_chunk = reader.slots_per_batch().max(1);
    let (account_count, slot_count) = (list.account_count() as usize, list.slot_count() as usize);
    let account_chunks = account_count.div_ceil(ACCOUNT_CHUNK);
    let slot_chunks = slot_count.div_ceil(slots_per_chunk);
    let mut keys = Vec::new();
    while !cancel.load(Ordering::Relaxed) {
        let chunk = next_chunk.fetch_add(1, Ordering::Relaxed);
        if chunk < account_chunks {
            let first = chunk * ACCOUNT_CHUNK;
            for id in first..(first + ACCOUNT_CHUNK).min(account_count) {
                let id = AccountId(id as u32);
                let address = list.address(id);
                let state = tally.read::<R, _>(Key::Account, || reader.account(address))?;
                same_account(address, listed.account_of(id), state).map_err(Unverified::Fault)?;
            }
        } else if chunk < account_chunks + slot_chunks {
            let first = (chunk - account_chunks) * slots_per_chunk;
            let mut next = first;
            let end = (first + slots_per_chunk).min(slot_count);
            while next < end {
                let account = list.account_of(SlotId(next as u32));
                let stop = end.min(list.slots_of(account).end as usize);
                keys.clear();
                keys.extend((next..stop).map(|id| list.slot_key(SlotId(id as u32))));
                let address = list.address(account);
                let mut wrong = None;
                tally.read_slots(reader, address, &keys, &mut |place, state| {
                    let value = listed.slot_of(SlotId((next + place) as u32));
                    if value != state && wrong.is_none() {
                        wrong = Some(wrong_slot(address, &keys[place], value, state));
                    }
                })?;
                if let Some(fault) = wrong {
                    return Err(Unverified::Fault(fault));
                }
                next = stop;
            }
        } else {
            break;
        }
    }
    Ok(())
}

#[cold]
fn wrong_slot(address: &Address, key: &U256, listed: U256, state: U256) -> ListFault {
    let what = format!("slot {key:#x} of {address}");
    ListFault::WrongValue { what, listed: format!("{listed:#x}"), state: format!("{state:#x}") }
}

fn same_account(
    address: &Address,
    listed: Option<AccountState>,
    state: Option<AccountState>,
) -> Result<(), ListFault> {
    if listed == state {
        return Ok(());
    }
    let (what, [listed, state]) = match (listed, state) {
        (Some(a), Some(b)) if a.nonce != b.nonce => {
            ("the nonce of", [a.nonce.to_string(), b.nonce.to_string()])
        }
        (Some(a), Some(b)) if a.balance != b.balance => {
            ("the balance of", [a.balance.to_string(), b.balance.to_string()])
        }
        (Some(a), Some(b)) => {
            ("the code hash of", [a.code_hash.to_string(), b.code_hash.to_string()])
        }
        (listed, _) => {
            let words = |is_there| if is_there { "there" } else { "absent" }.to_owned();
            ("account", [words(listed.is_some()), words(listed.is_none())])
        }
    };
    Err(ListFault::WrongValue { what: format!("{what} {address}"), listed, state })
}
