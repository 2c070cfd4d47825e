//! Checks that the list is right (EIP-7928). Every step's writes must be those of the list at the
//! step's index. A list that declares all reads is *complete*: steps must touch each of its keys.

use alloy_primitives::Address;
use evm::StepWrites;
use workload::{
    BlockAccessIndex,
    list::{AccountId, ListIndex, SlotId},
};

use super::{join::Written, view::Touched};
use crate::engine::error::ListFault;

/// Checks that `writes` are exactly those of `list` at `index`, and adds them to `written`.
///
/// # Errors
/// The first difference.
pub(crate) fn check_writes(
    list: &ListIndex,
    index: BlockAccessIndex,
    writes: &StepWrites,
    written: &mut Written,
) -> Result<(), ListFault> {
    let wrong_change = |what: String, got: String, listed: Option<String>| {
        let listed = listed.unwrap_or_else(|| "no change".to_owned());
        Err(ListFault::WrongChange { index, what, got, listed })
    };
    for write in &writes.accounts {
        let address = write.address;
        let id = list.account_id(&address);
        if let Some(balance) = write.balance {
            let listed = id.and_then(|id| list.balance_at(id, index));
            if listed != Some(balance) {
                let what = format!("the balance of {address}");
                return wrong_change(what, balance.to_string(), listed.map(|v| v.to_string()));
            }
        }
        if let Some(nonce) = write.nonce {
            let listed = id.and_then(|id| list.nonce_at(id, index));
            if listed != Some(nonce) {
                let what = format!("the nonce of {address}");
                return wrong_change(what, nonce.to_string(), listed.map(|v| v.to_string()));
            }
        }
        if let Some((hash, _)) = &write.code {
            let listed = id.and_then(|id| list.code_at(id, index)).map(|code| code.hash);
            if listed != Some(*hash) {
                let what = format!("the code of {address}");
                return wrong_change(what, hash.to_string(), listed.map(|v| v.to_string()));
            }
        }
        if let Some(id) = id {
            written.add_account(index, id, write);
        }
    }
    // Slots of one account are consecutive.
    let mut last: Option<(&Address, Option<AccountId>)> = None;
    for (address, key, value) in &writes.slots {
        let account = match last {
            Some((known, account)) if known == address => account,
            _ => list.account_id(address),
        };
        last = Some((address, account));
        let id = account.and_then(|account| list.slot_id(account, key));
        let listed = id.and_then(|id| list.slot_at(id, index));
        if listed != Some(*value) {
            let (what, got) = (format!("slot {key:#x} of {address}"), format!("{value:#x}"));
            return wrong_change(what, got, listed.map(|v| format!("{v:#x}")));
        }
        if let Some(id) = id {
            written.add_slot(index, id, *value);
        }
    }
    // Each write was found in the list. So if the counts are equal, each change of the list at this
    // index has a write.
    let (listed_count, made_count) = (list.change_count_at(index) as usize, writes.change_count());
    if listed_count != made_count {
        return Err(ListFault::SurplusChanges { index, listed_count, made_count });
    }
    Ok(())
}

/// Checks that steps touched every key of a complete list.
///
/// # Errors
/// The first key that no step touched.
pub(crate) fn check_touched(list: &ListIndex, touched: &Touched) -> Result<(), ListFault> {
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
