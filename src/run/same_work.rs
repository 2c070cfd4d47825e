//! A run that must be of work that is stored already.

use anyhow::anyhow;
use result::stored::Stored;
use workload::Workload;

use crate::exit::{Code, Failure, OrExit};

/// The work that a run must be of.
#[derive(Clone, Debug)]
pub struct SameWork {
    who: String,
    scenario: String,
    digest: String,
    remedy: String,
}

impl SameWork {
    /// The work of `stored`, which `who` asks for (`--baseline main`); `remedy` ends the error. `None` where each of its databases has its own.
    pub fn of(who: String, stored: &Stored, remedy: &str) -> Option<Self> {
        let work = &stored.result.workload;
        stored.result.databases.is_empty().then(|| Self {
            who,
            scenario: work.scenario.clone(),
            digest: work.digest.clone(),
            remedy: remedy.to_owned(),
        })
    }

    /// Refuses any other workload, before it is sampled.
    ///
    /// # Errors
    /// It is another one.
    pub fn check(&self, workload: &Workload) -> Result<(), Failure> {
        let Self { who, scenario, digest, remedy } = self;
        let own = workload.digest().to_string();
        if own == *digest {
            return Ok(());
        }
        let error = anyhow!(
            "{who}: the stored results are of {scenario} ({digest}), and this run is of {} ({own}): name \
             that work, with its options and its seed, or {remedy}",
            workload.scenario
        );
        Err(error).or_exit(Code::Usage)
    }
}
