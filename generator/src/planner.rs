//! A load as the filling of blocks sees it: a planner that gives one transaction after another,
//! each with its exact gas and with all that it touches. A kind of load is an implementation of
//! [`Planner`].

use alloy_primitives::{Address, Bytes, U256};
use workload::{
    Transaction, TxType,
    block::{Authorization, IndexRange},
    senders::SenderError,
};

use spec::BlockTarget;

use crate::{error::GeneratorError, people::People, probe::Cost};

/// A planned transaction: it succeeds, with exactly this gas.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlannedTx {
    /// Its gas limit.
    pub(crate) gas_limit: u64,
    /// Gas that it will use.
    pub(crate) gas: u64,
    /// Gas that comes back to it at its end, and counts against the block (EIP-7778).
    pub(crate) refund: u64,
    /// Who sends it, by place in the genesis' senders.
    pub(crate) sender: u64,
    /// The sender's nonce: the filler of the block counts it.
    pub(crate) nonce: u64,
    /// Whom it calls, or `None` to create.
    pub(crate) to: Option<Address>,
    /// Wei that it carries.
    pub(crate) value: U256,
    /// Calldata.
    pub(crate) input: Bytes,
    /// Delegations (EIP-7702); with any it is a set-code transaction.
    pub(crate) authorizations: Vec<Authorization>,
    /// The keys that it touches beside its sender and accounts written out in the genesis.
    pub(crate) touched: Touched,
}

impl PlannedTx {
    /// A transaction of this price.
    pub(crate) fn priced(cost: Cost) -> Self {
        let Cost { gas, refund } = cost;
        Self { gas_limit: cost.limit(), gas, refund, ..Self::default() }
    }

    /// It as it is run, but for its fees.
    ///
    /// # Errors
    /// [`SenderError`] when its sender has no valid secret.
    pub(crate) fn to_run(&self, people: &mut People<'_>) -> Result<Transaction, SenderError> {
        let tx_type = match self.authorizations.is_empty() {
            true => TxType::DynamicFee,
            false => TxType::SetCode,
        };
        Ok(Transaction {
            tx_type,
            sender: people.address(self.sender)?,
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
    /// Accounts, by place in the genesis' senders.
    pub(crate) senders: Vec<u64>,
    /// Accounts of other sender families than the first.
    pub(crate) others: Vec<IndexRange>,
    /// Accounts of account families.
    pub(crate) accounts: Vec<IndexRange>,
    /// Addresses without an account, or without one before the workload's transactions.
    pub(crate) absent: Vec<Address>,
}

/// Limits of the next transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// The most gas that its limit may be.
    pub(crate) gas_limit: u64,
    /// Whose turn it is to send: the load's transactions before it, from a place of the load's own
    /// among the accounts.
    pub(crate) turn: u64,
}

/// Plans the transactions of one load.
pub(crate) trait Planner {
    /// Called at the start of each block with the load's share of it.
    fn begin(&mut self, _: BlockTarget) -> Result<(), GeneratorError> {
        Ok(())
    }

    /// The next transaction; `None` where the room is less than a useful one needs.
    fn next(
        &mut self,
        room: Room,
        people: &mut People<'_>,
    ) -> Result<Option<PlannedTx>, GeneratorError>;

    /// Gas in which a useful transaction fits.
    fn useful_gas(&self) -> u64;

    /// Whether the load has nothing more for the block, also where gas is left.
    fn has_ended(&self) -> bool {
        false
    }

    /// Slots or accounts asked of the family that lacks most, and those it holds, if these are fewer.
    fn shortfall(&self) -> Option<(u64, u64)> {
        None
    }
}

/// Transactions of `cost` that fit `budget`.
pub(crate) fn fitting(budget: BlockTarget, cost: Cost) -> u64 {
    match budget {
        BlockTarget::Gas(gas) => gas.saturating_sub(cost.refund) / cost.gas.max(1),
        BlockTarget::Transactions(count) => count,
    }
}
