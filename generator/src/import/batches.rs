//! Imported blocks run as one: a mega block of blocks that follow each other.

use std::num::NonZeroUsize;

use workload::{Batch, Workload};

use crate::reference::{self, Answer, ReferenceError};

/// Joins `count` consecutive batches of `workload` to one each, and fills in the expected outcome
/// of them. For blocks whose genesis is written out, which need no plan: plans of families stay in
/// each batch apart. `on_tx` is called after each transaction and may stop the run.
///
/// # Errors
/// [`ReferenceError`]; the workload is then as before.
pub fn in_batches<A: Answer>(
    workload: &mut Workload,
    count: NonZeroUsize,
    on_tx: impl FnMut() -> A,
) -> Result<(), ReferenceError> {
    let join = |batches: &[Batch]| Batch {
        blocks: batches.iter().flat_map(|batch| batch.blocks.iter().cloned()).collect(),
        ..Batch::default()
    };
    let batches = workload.batches.chunks(count.get()).map(join).collect();
    let mut joined = Workload { batches, ..workload.clone() };
    reference::complete(&mut joined, on_tx)?;
    *workload = joined;
    Ok(())
}
