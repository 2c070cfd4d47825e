//! Ways to execute: what the list carries, which engine runs, how it reads; and the designs,
//! their presets that a user types.

use std::{fmt, num::NonZeroUsize};

use crate::schedule::Schedule;

mod prefetch;

pub use prefetch::{AccountReads, CodeReads, Prefetch, ReadOrder, ReadTime, Sharing, StopRule};

/// A preset of list, engine and I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Design {
    /// In order, reading as the EVM asks; no list.
    Sequential,
    /// Optimistically in parallel, reading as the EVM asks; no list.
    BlockStm,
    /// Changes only in the list; transactions in parallel, each reading on demand.
    ParallelIo,
    /// The EIP-7928 list; transactions in parallel, all declared keys read in batches.
    BatchedIo,
    /// A list with all values before the batch; transactions in parallel, and meanwhile the
    /// values are verified.
    Full,
    /// A speculative parallel pass fills a cache, then in order; no list.
    Prewarm,
}

/// What a list carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListForm {
    /// There is none.
    None,
    /// Post-transaction changes only.
    ParallelIo,
    /// The EIP-7928 list: changes and read keys.
    BatchedIo,
    /// Changes, and of all keys their values before the batch.
    Full,
}

/// How transactions are ordered and isolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// One after the other on one thread.
    Sequential,
    /// All at once on the state before the batch, for what they read; then one after the other.
    Prewarm(WarmCache),
    /// Before it is known what lower ones write, and again where that went wrong.
    BlockStm,
    /// Each on its own state as of its index, which the list gives.
    Bal,
}

/// Who finds what the speculative pass has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WarmCache {
    /// All: one cache for the pass and for the run in order.
    #[default]
    Shared,
    /// Each worker of the pass for itself. The run in order has only what the store and the
    /// kernel now hold.
    PerWorker,
}

/// How state below the batch is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Io {
    /// When the EVM asks, once per key for all transactions.
    OnDemand,
    /// All declared keys by readers of their own.
    Batched(Prefetch),
    /// Not at all: values come from the list. Readers of their own verify them beside.
    FromList,
}

impl Design {
    /// All designs, in the order of a report.
    pub const ALL: [Self; 6] = [
        Self::Sequential,
        Self::Prewarm,
        Self::BlockStm,
        Self::ParallelIo,
        Self::BatchedIo,
        Self::Full,
    ];

    /// The name a user types.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::BlockStm => "block-stm",
            Self::ParallelIo => "parallel-io",
            Self::BatchedIo => "batched-io",
            Self::Full => "full",
            Self::Prewarm => "prewarm",
        }
    }

    /// The variant of this design with these thread counts. `threads` is 1 for sequential
    /// whatever is asked, and `io_thread_count` counts only where there are readers of their own.
    pub fn variant(self, threads: NonZeroUsize, io_threads: NonZeroUsize) -> Variant {
        let (list, engine, io) = match self {
            Self::Sequential => (ListForm::None, Engine::Sequential, Io::OnDemand),
            Self::BlockStm => (ListForm::None, Engine::BlockStm, Io::OnDemand),
            Self::ParallelIo => (ListForm::ParallelIo, Engine::Bal, Io::OnDemand),
            Self::BatchedIo => (ListForm::BatchedIo, Engine::Bal, Io::Batched(Prefetch::default())),
            Self::Full => (ListForm::Full, Engine::Bal, Io::FromList),
            Self::Prewarm => (ListForm::None, Engine::Prewarm(WarmCache::Shared), Io::OnDemand),
        };
        let thread_count = if engine == Engine::Sequential { 1 } else { threads.get() };
        let io_thread_count = if io == Io::OnDemand { 0 } else { io_threads.get() };
        let schedule = Schedule::BlockOrder;
        Variant { design: self, list, engine, io, thread_count, io_thread_count, schedule }
    }
}

impl ListForm {
    /// Name as in a variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ParallelIo => "parallel-io",
            Self::BatchedIo => "batched-io",
            Self::Full => "full",
        }
    }
}

impl Engine {
    /// Name as in a variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::BlockStm => "block-stm",
            Self::Prewarm(WarmCache::Shared) => "prewarm-shared",
            Self::Prewarm(WarmCache::PerWorker) => "prewarm-per-worker",
            Self::Bal => "bal",
        }
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
    const fn read_time(self) -> Option<ReadTime> {
        match self {
            Self::OnDemand | Self::FromList => None,
            Self::Batched(prefetch) => Some(prefetch.time),
        }
    }
}

/// One way to execute, but for the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// The preset it came from.
    pub design: Design,
    /// What the list carries.
    pub list: ListForm,
    /// The engine.
    pub engine: Engine,
    /// How it reads.
    pub io: Io,
    /// Threads that execute.
    pub thread_count: usize,
    /// Threads that only read. 0 where there are none: I/O is on demand, or the threads that
    /// execute read ahead themselves before they do, or verify themselves after it.
    pub io_thread_count: usize,
    /// Which step a free thread takes next; the `bal` engine alone knows more than one.
    pub schedule: Schedule,
}

impl Variant {
    /// This variant with all keys read before execution by the threads that execute.
    #[must_use]
    pub const fn reading_before_by_itself(self) -> Self {
        let prefetch = match self.io {
            Io::Batched(prefetch) => Prefetch { time: ReadTime::Before, ..prefetch },
            Io::OnDemand | Io::FromList => return Self { io_thread_count: 0, ..self },
        };
        Self { io: Io::Batched(prefetch), io_thread_count: 0, ..self }
    }

    /// Whether the threads that execute read ahead too.
    pub(crate) const fn executors_prefetch(&self) -> bool {
        matches!(self.io.read_time(), Some(ReadTime::Before)) && self.io_thread_count == 0
    }

    /// Threads that must have read all before any transaction begins.
    pub(crate) const fn prefetching_before(&self) -> usize {
        match self.io.read_time() {
            Some(ReadTime::Before) if self.io_thread_count == 0 => self.thread_count,
            Some(ReadTime::Before) => self.io_thread_count,
            Some(ReadTime::While) | None => 0,
        }
    }
}

impl fmt::Display for Variant {
    /// `batched-io/bal+batched@16+48io`, `batched-io/bal+batched+gas-limit@16+48io`: all that
    /// distinguishes it, but for the store.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (list, engine) = (self.list.name(), self.engine.name());
        match self.io {
            Io::Batched(prefetch) => write!(f, "{list}/{engine}+batched{prefetch}")?,
            io => write!(f, "{list}/{engine}+{}", io.name())?,
        }
        if self.schedule != Schedule::BlockOrder {
            write!(f, "+{}", self.schedule.name())?;
        }
        write!(f, "@{}", self.thread_count)?;
        if self.io_thread_count > 0 {
            write!(f, "+{}io", self.io_thread_count)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variants_name_shows_all_that_distinguishes_it() {
        let count = |n| NonZeroUsize::new(n).unwrap();
        let name = |design: Design| design.variant(count(16), count(48)).to_string();
        assert_eq!(name(Design::Sequential), "none/sequential+on-demand@1");
        assert_eq!(name(Design::BlockStm), "none/block-stm+on-demand@16");
        assert_eq!(name(Design::ParallelIo), "parallel-io/bal+on-demand@16");
        assert_eq!(name(Design::BatchedIo), "batched-io/bal+batched@16+48io");
        assert_eq!(name(Design::Full), "full/bal+from-list@16+48io");
        assert_eq!(name(Design::Prewarm), "none/prewarm-shared+on-demand@16");
        let variant = Design::ParallelIo.variant(count(16), count(48));
        let variant = Variant { schedule: Schedule::KnownCost, ..variant };
        assert_eq!(variant.to_string(), "parallel-io/bal+on-demand+known-cost@16");
    }
}
