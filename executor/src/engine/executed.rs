//! The result of an execution and its cost. Engines and `clock.rs` fill it; `sample.rs` compares it
//! with the expected outcome, and `src/figures/` makes figures of it.

use std::time::Duration;

use alloy_primitives::B256;
use evm::TxResult;
use workload::{
    Layout, NetChanges, TxOutcome,
    layout::{ACCOUNT_VALUE_BYTES, encode_slot},
};

use super::{
    tally::{ReadTally, WorkerCounts},
    writes::Writes,
};
use crate::{
    latency::Latencies,
    process,
    received::DecodedBlocks,
    root::{RootWork, Rooted},
    shards::{CoordinatorTimes, ShardTimes, Speculation},
    span::Span,
    store::ReadCounters,
    tries::NodeChanges,
};

/// The result of a batch.
#[derive(Clone, Debug, Default)]
pub struct BatchResult {
    /// Results of the transactions, in order: content of the receipt and return data. Emptied once
    /// `outcomes` is made.
    pub results: Vec<TxResult>,
    /// Index of the shard that ran each transaction; empty without shards.
    pub shard_of_tx: Vec<u32>,
    /// Digests of `results`, made after the clock has stopped.
    pub outcomes: Vec<TxOutcome>,
    /// Net changes of the state, from the transactions' writes.
    pub net_changes: NetChanges,
    /// The blocks as they were decoded, for variants with duties on blocks.
    pub decoded: Option<DecodedBlocks>,
    /// The state root with the nodes that change, if it is computed.
    pub rooted: Option<Rooted>,
}

impl BatchResult {
    /// Returns the bytes of the keys and values of the batch's commit, to compare with the bytes
    /// that a store writes. A deleted row counts with its key.
    pub(super) fn committed_bytes(&self, layout: Layout) -> u64 {
        let account_key = match layout {
            Layout::Hashed => 32,
            Layout::Plain => 20,
        };
        let NetChanges { accounts, slots, codes, .. } = &self.net_changes;
        let accounts = accounts
            .iter()
            .map(|(_, account)| account_key + account.as_ref().map_or(0, |_| ACCOUNT_VALUE_BYTES));
        let slots = slots.iter().map(|(_, _, value)| {
            let value_bytes = if value.is_zero() { 0 } else { encode_slot(value).len() };
            layout.slot_key_bytes() + value_bytes
        });
        let codes = codes.iter().map(|(hash, code)| hash.len() + code.len());
        let rooted = self.rooted.iter().flat_map(|rooted| &rooted.nodes).map(node_bytes);
        accounts.chain(slots).chain(codes).chain(rooted).sum::<usize>() as u64
    }
}

fn node_bytes(changes: &NodeChanges) -> usize {
    let NodeChanges { trie, put, deleted } = changes;
    let put = put.iter().map(|(key, node)| trie.row_key(key).len() + node.len());
    let deleted = deleted.iter().map(|key| trie.row_key(key).len());
    put.chain(deleted).sum()
}

/// Counts of values between shards that execute without a list, and of results that such values
/// made wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrossShard {
    /// Number of values that a step of one shard wrote and that were sent to another shard.
    pub value_count: u64,
    /// Number of results that replaced the result of an earlier run of the same step.
    pub replaced_result_count: u64,
    /// Number of results whose reads were wrong once all lower steps were committed: the committed
    /// values differ from the values that the run had read.
    pub stale_result_count: u64,
}

impl CrossShard {
    /// Adds the counts of another batch.
    pub fn add(&mut self, other: &Self) {
        self.value_count += other.value_count;
        self.replaced_result_count += other.replaced_result_count;
        self.stale_result_count += other.stale_result_count;
    }
}

/// The result of an execution and its cost.
#[derive(Clone, Debug, Default)]
pub struct Executed {
    /// Time from the start of the clock to the last commit, or to the end of the flushes and
    /// compactions that commits caused. Excludes the time to let this background work begin, and
    /// the time to inspect files.
    pub wall: Duration,
    /// Activity of the process in that time.
    pub process: process::Activity,
    /// Spans of all phases.
    pub spans: Vec<Span>,
    /// Result of each batch.
    pub batches: Vec<BatchResult>,
    /// Time of each batch, from its bytes or its first step to the end of its commit. These times
    /// do not overlap.
    pub batch_times: Vec<Duration>,
    /// Writes of the commits and of the store's background work.
    pub writes: Writes,
    /// Time of each transaction, with its reads.
    pub tx_latencies: Latencies,
    /// Time of each step of each batch, by index; empty for an engine that keeps none.
    pub step_times: Vec<Vec<Duration>>,
    /// Sum of the times of each batch's longest transaction. No schedule makes the execution of the
    /// workload shorter.
    pub longest_txs: Duration,
    /// Time in which only verification was under way, after the end of execution; zero if the list
    /// has no values.
    pub verification_wait: Duration,
    /// Scheduling priority of the threads that verify, if any.
    pub verifier_priority: Option<process::Priority>,
    /// Counts of the speculative pass; `None` for engines without one.
    pub speculative_pass: Option<SpeculativePassCounts>,
    /// Reads on demand, by executing threads or for shards.
    pub on_demand: ReadTally,
    /// Reads ahead, reads of a speculative pass, and reads that verify values.
    pub prefetched: ReadTally,
    /// Largest number of reads in `prefetched` that one call makes together. Each such read has the
    /// latency of the whole call. `None` if a call makes its reads one after the other.
    pub prefetch_reads_at_once: Option<usize>,
    /// Counts of the reads of the store.
    pub counters: ReadCounters,
    /// Digest of each batch's net changes.
    pub digests: Vec<B256>,
    /// Time of the digests of logs, return data and net changes, after the clock.
    pub digesting: Duration,
    /// Names of the shards that executed.
    pub shard_names: Vec<String>,
    /// Times and request counts of the shards, summed over all shards and batches.
    pub shard_times: ShardTimes,
    /// Values between shards, of all batches; `None` if shards execute by a list, or no shards
    /// execute.
    pub cross_shard: Option<CrossShard>,
    /// Messages and CPU times of this process's threads for connections to shards.
    pub coordinator_times: CoordinatorTimes,
    /// Time of partitioning all batches over shards, inside the clock or before it.
    pub partitioning: Duration,
    /// Counts of executions, validations and aborts; `None` for engines other than Block-STM.
    pub speculation: Option<Speculation>,
    /// Work for the roots of all batches, if they are computed. `counters` does not include the
    /// reads of this work.
    pub root_work: Option<RootWork>,
}

impl Executed {
    /// Adds the times of a batch's transactions, in their order. Returns the transactions' results.
    /// Steps of other kinds have no result.
    pub(super) fn add_transactions(
        &mut self,
        steps: impl Iterator<Item = (Option<TxResult>, Duration)>,
    ) -> Vec<TxResult> {
        let mut results = Vec::with_capacity(steps.size_hint().1.unwrap_or(0));
        let mut longest = Duration::ZERO;
        for (result, latency) in steps {
            let Some(result) = result else { continue };
            results.push(result);
            self.tx_latencies.record(latency);
            longest = longest.max(latency);
        }
        // Saturates, because a shard may send any latency.
        self.longest_txs = self.longest_txs.saturating_add(longest);
        results
    }

    /// Adds the counts of a worker that has ended.
    pub(super) fn add_worker(&mut self, worker: &WorkerCounts) {
        self.on_demand.merge(&worker.on_demand);
        self.prefetched.merge(&worker.prefetched);
        self.counters.add(&worker.counters);
        self.verifier_priority = worker.priority.or(self.verifier_priority);
        self.shard_times.add(&worker.shard_times);
        self.coordinator_times.add(&worker.coordinator_times);
        if let Some(total) = &mut self.speculation {
            total.add(&worker.speculation);
        }
    }

    /// Returns a text such as `, run by shard 1 at 127.0.0.1:7001`; empty without shards. A wrong
    /// receipt is the fault of its shard, because only writes are compared with the list.
    pub(crate) fn by_shard(&self, batch: usize, tx_index: usize) -> String {
        let shard = self.batches[batch].shard_of_tx.get(tx_index);
        let name = shard.and_then(|shard| self.shard_names.get(*shard as usize));
        name.map_or_else(String::new, |name| format!(", run by {name}"))
    }
}

/// Counts of the speculative pass, whose reads the run in order can use. A key is an account, a
/// slot or a code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpeculativePassCounts {
    /// Number of reads of the store that the pass made; a key that two workers read counts twice.
    pub read_count: u64,
    /// Number of keys that the run in order requested.
    pub requested_count: u64,
    /// Number of keys that the run in order requested and the pass had read before.
    pub found_count: u64,
    /// Number of keys that the pass read and the run in order did not request.
    pub unused_count: u64,
    /// Time inside the clock from the end of a batch's run in order to the end of the pass. Summed
    /// over the batches; zero if the pass ends before the run in order begins.
    pub pass_wait: Duration,
}
