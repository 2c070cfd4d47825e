//! What the suites of agreement share: every variant that there is, and what one comes to beside
//! the reference.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{num::NonZeroUsize, sync::atomic::AtomicBool};

use alloy_primitives::Bytes;
use executor::{
    engine::{EngineError, Task},
    sample::{self, Measurement},
    store::{Store, memory::MemoryStore},
};
use generator::reference;
use variant::{
    CacheMode, Design, Engine, Io, ListForm, Named, Prefetch, ReadTime, Schedule, Variant,
};
use workload::Workload;

const MEMORY_LIMIT_BYTES: u64 = 1 << 30;

/// Every design at 1, 2 and 8 threads, and what of each way to execute is not a design.
pub(crate) fn variants() -> Vec<Variant> {
    let mut variants = Vec::new();
    for threads in [1, 2, 8] {
        let count = |n| NonZeroUsize::new(n).unwrap();
        for design in Design::ALL.iter().copied() {
            let variant = Variant::of(design, count(threads), count(3));
            if design == Design::BatchedIo {
                let beside = Prefetch { time: ReadTime::While, ..Prefetch::default() };
                variants.push(Variant { io: Io::Batched(beside), ..variant });
                variants.push(variant.reading_before_by_itself());
                // The complete list without readers of their own.
                variants.push(Variant { io: Io::OnDemand, io_thread_count: 0, ..variant });
            }
            if design == Design::Full {
                // Verified by those that executed.
                variants.push(Variant { io_thread_count: 0, ..variant });
            }
            if design == Design::Prewarm {
                let others = Engine::ALL.iter().copied().filter(|engine| {
                    matches!(engine, Engine::Prewarm(_)) && *engine != variant.engine
                });
                variants.extend(others.map(|engine| Variant { engine, ..variant }));
            }
            if threads == 1 || variant.engine != Engine::Sequential {
                variants.push(variant);
            }
            // Any order of steps is right where each has a state of its own.
            if threads == 2 && variant.engine == Engine::Bal {
                let others = Schedule::ALL.iter().copied().skip(1);
                variants.extend(others.map(|schedule| Variant { schedule, ..variant }));
            }
        }
    }
    variants
}

/// The genesis of `workload` in memory.
pub(crate) fn in_memory(workload: &Workload) -> MemoryStore {
    MemoryStore::build(&workload.genesis, MEMORY_LIMIT_BYTES).unwrap()
}

/// The lists of `workload` in the form that a variant takes.
pub(crate) fn lists(
    workload: &Workload,
    form: Option<ListForm>,
) -> Result<Vec<Bytes>, EngineError> {
    sample::lists_for(workload, form, || reference::full_lists(workload, || ()).unwrap())
}

/// One sample of `variant`; one that goes by known costs has them from another before it.
pub(crate) fn take<S: Store>(
    store: &S,
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

/// Where the workload's lists part from those that execution in order makes.
pub(crate) fn list_difference<S: Store>(store: &S, workload: &Workload) -> Option<String> {
    let cancel = AtomicBool::new(false);
    let variant = Variant::of(Design::Sequential, NonZeroUsize::MIN, NonZeroUsize::MIN);
    match sample::check_lists(store, &Task::new(workload, &[], variant, &cancel)) {
        Ok(difference) => difference.map(|difference| difference.to_string()),
        Err(error) => Some(error.to_string()),
    }
}
