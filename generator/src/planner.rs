//! The interface between a load and the filler of blocks (`fill.rs`). A planner returns
//! transactions one by one, each with its exact gas and touched keys. Each kind of load implements
//! [`Planner`].

use alloy_primitives::{Address, Bytes, U256};
use workload::{
    Fork, Transaction, TxType,
    block::{Authorization, IndexRange},
    senders::SenderError,
};

use spec::BlockTarget;

use crate::{error::GeneratorError, probe::Cost, senders::Senders};

/// The most gas of a transaction's execution (EIP-7825), equal under all forks of generated blocks.
pub(crate) const TX_EXECUTION_GAS: u64 = Fork::Osaka.tx_gas_cap();

/// A planned transaction. It succeeds, and uses exactly the gas of its cost.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlannedTx {
    /// The gas limit.
    pub(crate) gas_limit: u64,
    /// The price.
    pub(crate) cost: Cost,
    /// Index of the sender in the genesis' senders.
    pub(crate) sender: u64,
    /// The sender's nonce, which the filler sets.
    pub(crate) nonce: u64,
    /// The callee, or `None` to create.
    pub(crate) to: Option<Address>,
    /// Wei that the transaction transfers.
    pub(crate) value: U256,
    /// Calldata.
    pub(crate) input: Bytes,
    /// Delegations (EIP-7702); with any it is a set-code transaction.
    pub(crate) authorizations: Vec<Authorization>,
    /// The keys that the transaction touches, except its sender and accounts written out in the
    /// genesis.
    pub(crate) touched: Touched,
}

impl PlannedTx {
    /// A transaction of this price.
    pub(crate) fn priced(cost: Cost) -> Self {
        Self { gas_limit: cost.limit(), cost, ..Self::default() }
    }

    /// The transaction to run, still without fees.
    ///
    /// # Errors
    /// [`SenderError`] when its sender has no valid secret.
    pub(crate) fn to_tx(&self, senders: &mut Senders<'_>) -> Result<Transaction, SenderError> {
        let tx_type = match self.authorizations.is_empty() {
            true => TxType::DynamicFee,
            false => TxType::SetCode,
        };
        Ok(Transaction {
            tx_type,
            sender: senders.address(self.sender)?,
            nonce: self.nonce,
            gas_limit: self.gas_limit,
            to: self.to,
            value: self.value,
            input: self.input.clone(),
            authorizations: self.authorizations.clone(),
            ..Transaction::default()
        })
    }
}

/// The keys of families that a transaction touches, and absent accounts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    /// Slots of families.
    pub(crate) slots: Vec<IndexRange>,
    /// Accounts of the first sender family, by index.
    pub(crate) senders: Vec<u64>,
    /// Accounts of the other sender families.
    pub(crate) others: Vec<IndexRange>,
    /// Accounts of account families.
    pub(crate) accounts: Vec<IndexRange>,
    /// Addresses without an account, or without one before the workload's transactions.
    pub(crate) absent: Vec<Address>,
}

/// Gas limit and turn of the next transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// The largest gas limit of the transaction.
    pub(crate) gas_limit: u64,
    /// The next sender's turn: the load's transactions so far, counted from the load's own start
    /// among the accounts.
    pub(crate) turn: u64,
}

/// Plans the transactions of one load.
pub(crate) trait Planner {
    /// Begins a block, of which `budget` is the load's share.
    fn begin(&mut self, _budget: BlockTarget) -> Result<(), GeneratorError> {
        Ok(())
    }

    /// The next transaction; `None` where the room is less than a useful transaction needs.
    fn next(
        &mut self,
        room: Room,
        senders: &mut Senders<'_>,
    ) -> Result<Option<PlannedTx>, GeneratorError>;

    /// Gas in which a useful transaction fits.
    fn useful_gas(&self) -> u64;

    /// The price that the next transaction within `room` would have. `None` where no transaction
    /// fits, and by default. The filler then takes [`Self::useful_gas`] as the price, all of it
    /// execution gas.
    fn price(&mut self, _: Room, _: &mut Senders<'_>) -> Result<Option<Cost>, GeneratorError> {
        Ok(None)
    }

    /// Whether the load has no more transactions for the block, even if gas is left.
    fn has_ended(&self) -> bool {
        false
    }

    /// Returns two numbers for the family that lacks the most keys: the keys that transactions
    /// need, and the keys that it holds. Keys are slots or accounts, and the second number is
    /// smaller. `None` if each family holds enough.
    fn shortfall(&self) -> Option<(u64, u64)> {
        None
    }
}

/// Returns the usable part of `gas_limit` for a transaction that needs `needed_gas`. Above the gas
/// of execution, a limit pays for state gas alone (EIP-8037).
pub(crate) fn useful_limit(gas_limit: u64, needed_gas: u64) -> u64 {
    gas_limit.min(needed_gas.max(TX_EXECUTION_GAS))
}

/// Number of transactions of `cost` that fit in `budget`.
pub(crate) fn fitting_count(budget: BlockTarget, cost: Cost) -> u64 {
    match budget {
        BlockTarget::Gas(gas) | BlockTarget::Limit(gas) => {
            gas.saturating_sub(cost.refund) / cost.gas.max(1)
        }
        BlockTarget::Transactions(count) => count,
    }
}
