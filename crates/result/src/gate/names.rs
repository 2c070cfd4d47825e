//! Closed sets of names in the result of a gate: verdicts with their order, metrics with their
//! units.

variant::named! {
    /// The gate's verdict.
    pub enum Verdict: "verdict of a gate" {
        /// The change is below δ, up to the allowed probability of an error.
        Pass = "pass",
        /// The change is above δ, up to the allowed probability of an error.
        Regression = "regression",
        /// A claim of the scenario, or a deadline, does not hold.
        ClaimFails = "claim fails",
        /// Exact counters differ: the builds do different work, so no time was compared.
        WorkChanged = "work changed",
        /// Undecided: the noise is too large for this number of samples.
        Inconclusive = "inconclusive",
        /// The measurement is biased (a second process of A differs from A), or the machine lost
        /// time.
        Untrusted = "untrusted",
        /// Nothing that was compared is worse than a pass, but times or a claim were not compared.
        NotJudged = "not judged",
    }
}

impl Verdict {
    /// Returns the worst of several verdicts; inconclusive if there are none. A regression is the
    /// worst: doubt about another figure does not weaken it.
    pub fn worst(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().max_by_key(|verdict| verdict.rank()).unwrap_or(Self::Inconclusive)
    }

    /// Order of the verdicts, the worst last.
    const fn rank(self) -> u8 {
        match self {
            Self::Regression => 6,
            Self::WorkChanged => 5,
            Self::Untrusted => 4,
            Self::ClaimFails => 3,
            Self::Inconclusive => 2,
            Self::NotJudged => 1,
            Self::Pass => 0,
        }
    }
}

variant::named! {
    /// The metrics that a gate judges, each with its own bounds.
    pub enum Metric: "metric of a gate" {
        /// Wall time.
        Wall = "wall",
        /// CPU time of the sampled process.
        Cpu = "cpu",
        /// Number of blocks that the store read from its files.
        Blocks = "blocks",
        /// Bytes that the process read from devices.
        Bytes = "bytes",
        /// Number of read system calls of the process.
        Requests = "requests",
        /// Number of allocations of the process's Rust code.
        Allocations = "allocations",
        /// Number of instructions of the process in user mode.
        Instructions = "instructions",
    }
}

impl Metric {
    /// Returns whether the metric is a count, not a time. A count does not depend on how long the
    /// work takes. But caches and threads change it, so it is compared within its own spread.
    pub const fn is_count(self) -> bool {
        match self {
            Self::Wall | Self::Cpu => false,
            Self::Blocks
            | Self::Bytes
            | Self::Requests
            | Self::Allocations
            | Self::Instructions => true,
        }
    }

    /// A value of the metric as text, in its unit.
    pub fn words(self, value: u64) -> String {
        match self.is_count() {
            true => format!("{value} {self}"),
            false => format!("{:.2} ms", value as f64 / 1e6),
        }
    }
}

variant::named! {
    /// The figures that gave the verdict on a variant.
    pub enum DecidedBy: "grounds of a verdict" {
        /// All figures that were judged.
        All = "all",
        /// The exact counters alone: the noise of a cold disk left the times undecided.
        Counters = "counters",
    }
}

variant::named! {
    /// The other side of a gate's comparison.
    #[derive(Default)]
    pub enum Mode: "mode of a gate" {
        /// Another build.
        #[default]
        Against = "against",
        /// A stored result.
        Baseline = "baseline",
    }
}
