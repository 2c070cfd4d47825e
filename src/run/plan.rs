//! Plans the cells of a run. `readers` chooses the method and the number of reading threads,
//! `policies` combines the values of prefetch policies, and `rounds` decides when each cell is
//! sampled.

mod cell;
mod policies;
mod readers;
mod rounds;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, num::NonZeroUsize};

use spec::{PrefetchSpec, RunSpec};
use variant::{
    CacheMode, Design, Engine, Io, Preset, RootWay, StoreKind, Variant, Waiting, Warming, WholeRows,
};

use policies::policies;
use readers::MANY_THREADS;

pub use cell::PlannedCell;
pub use readers::Machine;
pub use rounds::{CellProgress, Rounds, order};

/// Returns the cells of a run on `machine`, each once: by the run's stores, then by its designs. A
/// design's whole-block row comes first.
pub fn cells(run: &RunSpec, machine: &Machine) -> Vec<PlannedCell> {
    let mut cells = Vec::new();
    for &store in &run.stores {
        for &design in &run.designs {
            let rows = design_rows(run, machine, store, design);
            // One whole-block row beside the rows of the axes, unless it is among them.
            let added = whole_row(&rows, run).filter(|whole| !rows.contains(whole));
            cells.extend(added);
            if added.is_none() || run.execution_alone {
                cells.extend(rows);
            }
        }
    }
    let mut seen = HashSet::new();
    cells.retain(|cell| seen.insert(*cell));
    cells
}

/// Returns the rows of one design on one store: one for each combination of the run's axes.
fn design_rows(
    run: &RunSpec,
    machine: &Machine,
    store: StoreKind,
    design: Design,
) -> Vec<PlannedCell> {
    thread_counts(run, store, design, machine)
        .into_iter()
        .map(|(threads, io_threads)| Variant::of(design, threads, io_threads))
        .map(|variant| with_warm_cache(variant, run))
        .flat_map(|variant| under_duties(variant, run))
        .flat_map(|variant| under_policies(variant, run, store))
        .flat_map(|variant| on_fibers(variant, run, store, machine))
        .flat_map(|variant| on_shards(variant, run))
        .flat_map(|variant| under_schedules(variant, run))
        .flat_map(|variant| with_roots(variant, run))
        .flat_map(|variant| with_block_duties(variant, run))
        .map(|variant| PlannedCell { store, variant })
        .collect()
}

/// Returns the whole row of a design on a store: the row of `rows` with the most reads under way,
/// with root and block duties. Times are ignored: the fastest row of a few samples is a lucky one.
fn whole_row(rows: &[PlannedCell], run: &RunSpec) -> Option<PlannedCell> {
    if run.whole.rows != Some(WholeRows::One) {
        return None;
    }
    let deepest = rows.iter().map(PlannedCell::read_rank).max()?;
    let row = rows.iter().find(|row| row.read_rank() == deepest)?;
    let (root, block_duties) = (run.whole_root(), run.block_duties());
    Some(PlannedCell { variant: Variant { root, block_duties, ..row.variant }, ..*row })
}

/// Returns a variant with the run's cache for the speculative pass.
fn with_warm_cache(mut variant: Variant, run: &RunSpec) -> Variant {
    if let Engine::Prewarm(warming) = &mut variant.engine {
        warming.cache = run.warm_cache;
    }
    variant
}

/// Returns a variant with each list duty, or unchanged if it takes a list or cannot build one.
fn under_duties(variant: Variant, run: &RunSpec) -> Vec<Variant> {
    if !variant.engine.builds_lists() || run.list_duties.is_empty() {
        return vec![variant];
    }
    run.list_duties.iter().map(|duty| Variant { list_duty: *duty, ..variant }).collect()
}

/// Returns a variant with each prefetch policy, or unchanged if it reads nothing ahead.
fn under_policies(variant: Variant, run: &RunSpec, store: StoreKind) -> Vec<Variant> {
    if let (Engine::Prewarm(warming), [_, ..]) = (variant.engine, &run.prefetch.times[..]) {
        let warmings = run.prefetch.times.iter().map(|time| Warming { time: *time, ..warming });
        let engines = warmings.map(Engine::Prewarm);
        return engines.map(|engine| Variant { engine, ..variant }).collect();
    }
    let Io::Batched(_) = variant.io else { return vec![variant] };
    let is_default = run.io_thread_counts.is_empty() && run.prefetch == PrefetchSpec::default();
    if store.waiting() == Waiting::Never && is_default {
        // There is no device to wait for: additional readers would only take turns with the
        // executing threads.
        return vec![variant.without_readers()];
    }
    let ios = policies(&run.prefetch).into_iter().map(Io::Batched);
    ios.map(|io| Variant { io, ..variant }).collect()
}

/// Returns a variant with each number of fibers, or unchanged if its transactions cannot yield
/// their thread.
fn on_fibers(variant: Variant, run: &RunSpec, store: StoreKind, machine: &Machine) -> Vec<Variant> {
    if !variant.can_yield() || !store.can_yield() || !machine.has_io_uring() {
        return vec![variant];
    }
    let counts = run.fiber_counts.iter().map(|count| *count as usize);
    counts.map(|fiber_count| Variant { fiber_count, ..variant }).collect()
}

/// Returns a variant in each way to execute on shards, or unchanged if it does not execute on
/// shards.
fn on_shards(variant: Variant, run: &RunSpec) -> Vec<Variant> {
    if !variant.can_be_sharded() || run.shards.counts.is_empty() {
        return vec![variant];
    }
    run.shards.ways().into_iter().map(|way| variant.on_shards(way)).collect()
}

/// Returns a variant with each schedule, or unchanged if its engine follows no schedule.
fn under_schedules(variant: Variant, run: &RunSpec) -> Vec<Variant> {
    if !variant.engine.takes_any_order() || !variant.sharding.is_none() {
        return vec![variant];
    }
    run.schedules.iter().map(|schedule| Variant { schedule: *schedule, ..variant }).collect()
}

/// Returns a variant with each way to compute state roots.
fn with_roots(variant: Variant, run: &RunSpec) -> Vec<Variant> {
    run.root.ways().into_iter().map(|root| Variant { root, ..variant }).collect()
}

/// Returns a variant with the run's block duties. If the run also measures execution alone, adds the
/// variant without duties. Where only one row of a design has duties, the variant is unchanged.
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

/// Returns pairs of counts: of executing threads, and of reading threads.
fn thread_counts(
    run: &RunSpec,
    store: StoreKind,
    design: Design,
    machine: &Machine,
) -> Vec<(NonZeroUsize, NonZeroUsize)> {
    let cores = machine.core_count.get();
    let Preset { engine, io, .. } = design.preset();
    // Warm values of a store without a device take as long to read as cold values.
    let is_warm = run.cache == CacheMode::Warm && store.has_device();
    let threads = match &run.thread_counts[..] {
        given @ [_, ..] => given.iter().map(|count| *count as usize).collect(),
        // The CPU is the limit, so 1 thread and all cores show the gain by threads alone.
        [] if store.waiting() == Waiting::Never || is_warm => vec![1, cores],
        // All executing threads can wait for the device, so more are tried.
        [] if engine.is_parallel() && io == Io::OnDemand => vec![cores, MANY_THREADS],
        [] => vec![cores],
    };
    let io_threads = match &run.io_thread_counts[..] {
        given @ [_, ..] => given.iter().map(|count| *count as usize).collect(),
        [] => machine.io_threads(run, store),
    };
    let pairs = threads.iter().flat_map(|threads| io_threads.iter().map(|io| (*threads, *io)));
    pairs
        .filter_map(|(threads, io)| NonZeroUsize::new(threads).zip(NonZeroUsize::new(io)))
        .collect()
}
