//! One batch as its workers see it.

use std::sync::{Arc, Mutex, atomic::AtomicU32};

use workload::Steps;

use super::cache::Cache;
use crate::{engine::error::EngineError, span::Spans};

/// One batch as the workers of the pass see it.
#[derive(Debug)]
pub(crate) struct Job {
    pub(super) batch_index: usize,
    pub(super) steps: Steps,
    pub(super) next_step: AtomicU32,
    /// Steps that the run in order has finished, or runs past at once: the next one is no longer
    /// ahead of it.
    pub(super) passed_count: AtomicU32,
    /// The one cache, if there is one.
    pub(super) cache: Option<Cache>,
    pub(super) spans: Arc<Spans>,
    /// Hashes of the keys that each worker read, if they are counted one by one.
    pub(super) read: Mutex<Vec<Vec<u64>>>,
    pub(super) failure: Mutex<Option<EngineError>>,
}
