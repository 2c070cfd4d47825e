//! Verifying the values of a full list: every key of it is read from the store, once, in the order
//! and as many at a time as batched I/O reads, and compared. The first value that differs rejects
//! the list.

use std::cell::RefCell;

use alloy_primitives::{Address, U256};
use workload::{
    genesis::AccountState,
    list::{AccountId, ListIndex, SlotId},
};

use super::{prefetch::Sink, prestate::Listed};
use crate::engine::error::ListFault;

/// Compares what one reader reads.
#[derive(Debug)]
pub(super) struct Verifier<'a> {
    list: &'a ListIndex,
    listed: &'a Listed,
    fault: RefCell<Option<ListFault>>,
}

impl<'a> Verifier<'a> {
    /// Compares with the values that came with `list`.
    pub(super) const fn new(list: &'a ListIndex, listed: &'a Listed) -> Self {
        Self { list, listed, fault: RefCell::new(None) }
    }

    /// The first value that was wrong.
    pub(super) fn into_fault(self) -> Option<ListFault> {
        self.fault.into_inner()
    }

    #[cold]
    fn reject(&self, fault: ListFault) {
        self.fault.borrow_mut().get_or_insert(fault);
    }
}

/// A reader takes what is next of what nobody has taken, so it need not claim keys.
impl Sink for &Verifier<'_> {
    fn claim_account(self, _id: AccountId) -> bool {
        true
    }

    fn put_account(self, id: AccountId, row: Option<AccountState>) {
        if let Err(fault) = same_account(self.list.address(id), self.listed.account_of(id), row) {
            self.reject(fault);
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
            self.reject(ListFault::WrongValue { what, listed, state });
        }
    }

    fn is_full(self) -> bool {
        self.fault.borrow().is_some()
    }
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
