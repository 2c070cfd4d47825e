//! Rows of a store as revm wants them, and as a transaction sees them that runs before its turn.
//! The sender of such a transaction has the nonce and the balance that it needs to begin. Its
//! earlier transactions, and those that pay it, have not run.

use alloy_primitives::{Address, B256, Bytes, U256};
use revm::state::{AccountInfo, Bytecode};
use workload::{block::Transaction, genesis::AccountState};

use super::error::ViewError;

/// Gas of a blob (EIP-4844).
const GAS_PER_BLOB: u128 = 1 << 17;

/// A code as revm wants it.
pub(crate) fn bytecode(hash: B256, code: Option<Bytes>) -> Result<Bytecode, ViewError> {
    let code = code.ok_or(ViewError::MissingCode(hash))?;
    Bytecode::new_raw_checked(code)
        .map_err(|error| ViewError::InvalidCode { hash, reason: error.to_string() })
}

/// A row as revm wants it; the code comes when it is asked for.
pub(crate) fn info(row: AccountState) -> AccountInfo {
    AccountInfo {
        balance: row.balance,
        nonce: row.nonce,
        code_hash: row.code_hash,
        code: None,
        ..AccountInfo::default()
    }
}

/// A sender as its transaction may see it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lifted {
    sender: Address,
    nonce: u64,
    least_balance: U256,
}

impl Lifted {
    /// The sender of `tx`.
    pub(super) fn new(tx: &Transaction) -> Self {
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
