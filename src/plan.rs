//! Which cells a run has and in which order their samples are taken.

use std::{num::NonZeroUsize, time::Duration};

use executor::{
    schedule::Schedule,
    variant::{Design, Engine, Io, Prefetch, Variant},
};
use generator::scenario::{DesignName, PrefetchName, RunSpec, ScheduleName, StoreName};

/// Executing threads that are tried where nothing is said: the cores, and enough to keep a
/// disk busy from the transactions alone.
const MANY_THREADS: usize = 64;
/// Reading threads that are tried for batched I/O where nothing is said. The last equals
/// [`MANY_THREADS`]: one pair at equal depth.
const IO_THREADS: [usize; 2] = [16, MANY_THREADS];

/// One cell to sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedCell {
    /// Its store.
    pub store: StoreName,
    /// Its variant.
    pub variant: Variant,
}

impl PlannedCell {
    /// As a result names it: `rocksdb/batched-io/bal+batched@2+64io`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.store.name(), self.variant)
    }
}

/// All cells of a run on a machine with `core_count` cores, without doubles.
pub fn cells(run: &RunSpec, core_count: NonZeroUsize) -> Vec<PlannedCell> {
    let mut cells = Vec::new();
    for store in &run.stores {
        for design in &run.designs {
            for (threads, io_threads) in thread_counts(run, *store, *design, core_count) {
                let mut variant = design_of(*design).variant(threads, io_threads);
                if let Io::Batched(prefetch) = &mut variant.io {
                    *prefetch = prefetch_of(run.prefetch.unwrap_or(PrefetchName::Before));
                }
                let says_nothing = run.io_thread_counts.is_empty() && run.prefetch.is_none();
                if *store == StoreName::Memory && *design == DesignName::BatchedIo && says_nothing {
                    // No device to wait for: readers of their own would only take turns.
                    variant = variant.reading_before_by_itself();
                }
                for schedule in &run.schedules {
                    // Only the engine whose steps have states of their own may take any first.
                    if variant.engine == Engine::Bal {
                        variant.schedule = schedule_of(*schedule);
                    }
                    let cell = PlannedCell { store: *store, variant };
                    if !cells.contains(&cell) {
                        cells.push(cell);
                    }
                }
            }
        }
    }
    cells
}

/// The executor's design of that name.
pub const fn design_of(name: DesignName) -> Design {
    match name {
        DesignName::Sequential => Design::Sequential,
        DesignName::ParallelIo => Design::ParallelIo,
        DesignName::BatchedIo => Design::BatchedIo,
    }
}

const fn schedule_of(name: ScheduleName) -> Schedule {
    match name {
        ScheduleName::BlockOrder => Schedule::BlockOrder,
        ScheduleName::GasLimit => Schedule::GasLimit,
        ScheduleName::ListEntries => Schedule::ListEntries,
        ScheduleName::KnownCost => Schedule::KnownCost,
    }
}

const fn prefetch_of(name: PrefetchName) -> Prefetch {
    match name {
        PrefetchName::Before => Prefetch::Before,
        PrefetchName::While => Prefetch::While,
    }
}

/// Pairs of executing and reading threads.
fn thread_counts(
    run: &RunSpec,
    store: StoreName,
    design: DesignName,
    core_count: NonZeroUsize,
) -> Vec<(NonZeroUsize, NonZeroUsize)> {
    let cores = core_count.get();
    let given = |counts: &[u32]| counts.iter().map(|n| *n as usize).collect::<Vec<_>>();
    let threads = match (given(&run.thread_counts), store, design) {
        (counts, _, _) if !counts.is_empty() => counts,
        (_, StoreName::Memory, _) => vec![1, cores],
        (_, _, DesignName::ParallelIo) => vec![cores, MANY_THREADS],
        _ => vec![cores],
    };
    let io_threads = match (given(&run.io_thread_counts), store) {
        (counts, _) if !counts.is_empty() => counts,
        (_, StoreName::Memory) => vec![1],
        _ => IO_THREADS.to_vec(),
    };
    let nonzero = |n: usize| NonZeroUsize::new(n).unwrap_or(NonZeroUsize::MIN);
    let pairs = threads.iter().flat_map(|threads| {
        io_threads.iter().map(|io_threads| (nonzero(*threads), nonzero(*io_threads)))
    });
    pairs.collect()
}

/// Decides after each round whether there is another: whole rounds only, so that all cells
/// have the same number of samples, taken through the same time.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Samples of each cell, where the user said so.
    pub sample_count: Option<u32>,
    /// Time to spend otherwise.
    pub budget: Duration,
}

impl Rounds {
    /// Whether to go on after `done` rounds that took `spent`, the last of them `last`. The
    /// first round always runs.
    pub fn go_on(&self, done: u32, spent: Duration, last: Duration) -> bool {
        match self.sample_count {
            Some(count) => done < count,
            None => done == 0 || spent + last <= self.budget,
        }
    }
}

/// The order of a round's cells: every other round backwards, so that a drift of the machine
/// meets all cells alike.
pub fn order(cell_count: usize, round: u32) -> Vec<usize> {
    let forwards = 0..cell_count;
    if round.is_multiple_of(2) { forwards.collect() } else { forwards.rev().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(extra: &str) -> RunSpec {
        let text = format!(
            "schema = 1\nname = \"t\"\ndescription = \"t\"\n[state]\nslots = 1000\n[block]\n\
             gas = \"1M\"\n[[load]]\nkind = \"sload-storm\"\nkeys = \"keccak\"\n[run]\n{extra}"
        );
        generator::scenario::Scenario::parse("t.toml", &text, &[]).unwrap().run
    }

    fn names(extra: &str) -> Vec<String> {
        let cores = NonZeroUsize::new(2).unwrap();
        cells(&run(extra), cores).iter().map(|cell| cell.variant.to_string()).collect()
    }

    #[test]
    fn by_default_each_design_is_tried_at_a_few_depths_with_one_pair_of_equal_depth() {
        let expected = [
            "none/sequential+on-demand@1",
            "parallel-io/bal+on-demand@2",
            "parallel-io/bal+on-demand@64",
            "batched-io/bal+batched@2+16io",
            "batched-io/bal+batched@2+64io",
        ];
        assert_eq!(names(""), expected);
    }

    #[test]
    fn what_the_user_lists_is_crossed_without_doubles() {
        let listed =
            names("designs = [\"sequential\", \"batched-io\"]\nthreads = [1, 4]\nio_threads = [8]");
        let expected = [
            "none/sequential+on-demand@1",
            "batched-io/bal+batched@1+8io",
            "batched-io/bal+batched@4+8io",
        ];
        assert_eq!(listed, expected);
    }

    #[test]
    fn schedules_are_crossed_with_the_engine_that_can_follow_them() {
        let listed = names(
            "designs = [\"sequential\", \"parallel-io\"]\nthreads = [4]\n\
             schedule = [\"block-order\", \"gas-limit\", \"list-entries\", \"known-cost\"]",
        );
        let expected = [
            "none/sequential+on-demand@1",
            "parallel-io/bal+on-demand@4",
            "parallel-io/bal+on-demand+gas-limit@4",
            "parallel-io/bal+on-demand+list-entries@4",
            "parallel-io/bal+on-demand+known-cost@4",
        ];
        assert_eq!(listed, expected);
    }

    #[test]
    fn the_memory_store_reads_as_it_is_told_and_by_itself_where_nothing_is_said() {
        let of = |extra: &str| {
            let run = "stores = [\"memory\"]\ndesigns = [\"batched-io\"]\nthreads = [2]\n";
            names(&format!("{run}{extra}"))
        };
        assert_eq!(of(""), ["batched-io/bal+batched@2"]);
        assert_eq!(of("prefetch = \"while\""), ["batched-io/bal+batched-while@2+1io"]);
        assert_eq!(of("io_threads = [3]"), ["batched-io/bal+batched@2+3io"]);
        let both = of("prefetch = \"while\"\nio_threads = [3]");
        assert_eq!(both, ["batched-io/bal+batched-while@2+3io"]);
        assert!(
            names("prefetch = \"while\"").iter().any(|name| name.contains("batched-while@2+16io"))
        );
    }

    #[test]
    fn rounds_are_whole_and_the_first_one_always_runs() {
        let second = Duration::from_secs(1);
        let budget = Rounds { sample_count: None, budget: 10 * second };
        assert!(budget.go_on(0, Duration::ZERO, Duration::ZERO));
        assert!(budget.go_on(2, 6 * second, 4 * second));
        assert!(!budget.go_on(2, 7 * second, 4 * second));
        let counted = Rounds { sample_count: Some(2), budget: second };
        assert!(counted.go_on(1, 99 * second, 99 * second));
        assert!(!counted.go_on(2, Duration::ZERO, Duration::ZERO));
    }
}
