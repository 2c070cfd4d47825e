//! A drawn block.

use alloy_primitives::Address;
use workload::{Transaction, Withdrawal};

/// A drawn block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Recipient of the fees.
    pub beneficiary: Address,
    /// Transactions. Their nonces, and those of their authorizations, are distances from the valid
    /// nonces.
    pub transactions: Vec<Transaction>,
    /// Withdrawals.
    pub withdrawals: Vec<Withdrawal>,
}
