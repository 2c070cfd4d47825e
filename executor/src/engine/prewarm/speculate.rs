//! The speculative pass of `prewarm`. Each worker runs transactions on the state before the batch,
//! each alone. The transaction's sender gets the nonce and the balance that the transaction needs
//! to begin. The result and the writes are discarded, failures too.
//!
//! Once the run in order begins the same transaction, the speculative run is given up at its next
//! read. The run in order finds the values of all reads so far. To continue would not help: two
//! threads that wait for the same next value are no faster than one.

use std::{
    hash::{BuildHasher, Hash},
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

use alloy_primitives::{Address, B256, U256, map::DefaultHashBuilder};
use evm::{Runner, StepError, StepOutput};
use revm::{
    Database,
    state::{AccountInfo, Bytecode},
};
use workload::{BlockAccessIndex, StepKind, Workload, block::Transaction};

use super::job::{Cache, CacheKey, Job, Key};
use crate::{
    engine::{
        error::{EngineError, ViewError},
        row::{self, FundedSender},
        tally::{ReadTally, Reading},
    },
    single_flight::Arrival,
    store::Reader,
    trace::{EventKind, KeyKind},
};

/// One worker's pass over a batch.
#[derive(Clone, Copy)]
pub(super) struct SpeculativePass<'a> {
    pub(super) workload: &'a Workload,
    pub(super) job: &'a Job,
    pub(super) cache: &'a Cache,
    pub(super) cancel: &'a AtomicBool,
    /// Hashes keys, if they are counted one by one.
    pub(super) hasher: Option<&'a DefaultHashBuilder>,
}

/// The state before the batch, with the sender of the current transaction adjusted.
struct StateBeforeBatch<'a> {
    pass: SpeculativePass<'a>,
    reader: &'a mut dyn Reader,
    tally: &'a mut ReadTally,
    /// The current step.
    index: BlockAccessIndex,
    /// Hashes of the keys that this worker has read, if keys are counted one by one.
    read: Vec<u64>,
    funded_sender: FundedSender,
}

impl<'a> SpeculativePass<'a> {
    /// Runs transactions of the job, which all workers share, until the run in order has begun all
    /// of the transactions. Returns hashes of the keys that this worker has read, if keys are
    /// counted one by one.
    ///
    /// # Errors
    /// The state cannot be read. A failed transaction is not an error.
    pub(super) fn run(self, reading: Reading<'a>) -> Result<Vec<u64>, EngineError> {
        let Job { batch_index, steps, next_step, passed_count, .. } = self.job;
        let batch_index = *batch_index;
        let batch = &self.workload.batches[batch_index];
        let funded_sender = FundedSender::default();
        let Reading { reader, tally } = reading;
        let database = StateBeforeBatch {
            pass: self,
            reader,
            tally,
            index: 0,
            read: Vec::new(),
            funded_sender,
        };
        let mut runner = Runner::new(self.workload, database);
        while !self.cancel.load(Ordering::Relaxed) {
            let index = next_step.fetch_add(1, Ordering::Relaxed);
            if index >= steps.count() {
                break;
            }
            let passed = passed_count.load(Ordering::Relaxed);
            if index <= passed {
                // The run in order has begun the step. Step 0 is not a transaction.
                let next = passed.saturating_add(1).min(steps.count());
                next_step.fetch_max(next, Ordering::Relaxed);
                continue;
            }
            let step = steps.at(index);
            let StepKind::Transaction(tx_index) = step.kind else { continue };
            let block = runner.switch_to(&batch.blocks, step.block);
            runner.db().begin(index, &block.transactions[tx_index]);
            let start = Instant::now();
            let ran = runner.run(block, step.kind, |_, _| ());
            if let Some(trace) = &mut runner.db().tally.trace {
                let gas = ran.as_ref().ok().and_then(StepOutput::receipt_gas);
                trace.record_rare(
                    EventKind::Step { batch: batch_index, index, step, gas },
                    start,
                    Instant::now(),
                );
            }
            // A failed read of the state ends the batch, because the run in order may wait for the
            // value. All other results of a speculative run are ignored.
            if let Err(StepError::Database(error)) = ran
                && !matches!(error, ViewError::Cancelled | ViewError::MissingBlockHash(_))
            {
                return Err(EngineError::of_read(batch_index, index, error));
            }
        }
        Ok(runner.into_db().read)
    }
}

impl StateBeforeBatch<'_> {
    /// Makes this the state for `tx`, the transaction of the step `index`.
    fn begin(&mut self, index: BlockAccessIndex, tx: &Transaction) {
        self.index = index;
        self.funded_sender = FundedSender::new(tx);
    }

    /// Finds `key` in the cache, or reads it into the cache.
    ///
    /// # Errors
    /// The read fails, or [`ViewError::Cancelled`]: the run in order has begun the current
    /// transaction.
    fn get<K: Hash + Eq + Copy, V: Clone>(
        &mut self,
        key: Key,
        cache_key: CacheKey<K, V>,
        read: impl FnOnce(&mut ReadTally, &mut dyn Reader) -> Result<V, ViewError>,
    ) -> Result<V, ViewError> {
        let SpeculativePass { job, cache, cancel, hasher, .. } = self.pass;
        if job.passed_count.load(Ordering::Relaxed) >= self.index {
            return Err(ViewError::Cancelled);
        }
        let (reader, tally) = (&mut *self.reader, &mut *self.tally);
        let (value, arrival) =
            (cache_key.within)(cache).get_or_read(cache_key.key, cancel, || read(tally, reader))?;
        if arrival == Arrival::Read {
            self.tally.read_count += 1;
            self.read.extend(hasher.map(|hasher| hasher.hash_one(key)));
        }
        Ok(value)
    }
}

impl Database for StateBeforeBatch<'_> {
    type Error = ViewError;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, ViewError> {
        let cache_key = CacheKey { key: address, within: |cache| &cache.accounts };
        let row = self.get(Key::Account(address), cache_key, |tally, reader| {
            Ok(tally.timed(KeyKind::Account, || reader.account(&address))?)
        })?;
        Ok(self.funded_sender.adjusted(address, row).map(row::info))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, ViewError> {
        let cache_key = CacheKey { key: hash, within: |cache| &cache.codes };
        self.get(Key::Code(hash), cache_key, |tally, reader| {
            row::bytecode(hash, tally.timed(KeyKind::Code, || reader.code(&hash))?)
        })
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, ViewError> {
        let cache_key = CacheKey { key: (address, key), within: |cache| &cache.slots };
        self.get(Key::Slot(address, key), cache_key, |tally, reader| {
            Ok(tally.timed(KeyKind::Slot, || reader.slot(&address, &key))?)
        })
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, ViewError> {
        self.pass.workload.block_hash(number).ok_or(ViewError::MissingBlockHash(number))
    }
}
