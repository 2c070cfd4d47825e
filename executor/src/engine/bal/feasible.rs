//! Checks, while a batch runs, that its remaining gas can still pay for the declared slots that no
//! step has touched, at least 2,000 gas each. If it cannot, EIP-7928 lets a validator reject the
//! list at once. A list full of phantom reads then costs the time of a few transactions, not of a
//! block.
//!
//! Steps end in any order, so the check uses upper bounds of the touched slots and of the remaining
//! gas. For example, a slot that two workers touched counts twice. So a right list always passes
//! this check, and a wrong list may pass it. Each check permits all keys that cost no block gas,
//! also those of system calls after the transactions. So does the amendment of the EIP in
//! ethereum/EIPs#12277.

use std::sync::atomic::{AtomicU64, Ordering};

use evm::TxGas;
use workload::{
    Batch, Fork, ForkSchedule,
    block::Transaction,
    list::{ITEM_COST_GAS, ListBounds},
};

use crate::engine::error::ListFault;

/// A worker reports its progress once the gas limits of its unreported transactions reach this sum.
/// So a long transaction of a storm is reported alone, and about a hundred transfers of 21,000 gas
/// together.
const REPORT_GAS: u64 = 2_000_000;

/// The sums of a batch's declared and touched slots and of its gas, which all workers share.
#[derive(Debug)]
pub(crate) struct Feasibility {
    /// Number of slots that the list declares.
    declared_count: u64,
    /// Number of accounts and slots that steps touch without block gas, such as those of system
    /// calls. So at most this number of slots cost no gas.
    free_count: u64,
    /// Gas that the batch's blocks can burn before refunds.
    burnable_gas: u64,
    /// Upper bound of the number of slots that ended steps have touched.
    touched_slot_count: AtomicU64,
    /// Lower bound of the gas of ended steps.
    used_gas: AtomicU64,
    /// Sum of the gas limits of transactions that are not reported as ended.
    limits_gas: AtomicU64,
}

/// Gas and slots that one worker has not reported yet.
#[derive(Debug, Default)]
pub(crate) struct UnreportedWork {
    /// Number of slots that the worker's view had touched at the worker's last report.
    reported_slot_count: u64,
    used_gas: u64,
    limits_gas: u64,
}

/// A transaction that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedTx<'a> {
    pub(crate) tx: &'a Transaction,
    pub(crate) gas: &'a TxGas,
    pub(crate) fork: Fork,
}

/// Returns the most gas that a transaction can burn on access. The gas that EIP-8037 allows above
/// the cap of EIP-7825 pays for state growth only.
fn access_gas_limit(tx: &Transaction, fork: Fork) -> u64 {
    tx.gas_limit.min(fork.tx_gas_cap())
}

impl Feasibility {
    /// Makes the sums of a batch before its first step. Its list declares `declared_count` slots.
    ///
    /// # Errors
    /// [`ListFault::Infeasible`] if all steps together could not touch the list's slots.
    pub(crate) fn new(
        declared_count: u64,
        batch: &Batch,
        rules: &ForkSchedule,
        bounds: &ListBounds,
    ) -> Result<Self, ListFault> {
        let limits = batch.blocks.iter().flat_map(|block| {
            let fork = rules.at(block.env.timestamp).fork;
            block.transactions.iter().map(move |tx| access_gas_limit(tx, fork))
        });
        let feasibility = Self {
            declared_count,
            free_count: bounds.free_item_count,
            burnable_gas: bounds.gas_limit,
            touched_slot_count: AtomicU64::new(0),
            used_gas: AtomicU64::new(0),
            limits_gas: AtomicU64::new(limits.fold(0, u64::saturating_add)),
        };
        feasibility.check()?;
        Ok(feasibility)
    }

    /// Records that a worker ended a transaction, after which its view has touched
    /// `touched_slot_count` slots. Reports to the other workers once the unreported gas limits
    /// reach [`REPORT_GAS`].
    ///
    /// # Errors
    /// [`ListFault::Infeasible`].
    pub(crate) fn ended(
        &self,
        ended: EndedTx<'_>,
        touched_slot_count: u64,
        unreported: &mut UnreportedWork,
    ) -> Result<(), ListFault> {
        if self.declared_count <= self.free_count {
            return Ok(());
        }
        let EndedTx { tx, gas, fork } = ended;
        unreported.limits_gas += access_gas_limit(tx, fork);
        // From Amsterdam on, a block's gas is counted before refunds (EIP-7778). Before, it is
        // counted after refunds, which is less than the burnt gas: a lower bound, too.
        unreported.used_gas += match fork.is_from(Fork::Amsterdam) {
            true => gas.block_regular_gas,
            false => gas.receipt_gas,
        };
        if unreported.limits_gas < REPORT_GAS {
            return Ok(());
        }
        // A check that sees a step's gas limit subtracted must also see the step's slots, so the
        // slots are added first.
        self.touched_slot_count
            .fetch_add(touched_slot_count - unreported.reported_slot_count, Ordering::AcqRel);
        self.used_gas.fetch_add(unreported.used_gas, Ordering::AcqRel);
        self.limits_gas.fetch_sub(unreported.limits_gas, Ordering::AcqRel);
        *unreported =
            UnreportedWork { reported_slot_count: touched_slot_count, ..UnreportedWork::default() };
        self.check()
    }

    fn check(&self) -> Result<(), ListFault> {
        let limits = self.limits_gas.load(Ordering::Acquire);
        let used = self.used_gas.load(Ordering::Acquire);
        let touched = self.touched_slot_count.load(Ordering::Acquire);
        let untouched_count = self.declared_count.saturating_sub(touched);
        let gas = limits.min(self.burnable_gas.saturating_sub(used));
        let payable_count = (gas / ITEM_COST_GAS).saturating_add(self.free_count);
        if untouched_count > payable_count {
            return Err(ListFault::Infeasible { untouched_count, payable_count });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use workload::{Block, BlockEnv};

    use super::*;

    const FORK: Fork = Fork::Amsterdam;

    /// A list of `slot_count` slots for a block of two transactions of 10M gas, and one free.
    fn begin(slot_count: u64) -> (Batch, Result<Feasibility, ListFault>) {
        let env = BlockEnv { gas_limit: 60_000_000, ..BlockEnv::default() };
        let tx = Transaction { gas_limit: 10_000_000, ..Transaction::default() };
        let block = Block { env, transactions: vec![tx.clone(), tx], ..Block::default() };
        let batch = Batch { blocks: vec![block], ..Batch::default() };
        let bounds = ListBounds { free_item_count: 1, ..ListBounds::new(&batch, &FORK.into()) };
        let begun = Feasibility::new(slot_count, &batch, &FORK.into(), &bounds);
        (batch, begun)
    }

    #[test]
    fn a_list_that_no_transaction_can_pay_for_never_begins() {
        assert!(begin(10_001).1.is_ok());
        let fault = begin(10_002).1.unwrap_err();
        let wanted = ListFault::Infeasible { untouched_count: 10_002, payable_count: 10_001 };
        assert_eq!(fault.to_string(), wanted.to_string());
    }

    #[test]
    fn a_transaction_that_met_too_little_ends_the_batch() {
        let used = TxGas { block_regular_gas: 9_000_000, ..TxGas::default() };
        for (touched, passes) in [(5_000, true), (4_999, false), (0, false)] {
            let (batch, begun) = begin(10_001);
            let (feasible, mut unreported) = (begun.unwrap(), UnreportedWork::default());
            let tx = &batch.blocks[0].transactions[0];
            let ended =
                feasible.ended(EndedTx { tx, gas: &used, fork: FORK }, touched, &mut unreported);
            assert_eq!(ended.is_ok(), passes, "{touched} touched");
        }
    }

    #[test]
    fn small_transactions_are_told_together_and_counted_all() {
        let (batch, begun) = begin(10_001);
        let (feasible, mut unreported) = (begun.unwrap(), UnreportedWork::default());
        let tx = Transaction { gas_limit: 100_000, ..batch.blocks[0].transactions[0].clone() };
        let ended = (1..=100).map(|n| {
            let ended = EndedTx { tx: &tx, gas: &TxGas::default(), fork: FORK };
            feasible.ended(ended, n, &mut unreported).is_ok()
        });
        // Each meets one and could have touched fifty.
        let first_refused = ended.take_while(|passes| *passes).count() + 1;
        assert_eq!(first_refused, 20);
    }
}
