//! Times the steps of a batch that runs in order on one thread. Each step begins at the end of the
//! step before, so a step costs one reading of the clock.

use std::time::{Duration, Instant};

use evm::TxResult;
use workload::{BlockAccessIndex, Step};

use super::executed::{BatchResult, Executed};
use crate::trace::{EventKind, Recorder};

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
    /// Begins the first step of the batch at index `batch`.
    pub(super) fn start(batch: usize, executed: &'e mut Executed) -> Self {
        let (longest, result) = (Duration::ZERO, BatchResult::default());
        Self { executed, batch, start: Instant::now(), longest, result }
    }

    /// Ends a step, and begins the next step. `result` is the result of a transaction; `None` for a
    /// step that is no transaction.
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
            let gas = result.as_ref().map(|result| result.gas.receipt_gas);
            trace.record_rare(EventKind::Step { batch: self.batch, index, step, gas }, began, end);
        }
        if let Some(result) = result {
            let latency = end - began;
            self.executed.tx_latencies.record(latency);
            self.longest = self.longest.max(latency);
            self.result.results.push(result);
        }
    }

    /// Ends the batch after its last step. Returns the batch's results, still without the net
    /// changes.
    pub(super) fn finish(self) -> BatchResult {
        self.executed.longest_txs += self.longest;
        self.result
    }
}
