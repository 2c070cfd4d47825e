//! Collects the writes of a step from revm's output, for engines and descriptions. They are the
//! step's changes of the state, and its entries in a block-level access list (EIP-7928).

use alloy_primitives::{Address, B256, Bytes, U256};
use revm::state::{Account, AccountInfo, EvmState};

/// Writes of a step to one account; `None` for a field that the step left unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountWrite {
    /// The account.
    pub address: Address,
    /// New balance.
    pub balance: Option<U256>,
    /// New nonce.
    pub nonce: Option<u64>,
    /// Hash of the new code, and the code; the code is empty if it was removed.
    pub code: Option<(B256, Bytes)>,
}

impl AccountWrite {
    /// Number of entries that the write adds to a block-level access list.
    pub fn change_count(&self) -> usize {
        usize::from(self.balance.is_some())
            + usize::from(self.nonce.is_some())
            + usize::from(self.code.is_some())
    }
}

/// Writes of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepWrites {
    /// Accounts with at least one new field, in no particular order.
    pub accounts: Vec<AccountWrite>,
    /// Slots with another value than before the step: address, key, new value.
    pub slots: Vec<(Address, U256, U256)>,
}

impl StepWrites {
    /// Number of entries that the writes add to a block-level access list.
    pub fn change_count(&self) -> usize {
        let fields: usize = self.accounts.iter().map(AccountWrite::change_count).sum();
        fields + self.slots.len()
    }

    /// Removes all writes, and keeps the allocations for the next step.
    pub fn clear(&mut self) {
        self.accounts.clear();
        self.slots.clear();
    }

    /// Adds the writes of `state`, the finalised output of a part of the step: a transaction, a
    /// system call, or all withdrawals.
    pub fn add(&mut self, state: &EvmState) {
        for (address, account) in state {
            if account.is_touched() {
                self.add_account(*address, account);
            }
        }
    }

    fn add_account(&mut self, address: Address, account: &Account) {
        // A contract that destroys itself in its creating transaction leaves nothing in the state,
        // also no slots (EIP-6780).
        let is_destroyed = account.is_selfdestructed();
        let before = account.original_info();
        let after = if is_destroyed { AccountInfo::default() } else { account.info.clone() };
        let code_changed = before.code_hash != after.code_hash;
        let write = AccountWrite {
            address,
            balance: (before.balance != after.balance).then_some(after.balance),
            nonce: (before.nonce != after.nonce).then_some(after.nonce),
            code: code_changed.then(|| {
                let bytes = after.code.as_ref().map(|code| code.original_bytes());
                (after.code_hash, bytes.unwrap_or_default())
            }),
        };
        if write.change_count() > 0 {
            self.accounts.push(write);
        }
        for (key, slot) in &account.storage {
            let value = if is_destroyed { U256::ZERO } else { slot.present_value() };
            if slot.original_value() != value {
                self.slots.push((address, *key, value));
            }
        }
    }
}
