//! The closed sets of names in the result of a gate.

variant::named! {
    /// The gate's verdict.
    pub enum Verdict: "verdict of a gate" {
        /// The change is below δ within the error rate.
        Pass = "pass",
        /// The change is above δ within the error rate.
        Regression = "regression",
        /// A claim of the scenario, or a deadline, is broken.
        ClaimFails = "claim fails",
        /// The counters differ: the builds do different work, and no time was compared.
        WorkChanged = "work changed",
        /// Undecided: the noise is too large for so few samples.
        Inconclusive = "inconclusive",
        /// The measurement is biased (A differs from itself), or the machine lost time.
        Untrusted = "untrusted",
        /// No compared figure is undecided or worse, but times or a claim were not compared.
        NotJudged = "not judged",
    }
}

impl Verdict {
    /// The verdict on several verdicts together. A regression comes first: doubt about another
    /// figure does not weaken it.
    pub fn worst(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().max_by_key(|verdict| verdict.rank()).unwrap_or(Self::Inconclusive)
    }

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
    /// The judged metrics, each with its own bounds.
    pub enum Metric: "metric of a gate" {
        /// Wall time.
        Wall = "wall",
        /// CPU time of the process.
        Cpu = "cpu",
        /// Blocks that the store read from its files.
        Blocks = "blocks",
        /// Bytes that the process read from devices.
        Bytes = "bytes",
        /// Read system calls of the process.
        Requests = "requests",
        /// Allocations of the process's Rust code.
        Allocations = "allocations",
        /// Instructions of the process in user mode.
        Instructions = "instructions",
    }
}

impl Metric {
    /// Whether the metric is a count and no time. Duration does not change a count, but caches and
    /// threads may, so a count is compared within its own spread.
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
        match self {
            Self::Wall | Self::Cpu => format!("{:.2} ms", value as f64 / 1e6),
            Self::Blocks => format!("{value} blocks"),
            Self::Bytes => format!("{value} bytes"),
            Self::Requests => format!("{value} requests"),
            Self::Allocations => format!("{value} allocations"),
            Self::Instructions => format!("{value} instructions"),
        }
    }
}

variant::named! {
    /// The figures that decided on a variant.
    pub enum DecidedBy: "grounds of a verdict" {
        /// All figures that were judged.
        All = "all",
        /// The counters alone: the noise of a cold disk left the times open.
        Counters = "counters",
    }
}

variant::named! {
    /// The other side of a comparison.
    #[derive(Default)]
    pub enum Mode: "mode of a gate" {
        /// Another build.
        #[default]
        Against = "against",
        /// A stored result.
        Baseline = "baseline",
    }
}
