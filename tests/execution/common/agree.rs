//! The common part of the suites of agreement: all variants, and their outcomes beside the
//! reference.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{num::NonZeroUsize, path::Path, sync::atomic::AtomicBool};

use alloy_primitives::Bytes;
use executor::{
    engine::{EngineError, Task},
    sample::{self, Measurement},
    state::{BuiltState, DataDir, NoProgress, StateFormat, StateSpec},
    store::{Store, memory::MemoryStore},
};
use generator::reference;
use variant::{
    CacheMode, Design, Engine, Io, ListDuty, ListForm, Named, Prefetch, ReadTime, Schedule, Variant,
};
use workload::Workload;

const MEMORY_LIMIT_BYTES: u64 = 1 << 30;

/// All ways to execute `design`: the preset, and other values of its I/O and engine that no design
/// has.
pub(crate) fn ways(design: Design, threads: usize, io_threads: usize) -> Vec<Variant> {
    let count = |n| NonZeroUsize::new(n).unwrap();
    let variant = Variant::of(design, count(threads), count(io_threads));
    let mut ways = vec![variant];
    match variant.io {
        Io::OnDemand if variant.can_yield() => ways.push(Variant { fiber_count: 3, ..variant }),
        Io::OnDemand => {}
        Io::Batched(policy) => {
            let beside = Prefetch { time: ReadTime::While, ..policy };
            ways.push(Variant { io: Io::Batched(beside), ..variant });
            ways.push(variant.without_readers());
            // The complete list without reading threads.
            ways.push(Variant { io: Io::OnDemand, io_thread_count: 0, ..variant });
        }
        // The executing threads verify, too.
        Io::FromList => ways.push(Variant { io_thread_count: 0, ..variant }),
    }
    if let Engine::Prewarm(_) = variant.engine {
        let others = Engine::ALL
            .iter()
            .copied()
            .filter(|engine| matches!(engine, Engine::Prewarm(_)) && *engine != variant.engine);
        ways.extend(others.map(|engine| Variant { engine, ..variant }));
    }
    if variant.engine.builds_lists() {
        ways.push(Variant { list_duty: ListDuty::Build, ..variant });
    }
    ways
}

/// Every design at 1, 2 and 8 threads, with all ways to execute it.
pub(crate) fn variants() -> Vec<Variant> {
    let mut variants = Vec::new();
    for threads in [1, 2, 8] {
        for design in Design::ALL.iter().copied() {
            let engine = design.preset().engine;
            if threads > 1 && !engine.is_parallel() {
                continue;
            }
            let ways = ways(design, threads, 3);
            // Any order of steps is correct if each step has its own state.
            if threads == 2 && engine.takes_any_order() {
                let others = Schedule::ALL.iter().copied().skip(1);
                variants.extend(others.map(|schedule| Variant { schedule, ..ways[0] }));
            }
            variants.extend(ways);
        }
    }
    variants
}

/// The genesis of `workload` in memory.
pub(crate) fn in_memory(workload: &Workload) -> MemoryStore {
    MemoryStore::build(&workload.genesis, None, MEMORY_LIMIT_BYTES).unwrap()
}

/// The state of `workload`, built in `dir`.
pub(crate) fn built(dir: &Path, workload: &Workload, format: &dyn StateFormat) -> BuiltState {
    let spec = StateSpec {
        genesis: &workload.genesis,
        layout: workload.layout,
        format,
        scenario: "small",
        threads: 2,
    };
    DataDir::open(dir).unwrap().open_or_build(&spec, &NoProgress, &AtomicBool::new(false)).unwrap()
}

/// The lists of `workload` in the form that a variant takes.
pub(crate) fn lists(
    workload: &Workload,
    form: Option<ListForm>,
) -> Result<Vec<Bytes>, EngineError> {
    sample::lists_for(workload, form, || reference::full_lists(workload, || ()).unwrap())
}

/// Takes one sample of `variant`. A variant with known costs gets them from an earlier sample.
pub(crate) fn take(
    store: &dyn Store,
    workload: &Workload,
    lists: &[Bytes],
    variant: Variant,
) -> Result<Measurement, EngineError> {
    let cancel = AtomicBool::new(false);
    let task = Task::new(workload, lists, variant, &cancel);
    if variant.schedule != Schedule::KnownCost {
        return sample::take(store, &task, CacheMode::Cold);
    }
    let in_order = Variant { schedule: Schedule::BlockOrder, ..variant };
    let first = take(store, workload, lists, in_order)?;
    let known_costs = &first.executed.step_times;
    sample::take(store, &Task { known_costs, ..task }, CacheMode::Cold)
}

/// First difference between the workload's lists and those of execution in order.
pub(crate) fn list_difference(store: &dyn Store, workload: &Workload) -> Option<String> {
    let cancel = AtomicBool::new(false);
    let variant = Variant::of(Design::Sequential, NonZeroUsize::MIN, NonZeroUsize::MIN);
    match sample::check_lists(store, &Task::new(workload, &[], variant, &cancel)) {
        Ok(difference) => difference.map(|difference| difference.to_string()),
        Err(error) => Some(error.to_string()),
    }
}
