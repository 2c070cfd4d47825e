//! Decides whether a build, a setting or a client is slower than another one (`docs/gate.md`). A is
//! the one to compare with, B is judged, and N is a second process of A.
//!
//! `measure` takes octets until every figure is decided. `octet` orders the samples, `cell` samples
//! one variant, `decide` computes the bounds, `reason` states the reason of a verdict. A `sampler`
//! takes the samples: `builds` drives processes on one `work` with their `settings`, `clients`
//! drives real clients. `steps`, `pace` and `stage` show the progress. `claimed` adds claims to a
//! verdict.
//!
//! `baseline` judges stored results, and `baselines` keeps them by name. `side` holds the results
//! of one program, `counters` compares their exact counters, and `unjudged` lists the parts that
//! are not judged. `fingerprint` compares machines, `host` detects a cache outside this machine,
//! and `calibration` estimates the smallest change that the machine can detect.
//!
//! `judge` runs a whole gate and makes its result, for `stress gate`. No module knows the command
//! line.

pub mod baseline;
pub mod baselines;
pub mod builds;
pub mod calibration;
mod cell;
mod claimed;
pub mod clients;
mod counters;
mod decide;
#[cfg(test)]
mod drawn;
pub mod fingerprint;
mod host;
pub mod judge;
pub mod measure;
mod octet;
pub mod pace;
mod reason;
pub mod sampler;
pub mod settings;
mod side;
pub mod stage;
mod steps;
mod unjudged;
pub mod work;

pub use decide::OCTET_COUNT_MIN;
pub use octet::Arm;

pub use result::gate::{DecidedBy, Metric, Verdict};

use crate::terminal::{Code, UndecidedCodes};

/// Maximal δ of a gate, as a share.
pub const DELTA_MAX: f64 = 1.0;

/// Returns the exit code for a verdict. `open` has the codes of inconclusive and of not judged.
pub const fn exit_code(verdict: Verdict, open: UndecidedCodes) -> Code {
    match verdict {
        Verdict::Pass => Code::Fine,
        Verdict::Regression | Verdict::ClaimFails | Verdict::WorkChanged => Code::Claim,
        Verdict::Inconclusive => open.inconclusive,
        Verdict::Untrusted => Code::Untrusted,
        Verdict::NotJudged => open.not_judged,
    }
}

/// A verdict with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub verdict: Verdict,
    /// The reason for the verdict, in one line.
    pub reason: String,
}

impl Outcome {
    /// Returns the worse of two outcomes; the first of two equal ones.
    pub fn or_worse(self, other: Self) -> Self {
        if Verdict::worst([self.verdict, other.verdict]) == self.verdict { self } else { other }
    }
}

/// Returns the floor of a metric: a smaller change of a sample is no change. Times are in
/// nanoseconds. Waking threads varies times and instructions by about the floor. Opening a store
/// varies blocks, bytes and requests by about the floor.
pub const fn floor(metric: Metric) -> u64 {
    match metric {
        Metric::Wall => 20_000,
        // The kernel counts CPU time in coarser steps than wall time.
        Metric::Cpu => 100_000,
        Metric::Blocks | Metric::Requests => 16,
        Metric::Bytes => 64 << 10,
        Metric::Allocations => 1_000,
        Metric::Instructions => 100_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_verdict_is_that_of_all_and_nothing_judged_is_no_pass() {
        let by_rank = [
            Verdict::Regression,
            Verdict::WorkChanged,
            Verdict::Untrusted,
            Verdict::ClaimFails,
            Verdict::Inconclusive,
            Verdict::NotJudged,
            Verdict::Pass,
        ];
        assert_eq!(by_rank.len(), Verdict::ALL.len());
        for (rank, worse) in by_rank.iter().enumerate() {
            for other in &by_rank[rank..] {
                assert_eq!(Verdict::worst([*worse, *other]), *worse);
                assert_eq!(Verdict::worst([*other, *worse]), *worse);
            }
        }
        assert_eq!(Verdict::worst([]), Verdict::Inconclusive);
    }

    #[test]
    fn exit_codes_are_those_of_the_page_about_them() {
        let codes = |open| {
            let all = Verdict::ALL.iter();
            all.map(|verdict| exit_code(*verdict, open) as u8).collect::<Vec<_>>()
        };
        assert_eq!(codes(UndecidedCodes::DEFAULT), [0, 1, 1, 1, 0, 5, 7]);
        let strict = UndecidedCodes { inconclusive: Code::Inconclusive, not_judged: Code::Fine };
        assert_eq!(codes(strict), [0, 1, 1, 1, 4, 5, 0]);
    }
}
