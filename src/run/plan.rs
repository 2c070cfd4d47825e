//! Which cells a run has and in which order their samples are taken.

use std::{num::NonZeroUsize, thread, time::Duration};

use executor::store::rocksdb::{IoUring, READS_AT_ONCE, io_uring_state};
use result::stats::INTERVAL_COUNT_MIN;
use spec::{PrefetchSpec, RunSpec};
use variant::{
    CacheMode, Design, Engine, Io, ListDuty, Preset, ReadMethod, ReadTime, RootWay, Schedule,
    StoreKind, Variant, Waiting, Warming, WholeRows,
};

mod policies;
#[cfg(test)]
mod tests;

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

/// Facts beside the scenario that decide which cells there are.
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

    /// Whether readers of `store`, which can ask for hundreds of keys at once, do so here.
    fn keeps_many(&self, store: StoreKind) -> bool {
        !store.has_device() || self.io_uring == IoUring::Available
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
                // As many reads at most as that many executing threads have: their true number is
                // measured.
                let few = MANY_THREADS / READS_AT_ONCE;
                vec![few, readers.min(MANY_THREADS)]
            }
            Waiting::ByMethod | Waiting::OneByOne => IO_THREADS.to_vec(),
        }
    }

    /// The choices for batched reads where the scenario has none, with reasons: one sentence
    /// each.
    pub fn choices(&self, run: &RunSpec) -> Vec<String> {
        let mut choices = Vec::new();
        if self.io_uring != IoUring::Available && run.fiber_counts.iter().any(|count| *count > 1) {
            choices.push("fibers = 1, as there is no io_uring".to_owned());
        }
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
                choices.push(match (together, store.waiting()) {
                    (true, _) => format!(
                        "{name}: io_threads = {counts:?}: {READERS_PER_CORE} a core on {cores} \
                         cores, each with {READS_AT_ONCE} reads under way, and as many as have \
                         {MANY_THREADS} together"
                    ),
                    (false, Waiting::ManyAtOnce) if self.keeps_many(*store) => format!(
                        "{name}: io_threads = {counts:?}: 1 and {READERS_PER_CORE} a core on \
                         {cores} cores, each with hundreds of reads under way"
                    ),
                    (false, _) => format!(
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

    /// Threads that it keeps busy.
    pub const fn busy_count(&self) -> usize {
        self.variant.thread_count + self.variant.io_thread_count
    }
}

/// All cells of a run on `machine`, without doubles.
pub fn cells(run: &RunSpec, machine: &Machine) -> Vec<PlannedCell> {
    let mut cells = Vec::new();
    for store in &run.stores {
        for design in &run.designs {
            let first = cells.len();
            for (threads, io_threads) in thread_counts(run, *store, *design, machine) {
                let mut variant = Variant::of(*design, threads, io_threads);
                if let Engine::Prewarm(warming) = &mut variant.engine {
                    warming.cache = run.warm_cache;
                }
                let variants = under_duties(variant, run).into_iter();
                let variants = variants.flat_map(|variant| under_policies(variant, run, *store));
                let variants =
                    variants.flat_map(|variant| on_fibers(variant, run, *store, machine));
                let variants = variants.flat_map(|variant| on_shards(variant, run));
                let variants = variants.flat_map(|variant| under_schedules(variant, run));
                let variants = variants.flat_map(|variant| with_roots(variant, run));
                for variant in variants.flat_map(|variant| with_block_duties(variant, run)) {
                    let cell = PlannedCell { store: *store, variant };
                    if !cells.contains(&cell) {
                        cells.push(cell);
                    }
                }
            }
            if let Some(whole) = whole_of(&cells[first..], run)
                && !cells.contains(&whole)
            {
                cells.insert(first, whole);
            }
        }
    }
    cells
}

/// The whole row of a design on a store, where one is to stand beside the others: that of these rows which
/// has most reads under way, by its threads. The rule knows no time, as the row that was fastest in a few
/// samples is one that was lucky.
fn whole_of(rows: &[PlannedCell], run: &RunSpec) -> Option<PlannedCell> {
    if run.whole.rows != Some(WholeRows::One) {
        return None;
    }
    let depth = |row: &PlannedCell| {
        let Variant { list_duty, thread_count, io_thread_count, fiber_count, sharding, .. } =
            row.variant;
        let execute_count = thread_count * fiber_count * sharding.count.max(1);
        (list_duty == ListDuty::Build, io_thread_count, execute_count)
    };
    let deepest = rows.iter().map(depth).max()?;
    let row = rows.iter().find(|row| depth(row) == deepest)?;
    let (root, block_duties) = (run.whole_root(), run.block_duties());
    Some(PlannedCell { variant: Variant { root, block_duties, ..row.variant }, ..*row })
}

/// A variant with each list duty; itself if it takes a list, or cannot build one.
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

/// A variant with each number of fibers; itself where no transaction can yield its thread.
fn on_fibers(variant: Variant, run: &RunSpec, store: StoreKind, machine: &Machine) -> Vec<Variant> {
    let has_ring = machine.io_uring == IoUring::Available;
    if !variant.can_yield() || !store.can_yield() || !has_ring {
        return vec![variant];
    }
    let with = |count: &u32| Variant { fiber_count: *count as usize, ..variant };
    run.fiber_counts.iter().map(with).collect()
}

/// A variant in each way to execute on shards; itself where none execute it.
fn on_shards(variant: Variant, run: &RunSpec) -> Vec<Variant> {
    if !variant.can_be_sharded() || run.shards.counts.is_empty() {
        return vec![variant];
    }
    run.shards.ways().into_iter().map(|way| variant.on_shards(way)).collect()
}

/// A variant under each schedule, where its engine can follow one.
fn under_schedules(variant: Variant, run: &RunSpec) -> Vec<Variant> {
    if !variant.engine.takes_any_order() || !variant.sharding.is_none() {
        return vec![variant];
    }
    let with = |schedule: &Schedule| Variant { schedule: *schedule, ..variant };
    run.schedules.iter().map(with).collect()
}

/// A variant with each way to compute state roots.
fn with_roots(variant: Variant, run: &RunSpec) -> Vec<Variant> {
    run.root.ways().into_iter().map(|root| Variant { root, ..variant }).collect()
}

/// A variant with the run's duties on blocks, and beside it execution alone; itself without any, and where
/// one row of its design has them.
fn with_block_duties(variant: Variant, run: &RunSpec) -> Vec<Variant> {
    if run.whole.rows == Some(WholeRows::One) {
        return vec![variant];
    }
    let block_duties = run.block_duties();
    let mut variants = vec![Variant { block_duties, ..variant }];
    if !block_duties.is_none() && run.execution_alone {
        variants.push(Variant { root: RootWay::NONE, ..variant });
    }
    variants
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
    // Warm values of a store without a device are as far away as cold ones.
    let is_warm = run.cache == CacheMode::Warm && store.has_device();
    let threads = match given(&run.thread_counts) {
        counts if !counts.is_empty() => counts,
        // The CPU decides: the gain by threads is shown apart from other gains and losses.
        _ if store.waiting() == Waiting::Never || is_warm => vec![1, cores],
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

/// Decides before each round which cells it has. Rounds of all cells come first, so that their
/// samples are taken through the same time. When those no longer fit, some cells get the samples that
/// their intervals still need: the fastest whole one of each design on each store first, as these are compared
/// with each other, then the fastest alone, then the other cells likewise; of each kind those of the faster
/// design first.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// Samples of each cell, where the user said so.
    pub sample_count: Option<u32>,
    /// Time to spend on rounds of all cells otherwise.
    pub budget: Duration,
}

/// Samples of a cell so far.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// The cell.
    pub cell: PlannedCell,
    /// Their number.
    pub sample_count: usize,
    /// Time of the last of them, with the work before and after its clock: the next one takes about as long.
    pub last: Duration,
    /// Time of the fastest of them: a busy moment makes samples longer, never shorter.
    pub fastest: Duration,
}

impl Taken {
    /// So many samples that took as long each.
    #[cfg(test)]
    pub const fn alike(cell: PlannedCell, sample_count: usize, time: Duration) -> Self {
        Self { cell, sample_count, last: time, fastest: time }
    }

    /// Time of the samples that an interval still needs.
    fn time_to_interval(&self) -> Duration {
        let missing = INTERVAL_COUNT_MIN.saturating_sub(self.sample_count);
        self.last * u32::try_from(missing).unwrap_or(u32::MAX)
    }
}

impl Rounds {
    /// Indices of the cells of the next round after `done` rounds that took `spent`, ascending;
    /// none: the run is over. The first round has all cells, with any budget.
    pub fn next(&self, done: u32, spent: Duration, cells: &[Taken]) -> Vec<usize> {
        let all = || (0..cells.len()).collect();
        if let Some(count) = self.sample_count {
            return if done < count { all() } else { Vec::new() };
        }
        let whole: Duration = cells.iter().map(|cell| cell.last).sum();
        if done == 0 || spent + whole <= self.budget {
            return all();
        }
        self.without_interval(spent, cells)
    }

    /// Time that the rounds still take after `spent`: the rest of a round, whose cells at
    /// `pending` have no sample in it yet, and all rounds after it, by the last sample of each
    /// cell. A cell without one is taken for an average one. `None` where nothing is known yet.
    pub fn left(&self, spent: Duration, pending: &[usize], cells: &[Taken]) -> Option<Duration> {
        let measured = cells.iter().filter(|cell| cell.sample_count > 0);
        let times: Vec<Duration> = measured.map(|cell| cell.last).collect();
        if times.is_empty() {
            // Rounds of all cells fill the budget.
            return self.sample_count.is_none().then_some(self.budget.saturating_sub(spent));
        }
        let count = u32::try_from(times.len()).unwrap_or(u32::MAX);
        let average = times.iter().sum::<Duration>() / count;
        let mut cells = cells.to_vec();
        for cell in cells.iter_mut().filter(|cell| cell.sample_count == 0) {
            (cell.last, cell.fastest) = (average, average);
        }
        if let Some(count) = self.sample_count {
            let missing = |cell: &Taken| (count as usize).saturating_sub(cell.sample_count);
            let time = |cell: &Taken| cell.last * u32::try_from(missing(cell)).unwrap_or(u32::MAX);
            return Some(cells.iter().map(time).sum());
        }
        let mut left = take(&mut cells, pending);
        let whole: Duration = cells.iter().map(|cell| cell.last).sum();
        if !whole.is_zero() {
            let free = self.budget.saturating_sub(spent + left);
            let round_count = free.as_nanos() / whole.as_nanos();
            let round_count = u32::try_from(round_count).unwrap_or(u32::MAX);
            cells.iter_mut().for_each(|cell| cell.sample_count += round_count as usize);
            left += whole * round_count;
        }
        loop {
            let next = self.without_interval(spent + left, &cells);
            if next.is_empty() {
                return Some(left);
            }
            left += take(&mut cells, &next);
        }
    }

    /// Two and three quarters of the budget: rounds of all cells, and the intervals of the best. By default a run
    /// ends in three minutes, with its work before and after the samples.
    pub fn longest(&self) -> Duration {
        self.budget.saturating_mul(11) / 4
    }

    /// The same of a run whose rounds of all cells take `round` each, without busy moments: intervals get half a
    /// budget at least.
    pub fn longest_with(&self, round: Duration) -> Duration {
        self.longest().max(round.saturating_add(self.budget / 2))
    }

    /// The cells whose intervals fit in [`Rounds::longest_with`].
    fn without_interval(&self, spent: Duration, cells: &[Taken]) -> Vec<usize> {
        let round: Duration = cells.iter().map(|cell| cell.fastest).sum();
        let mut left = self.longest_with(round).saturating_sub(spent);
        let mut indices: Vec<usize> = (0..cells.len()).collect();
        indices.sort_by_key(|&index| {
            let is_alone = cells[index].cell.variant.block_duties.is_none();
            let (is_best, of_design) = (is_best(index, cells), fastest_of_design(index, cells));
            (!is_best, is_alone, of_design, cells[index].fastest)
        });
        indices.retain(|index| {
            let time = cells[*index].time_to_interval();
            let fits = !time.is_zero() && time <= left;
            if fits {
                left -= time;
            }
            fits
        });
        indices.sort_unstable();
        indices
    }
}

/// Takes one sample more of each of `cells` at `indices`. Returns the time of these.
fn take(cells: &mut [Taken], indices: &[usize]) -> Duration {
    indices.iter().for_each(|index| cells[*index].sample_count += 1);
    indices.iter().map(|index| cells[*index].last).sum()
}

/// Time of the fastest sample of the store and design of the cell at `index`.
fn fastest_of_design(index: usize, cells: &[Taken]) -> Duration {
    let of = |taken: &Taken| (taken.cell.store, taken.cell.variant.design);
    let own = of(&cells[index]);
    let times = cells.iter().filter(|cell| of(cell) == own).map(|cell| cell.fastest);
    times.min().unwrap_or(cells[index].fastest)
}

/// Whether no other cell of its store, design and duties has a faster sample than that at `index`.
fn is_best(index: usize, cells: &[Taken]) -> bool {
    let own = &cells[index];
    let of = |taken: &Taken| {
        let Variant { design, block_duties, .. } = taken.cell.variant;
        (taken.cell.store, design, block_duties)
    };
    let rivals = (0..).zip(cells).filter(|(_, other)| of(other) == of(own));
    rivals.map(|(place, other)| (other.fastest, place)).min() == Some((own.fastest, index))
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
    let zigzag = |index: usize| if index % 2 == 1 { index.div_ceil(2) } else { count - index / 2 };
    let row = (0..cell_count).map(|index| (zigzag(index) + shift) % count);
    if round.is_multiple_of(2) { row.collect() } else { row.rev().collect() }
}
