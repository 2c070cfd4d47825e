//! A workload with the stores it runs on: what takes a sample, whoever asks for it.

use std::{num::NonZeroUsize, sync::atomic::AtomicBool, time::Duration};

use alloy_primitives::Bytes;
use executor::{
    engine::{EngineError, Task},
    raw::{self, RawError, RawPoint, RawReads},
    sample::{self, Disagreement, Measurement},
    state::BuiltState,
    store::{
        Store, flat::FlatStore, handicap::Handicapped, mdbx::MdbxStore, memory::MemoryStore,
        rocksdb::RocksStore,
    },
    trace::Trace,
};
use variant::{CacheMode, Design, ListForm, StoreKind, Variant};
use workload::Workload;

/// A store that is open.
#[derive(Debug)]
pub enum OpenStore {
    /// State in `RocksDB`.
    Rocks(Box<RocksStore>),
    /// State in MDBX.
    Mdbx(Box<MdbxStore>),
    /// State in flat files.
    Flat(Box<FlatStore>),
    /// State in memory.
    Memory(MemoryStore),
    /// The same, made worse on purpose.
    Handicapped(Handicapped<MemoryStore>),
}

impl OpenStore {
    /// Which store it is.
    pub const fn kind(&self) -> StoreKind {
        match self {
            Self::Rocks(_) => StoreKind::Rocksdb,
            Self::Mdbx(_) => StoreKind::Mdbx,
            Self::Flat(_) => StoreKind::Flat,
            Self::Memory(_) | Self::Handicapped(_) => StoreKind::Memory,
        }
    }

    /// Name as in a variant.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Rocks(store) => store.name(),
            Self::Mdbx(store) => store.name(),
            Self::Flat(store) => store.name(),
            Self::Memory(store) => store.name(),
            Self::Handicapped(store) => store.name(),
        }
    }

    /// What is known of it.
    pub fn facts(&self) -> Vec<(String, String)> {
        match self {
            Self::Rocks(store) => store.facts(),
            Self::Mdbx(store) => store.facts(),
            Self::Flat(store) => store.facts(),
            Self::Memory(store) => store.facts(),
            Self::Handicapped(store) => store.facts(),
        }
    }

    /// Raw random reads from a fresh cold sample.
    ///
    /// # Errors
    /// [`RawError`]: there is no point.
    pub fn read_raw(&self, reads: &RawReads<'_>) -> Result<RawPoint, RawError> {
        match self {
            Self::Rocks(store) => raw::measure(store.as_ref(), reads),
            Self::Mdbx(store) => raw::measure(store.as_ref(), reads),
            Self::Flat(store) => raw::measure(store.as_ref(), reads),
            Self::Memory(store) => raw::measure(store, reads),
            Self::Handicapped(store) => raw::measure(store, reads),
        }
    }

    /// Why it cannot be cold, if so.
    pub fn never_cold(&self) -> Option<&'static str> {
        match self {
            Self::Rocks(store) => store.never_cold(),
            Self::Mdbx(store) => store.never_cold(),
            Self::Flat(store) => store.never_cold(),
            Self::Memory(store) => store.never_cold(),
            Self::Handicapped(store) => store.never_cold(),
        }
    }

    /// About how many slots lie in a block of its files.
    pub fn slots_per_block(&self) -> Option<f64> {
        match self {
            Self::Rocks(store) => store.slots_per_block(),
            Self::Mdbx(store) => store.slots_per_block(),
            Self::Flat(store) => store.slots_per_block(),
            Self::Memory(store) => store.slots_per_block(),
            Self::Handicapped(store) => store.slots_per_block(),
        }
    }

    /// The files below, where there are any.
    pub fn state(&self) -> Option<&BuiltState> {
        match self {
            Self::Rocks(store) => Some(store.state()),
            Self::Mdbx(store) => Some(store.state()),
            Self::Flat(store) => Some(store.state()),
            Self::Memory(_) | Self::Handicapped(_) => None,
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
    lists: Vec<(Option<ListForm>, Vec<Bytes>)>,
    stores: Vec<OpenStore>,
}

impl Session {
    /// A session without stores.
    ///
    /// # Errors
    /// [`EngineError::List`] when a list of the workload cannot be decoded.
    pub fn new(workload: Workload) -> Result<Self, EngineError> {
        let forms = [None, Some(ListForm::ParallelIo), Some(ListForm::BatchedIo)];
        let lists = forms.map(|form| Ok((form, sample::lists_for(&workload, form, Vec::new)?)));
        let lists = lists.into_iter().collect::<Result<_, EngineError>>()?;
        Ok(Self { workload, lists, stores: Vec::new() })
    }

    /// Adds the workload's lists in their `full` form, for variants that take it: about twice
    /// the memory of the lists that it has. They come from the reference, never from a store.
    pub fn add_full_lists(&mut self, lists: Vec<Bytes>) {
        self.lists.push((Some(ListForm::Full), lists));
    }

    /// The workload.
    pub const fn workload(&self) -> &Workload {
        &self.workload
    }

    /// Adds a store that holds the workload's state.
    pub fn add(&mut self, store: OpenStore) {
        self.stores.push(store);
    }

    /// Closes the stores that have files, which only one process at a time may use.
    pub fn close_files(&mut self) {
        self.stores.retain(|store| store.state().is_none());
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
        let variant = Variant::of(Design::Sequential, NonZeroUsize::MIN, NonZeroUsize::MIN);
        let task = Task::new(&self.workload, &[], variant, cancel);
        match &self.stores[place] {
            OpenStore::Rocks(store) => sample::check_lists(store.as_ref(), &task),
            OpenStore::Mdbx(store) => sample::check_lists(store.as_ref(), &task),
            OpenStore::Flat(store) => sample::check_lists(store.as_ref(), &task),
            OpenStore::Memory(store) => sample::check_lists(store, &task),
            OpenStore::Handicapped(store) => sample::check_lists(store, &task),
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
            OpenStore::Mdbx(store) => sample::take(store.as_ref(), &task, cache),
            OpenStore::Flat(store) => sample::take(store.as_ref(), &task, cache),
            OpenStore::Memory(store) => sample::take(store, &task, cache),
            OpenStore::Handicapped(store) => sample::take(store, &task, cache),
        }
    }
}
