//! Runs a transaction without paying the beneficiary's fee, and returns the fee's amount. With the
//! payment, each transaction would read and write the beneficiary's account, and no two could run
//! in parallel. All else is stock revm, also the computation of the fee.

use std::{cell::Cell, fmt, marker::PhantomData};

use alloy_primitives::U256;
use revm::{
    Database,
    context::{
        Block, ContextTr,
        result::{EVMError, HaltReason},
    },
    handler::{FrameResult, Handler, MainnetContext, MainnetEvm, post_execution},
    state::Account,
};

/// Treatment of the fee that a transaction pays to the block's beneficiary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fees {
    /// The fee is added to the beneficiary's balance, as in a block.
    #[default]
    Paid,
    /// The fee is returned beside the state changes. If the transaction itself touched the
    /// beneficiary's account, the fee is paid.
    Apart,
}

/// Stock revm's handler, except for the beneficiary's payment at the end of a transaction.
pub(crate) struct FeeApart<DB> {
    fee: Cell<U256>,
    database: PhantomData<DB>,
}

impl<DB> FeeApart<DB> {
    pub(crate) const fn new() -> Self {
        Self { fee: Cell::new(U256::ZERO), database: PhantomData }
    }

    /// The fee that was kept apart.
    pub(crate) const fn fee(&self) -> U256 {
        self.fee.get()
    }
}

impl<DB> fmt::Debug for FeeApart<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeeApart").field("fee", &self.fee).finish_non_exhaustive()
    }
}

impl<DB: Database> Handler for FeeApart<DB> {
    type Evm = MainnetEvm<MainnetContext<DB>>;
    type Error = EVMError<DB::Error>;
    type HaltReason = HaltReason;

    /// Lets revm pay the fee to an empty account in the place of the beneficiary's, and takes the
    /// amount from that account's balance. Then removes the account, and the payment's entries from
    /// the journal. If a read has failed, revm later reverts the remaining entries, and needs their
    /// accounts. Pays as usual if the transaction has touched the beneficiary.
    fn reward_beneficiary(
        &self,
        evm: &mut Self::Evm,
        exec_result: &mut FrameResult,
    ) -> Result<(), Self::Error> {
        let beneficiary = evm.ctx.block().beneficiary();
        let journal = &mut evm.ctx.journaled_state;
        if journal.state.contains_key(&beneficiary) {
            return Ok(post_execution::reward_beneficiary(&mut evm.ctx, exec_result.gas())?);
        }
        let entry_count = journal.journal.len();
        let empty = Account::new_not_existing(journal.transaction_id);
        journal.state.insert(beneficiary, empty);
        let rewarded = post_execution::reward_beneficiary(&mut evm.ctx, exec_result.gas());
        let journal = &mut evm.ctx.journaled_state;
        journal.journal.truncate(entry_count);
        if let Some(paid) = journal.state.remove(&beneficiary) {
            self.fee.set(paid.info.balance);
        }
        Ok(rewarded?)
    }
}
