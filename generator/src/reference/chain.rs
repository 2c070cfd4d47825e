//! The reference run of blocks on a chain of their own, one at a time, each with its own list. For
//! code that makes a block's environment from the blocks before it.

use alloy_primitives::{B256, Log};
use workload::{Batch, Block, TxOutcome, Workload};

use super::{
    error::ReferenceError,
    planned::PlannedState,
    run::{Answer, BatchReference, Watch, of_plan, run_planned},
};

/// Runs blocks in order, one at a call, over the state that those before it left.
#[derive(Debug)]
pub(crate) struct ChainRun<'w> {
    workload: &'w Workload,
    state: PlannedState<'w>,
    block_count: usize,
}

impl<'w> ChainRun<'w> {
    /// A run that begins at the genesis of `workload`, on the block `number` of hash `hash`. Of the
    /// workload it reads genesis, rules and chain.
    pub(crate) fn new(
        workload: &'w Workload,
        number: u64,
        hash: B256,
    ) -> Result<Self, ReferenceError> {
        let state = PlannedState::new(workload)?.on_chain(number, hash);
        Ok(Self { workload, state, block_count: 0 })
    }

    /// Makes the plan of `batch` the one that the reads of the next blocks must be in.
    pub(crate) fn plan(&mut self, index: usize, batch: &Batch) -> Result<(), ReferenceError> {
        self.state.plan(batch).map_err(of_plan(index))
    }

    /// Runs `block`. `on_tx` is shown the outcome and the logs of each transaction, and may stop the
    /// run. The run cannot go on after an error.
    pub(crate) fn run<A: Answer>(
        &mut self,
        block: Block,
        mut on_tx: impl FnMut(TxOutcome, &[Log]) -> A,
    ) -> Result<BatchReference, ReferenceError> {
        let alone = Batch { blocks: vec![block], ..Batch::default() };
        let mut watch = Watch {
            on_tx: &mut |ran| on_tx(ran.outcome, ran.logs).flow(),
            on_state: &mut |_, _| {},
        };
        let (workload, index) = (self.workload, self.block_count);
        let made = run_planned(workload, index, &alone, &mut self.state, &mut watch)?;
        made.check_item_count(index, &alone, &workload.rules)?;
        self.block_count += 1;
        Ok(made)
    }

    /// Tells the hash of the block that was run last, for BLOCKHASH.
    pub(crate) fn seal(&mut self, hash: B256) {
        self.state.add_block_hash(hash);
    }
}
