//! Converts rows of a store for revm. Adjusts the sender of a transaction that runs before its
//! turn: the sender gets the nonce and the balance that the transaction needs to begin. Otherwise
//! the transaction could fail to begin, since earlier transactions of the sender, and transactions
//! that pay the sender, have not run yet.

use alloy_primitives::{Address, B256, Bytes, U256};
pub(crate) use evm::account_info as info;
use revm::{primitives::eip4844::GAS_PER_BLOB, state::Bytecode};
use workload::{block::Transaction, genesis::AccountState};

use super::error::ViewError;

/// Converts a code for revm.
pub(crate) fn bytecode(hash: B256, code: Option<Bytes>) -> Result<Bytecode, ViewError> {
    let code = code.ok_or(ViewError::MissingCode(hash))?;
    Bytecode::new_raw_checked(code)
        .map_err(|error| ViewError::InvalidCode { hash, reason: error.to_string() })
}

/// The sender of a transaction, adjusted so that the transaction can begin.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FundedSender {
    sender: Address,
    nonce: u64,
    least_balance: U256,
}

impl FundedSender {
    /// Computes the nonce and the least balance that the sender of `tx` needs.
    pub(super) fn new(tx: &Transaction) -> Self {
        let gas = U256::from(tx.gas_limit).saturating_mul(U256::from(tx.max_fee_per_gas));
        let blob_gas = U256::from(tx.blob_hashes.len()).saturating_mul(U256::from(GAS_PER_BLOB));
        let blobs = blob_gas.saturating_mul(U256::from(tx.max_fee_per_blob_gas));
        let least_balance = gas.saturating_add(blobs).saturating_add(tx.value);
        Self { sender: tx.sender, nonce: tx.nonce, least_balance }
    }

    /// Returns the row of an account, adjusted if it is the sender's.
    pub(super) fn adjusted(
        &self,
        address: Address,
        row: Option<AccountState>,
    ) -> Option<AccountState> {
        if self.sender != address {
            return row;
        }
        let found = row.unwrap_or_default();
        let balance = found.balance.max(self.least_balance);
        Some(AccountState { nonce: self.nonce, balance, ..found })
    }
}
