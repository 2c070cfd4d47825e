//! Fresh work for each sample: the same state, with newly drawn keys, so that a cache below this
//! machine has few of their blocks. The work is made before the sample's clock and dropped after
//! it. So memory holds one workload beside the scenario's.

use std::num::NonZeroUsize;

use spec::{RunSpec, Scenario};
use variant::{CacheMode, SampleKeys, Schedule, Variant};
use workload::signing::TxSignatures;

use super::{
    lists,
    work::{generate, with_lists},
};
use crate::{
    run::{plan::PlannedCell, session::Work},
    terminal::{Failure, Progress},
};

/// Source of fresh works for samples.
#[derive(Clone, Debug)]
pub struct FreshWorks {
    pub(super) scenario: Scenario,
    pub(super) draw_seed: u64,
    pub(super) core_count: NonZeroUsize,
}

/// The fresh work of one sample.
#[derive(Debug)]
pub struct FreshWork {
    /// The work, with the lists that the sample's design takes.
    pub work: Work,
    /// Signatures of the work's transactions, if senders are to be recovered.
    pub signatures: Option<Vec<TxSignatures>>,
}

impl FreshWorks {
    /// Returns whether samples of `cell` have fresh works. Samples of a schedule by known costs
    /// have none, as the costs are those of one work.
    pub fn are_for(cell: &PlannedCell, run: &RunSpec) -> bool {
        let is_wanted = match run.keys {
            Some(keys) => keys == SampleKeys::Fresh,
            None => run.cache == CacheMode::Cold && cell.store.has_device(),
        };
        is_wanted && cell.variant.schedule != Schedule::KnownCost
    }

    /// Makes the work for sample `number` of `cell`.
    ///
    /// # Errors
    /// The user interrupted, or the work cannot be generated.
    pub fn make(
        &self,
        number: u64,
        cell: &PlannedCell,
        run: &RunSpec,
        progress: &Progress,
    ) -> Result<FreshWork, Failure> {
        let scenario = self.scenario.for_sample(self.draw_seed, number);
        let workload = generate(&scenario, progress)?;
        let signatures = lists::sign(&workload, run, self.core_count, progress)?;
        let Variant { design, block_duties, .. } = cell.variant;
        Ok(FreshWork { work: with_lists(workload, &[design], block_duties, progress)?, signatures })
    }
}
