//! The reference run of blocks one at a time, each with a list of its own, on a chain of their own:
//! for code that makes a block's environment from the blocks before it.

use alloy_primitives::{B256, Log};
use workload::{Batch, Block, TxOutcome, Workload};

use super::{
    error::ReferenceError,
    planned::PlannedState,
    run::{Answer, BatchReference, Watch, run_planned},
};

/// Runs blocks in order, one at a call, over the state that those before it left.
#[derive(Debug)]
pub(crate) struct ChainRun<'w> {
    workload: &'w Workload,
    state: Option<PlannedState<'w>>,
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
        Ok(Self { workload, state: Some(state), block_count: 0 })
    }

    /// Makes the plan of `batch` the one that the reads of the next blocks must be in.
    pub(crate) fn plan(&mut self, index: usize, batch: &Batch) -> Result<(), ReferenceError> {
        let state = self.state.as_mut().ok_or(ReferenceError::Cancelled)?;
        state.plan(batch).map_err(|source| ReferenceError::Plan { batch: index, source })
    }

    /// Runs `block`. `on_tx` is shown the outcome and the logs of each transaction, and may stop the
    /// run. The run cannot go on after an error.
    pub(crate) fn run<A: Answer>(
        &mut self,
        block: Block,
        mut on_tx: impl FnMut(TxOutcome, &[Log]) -> A,
    ) -> Result<BatchReference, ReferenceError> {
        let state = self.state.take().ok_or(ReferenceError::Cancelled)?;
        let alone = Batch { blocks: vec![block], ..Batch::default() };
        let mut watch = Watch {
            on_tx: &mut |ran| on_tx(ran.outcome, ran.logs).flow(),
            on_state: &mut |_, _| {},
        };
        let (made, state) =
            run_planned(self.workload, self.block_count, &alone, state, &mut watch)?;
        made.check_item_count(self.block_count, &alone, self.workload.fork())?;
        self.block_count += 1;
        self.state = Some(state);
        Ok(made)
    }

    /// Tells the hash of the block that was run last, for BLOCKHASH.
    pub(crate) fn seal(&mut self, hash: B256) {
        if let Some(state) = &mut self.state {
            state.add_block_hash(hash);
        }
    }
}
