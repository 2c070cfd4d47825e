//! Runs the reference over the blocks of a chain, one at a time, each with its own list. Exports
//! use it, as they make a block's environment from the outcome of the blocks before it.

use alloy_primitives::{B256, Log};
use workload::{Batch, Block, TxOutcome, Workload};

use super::{
    error::ReferenceError,
    planned::PlannedState,
    run::{BatchReference, Callbacks, StopAnswer, plan_error, run_planned},
};

/// Runs blocks in order, one per call, over the state that earlier blocks left.
#[derive(Debug)]
pub(crate) struct ChainRun<'w> {
    workload: &'w Workload,
    state: PlannedState<'w>,
    block_count: usize,
}

impl<'w> ChainRun<'w> {
    /// A run on the genesis of `workload`, whose first block comes after the block `number` with
    /// the hash `hash`. Of the workload, only genesis, rules and chain id are read.
    pub(crate) fn new(
        workload: &'w Workload,
        number: u64,
        hash: B256,
    ) -> Result<Self, ReferenceError> {
        let state = PlannedState::new(workload)?.on_chain(number, hash);
        Ok(Self { workload, state, block_count: 0 })
    }

    /// Sets the plan of `batch`. The next blocks may read planned keys alone.
    pub(crate) fn plan(&mut self, index: usize, batch: &Batch) -> Result<(), ReferenceError> {
        self.state.plan(batch).map_err(plan_error(index))
    }

    /// Runs `block`. `on_tx` gets the outcome and the logs of each transaction, and may stop the
    /// run. The run cannot go on after an error.
    pub(crate) fn run<A: StopAnswer>(
        &mut self,
        block: Block,
        mut on_tx: impl FnMut(TxOutcome, &[Log]) -> A,
    ) -> Result<BatchReference, ReferenceError> {
        let batch = Batch { blocks: vec![block], ..Batch::default() };
        let mut callbacks = Callbacks {
            on_tx: &mut |ran| on_tx(ran.outcome, ran.logs).flow(),
            on_state: &mut |_, _| {},
        };
        let (workload, index) = (self.workload, self.block_count);
        let made = run_planned(workload, index, &batch, &mut self.state, &mut callbacks)?;
        made.check_item_count(index, &batch, &workload.rules)?;
        self.block_count += 1;
        Ok(made)
    }

    /// Adds the hash of the last block, for BLOCKHASH.
    pub(crate) fn seal(&mut self, hash: B256) {
        self.state.add_block_hash(hash);
    }
}
