//! The closed sets of names in the result of a gate.

variant::named! {
    /// What the gate comes to.
    pub enum Verdict: "verdict of a gate" {
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
}

variant::named! {
    /// What is judged, each of its own bounds.
    pub enum Metric: "metric of a gate" {
        /// Wall time.
        Wall = "wall",
        /// CPU time of the process.
        Cpu = "cpu",
    }
}

variant::named! {
    /// With what a result is compared.
    #[derive(Default)]
    pub enum Mode: "mode of a gate" {
        /// With another build.
        #[default]
        Against = "against",
        /// With a stored result.
        Baseline = "baseline",
    }
}
