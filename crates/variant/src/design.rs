//! Designs, and the axes that they set: list form, engine and I/O. A design is a preset that a user
//! types (`--design`). Two further axes are here: the warm-up of `prewarm`, and the order in which
//! threads take steps. An engine that takes no list may have the duty to build one.

use std::fmt;

use crate::{Named, Prefetch, ReadTime};

/// The axes that a design sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Content of the list; `None` if the engine takes no list.
    pub list: Option<ListForm>,
    /// The engine.
    pub engine: Engine,
    /// Source of the values that keys have before the batch.
    pub io: Io,
}

crate::named! {
    /// A preset of list, engine and I/O.
    pub enum Design: "design" {
        /// In order, each key read when the EVM asks for it; no list.
        Sequential = "sequential",
        /// In order on one thread. Meanwhile other threads run later transactions speculatively,
        /// which fills a cache; no list.
        Prewarm = "prewarm",
        /// Optimistically in parallel, each key read when the EVM asks for it; no list.
        BlockStm = "block-stm",
        /// A list with changes only; transactions in parallel, each key read on demand.
        ParallelIo = "parallel-io",
        /// The EIP-7928 list; transactions in parallel, all declared keys read in batches.
        BatchedIo = "batched-io",
        /// A list with the values before the batch too; transactions in parallel, while other
        /// threads verify these values.
        Full = "full",
        /// In order by a plain loop over stock revm; no list. A yardstick for the other designs.
        BareRevm = "bare-revm",
    }
}

impl Design {
    /// The axes that the design sets.
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

    /// Returns whether the design is only a yardstick for other designs. It runs only on request.
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
        /// Changes by transactions, without keys that are only read.
        ParallelIo = "parallel-io",
        /// The EIP-7928 list: changes and read keys.
        BatchedIo = "batched-io",
        /// Changes, and the values that all keys have before the batch.
        Full = "full",
    }
}

crate::named! {
    /// Duty towards the block's list, of an engine that takes no list.
    #[derive(Default)]
    pub enum ListDuty: "duty towards the list" {
        /// No duty.
        #[default]
        Nothing = "none",
        /// To build the list inside the clock, hash it, and compare the hash with that in the
        /// header (EIP-7928).
        Build = "build",
    }
}

crate::named! {
    /// Which threads read the cache that the speculative pass of `prewarm` fills.
    #[derive(Default)]
    pub enum WarmCache: "warm cache" {
        /// All threads: the pass and the run in order share one cache.
        #[default]
        Shared = "shared",
        /// Only the thread of the pass that filled it: each has a cache of its own. The run in
        /// order gains only from the caches of the store and the kernel.
        PerWorker = "per-worker",
    }
}

/// Warm-up of the engine `prewarm`: its speculative pass over later transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Warming {
    /// Which threads read the cache of the pass.
    pub cache: WarmCache,
    /// Start of the run in order: at once, or after the pass has run all transactions.
    pub time: ReadTime,
}

impl Default for Warming {
    /// Defaults to the way of clients: one cache, and a run in order that starts at once.
    fn default() -> Self {
        Self { cache: WarmCache::Shared, time: ReadTime::While }
    }
}

/// Order and isolation of the transactions of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// One transaction after the other, on one thread.
    Sequential,
    /// One transaction after the other, on one thread. Other threads run the transactions
    /// speculatively on the state before the batch, only to read the needed keys ahead.
    Prewarm(Warming),
    /// Optimistic: a transaction may run before the writes of lower transactions are known. It runs
    /// again if it read a wrong value.
    BlockStm,
    /// Each transaction on the state as of its index. The list gives the changes of lower
    /// transactions.
    Bal,
    /// One transaction after the other, on one thread, over revm's own `State`.
    BareRevm,
}

crate::named! {
    /// Order in which free threads take the steps of a batch.
    #[derive(Default)]
    pub enum Schedule: "schedule" {
        /// The next step in block order.
        #[default]
        BlockOrder = "block-order",
        /// The step with the largest gas limit first. System steps have no gas limit and come last.
        GasLimit = "gas-limit",
        /// The step with the most changes in the list first. Reads do not count, since EIP-7928
        /// does not tell which step reads a key.
        ListEntries = "list-entries",
        /// The step with the longest measured time first: an oracle, which no client has.
        KnownCost = "known-cost",
    }
}

/// Source of the values that keys have before the batch: reads of the store, or the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Io {
    /// On demand of the EVM: each key is read once, for all transactions.
    OnDemand,
    /// In batches: I/O threads read all declared keys. Without I/O threads, the executing threads
    /// do.
    Batched(Prefetch),
    /// None: values come from the list. I/O threads verify them while transactions run. Without I/O
    /// threads, the executing threads verify them after execution.
    FromList,
}

impl Engine {
    /// Returns whether the engine can build the list of a block. For that it must take steps in
    /// order, over a database that records touched keys. `BareRevm` has revm's `State` in place of
    /// that database.
    pub const fn builds_lists(self) -> bool {
        match self {
            Self::Sequential | Self::Prewarm(_) => true,
            Self::BlockStm | Self::Bal | Self::BareRevm => false,
        }
    }

    /// Name of the engine in a variant's name.
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

    /// Returns whether the engine executes on the requested number of threads. Other engines
    /// execute on one thread.
    pub const fn is_parallel(self) -> bool {
        match self {
            Self::Prewarm(_) | Self::BlockStm | Self::Bal => true,
            Self::Sequential | Self::BareRevm => false,
        }
    }

    /// Returns whether the engine runs each step exactly once, and none speculatively. Then every
    /// run reads the same keys from the store, and the times of steps add up. With other engines,
    /// both depend on the timing of threads.
    pub const fn runs_steps_once(self) -> bool {
        match self {
            Self::Sequential | Self::Bal | Self::BareRevm => true,
            Self::Prewarm(_) | Self::BlockStm => false,
        }
    }

    /// Returns whether threads may take steps in any order, since each step runs on a state of its
    /// own. Then the engine can follow a [`Schedule`].
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
    /// Name of the I/O in a variant's name.
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

    /// The prefetch policy; `None` without batched reads.
    pub const fn prefetch(self) -> Option<Prefetch> {
        match self {
            Self::OnDemand | Self::FromList => None,
            Self::Batched(prefetch) => Some(prefetch),
        }
    }

    /// When keys are read ahead; `None` if no key is read ahead.
    pub(crate) const fn read_time(self) -> Option<ReadTime> {
        match self {
            Self::OnDemand | Self::FromList => None,
            Self::Batched(prefetch) => Some(prefetch.time),
        }
    }
}
