//! Does a sample's work on tries outside its clock. Loads the nodes that the variant has in memory
//! at the clock's start, and checks the sample's roots.

use std::sync::atomic::AtomicBool;

use rayon::ThreadPool;
use variant::{CacheMode, RootCache};

use crate::{
    disagreement::Disagreement,
    engine::{EngineError, Executed, Task},
    root::{self, CachedNodes, RootInputs, RootedSample},
    store::Store,
};

/// Loads the nodes of tries that are in memory when the sample's clock starts. Loads none for a
/// variant without roots, or with a cold cache of nodes.
pub(super) fn cached_nodes(store: &dyn Store, task: &Task<'_>) -> Result<CachedNodes, EngineError> {
    let variant = &task.variant;
    if variant.root.is_none() || variant.root.cache == RootCache::Cold {
        return Ok(CachedNodes::default());
    }
    let base = store.open_sample(CacheMode::Warm)?;
    let tries = base.tries();
    let Task { workload, lists, cancel, .. } = *task;
    let stop = AtomicBool::new(false);
    let cached_nodes = root::cached_nodes(&RootedSample {
        variant,
        workload,
        lists,
        tries: tries.as_deref(),
        inputs: RootInputs::default(),
        trace: None,
        stop: &stop,
        cancel,
    });
    drop(tries);
    base.close()?;
    cached_nodes.map_err(|error| EngineError::of_root(0, error))
}

/// Compares the sample's roots with roots that walks over the base and the net changes give. The
/// threads of `pool`, if any, read ahead of the walks.
pub(super) fn check_roots(
    store: &dyn Store,
    executed: &Executed,
    pool: Option<&ThreadPool>,
) -> Result<Option<Disagreement>, EngineError> {
    let base = store.open_sample(CacheMode::Warm)?;
    let batches: Option<Vec<_>> = executed
        .batches
        .iter()
        .map(|batch| Some((&batch.net_changes, batch.rooted.as_ref()?)))
        .collect();
    let checked = match (base.tries(), store.tries(), batches) {
        (Some(tries), Some(known), Some(batches)) => {
            Some(root::check(tries.as_ref(), &known, &batches, pool))
        }
        _ => None,
    };
    base.close()?;
    let checked = checked.ok_or_else(|| EngineError::Root {
        batch: 0,
        reason: "its check finds no tries, or a batch without a root".to_owned(),
    });
    Ok(checked??)
}
