//! Net changes of a batch from revm's bundle: the difference between the states before and after
//! the batch. The reference and the engine `bare-revm` compute theirs here.

use revm::{
    database::{BundleAccount, BundleState},
    state::AccountInfo,
};
use workload::{AccountState, NetChanges};

/// Returns the net changes of `bundle` against the state before the batch, sorted. An account or
/// slot with the same value as before is no change; an empty account does not exist (EIP-161).
pub fn net_changes(bundle: &BundleState) -> NetChanges {
    let mut changes = NetChanges::default();
    for (address, account) in &bundle.state {
        let before = account.original_info.as_ref().map(account_state);
        let after = account.info.as_ref().filter(|info| !info.is_empty()).map(account_state);
        if before != after {
            changes.accounts.push((*address, after));
        }
        add_code(bundle, account, &mut changes);
        for (key, slot) in &account.storage {
            if slot.is_changed() {
                changes.slots.push((*address, *key, slot.present_value()));
            }
        }
    }
    changes.sort();
    changes
}

fn add_code(bundle: &BundleState, account: &BundleAccount, changes: &mut NetChanges) {
    let Some(info) = account.info.as_ref().filter(|info| !info.is_empty_code_hash()) else {
        return;
    };
    if account.original_info.as_ref().is_some_and(|before| before.code_hash == info.code_hash) {
        return;
    }
    let code = info.code.as_ref().or_else(|| bundle.contracts.get(&info.code_hash));
    if let Some(code) = code {
        changes.codes.push((info.code_hash, code.original_bytes()));
    }
}

/// Converts an account of revm to the content of an account row.
pub fn account_state(info: &AccountInfo) -> AccountState {
    AccountState { nonce: info.nonce, balance: info.balance, code_hash: info.code_hash }
}

/// Converts the content of an account row to an account of revm, which reads the code by its hash
/// when it needs it.
#[inline]
pub fn account_info(state: AccountState) -> AccountInfo {
    let AccountState { nonce, balance, code_hash } = state;
    // The default is an empty code.
    AccountInfo { nonce, balance, code_hash, code: None, ..AccountInfo::default() }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, U256};
    use revm::{
        database::{AccountStatus, states::StorageSlot},
        primitives::HashMap,
    };

    use super::*;

    fn info(balance: u64) -> AccountInfo {
        AccountInfo { balance: U256::from(balance), ..AccountInfo::default() }
    }

    fn bundle(before: Option<AccountInfo>, after: Option<AccountInfo>) -> BundleState {
        let slots = [(1, 5, 6), (2, 7, 7), (3, 8, 0)].map(|(key, before, after)| {
            let slot = StorageSlot::new_changed(U256::from(before), U256::from(after));
            (U256::from(key), slot)
        });
        let storage = HashMap::from_iter(slots);
        let account = BundleAccount::new(before, after, storage, AccountStatus::Changed);
        let mut bundle = BundleState::default();
        bundle.state.insert(Address::repeat_byte(1), account);
        bundle
    }

    #[test]
    fn what_came_back_to_its_value_is_no_change() {
        let changes = net_changes(&bundle(Some(info(9)), Some(info(9))));
        assert!(changes.accounts.is_empty());
        let slots: Vec<_> = changes.slots.iter().map(|(_, key, value)| (*key, *value)).collect();
        assert_eq!(slots, [(U256::from(1), U256::from(6)), (U256::from(3), U256::ZERO)]);
    }

    #[test]
    fn an_emptied_account_no_longer_exists() {
        let address = Address::repeat_byte(1);
        let changes = net_changes(&bundle(Some(info(9)), Some(info(0))));
        assert_eq!(changes.accounts, [(address, None)]);
        let changes = net_changes(&bundle(None, Some(info(0))));
        assert!(changes.accounts.is_empty());
        let changes = net_changes(&bundle(None, Some(info(4))));
        assert_eq!(changes.accounts, [(address, Some(account_state(&info(4))))]);
    }
}
