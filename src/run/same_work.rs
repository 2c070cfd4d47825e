//! A check that a run does the work of stored results.

use result::stored::Stored;
use workload::Workload;

use crate::terminal::{Code, Failure, exit::fail};

/// Number of a digest's characters in the error, as on the page of a run.
const DIGEST_CHARS: usize = 12;

/// The work that a run must do.
#[derive(Clone, Debug)]
pub struct SameWork {
    option: String,
    scenario: String,
    digest: String,
    remedy: String,
}

impl SameWork {
    /// Makes the check for the work of `stored`, on the first of its databases. `option` is the
    /// option of the command line that asks for the check, and `remedy` ends the error.
    pub fn of(option: String, stored: &Stored, remedy: &str) -> Self {
        let result = &stored.result;
        let work = result.databases.first().map_or(&result.workload, |first| &first.workload);
        Self {
            option,
            scenario: work.scenario.clone(),
            digest: work.digest.clone(),
            remedy: remedy.to_owned(),
        }
    }

    /// Refuses any other workload before it is sampled.
    ///
    /// # Errors
    /// The workload is another one.
    pub fn check(&self, workload: &Workload) -> Result<(), Failure> {
        let Self { option, scenario, digest, remedy } = self;
        let own = workload.digest().to_string();
        if own == *digest {
            return Ok(());
        }
        let [stored, own] =
            [digest, &own].map(|digest| digest.get(..DIGEST_CHARS).unwrap_or(digest));
        fail!(
            Code::Usage,
            "{option}: the stored results are of {scenario} ({stored}), and this run is of {} ({own}): name \
             that work, with its options and its seed, or {remedy}",
            workload.scenario
        )
    }
}
