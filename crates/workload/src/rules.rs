//! Checks the rules of a block that do not depend on the state and that revm leaves to its caller.
//! A workload file is checked when it is read, and blocks before the reference runs or import
//! completes them.

use crate::{
    block::{Block, TxType},
    fork::{ChainRules, Fork},
};

/// Maximum length of a block's RLP in bytes: 10 MiB less 2 MiB for the beacon block (EIP-7934).
pub const MAX_RLP_BLOCK_BYTES: usize = 8 << 20;

/// A rule that a block breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it and its fields are")]
pub enum BlockFault {
    #[error(
        "transaction {tx_index} is of type {tx_type} and has no recipient; only types 0 to 2 can \
         create a contract (EIP-4844, EIP-7702)"
    )]
    NoRecipient { tx_index: usize, tx_type: u8 },
    #[error(
        "transaction {tx_index} has a gas limit of {gas_limit}; {fork} allows {max_gas} with state \
         gas (ethereum/execution-specs#3582)"
    )]
    TxGas { tx_index: usize, gas_limit: u64, fork: Fork, max_gas: u64 },
    #[error(
        "the transactions have {blob_count} blobs; the blob schedule allows {max_count} in a block \
         (EIP-7892)"
    )]
    Blobs { blob_count: u64, max_count: u64 },
}

impl BlockFault {
    /// Index of the transaction that breaks the rule; `None` for a rule about all
    /// transactions.
    pub const fn tx_index(&self) -> Option<usize> {
        match self {
            Self::NoRecipient { tx_index, .. } | Self::TxGas { tx_index, .. } => Some(*tx_index),
            Self::Blobs { .. } => None,
        }
    }
}

impl Block {
    /// Number of blobs of all transactions (EIP-4844).
    pub fn blob_count(&self) -> u64 {
        self.transactions.iter().map(|tx| tx.blob_hashes.len() as u64).sum()
    }

    /// Checks the rules that hold on any state.
    ///
    /// # Errors
    /// The first [`BlockFault`].
    pub fn check(&self, rules: &ChainRules) -> Result<(), BlockFault> {
        let fork = rules.fork;
        for (tx_index, tx) in self.transactions.iter().enumerate() {
            if tx.to.is_none() && tx.tx_type >= TxType::Blob {
                let tx_type = tx.tx_type as u8;
                return Err(BlockFault::NoRecipient { tx_index, tx_type });
            }
            let (gas_limit, max_gas) = (tx.gas_limit, fork.max_tx_gas());
            if gas_limit > max_gas {
                return Err(BlockFault::TxGas { tx_index, gas_limit, fork, max_gas });
            }
        }
        let (blob_count, max_count) = (self.blob_count(), rules.blobs.max);
        if blob_count > max_count {
            return Err(BlockFault::Blobs { blob_count, max_count });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, B256};

    use super::*;
    use crate::block::Transaction;

    fn checked(transactions: Vec<Transaction>, fork: Fork) -> Result<(), BlockFault> {
        Block { transactions, ..Block::default() }.check(&fork.into())
    }

    #[test]
    fn types_that_cannot_create_have_a_recipient() {
        use TxType::{AccessList, Blob, DynamicFee, Legacy, SetCode};
        for tx_type in [Legacy, AccessList, DynamicFee, Blob, SetCode] {
            let without = Transaction { tx_type, ..Transaction::default() };
            let with = Transaction { to: Some(Address::ZERO), ..without.clone() };
            let can_create = !matches!(tx_type, Blob | SetCode);
            let fault = BlockFault::NoRecipient { tx_index: 1, tx_type: tx_type as u8 };
            for fork in Fork::ALL {
                let result = checked(vec![with.clone(), without.clone()], fork);
                assert_eq!(result, if can_create { Ok(()) } else { Err(fault) }, "{fork}");
            }
        }
    }

    #[test]
    fn the_blobs_of_a_block_are_bounded_over_all_its_transactions() {
        for (fork, max_count) in
            [(Fork::Osaka, 9), (Fork::Bpo1, 15), (Fork::Bpo2, 21), (Fork::Amsterdam, 21)]
        {
            let of_blobs = |count: u64| Transaction {
                tx_type: TxType::Blob,
                to: Some(Address::ZERO),
                blob_hashes: vec![B256::ZERO; count as usize],
                ..Transaction::default()
            };
            let all = |count: u64| vec![of_blobs(6), of_blobs(count - 6)];
            assert_eq!(checked(all(max_count), fork), Ok(()));
            let fault = BlockFault::Blobs { blob_count: max_count + 1, max_count };
            assert_eq!(checked(all(max_count + 1), fork), Err(fault));
        }
    }

    #[test]
    fn the_gas_of_a_transaction_is_bounded_with_its_state_gas() {
        let tx = |gas_limit| vec![Transaction { gas_limit, ..Transaction::default() }];
        for (fork, max_gas) in [(Fork::Bpo2, 1 << 24), (Fork::Amsterdam, (1 << 32) - 1)] {
            assert_eq!(checked(tx(max_gas), fork), Ok(()));
            let fault = BlockFault::TxGas { tx_index: 0, gas_limit: max_gas + 1, fork, max_gas };
            assert_eq!(checked(tx(max_gas + 1), fork), Err(fault));
        }
    }
}
