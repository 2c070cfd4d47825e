//! Fresh work for each sample: the same state, with keys drawn anew, so that a cache below this
//! machine has few of their blocks. It is made before the sample's clock and dropped after it, so
//! memory holds one workload beside the scenario's.

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

/// Source of samples' own works.
#[derive(Clone, Debug)]
pub struct FreshWorks {
    pub(super) scenario: Scenario,
    pub(super) draw_seed: u64,
    pub(super) core_count: NonZeroUsize,
}

/// A work of one sample.
#[derive(Debug)]
pub struct FreshWork {
    /// It, with the lists that the sample's design takes.
    pub work: Work,
    /// Signatures of its transactions, if senders are to be recovered.
    pub signatures: Option<Vec<TxSignatures>>,
}

impl FreshWorks {
    /// Returns whether samples of `cell` have works of their own. Those of a schedule that goes by
    /// known costs never have: these are the costs of one work.
    pub fn are_for(cell: &PlannedCell, run: &RunSpec) -> bool {
        let is_wanted = match run.keys {
            Some(keys) => keys == SampleKeys::Fresh,
            None => run.cache == CacheMode::Cold && cell.store.has_device(),
        };
        is_wanted && cell.variant.schedule != Schedule::KnownCost
    }

    /// The work of the sample of this number, of `cell`.
    ///
    /// # Errors
    /// The user interrupted, or it cannot be generated.
    pub fn make(
        &self,
        number: u64,
        cell: &PlannedCell,
        run: &RunSpec,
        progress: &Progress,
    ) -> Result<FreshWork, Failure> {
        let scenario = self.scenario.of_sample(self.draw_seed, number);
        let workload = generate(&scenario, progress)?;
        let signatures = lists::sign(&workload, run, self.core_count, progress)?;
        let Variant { design, block_duties, .. } = cell.variant;
        Ok(FreshWork { work: with_lists(workload, &[design], block_duties, progress)?, signatures })
    }
}
