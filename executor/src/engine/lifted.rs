//! The sender of a transaction that runs before its turn: it has whatever nonce and balance the transaction
//! takes to begin, since neither its earlier transactions nor any that pays it have run.

use alloy_primitives::{Address, U256};
use workload::{block::Transaction, genesis::AccountState};

/// Gas of a blob (EIP-4844).
const GAS_PER_BLOB: u128 = 1 << 17;

/// A sender as its transaction may see it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lifted {
    sender: Address,
    nonce: u64,
    least_balance: U256,
}

impl Lifted {
    /// The sender of `tx`.
    pub(super) fn of(tx: &Transaction) -> Self {
        let gas = U256::from(tx.gas_limit).saturating_mul(U256::from(tx.max_fee_per_gas));
        let blob_gas = U256::from(tx.blob_hashes.len() as u128 * GAS_PER_BLOB);
        let blobs = blob_gas.saturating_mul(U256::from(tx.max_fee_per_blob_gas));
        let least_balance = gas.saturating_add(blobs).saturating_add(tx.value);
        Self { sender: tx.sender, nonce: tx.nonce, least_balance }
    }

    /// The row of an account: the sender's is lifted.
    pub(super) fn see(&self, address: Address, row: Option<AccountState>) -> Option<AccountState> {
        if self.sender != address {
            return row;
        }
        let found = row.unwrap_or_default();
        let balance = found.balance.max(self.least_balance);
        Some(AccountState { nonce: self.nonce, balance, ..found })
    }
}
