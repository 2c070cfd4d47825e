//! Is the list right? Every step's writes must be those that the list has at its index, and
//! every key that a complete list declares must be met (EIP-7928).

use alloy_primitives::{Address, U256};
use evm::StepWrites;
use workload::{
    BlockAccessIndex,
    list::{AccountId, ListError, ListIndex, SlotId},
};

use crate::{
    join::Written,
    view::{Touched, ViewError},
};

/// Why a list is rejected.
#[derive(Debug, thiserror::Error)]
pub enum ListFault {
    /// Its bytes are not a list, or not within bounds.
    #[error("the list cannot be read: {0}")]
    Malformed(#[from] ListError),
    /// It is said to have changes only, and names more.
    #[error("account {0}: the list has more than changes, and its form has changes only")]
    MoreThanChanges(Address),
    /// Steps that remain cannot meet all declared slots that none has met yet (EIP-7928).
    #[error(
        "{unmet_count} declared slots are met by no step yet, and what gas remains can pay for \
         {payable_count} at most"
    )]
    Infeasible {
        /// Declared slots that no step has met.
        unmet_count: u64,
        /// Slots that the steps that remain can meet.
        payable_count: u64,
    },
    /// A value before the batch is not what the state has.
    #[error("{what} is {state} in the state before the batch, and the list has {listed}")]
    WrongValue {
        /// Which key.
        what: String,
        /// What the list has.
        listed: String,
        /// What the store has.
        state: String,
    },
    /// A step reads a key that is not declared.
    #[error("index {index}: {read}")]
    Undeclared {
        /// The step.
        index: BlockAccessIndex,
        /// Which key.
        read: ViewError,
    },
    /// On the state that the list gives, a step is not valid.
    #[error("index {index}: not valid on the state that the list gives: {reason}")]
    InvalidStep {
        /// The step.
        index: BlockAccessIndex,
        /// What the EVM says.
        reason: String,
    },
    /// A step wrote something else than the list has, or something the list has not.
    #[error("index {index}: {what} became {got}, and the list has {listed}")]
    WrongChange {
        /// The step.
        index: BlockAccessIndex,
        /// Which field of which key.
        what: String,
        /// What the step wrote.
        got: String,
        /// What the list has there.
        listed: String,
    },
    /// The list has changes at an index whose step did not make them.
    #[error("index {index}: the list has {listed_count} changes and the step made {made_count}")]
    SurplusChanges {
        /// The step.
        index: BlockAccessIndex,
        /// Changes that the list has at the index.
        listed_count: usize,
        /// Changes that the step made, all of them in the list.
        made_count: usize,
    },
    /// No step met a declared account.
    #[error("account {0} is in the list and no step met it")]
    SurplusAccount(Address),
    /// No step met a declared slot.
    #[error("slot {key:#x} of {address} is in the list and no step met it")]
    SurplusSlot {
        /// Whose slot.
        address: Address,
        /// Which.
        key: U256,
    },
}

/// Checks that `writes` are exactly what `list` has at `index`, and adds them to `written`.
///
/// # Errors
/// The first difference.
pub(crate) fn check_writes(
    list: &ListIndex,
    index: BlockAccessIndex,
    writes: &StepWrites,
    written: &mut Written,
) -> Result<(), ListFault> {
    let same = |what: &dyn Fn() -> String, got: String, listed: Option<String>| match listed {
        Some(listed) if listed == got => Ok(()),
        other => Err(ListFault::WrongChange {
            index,
            what: what(),
            got,
            listed: other.unwrap_or_else(|| "no change".to_owned()),
        }),
    };
    for write in &writes.accounts {
        let address = write.address;
        let id = list.account_id(&address);
        if let Some(balance) = write.balance {
            let listed = id.and_then(|id| list.balance_at(id, index));
            if listed != Some(balance) {
                let what = || format!("the balance of {address}");
                same(&what, balance.to_string(), listed.map(|v| v.to_string()))?;
            }
        }
        if let Some(nonce) = write.nonce {
            let listed = id.and_then(|id| list.nonce_at(id, index));
            if listed != Some(nonce) {
                let what = || format!("the nonce of {address}");
                same(&what, nonce.to_string(), listed.map(|v| v.to_string()))?;
            }
        }
        if let Some((hash, _)) = &write.code {
            let listed = id.and_then(|id| list.code_at(id, index)).map(|code| code.hash);
            if listed != Some(*hash) {
                let what = || format!("the code of {address}");
                same(&what, hash.to_string(), listed.map(|v| v.to_string()))?;
            }
        }
        if let Some(id) = id {
            written.add_account(index, id, write);
        }
    }
    for (address, key, value) in &writes.slots {
        let id = list.account_id(address).and_then(|account| list.slot_id(account, key));
        let listed = id.and_then(|id| list.slot_at(id, index));
        if listed != Some(*value) {
            let what = || format!("slot {key:#x} of {address}");
            same(&what, format!("{value:#x}"), listed.map(|v| format!("{v:#x}")))?;
        }
        if let Some(id) = id {
            written.add_slot(index, id, *value);
        }
    }
    // Each write has its own entry, so equal counts leave no entry over.
    let (listed_count, made_count) = (list.change_count_at(index) as usize, writes.change_count());
    if listed_count != made_count {
        return Err(ListFault::SurplusChanges { index, listed_count, made_count });
    }
    Ok(())
}

/// Checks that every key of a complete list was met.
///
/// # Errors
/// The first key that was not.
pub fn check_touched(list: &ListIndex, touched: &Touched) -> Result<(), ListFault> {
    if let Some(id) = touched.accounts.first_missing() {
        return Err(ListFault::SurplusAccount(*list.address(AccountId(id as u32))));
    }
    if let Some(id) = touched.slots.first_missing() {
        let slot = SlotId(id as u32);
        let address = *list.address(list.account_of(slot));
        return Err(ListFault::SurplusSlot { address, key: list.slot_key(slot) });
    }
    Ok(())
}
