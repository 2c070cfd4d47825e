//! Verifies the values of a full list. Reads every declared key from the store once, by the default
//! prefetch policy, and compares its value with the list's.
//!
//! If values are wrong, the list is rejected for the lowest wrong key of the first chunk that has
//! one. Threads begin chunks in order and read each to its end, so this key does not depend on
//! timing.

use std::cell::{Cell, RefCell};

use alloy_primitives::{Address, U256};
use workload::{
    genesis::AccountState,
    list::{AccountId, ListIndex, SlotId},
};

use super::{prefetch::Sink, prestate::Listed};
use crate::engine::error::ListFault;

/// Compares the values that one thread reads with those of the list.
#[derive(Debug)]
pub(super) struct Verifier<'a> {
    list: &'a ListIndex,
    listed: &'a Listed,
    /// Number of the chunk that is being read.
    chunk: Cell<usize>,
    /// The lowest id with a wrong value, and the fault. A chunk has either accounts or slots.
    /// Reading stops after the first chunk with a wrong value.
    lowest: RefCell<Option<(usize, ListFault)>>,
}

/// A value of the list that differs from the store's.
#[derive(Debug)]
pub(super) struct WrongValue {
    /// Number of the chunk that has the key.
    pub(super) chunk: usize,
    pub(super) fault: ListFault,
}

impl<'a> Verifier<'a> {
    /// Makes a verifier of the values that came with `list`.
    pub(super) const fn new(list: &'a ListIndex, listed: &'a Listed) -> Self {
        Self { list, listed, chunk: Cell::new(0), lowest: RefCell::new(None) }
    }

    /// Returns the lowest key with a wrong value in the first chunk with such a key; `None` if all
    /// values are right.
    pub(super) fn into_first_wrong(self) -> Option<WrongValue> {
        let chunk = self.chunk.get();
        self.lowest.into_inner().map(|(_, fault)| WrongValue { chunk, fault })
    }

    /// Keeps `fault` if `id` is the lowest so far. A store may return the values of a call in any
    /// order.
    #[cold]
    fn reject(&self, id: usize, fault: ListFault) {
        let mut lowest = self.lowest.borrow_mut();
        if lowest.as_ref().is_none_or(|(known, _)| id < *known) {
            *lowest = Some((id, fault));
        }
    }
}

/// Each chunk is read by one thread, so keys need no claims.
impl Sink for &Verifier<'_> {
    fn begin_chunk(self, number: usize) {
        self.chunk.set(number);
    }

    fn claim_account(self, _id: AccountId) -> bool {
        true
    }

    fn put_account(self, id: AccountId, row: Option<AccountState>) {
        if let Err(fault) = check_account(self.list.address(id), self.listed.account_of(id), row) {
            self.reject(id.get(), fault);
        }
    }

    fn claim_slot(self, _id: SlotId) -> bool {
        true
    }

    #[inline]
    fn put_slot(self, id: SlotId, value: U256) {
        let listed = self.listed.slot_of(id);
        if listed != value {
            let (address, key) =
                (self.list.address(self.list.account_of(id)), self.list.slot_key(id));
            let what = format!("slot {key:#x} of {address}");
            let (listed, state) = (format!("{listed:#x}"), format!("{value:#x}"));
            self.reject(id.get(), ListFault::WrongValue { what, listed, state });
        }
    }

    fn is_full(self) -> bool {
        self.lowest.borrow().is_some()
    }
}

fn check_account(
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
