//! The gate: is this build slower than that one? (`docs/gate.md`)
//!
//! `octet` has the order in which samples are taken, `decide` the bounds and when they decide,
//! `measure` takes octets until all is decided, `work` who is asked for samples. `baseline` judges
//! against a stored result instead, `calibration` learns what a machine can decide.
//! Figures only: nothing here prints, starts a process or knows the command line.

pub mod baseline;
pub mod calibration;
mod decide;
mod fingerprint;
pub mod measure;
mod octet;
pub mod result;

pub use octet::Arm;

use crate::exit::Code;

/// What the gate comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The change is below δ, surely.
    Pass,
    /// It is above δ, surely.
    Regression,
    /// A claim of the scenario, or a deadline, is broken.
    ClaimFails,
    /// The counters differ: the builds do different work, and no time was compared.
    WorkChanged,
    /// Neither is sure.
    Inconclusive,
    /// The machine was not fit: what is the same seemed to differ, or time was taken away.
    Untrusted,
}

impl Verdict {
    /// Name in a result.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Regression => "regression",
            Self::ClaimFails => "claim fails",
            Self::WorkChanged => "work changed",
            Self::Inconclusive => "inconclusive",
            Self::Untrusted => "untrusted",
        }
    }

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

/// Whether what is inconclusive ends the program with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// No.
    Lenient,
    /// Yes.
    Strict,
}

/// What is judged, each of its own bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Wall time.
    Wall,
    /// CPU time of the process.
    Cpu,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Wall, Self::Cpu];

    /// Name on the command line and in a result.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::Cpu => "cpu",
        }
    }

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
            let all = [
                Verdict::Pass,
                Verdict::Regression,
                Verdict::ClaimFails,
                Verdict::WorkChanged,
                Verdict::Inconclusive,
                Verdict::Untrusted,
            ];
            all.map(|verdict| verdict.code(strict) as u8)
        };
        assert_eq!(codes(Strictness::Lenient), [0, 1, 1, 1, 0, 5]);
        assert_eq!(codes(Strictness::Strict), [0, 1, 1, 1, 4, 5]);
    }
}
