//! Takes one sample. Opens the state, and executes the workload once inside the clock. Then
//! compares the result with the reference, reads the changed keys back, and restores the state.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use alloy_primitives::{Address, Bytes, U256};
use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use workload::{
    Workload,
    genesis::AccountState,
    list::{ListBounds, ListIndex, SlotId},
};

pub use crate::disagreement::Disagreement;
use crate::{
    engine::{
        self, EngineError, Executed, ReadTally, Reading, Task,
        bal::{CodeRows, Declared, Lane, ReadAhead, Target},
    },
    error::StoreError,
    place::{RequestedRow, RowPages},
    process::{self, BlockDevice, DiskReads},
    received,
    replay::Requests,
    root::{self, RootInputs},
    span::Spans,
    store::{Sample, Store, recorded::Recorded},
};
use variant::{CacheMode, ListForm, Prefetch};

mod roots;

/// Number of threads that warm up a state: they read all declared keys before a warm sample.
const WARMING_THREADS: usize = 16;
/// Name of the threads that warm up a state, outside any clock.
pub const WARMING_THREAD: &str = "warm-up";

/// The measurement of one sample.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Results and times of the execution.
    pub executed: Executed,
    /// Activity of the process while the clock ran.
    pub process: process::Activity,
    /// The first difference from the reference; `None` if there is none.
    pub disagreement: Option<Disagreement>,
    /// Time to open the state, outside the clock.
    pub open: Duration,
    /// Reads by all processes, during the execution, of the device that holds the state. `None`
    /// without a device, or if the kernel does not count its reads.
    pub disk: Option<DiskReads>,
    /// Counts of the pages that hold declared rows or the nodes above written ones, just before the
    /// clock. `None` unless the sample is cold and reads through the page cache. An error gives the
    /// reason why the counts are missing.
    pub row_pages: Option<Result<RowPages, String>>,
    /// The sample's requests to the device; `None` if they are not kept. An error gives the reason
    /// why they are unknown.
    pub requests: Option<Result<Requests, String>>,
}

/// Records to keep of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleRecords {
    /// Requests to the device, to repeat them later, if the sample is cold and its store has files.
    Requests,
    /// No records.
    None,
}

/// Takes one sample. A wrong result is not an error: the measurement then has a disagreement.
///
/// # Errors
/// [`EngineError`]: there is no result.
pub fn take(
    store: &dyn Store,
    task: &Task<'_>,
    cache: CacheMode,
) -> Result<Measurement, EngineError> {
    take_with_records(store, task, cache, SampleRecords::None)
}

/// Takes one sample and keeps its records. Only a cold sample of a store with files makes requests
/// to a device.
///
/// # Errors
/// The errors of [`take()`].
pub fn take_with_records(
    store: &dyn Store,
    task: &Task<'_>,
    cache: CacheMode,
    records: SampleRecords,
) -> Result<Measurement, EngineError> {
    let has_requests = records == SampleRecords::Requests
        && cache == CacheMode::Cold
        && store.built_state().is_some();
    let unknown = store.rows_move_reason().filter(|_| has_requests);
    // These nodes are read before the sample is opened, so that the reads do not fill the sample's
    // caches.
    let cached_nodes = roots::cached_nodes(store, task)?;
    let task =
        &Task { root: RootInputs { cached_nodes: Some(&cached_nodes), ..task.root }, ..*task };
    let opening = std::time::Instant::now();
    let sample = store.open_sample(cache)?;
    let open = opening.elapsed();
    let row_pages = match cache {
        CacheMode::Cold => row_pages(store, task),
        CacheMode::Warm => warm(sample.as_ref(), task).map(|()| None),
    };
    let checked = row_pages.and_then(|row_pages| {
        let device = store.built_state().and_then(|state| BlockDevice::of(state.dir()));
        let before = device.and_then(|device| device.reads());
        let recorded = (has_requests && unknown.is_none()).then(|| Recorded::new(sample.as_ref()));
        let executed = match &recorded {
            Some(recorded) => engine::execute(recorded, task)?,
            None => engine::execute(sample.as_ref(), task)?,
        };
        let after = device.and_then(|device| device.reads());
        let disagreement = match compare(task.workload, &executed) {
            Some(difference) => Some(difference),
            None => read_back(sample.as_ref(), &executed)?,
        };
        Ok(Measurement {
            process: executed.process,
            executed,
            disagreement,
            open,
            disk: after.zip(before).map(|(after, before)| after.since(&before)),
            row_pages,
            requests: match recorded {
                Some(recorded) => {
                    Some(Requests::find(store, sample.as_ref(), &recorded.into_log()))
                }
                None => unknown.map(|reason| Err(reason.to_owned())),
            },
        })
    });
    // The state is restored also after an error.
    sample.close()?;
    let mut measurement = checked?;
    if measurement.disagreement.is_none() && !task.variant.root.is_none() {
        let executed = &measurement.executed;
        measurement.disagreement = match store.kind().has_device() {
            true => with_warming_pool(|pool| roots::check_roots(store, executed, Some(pool)))??,
            false => roots::check_roots(store, executed, None)?,
        };
    }
    if cache == CacheMode::Cold {
        store.clear_warm_blocks();
    }
    Ok(measurement)
}

/// Counts the pages of all declared rows, if the store reads them through the page cache. If the
/// variant computes roots, counts the pages of the nodes above written rows, too.
fn row_pages(
    store: &dyn Store,
    task: &Task<'_>,
) -> Result<Option<Result<RowPages, String>>, EngineError> {
    // A store that reads past the page cache returns `None`. Then the rows need not be collected.
    if store.row_pages(&[], &[]).is_none() {
        return Ok(None);
    }
    let (mut rows, mut nodes) = (Vec::new(), Vec::new());
    let tries = store.tries().filter(|_| !task.variant.root.is_none());
    for batch_index in 0..task.workload.batches.len() {
        let list = decoded_list(task.workload, batch_index)?;
        for account in list.accounts() {
            let address = *list.address(account);
            rows.push(RequestedRow::Account(address));
            let slots = list.slots_of(account).map(SlotId);
            rows.extend(slots.map(|id| RequestedRow::Slot(address, list.slot_key(id))));
        }
        if let Some(tries) = tries {
            nodes.extend(root::nodes_above(&list, tries.format, &task.workload.genesis));
        }
    }
    Ok(store.row_pages(&rows, &nodes))
}

/// Decodes the list of the batch at `batch_index`.
fn decoded_list(workload: &Workload, batch_index: usize) -> Result<ListIndex, EngineError> {
    let batch = &workload.batches[batch_index];
    ListIndex::decode(&batch.list, &ListBounds::new(batch, &workload.rules))
        .map_err(|fault| EngineError::rejected(batch_index, fault))
}

/// Rebuilds the lists of the task's workload by execution in order, outside any clock. Returns the
/// first difference from the workload's lists; `None` if they agree.
///
/// # Errors
/// [`EngineError`]: the lists could not be rebuilt.
pub fn check_lists(
    store: &dyn Store,
    task: &Task<'_>,
) -> Result<Option<Disagreement>, EngineError> {
    let sample = store.open_sample(CacheMode::Warm)?;
    let rebuilt =
        warm(sample.as_ref(), task).and_then(|()| engine::rebuild_lists(sample.as_ref(), task));
    sample.close()?;
    let given = task.workload.batches.iter().map(|batch| &batch.list);
    let difference = rebuilt?.into_iter().zip(given).enumerate().find_map(|(batch, lists)| {
        let (rebuilt, given) = lists;
        if rebuilt == *given {
            return None;
        }
        let at = rebuilt.iter().zip(given).position(|(a, b)| a != b);
        let difference = format!(
            "it has {} bytes, the other {}, and they first differ at byte {}",
            given.len(),
            rebuilt.len(),
            at.unwrap_or(rebuilt.len().min(given.len()))
        );
        Some(Disagreement::List { batch, difference })
    });
    Ok(difference)
}

/// Reads all keys of the workload once, through the caches that the sample will use.
fn warm(sample: &dyn Sample, task: &Task<'_>) -> Result<(), EngineError> {
    with_warming_pool(|pool| {
        for batch_index in 0..task.workload.batches.len() {
            let list = decoded_list(task.workload, batch_index)?;
            let values = Declared::new(&list);
            let codes = CodeRows::default();
            let target = Target { list: &list, values: &values, codes: &codes };
            let spans = Arc::new(Spans::start());
            let ahead = ReadAhead::new(Prefetch::default(), sample.row_layout(), spans, 0);
            let warmed = pool.broadcast(|thread| {
                let mut reader = sample.reader()?;
                let mut tally = ReadTally::new(reader.as_ref(), None);
                let lane = Lane { number: thread.index(), count: thread.num_threads() };
                let reading = Reading { reader: reader.as_mut(), tally: &mut tally };
                ahead.read(target, lane, reading, task.cancel)
            });
            warmed.into_iter().collect::<Result<(), _>>()?;
        }
        Ok(())
    })?
}

/// Calls `read` with the threads of reads outside the clock, which end before this returns. They
/// wait for the device, so there are more than cores.
fn with_warming_pool<R>(read: impl FnOnce(&ThreadPool) -> R) -> Result<R, StoreError> {
    let pool = ThreadPoolBuilder::new()
        .num_threads(WARMING_THREADS)
        .thread_name(|_| WARMING_THREAD.to_owned());
    let started = pool.build_scoped(ThreadBuilder::run, read);
    let threads = || format!("start {WARMING_THREADS} threads");
    started.map_err(|error| StoreError::failed(WARMING_THREAD, threads(), error))
}

/// Returns the first difference between the execution and the expected outcome; `None` if they
/// agree.
fn compare(workload: &Workload, executed: &Executed) -> Option<Disagreement> {
    for (index, batch) in workload.batches.iter().enumerate() {
        let (expected, got) = (&batch.expected.transactions, &executed.batches[index].outcomes);
        let longer = expected.len().max(got.len());
        if let Some(tx_index) = (0..longer).find(|i| expected.get(*i) != got.get(*i)) {
            return Some(Disagreement::Outcome {
                batch: index,
                tx_index,
                by: executed.by_shard(index, tx_index),
                expected: expected.get(tx_index).copied(),
                got: got.get(tx_index).copied(),
            });
        }
        let (expected, got) = (batch.expected.net_changes, executed.digests[index]);
        if expected != got {
            return Some(Disagreement::NetChanges { batch: index, expected, got });
        }
        let decoded = executed.batches[index].decoded.as_ref();
        let differs =
            decoded.and_then(|decoded| received::compare(batch, workload.chain_id, decoded));
        if let Some((block, reason)) = differs {
            return Some(Disagreement::Decoded { batch: index, block, reason });
        }
    }
    None
}

/// Reads every changed key and every changed node of tries through new readers. Returns the first
/// difference from the values that the batches wrote; `None` if they agree.
fn read_back(sample: &dyn Sample, executed: &Executed) -> Result<Option<Disagreement>, StoreError> {
    let mut accounts = BTreeMap::<Address, Option<AccountState>>::new();
    let mut slots = BTreeMap::<(Address, U256), U256>::new();
    for batch in &executed.batches {
        accounts.extend(batch.net_changes.accounts.iter().copied());
        let changed = batch.net_changes.slots.iter();
        slots.extend(changed.map(|(address, key, value)| ((*address, *key), *value)));
    }
    let mut reader = sample.reader()?;
    for (address, expected) in accounts {
        let got = reader.account(&address)?;
        if got != expected {
            let (expected, got) = (format!("{expected:?}"), format!("{got:?}"));
            let what = format!("account {address}");
            return Ok(Some(Disagreement::ReadBack { what, expected, got }));
        }
    }
    for ((address, key), expected) in slots {
        let got = reader.slot(&address, &key)?;
        if got != expected {
            let (expected, got) = (format!("{expected:#x}"), format!("{got:#x}"));
            let what = format!("slot {key:#x} of {address}");
            return Ok(Some(Disagreement::ReadBack { what, expected, got }));
        }
    }
    for (hash, code) in executed.batches.iter().flat_map(|batch| &batch.net_changes.codes) {
        let got = reader.code(hash)?;
        if got.as_ref() != Some(code) {
            let (expected, got) = (code.to_string(), format!("{got:?}"));
            let what = format!("code {hash}");
            return Ok(Some(Disagreement::ReadBack { what, expected, got }));
        }
    }
    drop(reader);
    let Some(tries) = sample.tries() else { return Ok(None) };
    let rooted = executed.batches.iter().filter_map(|batch| batch.rooted.as_ref());
    root::read_back(tries.as_ref(), rooted)
}

/// Encodes the lists of all batches in the form that a variant takes. The form `full` has values
/// that the workload's list lacks, so `full` makes these lists, one for each batch. It must know
/// the state before each batch from another source than the store under test.
///
/// # Errors
/// [`EngineError::List`] if a batch's list cannot be decoded.
pub fn lists_for(
    workload: &Workload,
    form: Option<ListForm>,
    full: impl FnOnce() -> Vec<Bytes>,
) -> Result<Vec<Bytes>, EngineError> {
    if form == Some(ListForm::Full) {
        return Ok(full());
    }
    let lists = workload.batches.iter().enumerate().map(|(batch_index, batch)| match form {
        None | Some(ListForm::Full) => Ok(Bytes::new()),
        Some(ListForm::BatchedIo) => Ok(batch.list.clone()),
        Some(ListForm::ParallelIo) => {
            let index = decoded_list(workload, batch_index)?;
            Ok(workload::list::encode(&workload::list::parallel_io_form(&index.to_changes())))
        }
    });
    lists.collect()
}
