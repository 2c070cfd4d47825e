//! Designs (the presets that a user types), and the axes that they set: list form, engine, I/O. Also
//! the duty towards the list, the warm-up of `prewarm`, and the order in which threads take steps.

use std::fmt;

use crate::{Named, Prefetch, ReadTime};

/// The axes that a design sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Content of the list; `None` if the engine takes no list.
    pub list: Option<ListForm>,
    /// The engine.
    pub engine: Engine,
    /// Its reads of the state.
    pub io: Io,
}

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
        /// In order by a plain loop over stock revm; no list. A yardstick for the others.
        BareRevm = "bare-revm",
    }
}

impl Design {
    /// The axes that it sets.
    pub fn preset(self) -> Preset {
        let (list, engine, io) = match self {
            Self::Sequential => (None, Engine::Sequential, Io::OnDemand),
            Self::Prewarm => (None, Engine::Prewarm(Warming::default()), Io::OnDemand),
            Self::BlockStm => (None, Engine::BlockStm, Io::OnDemand),
            Self::ParallelIo => (Some(ListForm::ParallelIo), Engine::Bal, Io::OnDemand),
            Self::BatchedIo => {
                (Some(ListForm::BatchedIo), Engine::Bal, Io::Batched(Prefetch::default()))
            }
            Self::Full => (Some(ListForm::Full), Engine::Bal, Io::FromList),
            Self::BareRevm => (None, Engine::BareRevm, Io::OnDemand),
        };
        Preset { list, engine, io }
    }

    /// Returns whether it is only a measure for the others, run on request alone.
    pub const fn is_yardstick(self) -> bool {
        match self {
            Self::BareRevm => true,
            Self::Sequential
            | Self::Prewarm
            | Self::BlockStm
            | Self::ParallelIo
            | Self::BatchedIo
            | Self::Full => false,
        }
    }
}

crate::named! {
    /// Content of a block-level access list.
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
    /// Duty of an engine that takes no list towards the list of a block.
    #[derive(Default)]
    pub enum ListDuty: "duty towards the list" {
        /// Nothing.
        #[default]
        Nothing = "none",
        /// Building the list inside the clock, hashing it and comparing with the header's hash
        /// (EIP-7928).
        Build = "build",
    }
}

crate::named! {
    /// Readers of the cache that the speculative pass of `prewarm` fills.
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

/// Warm-up of `prewarm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Warming {
    /// Readers of the cache.
    pub cache: WarmCache,
    /// Start of the run in order: at once, or after all transactions have been run ahead.
    pub time: ReadTime,
}

impl Default for Warming {
    /// The way of clients: one cache, and no barrier.
    fn default() -> Self {
        Self { cache: WarmCache::Shared, time: ReadTime::While }
    }
}

/// Order and isolation of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// One after the other on one thread.
    Sequential,
    /// One after the other on one thread. Other threads run them on the state before the batch, only to read
    /// ahead the keys that they need.
    Prewarm(Warming),
    /// Optimistically: before the writes of lower ones are known, and again where that was wrong.
    BlockStm,
    /// Each on its own state as of its index, which the list gives.
    Bal,
    /// One after the other on one thread, over revm's own `State`.
    BareRevm,
}

crate::named! {
    /// Order of steps for free threads.
    #[derive(Default)]
    pub enum Schedule: "schedule" {
        /// The next of the block.
        #[default]
        BlockOrder = "block-order",
        /// The one with the largest gas limit; system steps, which have none, come last.
        GasLimit = "gas-limit",
        /// The one with the most changes in the list. Reads are not counted: EIP-7928 does not say
        /// which step reads what.
        ListEntries = "list-entries",
        /// The one that was measured to take longest: an oracle, which no client has.
        KnownCost = "known-cost",
    }
}

/// Reads of the state below the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Io {
    /// On demand of the EVM, once per key for all transactions.
    OnDemand,
    /// All declared keys by I/O threads.
    Batched(Prefetch),
    /// Not at all: values come from the list. I/O threads verify them meanwhile.
    FromList,
}

impl Engine {
    /// Returns whether it can build the list of a block. That takes steps in order and a database that records
    /// touched keys; `BareRevm` has revm's `State` instead.
    pub const fn builds_lists(self) -> bool {
        match self {
            Self::Sequential | Self::Prewarm(_) => true,
            Self::BlockStm | Self::Bal | Self::BareRevm => false,
        }
    }

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
            Self::BareRevm => "bare-revm",
        }
    }

    /// Returns whether as many threads execute as are asked for; else one does.
    pub const fn is_parallel(self) -> bool {
        match self {
            Self::Prewarm(_) | Self::BlockStm | Self::Bal => true,
            Self::Sequential | Self::BareRevm => false,
        }
    }

    /// Returns whether each step runs once, and none ahead of its turn. Then every run reads the same keys of
    /// the store, and the times of steps add up. With steps ahead of their turn, both depend on the order of
    /// the threads.
    pub const fn runs_steps_once(self) -> bool {
        match self {
            Self::Sequential | Self::Bal | Self::BareRevm => true,
            Self::Prewarm(_) | Self::BlockStm => false,
        }
    }

    /// Returns whether any step may be taken first, as each has a state of its own: then the engine can follow a
    /// schedule.
    pub const fn takes_any_order(self) -> bool {
        match self {
            Self::Bal => true,
            Self::Sequential | Self::Prewarm(_) | Self::BlockStm | Self::BareRevm => false,
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
        Self::BareRevm,
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

    /// Time of reading keys ahead, if any.
    pub(crate) const fn read_time(self) -> Option<ReadTime> {
        match self {
            Self::OnDemand | Self::FromList => None,
            Self::Batched(prefetch) => Some(prefetch.time),
        }
    }
}
