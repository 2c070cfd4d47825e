//! Rows of a store as revm wants them.

use alloy_primitives::{B256, Bytes};
use revm::state::{AccountInfo, Bytecode};
use workload::genesis::AccountState;

use super::error::ViewError;

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
