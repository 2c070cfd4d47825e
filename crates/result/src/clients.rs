//! The part of a result about real clients, which executed the run's blocks through the Engine API.
//! A client has no axes of a design, so its cell is kept apart from the cells of designs.
//! `src/client/` fills it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{facts::CacheFacts, figures::Estimate, stats};

/// Beginning of the text of a disagreement in which a client found a block of the run invalid.
/// Reports tell it by this from a disagreement of a design.
pub const CLIENT_DISAGREES: &str = "client ";

/// A client that executed the blocks of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientCell {
    /// Name of the client: that of its start file, or `attached` for a client that ran already.
    pub client: String,
    /// Name, version and commit as the client reports them; `null` where the client reports none.
    pub version: Option<String>,
    /// The command that started the client; empty where it ran already.
    pub start: Vec<String>,
    /// The work that the client's time includes, in one sentence.
    pub time_includes: String,
    /// Number of warm-up samples at the start, which count for no figure.
    pub warm_up_sample_count: u64,
    /// All samples, in the order in which they were taken.
    pub samples: Vec<ClientSample>,
    /// Million gas per second, over the samples after the warm-up.
    pub mgas_per_s: Estimate,
    /// Milliseconds per batch, over the samples after the warm-up.
    pub ms_per_batch: Estimate,
    /// Milliseconds per batch by the client's own log, over the samples after the warm-up; `null`s
    /// where a sample lacks its own time.
    pub own_ms_per_batch: Estimate,
    /// The client's speed over that of the first `sequential` cell without a list duty, from
    /// medians; `null` without such a cell.
    pub in_order_ratio: Option<f64>,
    /// Whether the client's state was cold.
    pub cache: CacheFacts,
}

/// A sample of a client, which executed all blocks of the workload in order and found them valid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientSample {
    /// Time of both calls of each block, summed over the blocks: the new payload and the update of
    /// the fork choice.
    pub wall_ns: u64,
    /// Gas used: the sum of all receipts.
    pub gas: u64,
    /// CPU time of the client's process, user and system.
    pub cpu_ns: Option<u64>,
    /// Bytes that the client's process read from devices, summed over the blocks.
    pub device_read_bytes: Option<u64>,
    /// Number of read system calls of the client's process.
    pub read_syscalls: Option<u64>,
    /// Number of read requests of the whole device during the blocks, those of other processes too.
    pub disk_requests: Option<u64>,
    /// Bytes of the whole device's read requests during the blocks, those of other processes too.
    pub disk_bytes: Option<u64>,
    /// Size of the data directory just before the first request; `null` unless the sample is cold.
    pub data_bytes: Option<u64>,
    /// Bytes of the data directory in the page cache just before the first request; `null` unless
    /// the sample is cold.
    pub resident_data_bytes: Option<u64>,
    /// The blocks, in their order.
    pub blocks: Vec<ClientBlock>,
}

/// One block that a client found valid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientBlock {
    /// Hash of the block. A workload of one block gives each sample a block with another hash and
    /// the same work.
    pub block_hash: String,
    /// Time from the request of the new payload to its answer.
    pub new_payload_ns: u64,
    /// Time from the request to update the fork choice to its answer.
    pub forkchoice_ns: u64,
    /// Time of the block by the client's own log; `null` where the log lacks it.
    pub own_ns: Option<u64>,
    /// Part of the client's own time in which it hashed the state, by its log; `null` where the log
    /// lacks it.
    pub own_root_ns: Option<u64>,
}

impl ClientBlock {
    /// Time of both calls, summed.
    pub const fn wall_ns(&self) -> u64 {
        self.new_payload_ns.saturating_add(self.forkchoice_ns)
    }
}

impl ClientSample {
    /// Time of all blocks by the client's own log; `None` where the log lacks the time of a block.
    pub fn own_ns(&self) -> Option<u64> {
        self.blocks.iter().map(|block| block.own_ns).sum()
    }

    /// Time of hashing the state for all blocks, by the client's own log; `None` where the log
    /// lacks the time of a block.
    pub fn own_root_ns(&self) -> Option<u64> {
        self.blocks.iter().map(|block| block.own_root_ns).sum()
    }
}

/// Mean milliseconds per batch of a sample that took `ns`.
fn ms_per_batch(ns: u64, batch_count: u64) -> f64 {
    ns as f64 / 1e6 / batch_count.max(1) as f64
}

impl ClientCell {
    /// The samples after the warm-up.
    pub fn counted(&self) -> &[ClientSample] {
        let warm_up = usize::try_from(self.warm_up_sample_count).unwrap_or(usize::MAX);
        self.samples.get(warm_up..).unwrap_or_default()
    }

    /// Wall times of the samples after the warm-up, in milliseconds.
    pub fn times_ms(&self) -> Vec<f64> {
        self.counted().iter().map(|sample| sample.wall_ns as f64 / 1e6).collect()
    }

    /// Milliseconds of each block of the workload, estimated over the samples after the warm-up.
    pub fn ms_by_block(&self) -> Vec<Estimate> {
        let block_count = self.counted().iter().map(|sample| sample.blocks.len()).min();
        (0..block_count.unwrap_or(0))
            .map(|index| {
                let blocks = self.counted().iter().map(|sample| &sample.blocks[index]);
                let times: Vec<f64> = blocks.map(|block| block.wall_ns() as f64 / 1e6).collect();
                stats::estimate(&times)
            })
            .collect()
    }

    /// The median of `figure` over the samples after the warm-up; `None` where a sample lacks it.
    pub fn median(&self, figure: impl Fn(&ClientSample) -> Option<u64>) -> Option<f64> {
        let values = self.counted().iter().map(|sample| Some(figure(sample)? as f64));
        stats::median(&values.collect::<Option<Vec<_>>>()?)
    }

    /// Estimates the client's figures over the samples after the warm-up, for a workload of
    /// `batch_count` batches.
    pub fn estimate(&mut self, batch_count: u64) {
        let counted = self.counted();
        let rates: Vec<_> =
            counted.iter().filter_map(|s| stats::mgas_per_s(s.gas, s.wall_ns)).collect();
        let times: Vec<_> = counted.iter().map(|s| ms_per_batch(s.wall_ns, batch_count)).collect();
        let own: Option<Vec<_>> =
            counted.iter().map(|s| Some(ms_per_batch(s.own_ns()?, batch_count))).collect();
        self.mgas_per_s = stats::estimate(&rates);
        self.ms_per_batch = stats::estimate(&times);
        self.own_ms_per_batch = stats::estimate(&own.unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use crate::example;

    #[test]
    fn a_warm_up_counts_for_no_figure_and_a_sample_that_does_not_tell_makes_one_unknown() {
        let mut cell = example::client::timed(&[900, 100, 110, 120]);
        cell.warm_up_sample_count = 1;
        cell.estimate(1);
        assert_eq!(cell.ms_per_batch.median, Some(110.0));
        assert_eq!(cell.own_ms_per_batch.median, Some(108.0));
        assert_eq!(cell.median(|sample| Some(sample.wall_ns)), Some(110e6));
        cell.samples[0].blocks[0].own_ns = None;
        cell.estimate(1);
        assert_eq!(cell.own_ms_per_batch.median, Some(108.0), "it does not count");
        cell.samples[3].blocks[0].own_ns = None;
        cell.estimate(1);
        assert_eq!(cell.own_ms_per_batch.median, None);
    }

    #[test]
    fn a_chain_has_a_time_for_each_block_and_one_for_each_batch() {
        let mut cell = example::client::timed(&[100, 100, 100]);
        for sample in &mut cell.samples {
            let mut second = sample.blocks[0].clone();
            second.new_payload_ns *= 3;
            sample.wall_ns += second.wall_ns();
            sample.blocks.push(second);
        }
        cell.estimate(2);
        let of_blocks: Vec<_> = cell.ms_by_block().iter().filter_map(|ms| ms.median).collect();
        assert_eq!(of_blocks, [100.0, 299.8]);
        assert_eq!(cell.ms_per_batch.median, Some(199.9), "two batches of a block each");
        assert_eq!(cell.samples[0].own_ns(), Some(196_000_000));
        cell.samples[0].blocks[1].own_ns = None;
        assert_eq!(cell.samples[0].own_ns(), None);
    }
}
