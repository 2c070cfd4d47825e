//! The steps of a batch that runs in order on one thread, timed. Each begins at the end of the one
//! before it, so a step costs one look at the clock.

use std::time::{Duration, Instant};

use evm::TxResult;
use workload::{BlockAccessIndex, Step};

use super::executed::{BatchResult, Executed};
use crate::trace::{Recorder, What};

/// Times and results of the steps of a batch.
pub(super) struct Laps<'e> {
    executed: &'e mut Executed,
    /// 0-based index of the batch.
    batch: usize,
    start: Instant,
    longest: Duration,
    result: BatchResult,
}

impl<'e> Laps<'e> {
    /// The first step of the batch at index `batch` begins.
    pub(super) fn start(batch: usize, executed: &'e mut Executed) -> Self {
        let (longest, result) = (Duration::ZERO, BatchResult::default());
        Self { executed, batch, start: Instant::now(), longest, result }
    }

    /// A step ends, and the next begins. `result` is that of a transaction.
    pub(super) fn next(
        &mut self,
        index: BlockAccessIndex,
        step: Step,
        result: Option<TxResult>,
        trace: Option<&mut Recorder>,
    ) {
        let end = Instant::now();
        let began = std::mem::replace(&mut self.start, end);
        if let Some(trace) = trace {
            let gas = result.as_ref().map(|result| result.gas_used);
            trace.seldom(What::Step { batch: self.batch, index, step, gas }, began, end);
        }
        if let Some(result) = result {
            let latency = end - began;
            self.executed.tx_latencies.record(latency);
            self.longest = self.longest.max(latency);
            self.result.results.push(result);
        }
    }

    /// The last step has ended. Returns the results; net changes are not among them.
    pub(super) fn finish(self) -> BatchResult {
        self.executed.longest_txs += self.longest;
        self.result
    }
}
