//! Holds a workload with its open stores, and takes samples, for runs and for workers.

use std::{num::NonZeroUsize, sync::atomic::AtomicBool, time::Duration};

use alloy_primitives::{B256, Bytes, keccak256};
use executor::{
    engine::{EngineError, Task},
    sample::{self, Disagreement, Measurement, SampleRecords},
    store::{Store, WarmBlocks},
    trace::Trace,
};
use variant::{CacheMode, Design, ListForm, Variant};
use workload::{ReceivedBlock, Workload};

use crate::run::shards::RunningShards;

/// The settings of a sample.
#[derive(Clone, Copy, Debug)]
pub struct SampleSettings<'a> {
    pub variant: Variant,
    /// Cache state at the start of the sample.
    pub cache: CacheMode,
    /// Whether the sample's requests are kept.
    pub records: SampleRecords,
    /// Times of all steps, for a schedule by known costs.
    pub known_costs: &'a [Vec<Duration>],
    /// Receives the trace of the sample; `None` without a trace.
    pub trace: Option<&'a Trace>,
}

/// The lists of a workload in one form.
#[derive(Debug)]
struct Lists {
    form: Option<ListForm>,
    encoded: Vec<Bytes>,
    /// Keccak-256 of each list in this form; without a form, of the list that an engine may build.
    hashes: Vec<B256>,
}

impl Lists {
    fn new(workload: &Workload, form: Option<ListForm>, encoded: Vec<Bytes>) -> Self {
        let hashes = match form {
            Some(_) => encoded.iter().map(keccak256).collect(),
            // An engine that takes no list may build it.
            None => workload.batches.iter().map(|batch| keccak256(&batch.list)).collect(),
        };
        Self { form, encoded, hashes }
    }
}

/// A workload with its lists in the forms that were added.
#[derive(Debug)]
pub struct Work {
    workload: Workload,
    lists: Vec<Lists>,
    /// Encoded blocks of each batch; empty if no variant has block duties.
    blocks: Vec<Vec<ReceivedBlock>>,
}

impl Work {
    /// Makes a work of `workload`, without lists.
    pub const fn new(workload: Workload) -> Self {
        Self { workload, lists: Vec::new(), blocks: Vec::new() }
    }

    /// Adds the workload's lists in the form that variants take. For the `full` form it adds the
    /// lists in `full`, with about twice the memory of the workload's own lists. They come from the
    /// reference, never from a store.
    ///
    /// # Errors
    /// [`EngineError::List`] when a list of the workload cannot be decoded.
    pub fn add_lists(
        &mut self,
        form: Option<ListForm>,
        full: Vec<Bytes>,
    ) -> Result<(), EngineError> {
        let encoded = sample::lists_for(&self.workload, form, || full)?;
        self.lists.push(Lists::new(&self.workload, form, encoded));
        Ok(())
    }

    /// Adds the workload's blocks as bytes, for variants with block duties.
    pub fn add_blocks(&mut self, blocks: Vec<Vec<ReceivedBlock>>) {
        self.blocks = blocks;
    }

    pub const fn workload(&self) -> &Workload {
        &self.workload
    }
}

/// A workload and the open stores that hold its state.
#[derive(Debug)]
pub struct Session {
    work: Work,
    stores: Vec<Box<dyn Store>>,
    /// Blocks that warm samples read, kept while their store is closed.
    warm_blocks: Option<WarmBlocks>,
    /// The shards, if variants execute on shards.
    shards: Option<RunningShards>,
}

impl Session {
    /// Makes a session without stores.
    pub const fn new(work: Work) -> Self {
        Self { work, stores: Vec::new(), warm_blocks: None, shards: None }
    }

    /// Returns this session with shards.
    #[must_use]
    pub fn with_shards(self, shards: Option<RunningShards>) -> Self {
        Self { shards, ..self }
    }

    /// The workload with its lists.
    pub const fn work(&self) -> &Work {
        &self.work
    }

    pub const fn workload(&self) -> &Workload {
        self.work.workload()
    }

    /// Adds a store that holds the workload's state. Warm samples on it find the blocks that were
    /// in memory before the store was closed.
    pub fn add(&mut self, store: Box<dyn Store>) {
        if let Some(blocks) = &self.warm_blocks {
            store.use_warm_blocks(blocks);
        }
        self.stores.push(store);
    }

    /// Closes the stores with files, as only one process at a time may use the files. Blocks in
    /// memory for warm samples stay.
    pub fn close_files(&mut self) {
        let kept = self.stores.iter().find_map(|store| store.warm_blocks());
        self.warm_blocks = kept.or(self.warm_blocks.take());
        self.stores.retain(|store| store.built_state().is_none());
    }

    pub fn stores(&self) -> &[Box<dyn Store>] {
        &self.stores
    }

    /// Rebuilds the workload's lists on the open store at `store_index`, outside any clock, and
    /// compares them.
    ///
    /// # Errors
    /// [`EngineError`]: the lists could not be rebuilt.
    pub fn check_lists(
        &self,
        store_index: usize,
        cancel: &AtomicBool,
    ) -> Result<Option<Disagreement>, EngineError> {
        let variant = Variant::of(Design::Sequential, NonZeroUsize::MIN, NonZeroUsize::MIN);
        let task = Task::new(self.workload(), &[], variant, cancel);
        sample::check_lists(self.stores[store_index].as_ref(), &task)
    }

    /// Takes one sample of `work` on the session's state, on the open store at `store_index`.
    ///
    /// # Errors
    /// [`EngineError`]: there is no result.
    pub fn take_sample(
        &self,
        work: &Work,
        store_index: usize,
        settings: SampleSettings<'_>,
        cancel: &AtomicBool,
    ) -> Result<Measurement, EngineError> {
        let SampleSettings { variant, cache, known_costs, trace, records } = settings;
        let lists = work.lists.iter().find(|lists| lists.form == variant.list);
        let lists = lists.unwrap_or_else(|| panic!("no list for {variant}"));
        let task = Task::new(&work.workload, &lists.encoded, variant, cancel);
        let (list_hashes, blocks) = (&lists.hashes, &work.blocks);
        let shards = self.shards.as_ref().map(RunningShards::shards);
        let task = Task { list_hashes, blocks, known_costs, trace, shards, ..task };
        sample::take_with_records(self.stores[store_index].as_ref(), &task, cache, records)
    }
}
