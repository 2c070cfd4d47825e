//! One sample: the state opened, the workload executed once inside the clock, the result
//! compared with the reference, read back, and the state put back.

use std::{collections::BTreeMap, sync::Arc, thread, time::Duration};

use alloy_primitives::{Address, Bytes, U256};
use workload::{
    Workload,
    genesis::AccountState,
    list::{AccountId, ListBounds, ListIndex, SlotId},
};

pub use crate::disagreement::Disagreement;
use crate::{
    engine::{
        self, EngineError, Executed, ReadTally, Reading, Task,
        bal::{CodeRows, Declared, Lane, ReadAhead, Target},
    },
    error::StoreError,
    place::{AskedRow, RowPages},
    process::{self, BlockDevice, DiskReads},
    received,
    replay::Requests,
    root::{self, RootInputs},
    span::Spans,
    store::{
        Sample, Store,
        recorded::{ReadLog, Recorded},
    },
};
use variant::{CacheMode, ListForm, Prefetch};

mod roots;

/// Threads that warm a state up.
const WARMING_THREADS: usize = 16;
/// Their name. They run outside any clock.
pub const WARMING_THREAD: &str = "warm-up";

/// The measurement of one sample.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The execution.
    pub executed: Executed,
    /// The process's counters inside the clock.
    pub process: process::Delta,
    /// The first difference from the reference.
    pub disagreement: Option<Disagreement>,
    /// Time to open the state, outside the clock.
    pub open: Duration,
    /// Reads of the whole device below the state meanwhile, by anyone; `None` without a device, or
    /// if the kernel does not tell.
    pub disk: Option<DiskReads>,
    /// Pages that hold the declared rows, looked at just before the clock: of a cold sample that
    /// reads through the page cache. An error gives the reason.
    pub row_pages: Option<Result<RowPages, String>>,
    /// Its file requests, if they are to be kept, or the reason for unknown ones.
    pub requests: Option<Result<Requests, String>>,
}

/// Records that a sample keeps for after its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The requests that it makes of the device, to be made again, if it is cold and its store has
    /// files.
    Requests,
    /// Nothing.
    Nothing,
}

/// Takes one sample.
///
/// # Errors
/// [`EngineError`]: there is no result. A wrong result is not an error: it is in the
/// measurement, as a disagreement.
pub fn take(
    store: &dyn Store,
    task: &Task<'_>,
    cache: CacheMode,
) -> Result<Measurement, EngineError> {
    take_by(store, task, cache, |sample, task| Ok((engine::execute(sample, task)?, None)))
}

/// Takes one sample and keeps its records. Only a cold sample of a store with files makes requests
/// of a device.
///
/// # Errors
/// Those of [`take()`].
pub fn take_keeping(
    store: &dyn Store,
    task: &Task<'_>,
    cache: CacheMode,
    keep: Keep,
) -> Result<Measurement, EngineError> {
    let has_requests = cache == CacheMode::Cold && store.built_state().is_some();
    if !has_requests || keep == Keep::Nothing {
        return take(store, task, cache);
    }
    if let Some(reason) = store.moves_rows() {
        let taken = take(store, task, cache)?;
        return Ok(Measurement { requests: Some(Err(reason.to_owned())), ..taken });
    }
    take_by(store, task, cache, |sample, task| {
        let recorded = Recorded::new(sample);
        let executed = engine::execute(&recorded, task)?;
        Ok((executed, Some(recorded.into_log())))
    })
}

/// Takes one sample, executed by `execute`.
fn take_by(
    store: &dyn Store,
    task: &Task<'_>,
    cache: CacheMode,
    execute: impl FnOnce(&dyn Sample, &Task<'_>) -> Result<(Executed, Option<ReadLog>), EngineError>,
) -> Result<Measurement, EngineError> {
    // Before the sample is opened, whose caches see nothing of these reads.
    let kept = roots::kept_nodes(store, task)?;
    let task = &Task { root: RootInputs { kept: Some(&kept), ..task.root }, ..*task };
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
        let (executed, log) = execute(sample.as_ref(), task)?;
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
            requests: log.map(|log| Requests::of(store, sample.as_ref(), &log)),
        })
    });
    // The state is put back whatever came out.
    sample.close()?;
    let mut measurement = checked?;
    if measurement.disagreement.is_none() && !task.variant.root.is_none() {
        measurement.disagreement = roots::check_roots(store, &measurement.executed)?;
    }
    if cache == CacheMode::Cold {
        store.forget_warm();
    }
    Ok(measurement)
}

/// The pages of all declared rows, and of the nodes above written ones if there is a root, if the store
/// reads them through the page cache.
fn row_pages(
    store: &dyn Store,
    task: &Task<'_>,
) -> Result<Option<Result<RowPages, String>>, EngineError> {
    // A store that reads past the cache says so before all rows are made.
    if store.row_pages(&[], &[]).is_none() {
        return Ok(None);
    }
    let (mut rows, mut nodes) = (Vec::new(), Vec::new());
    let tries = store.tries().filter(|_| !task.variant.root.is_none());
    for index in 0..task.workload.batches.len() {
        let list = decoded_list(task.workload, index)?;
        for account in (0..list.account_count()).map(AccountId) {
            let address = *list.address(account);
            rows.push(AskedRow::Account(address));
            let slots = list.slots_of(account);
            let ids = (slots.start..slots.end).map(SlotId);
            rows.extend(ids.map(|id| AskedRow::Slot(address, list.slot_key(id))));
        }
        if let Some(tries) = tries {
            nodes.extend(root::nodes_above(&list, tries.format, &task.workload.genesis));
        }
    }
    Ok(store.row_pages(&rows, &nodes))
}

/// The list of the batch at `index`.
fn decoded_list(workload: &Workload, index: usize) -> Result<ListIndex, EngineError> {
    let batch = &workload.batches[index];
    ListIndex::decode(&batch.list, &ListBounds::new(batch, workload.fork()))
        .map_err(|fault| EngineError::rejected(index, fault))
}

/// Rebuilds the lists of the task's workload by executing in order, outside any clock, and
/// compares, as an engine without a list does with one. Returns the first difference.
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
            "{} bytes against {}, the first other one at {}",
            given.len(),
            rebuilt.len(),
            at.unwrap_or(rebuilt.len().min(given.len()))
        );
        Some(Disagreement::List { batch, difference })
    });
    Ok(difference)
}

/// Reads all that the workload reads, once, through the caches that the sample will use.
fn warm(sample: &dyn Sample, task: &Task<'_>) -> Result<(), EngineError> {
    for index in 0..task.workload.batches.len() {
        let list = decoded_list(task.workload, index)?;
        let values = Declared::new(&list);
        let codes = CodeRows::default();
        let target = Target { list: &list, values: &values, codes: &codes };
        let spans = Arc::new(Spans::start());
        let ahead = ReadAhead::new(Prefetch::default(), sample.row_layout(), spans, 0);
        let work = |number| {
            let mut reader = sample.reader()?;
            let mut tally = ReadTally::of(reader.as_ref(), None);
            let lane = Lane { number, count: WARMING_THREADS };
            let reading = Reading { reader: reader.as_mut(), tally: &mut tally };
            ahead.read(target, lane, reading, task.cancel)
        };
        // They wait for the device, so they are no work for a pool of as many threads as cores.
        thread::scope(|scope| {
            let workers = (0..WARMING_THREADS).map(|number| {
                let thread = thread::Builder::new().name(WARMING_THREAD.to_owned());
                let begun = thread.spawn_scoped(scope, move || work(number));
                begun.map_err(|error| StoreError::no_thread(WARMING_THREAD, &error))
            });
            // All begin before the first is waited for.
            let workers: Vec<_> = workers.collect();
            workers.into_iter().try_for_each(|worker| {
                worker?.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })?;
    }
    Ok(())
}

/// The first difference between the execution and the expected outcome.
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

/// Reads every changed key through a fresh reader.
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

/// Encoded lists of all batches in the form a variant takes. The `full` form has values that the
/// workload's own list has not: it comes from `full`, one list a batch, made by whoever knows the
/// state before each batch and is not the store under test.
///
/// # Errors
/// [`EngineError::List`] where a batch's list cannot be decoded.
pub fn lists_for(
    workload: &Workload,
    form: Option<ListForm>,
    full: impl FnOnce() -> Vec<Bytes>,
) -> Result<Vec<Bytes>, EngineError> {
    if form == Some(ListForm::Full) {
        return Ok(full());
    }
    let lists = workload.batches.iter().enumerate().map(|(index, batch)| match form {
        None | Some(ListForm::Full) => Ok(Bytes::new()),
        Some(ListForm::BatchedIo) => Ok(batch.list.clone()),
        Some(ListForm::ParallelIo) => {
            let changes = decoded_list(workload, index)?.to_changes();
            Ok(workload::list::encode(&workload::list::parallel_io_form(&changes)))
        }
    });
    lists.collect()
}
