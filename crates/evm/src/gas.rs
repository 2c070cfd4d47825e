//! Gas of a block in the senses in which forks and readers count it.

use workload::Fork;

use crate::TxGas;

/// Gas of a block, added up in the senses that forks and readers count it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockGas {
    /// Sum over the receipts.
    pub receipt_gas: u64,
    /// Execution gas before refunds (EIP-7778).
    pub regular_gas: u64,
    /// State gas (EIP-8037).
    pub state_gas: u64,
}

impl BlockGas {
    /// Gas in the header's sense: that of the receipts, from Amsterdam on the larger of execution
    /// and state gas (EIP-8037).
    pub fn header_gas(&self, fork: Fork) -> u64 {
        match fork {
            Fork::Osaka | Fork::Bpo1 | Fork::Bpo2 => self.receipt_gas,
            Fork::Amsterdam => self.regular_gas.max(self.state_gas),
        }
    }

    /// Whether a transaction still fits a block of `limit`: its gas limit must not be more than
    /// the gas that the transactions before it have left, per dimension (EIP-8037).
    pub fn admits(&self, tx_gas_limit: u64, limit: u64, fork: Fork) -> bool {
        let needed = match fork {
            Fork::Osaka | Fork::Bpo1 | Fork::Bpo2 => self.receipt_gas.checked_add(tx_gas_limit),
            Fork::Amsterdam => {
                let regular_gas = self.regular_gas.checked_add(tx_gas_limit.min(fork.tx_gas_cap()));
                let state_gas = self.state_gas.checked_add(tx_gas_limit);
                regular_gas
                    .zip(state_gas)
                    .map(|(regular_gas, state_gas)| regular_gas.max(state_gas))
            }
        };
        needed.is_some_and(|needed| needed <= limit)
    }

    /// Adds that of a transaction.
    pub fn add(&mut self, gas: &TxGas) {
        self.receipt_gas += gas.receipt_gas;
        self.regular_gas += gas.block_regular_gas;
        self.state_gas += gas.block_state_gas;
    }
}
