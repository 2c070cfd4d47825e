//! Designs, the presets that a user types, and the axes that they set: list form, engine, I/O.

use std::fmt;

use crate::{Named, Prefetch, ReadTime};

crate::named! {
    /// A preset of list, engine and I/O.
    pub enum Design: "design" {
        /// In order, reading as the EVM asks; no list.
        Sequential = "sequential",
        /// In order on one thread, while the others run later transactions speculatively and fill
        /// a cache; no list.
        Prewarm = "prewarm",
        /// Optimistically in parallel, reading as the EVM asks; no list.
        BlockStm = "block-stm",
        /// Changes only in the list; transactions in parallel, each reading on demand.
        ParallelIo = "parallel-io",
        /// The EIP-7928 list; transactions in parallel, all declared keys read in batches.
        BatchedIo = "batched-io",
        /// A list with all values before the batch; transactions in parallel, and meanwhile the
        /// values are verified.
        Full = "full",
    }
}

crate::named! {
    /// What a block-level access list carries.
    pub enum ListForm: "list" {
        /// Post-transaction changes only.
        ParallelIo = "parallel-io",
        /// The EIP-7928 list: changes and read keys.
        BatchedIo = "batched-io",
        /// Changes, and of all keys their values before the batch.
        Full = "full",
    }
}

crate::named! {
    /// What an engine that takes no list does about the list of a block.
    #[derive(Default)]
    pub enum ListDuty: "duty towards the list" {
        /// Nothing.
        #[default]
        Nothing = "none",
        /// It builds the list inside the clock, hashes it and compares with the header's hash
        /// (EIP-7928).
        Build = "build",
    }
}

crate::named! {
    /// Who finds what the speculative pass of `prewarm` has read.
    #[derive(Default)]
    pub enum WarmCache: "warm cache" {
        /// All: one cache for the pass and for the run in order.
        #[default]
        Shared = "shared",
        /// Each worker of the pass for itself. The run in order has only what the store and the
        /// kernel then hold.
        PerWorker = "per-worker",
    }
}

/// How `prewarm` warms up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Warming {
    /// Who finds what was read.
    pub cache: WarmCache,
    /// Whether the run in order begins at once, or after all transactions have been run ahead.
    pub time: ReadTime,
}

impl Default for Warming {
    /// As clients do: one cache, and no barrier.
    fn default() -> Self {
        Self { cache: WarmCache::Shared, time: ReadTime::While }
    }
}

/// How transactions are ordered and isolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// One after the other on one thread.
    Sequential,
    /// One after the other on one thread; on the state before the batch, for what they read, on
    /// others.
    Prewarm(Warming),
    /// Optimistically: before it is known what lower ones write, and again where that went wrong.
    BlockStm,
    /// Each on its own state as of its index, which the list gives.
    Bal,
}

/// How state below the batch is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Io {
    /// When the EVM asks, once per key for all transactions.
    OnDemand,
    /// All declared keys by I/O threads.
    Batched(Prefetch),
    /// Not at all: values come from the list. I/O threads verify them meanwhile.
    FromList,
}

impl Engine {
    /// Name as in a variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Prewarm(Warming { cache, time }) => match (cache, time) {
                (WarmCache::Shared, ReadTime::Before) => "prewarm-shared",
                (WarmCache::Shared, ReadTime::While) => "prewarm-shared-while",
                (WarmCache::PerWorker, ReadTime::Before) => "prewarm-per-worker",
                (WarmCache::PerWorker, ReadTime::While) => "prewarm-per-worker-while",
            },
            Self::BlockStm => "block-stm",
            Self::Bal => "bal",
        }
    }
}

impl Engine {
    /// Whether it can build the list of a block: what runs in order meets every key in its turn.
    pub const fn builds_lists(self) -> bool {
        match self {
            Self::Sequential | Self::Prewarm(_) => true,
            Self::BlockStm | Self::Bal => false,
        }
    }

    /// Whether every run reads the same keys of the store; where steps run ahead of their turn, it
    /// depends on which thread comes first.
    pub const fn reads_are_exact(self) -> bool {
        match self {
            Self::Sequential | Self::Bal => true,
            Self::Prewarm(_) | Self::BlockStm => false,
        }
    }
}

impl Named for Engine {
    const NOUN: &'static str = "engine";
    const ALL: &'static [Self] = &[
        Self::Sequential,
        Self::Prewarm(Warming { cache: WarmCache::Shared, time: ReadTime::While }),
        Self::Prewarm(Warming { cache: WarmCache::Shared, time: ReadTime::Before }),
        Self::Prewarm(Warming { cache: WarmCache::PerWorker, time: ReadTime::While }),
        Self::Prewarm(Warming { cache: WarmCache::PerWorker, time: ReadTime::Before }),
        Self::BlockStm,
        Self::Bal,
    ];

    fn name(self) -> &'static str {
        Self::name(self)
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Io {
    /// Name as in a variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnDemand => "on-demand",
            Self::Batched(prefetch) => match prefetch.time {
                ReadTime::Before => "batched",
                ReadTime::While => "batched-while",
            },
            Self::FromList => "from-list",
        }
    }

    /// The policy of reading ahead, where there is one.
    pub const fn prefetch(self) -> Option<Prefetch> {
        match self {
            Self::OnDemand | Self::FromList => None,
            Self::Batched(prefetch) => Some(prefetch),
        }
    }

    /// When keys are read ahead, where they are.
    pub(crate) const fn read_time(self) -> Option<ReadTime> {
        match self {
            Self::OnDemand | Self::FromList => None,
            Self::Batched(prefetch) => Some(prefetch.time),
        }
    }
}
