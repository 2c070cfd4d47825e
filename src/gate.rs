//! The gate: is this build slower than that one? (`docs/gate.md`)
//!
//! `octet` has the order in which samples are taken, `decide` the bounds and when they decide,
//! `measure` takes octets until all is decided, `builds` drives the processes that it asks for
//! samples. `baseline` judges against a stored result instead, `calibration` learns what a machine
//! can decide. `judge` makes a gate's result of these. Nothing here knows the command line.

pub mod baseline;
pub mod builds;
pub mod calibration;
mod decide;
mod fingerprint;
pub mod judge;
pub mod measure;
mod octet;

pub use octet::Arm;

use variant::named;

use crate::exit::{Code, Strictness};

named! {
    /// What the gate comes to.
    pub enum Verdict: "verdict" {
        /// The change is below δ, surely.
        Pass = "pass",
        /// It is above δ, surely.
        Regression = "regression",
        /// A claim of the scenario, or a deadline, is broken.
        ClaimFails = "claim fails",
        /// The counters differ: the builds do different work, and no time was compared.
        WorkChanged = "work changed",
        /// Neither is sure.
        Inconclusive = "inconclusive",
        /// The machine was not fit: what is the same seemed to differ, or time was taken away.
        Untrusted = "untrusted",
    }
}

impl Verdict {
    /// The verdict on several together: what is sure and bad first.
    pub fn worst(all: impl IntoIterator<Item = Self>) -> Self {
        let rank = |verdict: &Self| match verdict {
            Self::WorkChanged => 5,
            Self::Untrusted => 4,
            Self::Regression => 3,
            Self::ClaimFails => 2,
            Self::Inconclusive => 1,
            Self::Pass => 0,
        };
        all.into_iter().max_by_key(rank).unwrap_or(Self::Inconclusive)
    }

    /// How the program ends; `strict`: also where nothing is sure.
    pub const fn code(self, strict: Strictness) -> Code {
        match (self, strict) {
            (Self::Pass, _) | (Self::Inconclusive, Strictness::Lenient) => Code::Fine,
            (Self::Regression | Self::ClaimFails | Self::WorkChanged, _) => Code::Claim,
            (Self::Inconclusive, Strictness::Strict) => Code::Inconclusive,
            (Self::Untrusted, _) => Code::Untrusted,
        }
    }
}

/// A verdict with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in one line.
    pub reason: String,
}

impl Outcome {
    /// The worse of two, and of equals the first.
    pub fn or_worse(self, other: Self) -> Self {
        if Verdict::worst([self.verdict, other.verdict]) == self.verdict { self } else { other }
    }
}

named! {
    /// What is judged, each of its own bounds.
    pub enum Metric: "metric" {
        /// Wall time.
        Wall = "wall",
        /// CPU time of the process.
        Cpu = "cpu",
    }
}

impl Metric {
    /// A change of a sample below this many nanoseconds is none, however small a sample is:
    /// waking threads varies by that much.
    pub const fn floor_ns(self) -> u64 {
        match self {
            Self::Wall => 20_000,
            // Counted by the kernel in larger steps.
            Self::Cpu => 100_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_verdict_is_that_of_all_and_nothing_judged_is_no_pass() {
        assert_eq!(Verdict::worst([Verdict::Pass, Verdict::Pass]), Verdict::Pass);
        assert_eq!(Verdict::worst([Verdict::Pass, Verdict::Inconclusive]), Verdict::Inconclusive);
        assert_eq!(
            Verdict::worst([Verdict::Inconclusive, Verdict::Regression]),
            Verdict::Regression
        );
        assert_eq!(Verdict::worst([Verdict::Regression, Verdict::Untrusted]), Verdict::Untrusted);
        assert_eq!(
            Verdict::worst([Verdict::Untrusted, Verdict::WorkChanged]),
            Verdict::WorkChanged
        );
        assert_eq!(Verdict::worst([]), Verdict::Inconclusive);
    }

    #[test]
    fn exit_codes_are_those_of_the_page_about_them() {
        let codes = |strict| {
            let codes = Verdict::ALL.iter().map(|verdict| verdict.code(strict) as u8);
            codes.collect::<Vec<_>>()
        };
        assert_eq!(codes(Strictness::Lenient), [0, 1, 1, 1, 0, 5]);
        assert_eq!(codes(Strictness::Strict), [0, 1, 1, 1, 4, 5]);
    }
}
