//! Threads that build and scan states.

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::settings::NAME;
use crate::error::StoreError;

/// A pool of `count` threads, one at least.
pub(super) fn pool(count: usize) -> Result<ThreadPool, StoreError> {
    let pool = ThreadPoolBuilder::new().num_threads(count.max(1)).build();
    pool.map_err(|error| StoreError::Failed {
        store: NAME,
        action: format!("start {count} threads"),
        reason: error.to_string(),
    })
}
