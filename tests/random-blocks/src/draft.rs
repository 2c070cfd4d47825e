//! A block as it was drawn.

use alloy_primitives::Address;
use workload::{Transaction, Withdrawal};

/// A block as it was drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// Receives the fees.
    pub beneficiary: Address,
    /// Transactions, whose nonces, and those of their authorizations, are distances from the
    /// right ones.
    pub transactions: Vec<Transaction>,
    /// Withdrawals.
    pub withdrawals: Vec<Withdrawal>,
}
