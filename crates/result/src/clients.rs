//! What a run says of a real client that took its block by the Engine API. A client has none of
//! the axes of a design: its cells stand beside those of the designs, not among them.

use serde::{Deserialize, Serialize};

use crate::{facts::CacheFacts, figures::Estimate, stats};

/// A client on the block of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientCell {
    /// Its name: that of its start file, or `attached`.
    pub client: String,
    /// Name, version and commit by its own word; `null` where it does not tell.
    pub version: Option<String>,
    /// The command that started it; empty where it ran already.
    pub start: Vec<String>,
    /// What its time includes, in one sentence.
    pub time_includes: String,
    /// The first samples that count for no figure.
    pub warm_up_sample_count: u64,
    /// All samples in the order they were taken.
    pub samples: Vec<ClientSample>,
    /// Gas per second over the samples.
    pub mgas_per_s: Estimate,
    /// Milliseconds per block over the samples.
    pub ms_per_block: Estimate,
    /// Milliseconds per block by the client's own log.
    pub own_ms_per_block: Estimate,
    /// Its speed as a multiple of the first `sequential` cell, from medians; `null` without one.
    pub in_order_ratio: Option<f64>,
    /// Whether it was cold.
    pub cache: CacheFacts,
}

/// One block that a client found valid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientSample {
    /// Hash of the block; each sample has another one with the same work.
    pub block_hash: String,
    /// From the request of the new payload to the answer on the fork choice.
    pub wall_ns: u64,
    /// Of that the new payload.
    pub new_payload_ns: u64,
    /// Of that the update of the fork choice.
    pub forkchoice_ns: u64,
    /// Time by the client's own log; `null` where it does not tell.
    pub own_ns: Option<u64>,
    /// Gas used.
    pub gas: u64,
    /// CPU time of the client's process, user and system.
    pub cpu_ns: Option<u64>,
    /// Bytes that the client's process read from devices.
    pub device_read_bytes: Option<u64>,
    /// System calls of it that read.
    pub read_syscalls: Option<u64>,
    /// Read requests of the whole device meanwhile, those of other processes too.
    pub disk_requests: Option<u64>,
    /// Bytes of them.
    pub disk_bytes: Option<u64>,
    /// Bytes of the data directory just before the request, of a cold sample.
    pub data_bytes: Option<u64>,
    /// Those of them that were in the page cache.
    pub resident_data_bytes: Option<u64>,
}

impl ClientCell {
    /// The samples that count.
    pub fn counted(&self) -> &[ClientSample] {
        let warm_up = usize::try_from(self.warm_up_sample_count).unwrap_or(usize::MAX);
        self.samples.get(warm_up..).unwrap_or_default()
    }

    /// Times of the samples that count, in milliseconds.
    pub fn times_ms(&self) -> Vec<f64> {
        self.counted().iter().map(|sample| sample.wall_ns as f64 / 1e6).collect()
    }

    /// The median over the samples that count; `None` where one does not tell.
    pub fn median(&self, figure: impl Fn(&ClientSample) -> Option<u64>) -> Option<f64> {
        let of = |sample| figure(sample).map(|value| value as f64);
        stats::median(&self.counted().iter().map(of).collect::<Option<Vec<_>>>()?)
    }

    /// Works out the figures over the samples.
    pub fn estimate(&mut self) {
        let counted = self.counted();
        let rates: Vec<_> =
            counted.iter().filter_map(|s| stats::mgas_per_s(s.gas, s.wall_ns)).collect();
        let own: Option<Vec<_>> = counted.iter().map(|s| Some(s.own_ns? as f64 / 1e6)).collect();
        let times = self.times_ms();
        self.own_ms_per_block = stats::estimate(&own.unwrap_or_default());
        self.mgas_per_s = stats::estimate(&rates);
        self.ms_per_block = stats::estimate(&times);
    }
}

#[cfg(test)]
mod tests {
    use crate::example;

    #[test]
    fn a_warm_up_counts_for_no_figure_and_a_sample_that_does_not_tell_makes_one_unknown() {
        let mut cell = example::client::timed(&[900, 100, 110, 120]);
        cell.warm_up_sample_count = 1;
        cell.estimate();
        assert_eq!(cell.ms_per_block.median, Some(110.0));
        assert_eq!(cell.own_ms_per_block.median, Some(108.0));
        assert_eq!(cell.median(|sample| Some(sample.wall_ns)), Some(110e6));
        cell.samples[0].own_ns = None;
        cell.estimate();
        assert_eq!(cell.own_ms_per_block.median, Some(108.0), "it does not count");
        cell.samples[3].own_ns = None;
        cell.estimate();
        assert_eq!(cell.own_ms_per_block.median, None);
    }
}
