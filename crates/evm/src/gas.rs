//! Adds up the gas of a block: the receipts' gas and, from Amsterdam on, execution gas and state
//! gas as two dimensions (EIP-8037). The generator fills blocks by these sums.

use workload::Fork;

use crate::TxGas;

/// Gas of a block, in three sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockGas {
    /// Sum of the receipts' gas.
    pub receipt_gas: u64,
    /// Sum of execution gas before refunds (EIP-7778).
    pub regular_gas: u64,
    /// Sum of state gas (EIP-8037).
    pub state_gas: u64,
}

impl BlockGas {
    /// Gas in the block's header: the receipts' gas; from Amsterdam on, the larger of execution and
    /// state gas (EIP-8037).
    pub fn header_gas(&self, fork: Fork) -> u64 {
        match fork.is_from(Fork::Amsterdam) {
            true => self.regular_gas.max(self.state_gas),
            false => self.receipt_gas,
        }
    }

    /// The largest gas limit of a next transaction, in a block with the gas limit `limit`. Before
    /// Amsterdam, it is the gas that earlier transactions left. From Amsterdam on, the remaining
    /// state gas must cover the transaction's limit (EIP-8037). The remaining execution gas must
    /// cover the smaller of that limit and the cap of EIP-7825.
    pub fn tx_gas_limit_max(&self, limit: u64, fork: Fork) -> u64 {
        let remaining = |used: u64| limit.saturating_sub(used);
        if !fork.is_from(Fork::Amsterdam) {
            remaining(self.receipt_gas)
        } else if remaining(self.regular_gas) >= fork.tx_gas_cap() {
            remaining(self.state_gas)
        } else {
            remaining(self.regular_gas).min(remaining(self.state_gas))
        }
    }

    /// Whether a transaction with the gas limit `tx_gas_limit` still fits into a block with the gas
    /// limit `limit`.
    pub fn has_room_for(&self, tx_gas_limit: u64, limit: u64, fork: Fork) -> bool {
        tx_gas_limit <= self.tx_gas_limit_max(limit, fork)
    }

    /// Adds the gas of a transaction.
    pub fn add(&mut self, gas: &TxGas) {
        self.receipt_gas += gas.receipt_gas;
        self.regular_gas += gas.block_regular_gas;
        self.state_gas += gas.block_state_gas;
    }
}
