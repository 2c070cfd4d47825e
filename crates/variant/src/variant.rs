//! A variant: one way to execute a workload, and its name. `src/run/plan.rs` makes the variants of
//! a run; the executor runs them.

use std::{fmt, num::NonZeroUsize};

use crate::{
    BlockDuties, Design, Engine, Io, ListDuty, ListForm, Prefetch, Preset, ReadTime, RootWay,
    Schedule, Sharding,
};

/// One way to execute a workload, without the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// The design, a preset, that the variant came from.
    pub design: Design,
    /// Content of the list; `None` if the engine takes no list.
    pub list: Option<ListForm>,
    /// Duty towards the block's list, of an engine that takes no list.
    pub list_duty: ListDuty,
    /// The engine.
    pub engine: Engine,
    /// Source of the values that keys have before the batch.
    pub io: Io,
    /// Number of executing threads, on each shard if there are shards.
    pub thread_count: usize,
    /// Number of transactions under way on each executing thread, one on each fiber. A fiber that
    /// waits for a read yields its thread to another fiber. 1 if the thread itself waits.
    pub fiber_count: usize,
    /// The shards that execute in place of this process.
    pub sharding: Sharding,
    /// Number of threads that only read. It is 0 if I/O is on demand. It is also 0 if the executing
    /// threads read ahead before execution, or verify values after it.
    pub io_thread_count: usize,
    /// Order in which free threads take steps; only the `bal` engine supports several orders.
    pub schedule: Schedule,
    /// How state roots are computed.
    pub root: RootWay,
    /// Duties on blocks beside execution.
    pub block_duties: BlockDuties,
}

impl Variant {
    /// Makes the variant of `design` with these thread counts. `threads` has no effect on an engine
    /// that executes on one thread, and `io_threads` has none on I/O on demand.
    pub fn of(design: Design, threads: NonZeroUsize, io_threads: NonZeroUsize) -> Self {
        let Preset { list, engine, io } = design.preset();
        let thread_count = if engine.is_parallel() { threads.get() } else { 1 };
        let io_thread_count = if io == Io::OnDemand { 0 } else { io_threads.get() };
        Self {
            design,
            list,
            list_duty: ListDuty::Nothing,
            engine,
            io,
            thread_count,
            fiber_count: 1,
            sharding: Sharding::NONE,
            io_thread_count,
            schedule: Schedule::BlockOrder,
            root: RootWay::NONE,
            block_duties: BlockDuties::NONE,
        }
    }

    /// Name of the variant's list form. Without a list form, it is `build` if the engine builds the
    /// list, else `none`.
    pub const fn list_name(&self) -> &'static str {
        match self.list {
            Some(form) => form.name(),
            None => match self.list_duty {
                ListDuty::Nothing => "none",
                ListDuty::Build => "build",
            },
        }
    }

    /// Moves the work of I/O threads to the executing threads. These then read all batched keys
    /// before execution. Verification of a full list moves to the time after execution.
    #[must_use]
    pub const fn without_readers(self) -> Self {
        let prefetch = match self.io {
            Io::Batched(prefetch) => Prefetch { time: ReadTime::Before, ..prefetch },
            Io::OnDemand | Io::FromList => return Self { io_thread_count: 0, ..self },
        };
        Self { io: Io::Batched(prefetch), io_thread_count: 0, ..self }
    }

    /// Returns whether shards can execute the variant. They can execute `bal` with a `batched-io`
    /// list, and Block-STM. They support no full list.
    pub const fn can_be_sharded(&self) -> bool {
        matches!(
            (self.engine, self.list),
            (Engine::Bal, Some(ListForm::BatchedIo)) | (Engine::BlockStm, None)
        )
    }

    /// Returns this variant on shards. Shards request values themselves, so the variant has no
    /// readers.
    #[must_use]
    pub const fn on_shards(self, sharding: Sharding) -> Self {
        Self { io: Io::OnDemand, io_thread_count: 0, sharding, ..self }
    }

    /// Number of executing threads on all shards together.
    pub const fn executor_count(&self) -> usize {
        if self.sharding.is_none() {
            return self.thread_count;
        }
        self.thread_count * self.sharding.count
    }

    /// Returns whether transactions can yield their thread. For that, each must start at once, on a
    /// state of its own, and read on demand.
    pub const fn can_yield(&self) -> bool {
        matches!((self.engine, self.io), (Engine::Bal, Io::OnDemand)) && self.sharding.is_none()
    }

    /// Returns whether the executing threads read declared keys ahead, before execution.
    pub const fn executors_prefetch(&self) -> bool {
        matches!(self.io.read_time(), Some(ReadTime::Before)) && self.io_thread_count == 0
    }

    /// Number of threads that read all declared keys before any transaction begins; 0 if none must.
    pub const fn upfront_reader_count(&self) -> usize {
        match self.io.read_time() {
            Some(ReadTime::Before) if self.io_thread_count == 0 => self.thread_count,
            Some(ReadTime::Before) => self.io_thread_count,
            Some(ReadTime::While) | None => 0,
        }
    }
}

impl fmt::Display for Variant {
    /// Writes all that distinguishes the variant, except for the store:
    /// `batched-io/bal+batched@16+48io`, `batched-io/bal+batched+gas-limit@16+48io`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (list, engine) = (self.list_name(), self.engine.name());
        match self.io {
            Io::Batched(prefetch) => write!(f, "{list}/{engine}+batched{prefetch}")?,
            io => write!(f, "{list}/{engine}+{}", io.name())?,
        }
        if self.schedule != Schedule::BlockOrder {
            write!(f, "+{}", self.schedule.name())?;
        }
        if !self.root.is_none() {
            write!(f, "+root-{}", self.root)?;
        }
        if !self.block_duties.is_none() {
            write!(f, "+{}", self.block_duties)?;
        }
        write!(f, "@{}", self.thread_count)?;
        if self.fiber_count > 1 {
            write!(f, "x{}", self.fiber_count)?;
        }
        if self.io_thread_count > 0 {
            write!(f, "+{}io", self.io_thread_count)?;
        }
        if !self.sharding.is_none() {
            write!(f, "+{}", self.sharding)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Named, PartitionTime, Partitioner, RootCache, RootReads, RootTime};

    #[test]
    fn the_engine_of_every_design_is_found_by_its_name() {
        for design in Design::ALL {
            let engine = Variant::of(*design, NonZeroUsize::MIN, NonZeroUsize::MIN).engine;
            assert_eq!(<Engine as Named>::from_name(engine.name()), Some(engine));
        }
    }

    #[test]
    fn a_variants_name_shows_all_that_distinguishes_it() {
        let count = |n| NonZeroUsize::new(n).unwrap();
        let name = |design: Design| Variant::of(design, count(16), count(48)).to_string();
        assert_eq!(name(Design::Sequential), "none/sequential+on-demand@1");
        assert_eq!(name(Design::BareRevm), "none/bare-revm+on-demand@1");
        assert_eq!(name(Design::BlockStm), "none/block-stm+on-demand@16");
        assert_eq!(name(Design::ParallelIo), "parallel-io/bal+on-demand@16");
        assert_eq!(name(Design::BatchedIo), "batched-io/bal+batched@16+48io");
        assert_eq!(name(Design::Full), "full/bal+from-list@16+48io");
        assert_eq!(name(Design::Prewarm), "none/prewarm-shared-while+on-demand@16");
        let variant = Variant::of(Design::ParallelIo, count(16), count(48));
        let variant = Variant { schedule: Schedule::KnownCost, ..variant };
        assert_eq!(variant.to_string(), "parallel-io/bal+on-demand+known-cost@16");
        let variant =
            Variant { fiber_count: 32, ..Variant::of(Design::ParallelIo, count(2), count(1)) };
        assert_eq!(variant.to_string(), "parallel-io/bal+on-demand@2x32");
        let variant = Variant::of(Design::BatchedIo, count(2), count(1));
        let on = |sharding| variant.on_shards(sharding).to_string();
        assert_eq!(on(Sharding::on(4)), "batched-io/bal+on-demand@2+4shards");
        let sharding = Sharding {
            partitioner: Partitioner::Fanout,
            partition_time: PartitionTime::Before,
            micro_batch_key_count: 64,
            delay_us: 500,
            ..Sharding::on(4)
        };
        assert_eq!(on(sharding), "batched-io/bal+on-demand@2+4shards-fanout-before-64keys-500us");
        let variant = Variant::of(Design::BlockStm, count(2), count(1));
        let on_shards = variant.on_shards(Sharding::on(4)).to_string();
        assert_eq!(on_shards, "none/block-stm+on-demand@2+4shards");
        let variant = Variant::of(Design::Sequential, count(1), count(1));
        let variant = Variant { list_duty: ListDuty::Build, ..variant };
        assert_eq!(variant.to_string(), "build/sequential+on-demand@1");
        let variant = Variant { root: RootWay::at(RootTime::After), ..variant };
        assert_eq!(variant.to_string(), "build/sequential+on-demand+root-after@1");
        let root = RootWay {
            time: RootTime::Pipelined,
            shard_count: 16,
            reads: RootReads::AtOnce,
            cache: RootCache::UpperLevels,
        };
        let name = "build/sequential+on-demand+root-pipelined-16-shards-at-once-upper-levels@1";
        assert_eq!(Variant { root, ..variant }.to_string(), name);
        let whole = Variant {
            root: RootWay::at(RootTime::After),
            block_duties: BlockDuties::all(),
            ..variant
        };
        assert_eq!(whole.to_string(), "build/sequential+on-demand+root-after+whole@1");
    }
}
