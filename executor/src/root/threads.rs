//! The threads that read and fold for the roots of a sample. None of them has anything to do until it
//! is asked.

use std::sync::atomic::AtomicBool;

use variant::Variant;

use super::{
    compute::Threads,
    error::RootError,
    fold::{self, FoldJob, Folders},
    kept::{Kept, KeptNodes},
    listed::Lists,
    read::{self, ReadJob, Readers},
    way::Way,
    written::WrittenKeys,
};
use crate::{error::StoreError, pool::WorkerPool, tries::Tries};

/// Inputs of the roots of a sample, beside its state.
#[derive(Clone, Copy, Debug, Default)]
pub struct RootInputs<'a> {
    /// Nodes that are in memory when the clock starts.
    pub kept: Option<&'a KeptNodes>,
    /// Takes the keys that steps write, if nodes are read meanwhile.
    pub written: Option<&'a WrittenKeys>,
}

/// A sample whose roots are computed.
#[derive(Clone, Copy)]
pub(crate) struct RootedSample<'a> {
    /// The way to execute.
    pub(crate) variant: &'a Variant,
    /// The tries of its state, if it has any.
    pub(crate) tries: Option<&'a dyn Tries>,
    /// Its lists.
    pub(crate) lists: Lists<'a>,
    /// Its other inputs.
    pub(crate) inputs: RootInputs<'a>,
    /// Set by a worker that fails.
    pub(crate) stop: &'a AtomicBool,
    /// Set by the user.
    pub(crate) cancel: &'a AtomicBool,
}

/// Calls `lead` beside threads that read, as many as the variant has for execution and for reading,
/// and threads that fold, one for each shard if there are several.
pub(super) fn with_threads<R>(
    sample: &RootedSample<'_>,
    tries: &dyn Tries,
    way: Way,
    kept: &Kept<'_>,
    lead: impl FnOnce(Threads<'_>) -> R,
) -> Result<R, RootError> {
    let RootedSample { variant, stop, cancel, .. } = *sample;
    let thread_count = variant.thread_count + variant.io_thread_count;
    let read_pool = WorkerPool::<ReadJob>::new(thread_count, stop, cancel);
    let readers = Readers { way, pool: &read_pool, thread_count, stop };
    let shard_count = usize::from(way.shards.get());
    let thread_count = if shard_count > 1 { shard_count } else { 0 };
    let fold_pool = WorkerPool::<FoldJob>::new(thread_count, stop, cancel);
    let folders = Folders { pool: &fold_pool, thread_count };
    let no_thread = |error| StoreError::no_thread("root", &error);
    let lead = || {
        read_pool.wait_idle();
        fold_pool.wait_idle();
        lead(Threads { readers, folders })
    };
    let led = read_pool.run(
        |_| "root reader",
        no_thread,
        |_| read::live(tries, kept, &read_pool),
        || fold_pool.run(|_| "root folder", no_thread, |_| fold::live(&fold_pool), lead),
    )?;
    Ok(led.0?.0)
}
