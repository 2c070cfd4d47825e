//! The closed sets of names in a result, without the names of axes.

use variant::{Io, ReadTime};

variant::named! {
    /// The verdict on a claim.
    pub enum Verdict: "verdict on a claim" {
        /// The end of the interval that must keep the bound keeps it.
        Holds = "holds",
        /// The end of the interval that must keep the bound does not keep it.
        Fails = "fails",
        /// There are too few samples to tell.
        Inconclusive = "inconclusive",
        /// The run has no row that the claim is on, or its cold state is not proved.
        NotJudged = "not judged",
        /// The claim is about another store or cache state (`when`).
        Skipped = "skipped",
    }
}

variant::named! {
    /// The end of a figure that a claim bounds.
    pub enum Bound: "bound" {
        /// The figure is at least the limit.
        Min = "min",
        /// The figure is at most the limit.
        Max = "max",
    }
}

impl Bound {
    /// `at least` or `at most`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Min => "at least",
            Self::Max => "at most",
        }
    }

    /// The end of an interval that must keep the bound: `lower` or `upper`.
    pub const fn side(self) -> &'static str {
        match self {
            Self::Min => "lower",
            Self::Max => "upper",
        }
    }
}

variant::named! {
    /// The term that bounds the time of a cell from below.
    pub enum Bottleneck: "bottleneck" {
        /// The device's reads a second.
        Device = "device",
        /// CPU time.
        Cpu = "cpu",
        /// Reads that one thread makes one after the other.
        Chain = "chain",
    }
}

variant::named! {
    /// Priority of the threads that verify.
    pub enum Priority: "priority" {
        /// They run almost only when no other thread wants the CPU (`SCHED_IDLE`).
        Idle = "idle",
        /// They have a smaller share of the CPU than other threads (nice 19).
        Nice19 = "nice 19",
        /// They have the normal priority: the system refused the lower ones.
        Normal = "normal",
    }
}

variant::named! {
    /// The way to read state below the batch, without the prefetch policy.
    pub enum IoKind: "I/O" {
        /// On demand of the EVM.
        OnDemand = "on-demand",
        /// All declared keys, before any transaction begins.
        Batched = "batched",
        /// All declared keys, while transactions run.
        BatchedWhile = "batched-while",
        /// No reads: values come from the list.
        FromList = "from-list",
    }
}

impl From<Io> for IoKind {
    fn from(io: Io) -> Self {
        match io {
            Io::OnDemand => Self::OnDemand,
            Io::Batched(prefetch) => match prefetch.time {
                ReadTime::Before => Self::Batched,
                ReadTime::While => Self::BatchedWhile,
            },
            Io::FromList => Self::FromList,
        }
    }
}
