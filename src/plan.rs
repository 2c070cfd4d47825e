//! Which cells a run has and in which order their samples are taken.

use std::{num::NonZeroUsize, thread, time::Duration};

use executor::store::rocksdb::{IoUring, READS_AT_ONCE, io_uring_state};
use spec::{PrefetchSpec, RunSpec};
use variant::{
    CacheMode, Design, Engine, Io, ListDuty, Preset, ReadMethod, ReadTime, Schedule, StoreKind,
    Variant, Waiting, Warming,
};

mod policies;

use policies::policies;

/// Executing threads that are tried where nothing is said: the cores, and enough to keep a
/// disk busy from the transactions alone.
const MANY_THREADS: usize = 64;
/// Reading threads that are tried for batched I/O where nothing is said and each waits for one
/// read.
const IO_THREADS: [usize; 2] = [16, MANY_THREADS];
/// Reading threads per core where each has [`READS_AT_ONCE`] reads under way: while some wait,
/// others work. On 2 cores 4, 8 and 16 threads were alike.
const READERS_PER_CORE: usize = 4;

/// What decides, beside the scenario, which cells there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Cores that may be used.
    pub core_count: NonZeroUsize,
    /// Whether `MultiGet` reads through `io_uring`.
    pub io_uring: IoUring,
}

impl Machine {
    /// This one.
    pub fn this() -> Self {
        let core_count = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self { core_count, io_uring: io_uring_state() }
    }

    /// How a reader of RocksDB asks for many keys: together where `io_uring` makes that worth it,
    /// unless the scenario says otherwise.
    pub const fn read_method(&self, run: &RunSpec) -> ReadMethod {
        match (run.read, self.io_uring) {
            (Some(ReadMethod::Get), _) | (None, IoUring::NotBuilt | IoUring::Refused) => {
                ReadMethod::Get
            }
            (Some(ReadMethod::MultiGet), _) | (None, IoUring::Available) => ReadMethod::MultiGet,
        }
    }

    /// Whether readers of `store` have many reads under way each.
    fn reads_together(&self, run: &RunSpec, store: StoreKind) -> bool {
        let is_multi_get = self.read_method(run) != ReadMethod::Get;
        let is_available = is_multi_get && self.io_uring == IoUring::Available;
        store.waiting() == Waiting::ByMethod && is_available
    }

    /// Reading threads where the scenario does not say how many.
    fn io_threads(&self, run: &RunSpec, store: StoreKind) -> Vec<usize> {
        match store.waiting() {
            Waiting::Never => vec![1],
            // Each keeps hundreds of reads in flight; several a core, so that one computes while
            // others wait.
            Waiting::ManyAtOnce => {
                vec![self.core_count.get(), READERS_PER_CORE * self.core_count.get()]
            }
            Waiting::ByMethod if self.reads_together(run, store) => {
                let readers = READERS_PER_CORE * self.core_count.get();
                // As many reads at most as that many executing threads have: whether they were
                // as many is measured.
                let few = MANY_THREADS / READS_AT_ONCE;
                vec![few, readers.min(MANY_THREADS)]
            }
            Waiting::ByMethod | Waiting::OneByOne => IO_THREADS.to_vec(),
        }
    }

    /// What was chosen for batched reads where the scenario says nothing, and why: one sentence
    /// each.
    pub fn choices(&self, run: &RunSpec) -> Vec<String> {
        let mut choices = Vec::new();
        let reads_ahead = |design: &Design| matches!(design.preset().io, Io::Batched(_));
        if !run.designs.iter().any(reads_ahead) {
            return choices;
        }
        for store in run.stores.iter().filter(|store| store.waiting() != Waiting::Never) {
            let (name, cores) = (store.name(), self.core_count);
            let together = self.reads_together(run, *store);
            if store.waiting() == Waiting::ByMethod && run.read.is_none() {
                choices.push(match together {
                    true => format!("{name}: read = multi-get, as the kernel has io_uring"),
                    false => format!("{name}: read = get, as there is no io_uring"),
                });
            }
            if run.io_thread_counts.is_empty() {
                let counts = self.io_threads(run, *store);
                choices.push(match together {
                    true => format!(
                        "{name}: io_threads = {counts:?}: {READERS_PER_CORE} a core on {cores} \
                         cores, each with {READS_AT_ONCE} reads under way, and as many as have \
                         {MANY_THREADS} together"
                    ),
                    false => format!(
                        "{name}: io_threads = {counts:?}: each waits for one read, so their \
                         number is the depth"
                    ),
                });
            }
        }
        choices
    }
}

/// One cell to sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedCell {
    /// Its store.
    pub store: StoreKind,
    /// Its variant.
    pub variant: Variant,
}

impl PlannedCell {
    /// As a result names it: `rocksdb/batched-io/bal+batched@2+64io`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.store.name(), self.variant)
    }
}

/// All cells of a run on `machine`, without doubles.
pub fn cells(run: &RunSpec, machine: &Machine) -> Vec<PlannedCell> {
    let mut cells = Vec::new();
    for store in &run.stores {
        for design in &run.designs {
            for (threads, io_threads) in thread_counts(run, *store, *design, machine) {
                let mut variant = Variant::of(*design, threads, io_threads);
                if let Engine::Prewarm(warming) = &mut variant.engine {
                    warming.cache = run.warm_cache;
                }
                let variants = under_duties(variant, run).into_iter();
                let variants = variants.flat_map(|variant| under_policies(variant, run, *store));
                for variant in variants.flat_map(|variant| under_schedules(variant, run)) {
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

/// A variant with each duty towards the list; itself where it takes a list, or cannot build one.
fn under_duties(variant: Variant, run: &RunSpec) -> Vec<Variant> {
    if !variant.engine.builds_lists() || run.list_duties.is_empty() {
        return vec![variant];
    }
    let with = |duty: &ListDuty| Variant { list_duty: *duty, ..variant };
    run.list_duties.iter().map(with).collect()
}

/// A variant under each policy of reading ahead; itself where it does not.
fn under_policies(variant: Variant, run: &RunSpec, store: StoreKind) -> Vec<Variant> {
    if let (Engine::Prewarm(warming), [_, ..]) = (variant.engine, &run.prefetch.times[..]) {
        let with = |time: &ReadTime| {
            let engine = Engine::Prewarm(Warming { time: *time, ..warming });
            Variant { engine, ..variant }
        };
        return run.prefetch.times.iter().map(with).collect();
    }
    let Io::Batched(_) = variant.io else { return vec![variant] };
    let says_nothing = run.io_thread_counts.is_empty() && run.prefetch == PrefetchSpec::default();
    if store.waiting() == Waiting::Never && says_nothing {
        // No device to wait for: readers of their own would only take turns.
        return vec![variant.reading_before_by_itself()];
    }
    let with = |policy| Variant { io: Io::Batched(policy), ..variant };
    policies(&run.prefetch).into_iter().map(with).collect()
}

/// A variant under each schedule, where its engine can follow one.
fn under_schedules(variant: Variant, run: &RunSpec) -> Vec<Variant> {
    if !variant.engine.takes_any_order() {
        return vec![variant];
    }
    let with = |schedule: &Schedule| Variant { schedule: *schedule, ..variant };
    run.schedules.iter().map(with).collect()
}

/// Pairs of executing and reading threads.
fn thread_counts(
    run: &RunSpec,
    store: StoreKind,
    design: Design,
    machine: &Machine,
) -> Vec<(NonZeroUsize, NonZeroUsize)> {
    let cores = machine.core_count.get();
    let given = |counts: &[u32]| counts.iter().map(|n| *n as usize).collect::<Vec<_>>();
    let Preset { engine, io, .. } = design.preset();
    let threads = match given(&run.thread_counts) {
        counts if !counts.is_empty() => counts,
        // The CPU decides: the gain by threads is told from the gain or loss otherwise.
        _ if store.waiting() == Waiting::Never || run.cache == CacheMode::Warm => vec![1, cores],
        // As many threads as execute can wait for the device.
        _ if engine.is_parallel() && io == Io::OnDemand => vec![cores, MANY_THREADS],
        _ => vec![cores],
    };
    let io_threads = match given(&run.io_thread_counts) {
        counts if counts.is_empty() => machine.io_threads(run, store),
        counts => counts,
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

/// The order of a round's cells. Rounds come in pairs, a row and the same row backwards, so that
/// a steady drift of the machine meets all cells alike within a pair. The rows are those of a
/// Williams square: over as many pairs as there are cells each cell has been at each place, and
/// next to each other cell, equally often. Of two cells the rounds make ABBA BAAB. `coin` says
/// which row is first.
pub fn order(cell_count: usize, round: u32, coin: u64) -> Vec<usize> {
    let count = cell_count.max(1);
    let shift = (coin % count as u64) as usize + (round / 2) as usize;
    // 0, 1, n - 1, 2, n - 2, …: no two neighbours are as far apart as two others.
    let zigzag = |place: usize| if place % 2 == 1 { place.div_ceil(2) } else { count - place / 2 };
    let row = (0..cell_count).map(|place| (zigzag(place) + shift) % count);
    if round.is_multiple_of(2) { row.collect() } else { row.rev().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(extra: &str) -> RunSpec {
        let text = format!(
            "schema = 1\nname = \"t\"\ndescription = \"t\"\n[state]\nslots = 1000\n[block]\n\
             gas = \"1M\"\n[[load]]\nkind = \"sload-storm\"\nkeys = \"keccak\"\n[run]\n{extra}"
        );
        spec::Scenario::parse("t.toml", &text, &[]).unwrap().run
    }

    fn machine(io_uring: IoUring) -> Machine {
        Machine { core_count: NonZeroUsize::new(2).unwrap(), io_uring }
    }

    fn names_on(machine: &Machine, extra: &str) -> Vec<String> {
        cells(&run(extra), machine).iter().map(|cell| cell.variant.to_string()).collect()
    }

    fn names(extra: &str) -> Vec<String> {
        names_on(&machine(IoUring::Refused), extra)
    }

    #[test]
    fn readers_that_read_together_are_fewer() {
        let machine = machine(IoUring::Available);
        let batched =
            |extra: &str| names_on(&machine, &format!("designs = [\"batched-io\"]\n{extra}"));
        let together = ["batched-io/bal+batched@2+2io", "batched-io/bal+batched@2+8io"];
        assert_eq!(batched(""), together);
        assert_eq!(batched("read = \"multi-get\""), together);
        let one_by_one = ["batched-io/bal+batched@2+16io", "batched-io/bal+batched@2+64io"];
        assert_eq!(batched("read = \"get\""), one_by_one);
    }

    #[test]
    fn what_is_chosen_is_told_and_what_the_user_says_is_not() {
        let choices = |io_uring, extra: &str| machine(io_uring).choices(&run(extra));
        let together = choices(IoUring::Available, "");
        assert!(together[0].contains("read = multi-get") && together[1].contains("[2, 8]"));
        let one_by_one = choices(IoUring::Refused, "");
        assert!(one_by_one[0].contains("read = get") && one_by_one[1].contains("[16, 64]"));
        let given = "read = \"get\"\nio_threads = [3]";
        assert_eq!(choices(IoUring::Available, given), Vec::<String>::new());
        assert_eq!(choices(IoUring::Available, "stores = [\"memory\"]"), Vec::<String>::new());
    }

    #[test]
    fn policies_of_reading_ahead_are_crossed_with_threads() {
        let listed = names(
            "designs = [\"parallel-io\", \"batched-io\"]\nthreads = [2]\nio_threads = [4]\n\
             prefetch = [\"before\", \"while\"]\nprefetch_chunk = [32]",
        );
        let expected = [
            "parallel-io/bal+on-demand@2",
            "batched-io/bal+batched.chunk-32@2+4io",
            "batched-io/bal+batched-while.chunk-32@2+4io",
        ];
        assert_eq!(listed, expected);
    }

    #[test]
    fn by_default_each_design_is_tried_at_a_few_depths() {
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
    fn readers_that_keep_many_reads_in_flight_are_few() {
        let names = names("stores = [\"flat\", \"mdbx\"]\ndesigns = [\"batched-io\"]");
        let expected = ["+2io", "+8io", "+16io", "+64io"];
        let expected = expected.map(|readers| format!("batched-io/bal+batched@2{readers}"));
        assert_eq!(names, expected);
    }

    #[test]
    fn full_has_readers_that_verify_and_prewarm_the_cache_that_was_asked_for() {
        let of = |extra: &str| names(&format!("designs = [\"full\", \"prewarm\"]\n{extra}"));
        let expected = [
            "full/bal+from-list@2+16io",
            "full/bal+from-list@2+64io",
            "none/prewarm-shared-while+on-demand@2",
            "none/prewarm-shared-while+on-demand@64",
        ];
        assert_eq!(of(""), expected);
        let own = of("warm_cache = \"per-worker\"\nthreads = [4]\nio_threads = [8]");
        let expected = ["full/bal+from-list@4+8io", "none/prewarm-per-worker-while+on-demand@4"];
        assert_eq!(own, expected);
        let times = "prefetch = [\"before\", \"while\"]";
        let both = names(&format!("designs = [\"prewarm\"]\n{times}\nthreads = [4]"));
        let expected = ["none/prewarm-shared+on-demand@4", "none/prewarm-shared-while+on-demand@4"];
        assert_eq!(both, expected);
    }

    #[test]
    fn where_the_cpu_decides_designs_are_tried_on_one_thread_too() {
        let designs =
            "designs = [\"sequential\", \"batched-io\", \"parallel-io\"]\nio_threads = [4]";
        let of = |rest: &str| names(&format!("{designs}\n{rest}"));
        let expected = [
            "none/sequential+on-demand@1",
            "batched-io/bal+batched@1+4io",
            "batched-io/bal+batched@2+4io",
            "parallel-io/bal+on-demand@1",
            "parallel-io/bal+on-demand@2",
        ];
        assert_eq!(of("cache = \"warm\""), expected);
        assert_eq!(of("stores = [\"memory\"]"), expected);
        // Cold, one thread would measure its reads; and the user's counts are the user's.
        for rest in ["", "cache = \"warm\"\nthreads = [2]"] {
            assert!(!of(rest).iter().any(|name| name.contains("/bal+batched@1")), "{rest}");
        }
    }

    #[test]
    fn who_runs_in_order_builds_a_list_where_that_is_asked_for() {
        let of = |list: &str| {
            let designs = "designs = [\"sequential\", \"prewarm\", \"block-stm\"]\nthreads = [2]";
            names(&format!("{designs}\nlist = {list}"))
        };
        let expected = [
            "build/sequential+on-demand@1",
            "build/prewarm-shared-while+on-demand@2",
            "none/block-stm+on-demand@2",
        ];
        assert_eq!(of("\"build\""), expected);
        let both = of("[\"none\", \"build\"]");
        assert_eq!(both.len(), 5);
        assert_eq!(both[..2], ["none/sequential+on-demand@1", "build/sequential+on-demand@1"]);
    }

    #[test]
    fn two_cells_alternate_in_octets() {
        let letters = |coin| -> String {
            let rounds = (0..4).flat_map(|round| order(2, round, coin));
            rounds.map(|cell| if cell == 0 { 'A' } else { 'B' }).collect()
        };
        assert_eq!((letters(0).as_str(), letters(1).as_str()), ("ABBABAAB", "BAABABBA"));
        assert_eq!(order(1, 7, 9), [0]);
        assert!(order(0, 1, 9).is_empty());
    }

    #[test]
    fn cells_share_places_and_neighbours_evenly() {
        for count in 2..8_usize {
            let mut at = vec![vec![0; count]; count];
            let mut after = vec![vec![0; count]; count];
            for round in 0..2 * count as u32 {
                let order = order(count, round, 3);
                for (place, cell) in order.iter().enumerate() {
                    at[place][*cell] += 1;
                }
                for pair in order.windows(2) {
                    after[pair[0]][pair[1]] += 1;
                }
            }
            for cell in 0..count {
                assert!(at.iter().all(|cells| cells[cell] == 2), "{count}: {at:?}");
                let others = (0..count).filter(|other| *other != cell);
                assert!(others.into_iter().all(|other| after[cell][other] == 2), "{after:?}");
            }
        }
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
