//! What the suites of agreement share: every variant that there is, and what one comes to beside
//! the reference.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{num::NonZeroUsize, sync::atomic::AtomicBool};

use alloy_primitives::Bytes;
use executor::{
    engine::{EngineError, Task},
    sample::{self, Measurement},
    store::{CacheMode, Store, memory::MemoryStore},
    variant::{Design, Engine, Io, Prefetch, Variant},
};
use workload::Workload;

const MEMORY_LIMIT_BYTES: u64 = 1 << 30;

/// Every design at 1, 2 and 8 threads, and what of each way to read is not a design.
pub(crate) fn variants() -> Vec<Variant> {
    let mut variants = Vec::new();
    for threads in [1, 2, 8] {
        let count = |n| NonZeroUsize::new(n).unwrap();
        for design in Design::ALL {
            let variant = design.variant(count(threads), count(3));
            if design == Design::BatchedIo {
                let beside = Io::Batched(Prefetch::While);
                variants.push(Variant { io: beside, ..variant });
                variants.push(variant.reading_before_by_itself());
                // The complete list without readers of their own.
                variants.push(Variant { io: Io::OnDemand, io_thread_count: 0, ..variant });
            }
            if threads == 1 || variant.engine != Engine::Sequential {
                variants.push(variant);
            }
        }
    }
    variants
}

/// The genesis of `workload` in memory.
pub(crate) fn in_memory(workload: &Workload) -> MemoryStore {
    MemoryStore::build(&workload.genesis, MEMORY_LIMIT_BYTES).unwrap()
}

/// One sample of `variant`.
pub(crate) fn take<S: Store>(
    store: &S,
    workload: &Workload,
    lists: &[Bytes],
    variant: Variant,
) -> Result<Measurement, EngineError> {
    let cancel = AtomicBool::new(false);
    sample::take(store, &Task { workload, lists, variant, cancel: &cancel }, CacheMode::Cold)
}

/// Where `variant` parts from the reference; `None` where it agrees.
pub(crate) fn disagreement<S: Store>(
    store: &S,
    workload: &Workload,
    variant: Variant,
) -> Option<String> {
    let lists = match sample::lists_for(workload, variant.list) {
        Ok(lists) => lists,
        Err(error) => return Some(format!("{variant}: its list: {error}")),
    };
    match take(store, workload, &lists, variant) {
        Ok(taken) => taken.disagreement.map(|difference| format!("{variant}: {difference}")),
        Err(error) => Some(format!("{variant}: {error}")),
    }
}

/// Where the workload's lists part from those that execution in order makes.
pub(crate) fn list_difference<S: Store>(store: &S, workload: &Workload) -> Option<String> {
    let cancel = AtomicBool::new(false);
    let variant = Design::Sequential.variant(NonZeroUsize::MIN, NonZeroUsize::MIN);
    let task = Task { workload, lists: &[], variant, cancel: &cancel };
    match sample::check_lists(store, &task) {
        Ok(difference) => difference.map(|difference| difference.to_string()),
        Err(error) => Some(error.to_string()),
    }
}
