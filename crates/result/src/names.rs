//! Closed sets of names that a result has beside the names of a variant's axes.

use variant::{Io, ReadTime};

variant::named! {
    /// The verdict on a claim.
    pub enum ClaimVerdict: "verdict on a claim" {
        /// The end of the figure's interval that must keep the bound keeps it.
        Holds = "holds",
        /// The end of the figure's interval that must keep the bound does not keep it.
        Fails = "fails",
        /// There are too few samples for that interval.
        Inconclusive = "inconclusive",
        /// The run has no row for the claim, or the row's cold state is not proved.
        NotJudged = "not judged",
        /// The claim is about another store or cache state, by its key `when`.
        Skipped = "skipped",
    }
}

variant::named! {
    /// Side on which a claim bounds a figure.
    pub enum Bound: "bound" {
        /// The figure is at least the limit.
        Min = "min",
        /// The figure is at most the limit.
        Max = "max",
    }
}

impl Bound {
    /// Returns the bound in words: `at least` or `at most`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Min => "at least",
            Self::Max => "at most",
        }
    }

    /// Returns the end of an interval that must keep the bound: `lower` or `upper`.
    pub const fn side(self) -> &'static str {
        match self {
            Self::Min => "lower",
            Self::Max => "upper",
        }
    }
}

variant::named! {
    /// The term that bounds the time of a cell from below most.
    pub enum Bottleneck: "bottleneck" {
        /// The device: block reads over its rate.
        Device = "device",
        /// CPU time of all threads, divided by the cores that they can use.
        Cpu = "cpu",
        /// Reads that one thread makes one after the other, each with the device's latency.
        Chain = "chain",
    }
}

variant::named! {
    /// Scheduling priority of the threads that verify the values of a full list.
    pub enum Priority: "priority" {
        /// They run almost only while no other thread wants the CPU (`SCHED_IDLE`).
        Idle = "idle",
        /// They get a smaller share of the CPU than other threads (nice 19).
        Nice19 = "nice 19",
        /// They have the normal priority, because the system refused lower ones.
        Normal = "normal",
    }
}

variant::named! {
    /// How the values that keys have before the batch are read, without the prefetch policy.
    pub enum IoKind: "I/O" {
        /// On demand: when the EVM needs a key.
        OnDemand = "on-demand",
        /// All declared keys, before any transaction begins.
        Batched = "batched",
        /// All declared keys, while transactions run.
        BatchedWhile = "batched-while",
        /// Not read: values come from the list.
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
