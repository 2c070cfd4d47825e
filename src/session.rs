//! A workload with the stores it runs on: what takes a sample, whoever asks for it.

use std::{num::NonZeroUsize, sync::atomic::AtomicBool, time::Duration};

use alloy_primitives::Bytes;
use executor::{
    engine::{EngineError, Task},
    sample::{self, Disagreement, Measurement},
    store::{CacheMode, Store, memory::MemoryStore, rocksdb::RocksStore},
    trace::Trace,
    variant::{Design, ListForm, Variant},
};
use workload::Workload;

/// A store that is open.
#[derive(Debug)]
pub enum OpenStore {
    /// State on disk.
    Rocks(Box<RocksStore>),
    /// State in memory.
    Memory(MemoryStore),
}

impl OpenStore {
    /// Name as in a variant.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Rocks(store) => store.name(),
            Self::Memory(store) => store.name(),
        }
    }

    /// What is known of it.
    pub fn facts(&self) -> Vec<(String, String)> {
        match self {
            Self::Rocks(store) => store.facts(),
            Self::Memory(store) => store.facts(),
        }
    }

    /// Why it cannot be cold, if so.
    pub fn never_cold(&self) -> Option<&'static str> {
        match self {
            Self::Rocks(store) => store.never_cold(),
            Self::Memory(store) => store.never_cold(),
        }
    }
}

/// How a sample is taken.
#[derive(Clone, Copy, Debug)]
pub struct How<'a> {
    /// The variant.
    pub variant: Variant,
    /// Times of all steps, for a schedule that goes by them.
    pub known_costs: &'a [Vec<Duration>],
    /// Where the sample is traced, if it is.
    pub trace: Option<&'a Trace>,
}

/// A workload, its lists in each form, and its open stores.
#[derive(Debug)]
pub struct Session {
    workload: Workload,
    lists: Vec<(ListForm, Vec<Bytes>)>,
    stores: Vec<OpenStore>,
}

impl Session {
    /// A session without stores.
    ///
    /// # Errors
    /// [`EngineError::List`] when a list of the workload cannot be decoded.
    pub fn new(workload: Workload) -> Result<Self, EngineError> {
        let forms = [ListForm::None, ListForm::ParallelIo, ListForm::BatchedIo];
        let lists = forms.map(|form| Ok((form, sample::lists_for(&workload, form)?)));
        let lists = lists.into_iter().collect::<Result<_, EngineError>>()?;
        Ok(Self { workload, lists, stores: Vec::new() })
    }

    /// The workload.
    pub const fn workload(&self) -> &Workload {
        &self.workload
    }

    /// Adds a store that holds the workload's state.
    pub fn add(&mut self, store: OpenStore) {
        self.stores.push(store);
    }

    /// The stores.
    pub fn stores(&self) -> &[OpenStore] {
        &self.stores
    }

    /// Rebuilds the workload's lists over the store at `place`, outside any clock, and compares.
    ///
    /// # Errors
    /// [`EngineError`]: the lists could not be rebuilt.
    pub fn check_lists(
        &self,
        place: usize,
        cancel: &AtomicBool,
    ) -> Result<Option<Disagreement>, EngineError> {
        let variant = Design::Sequential.variant(NonZeroUsize::MIN, NonZeroUsize::MIN);
        let task = Task::new(&self.workload, &[], variant, cancel);
        match &self.stores[place] {
            OpenStore::Rocks(store) => sample::check_lists(store.as_ref(), &task),
            OpenStore::Memory(store) => sample::check_lists(store, &task),
        }
    }

    /// Takes one sample on the store at `place`.
    ///
    /// # Errors
    /// [`EngineError`]: there is no result.
    pub fn take(
        &self,
        place: usize,
        how: How<'_>,
        cache: CacheMode,
        cancel: &AtomicBool,
    ) -> Result<Measurement, EngineError> {
        let How { variant, known_costs, trace } = how;
        let lists = self.lists.iter().find(|(form, _)| *form == variant.list);
        let (_, lists) = lists.unwrap_or_else(|| panic!("no list for {variant}"));
        let task = Task { known_costs, trace, ..Task::new(&self.workload, lists, variant, cancel) };
        match &self.stores[place] {
            OpenStore::Rocks(store) => sample::take(store.as_ref(), &task, cache),
            OpenStore::Memory(store) => sample::take(store, &task, cache),
        }
    }
}
