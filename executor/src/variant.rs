//! Ways to execute: what the list carries, which engine runs, how it reads; and the designs,
//! their presets that a user types.

use std::{fmt, num::NonZeroUsize};

use crate::schedule::Schedule;

/// A preset of list, engine and I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Design {
    /// In order, reading as the EVM asks; no list.
    Sequential,
    /// Changes only in the list; transactions in parallel, each reading on demand.
    ParallelIo,
    /// The EIP-7928 list; transactions in parallel, all declared keys read in batches.
    BatchedIo,
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
}

/// How transactions are ordered and isolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// One after the other on one thread.
    Sequential,
    /// Each on its own state as of its index, which the list gives.
    Bal,
}

/// How state below the batch is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Io {
    /// When the EVM asks, once per key for all transactions.
    OnDemand,
    /// All declared keys by readers of their own.
    Batched(Prefetch),
}

/// When the readers of batched I/O read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prefetch {
    /// Before any transaction begins.
    Before,
    /// While transactions run; one that needs a key not yet there waits or reads it itself.
    While,
}

impl Design {
    /// All designs, in the order of a report.
    pub const ALL: [Self; 3] = [Self::Sequential, Self::ParallelIo, Self::BatchedIo];

    /// The name a user types.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::ParallelIo => "parallel-io",
            Self::BatchedIo => "batched-io",
        }
    }

    /// The variant of this design with these thread counts. `threads` is 1 for sequential
    /// whatever is asked, and `io_thread_count` counts for batched I/O only.
    pub fn variant(self, threads: NonZeroUsize, io_threads: NonZeroUsize) -> Variant {
        let (list, engine, io) = match self {
            Self::Sequential => (ListForm::None, Engine::Sequential, Io::OnDemand),
            Self::ParallelIo => (ListForm::ParallelIo, Engine::Bal, Io::OnDemand),
            Self::BatchedIo => (ListForm::BatchedIo, Engine::Bal, Io::Batched(Prefetch::Before)),
        };
        let thread_count = if engine == Engine::Sequential { 1 } else { threads.get() };
        let io_thread_count = if matches!(io, Io::Batched(_)) { io_threads.get() } else { 0 };
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
        }
    }
}

impl Engine {
    /// Name as in a variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Bal => "bal",
        }
    }
}

impl Io {
    /// Name as in a variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnDemand => "on-demand",
            Self::Batched(Prefetch::Before) => "batched",
            Self::Batched(Prefetch::While) => "batched-while",
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
    /// execute read ahead themselves before they do.
    pub io_thread_count: usize,
    /// Which step a free thread takes next; the `bal` engine alone knows more than one.
    pub schedule: Schedule,
}

impl Variant {
    /// This variant with all keys read before execution by the threads that execute.
    #[must_use]
    pub const fn reading_before_by_itself(self) -> Self {
        Self { io: Io::Batched(Prefetch::Before), io_thread_count: 0, ..self }
    }

    /// Whether the threads that execute read ahead too.
    pub(crate) const fn executors_prefetch(&self) -> bool {
        matches!(self.io, Io::Batched(Prefetch::Before)) && self.io_thread_count == 0
    }

    /// Threads that must have read all before any transaction begins.
    pub(crate) const fn prefetching_before(&self) -> usize {
        match self.io {
            Io::Batched(Prefetch::Before) if self.io_thread_count == 0 => self.thread_count,
            Io::Batched(Prefetch::Before) => self.io_thread_count,
            Io::OnDemand | Io::Batched(Prefetch::While) => 0,
        }
    }
}

impl fmt::Display for Variant {
    /// `batched-io/bal+batched@16+48io`, `batched-io/bal+batched+gas-limit@16+48io`: all that distinguishes it, but for the store.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (list, engine, io) = (self.list.name(), self.engine.name(), self.io.name());
        write!(f, "{list}/{engine}+{io}")?;
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
        assert_eq!(name(Design::ParallelIo), "parallel-io/bal+on-demand@16");
        assert_eq!(name(Design::BatchedIo), "batched-io/bal+batched@16+48io");
        let variant = Design::ParallelIo.variant(count(16), count(48));
        let variant = Variant { schedule: Schedule::KnownCost, ..variant };
        assert_eq!(variant.to_string(), "parallel-io/bal+on-demand+known-cost@16");
    }
}
