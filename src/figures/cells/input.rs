//! Facts of a cell before it is sampled, and figures that follow from them without a sample.

use std::time::Duration;

use variant::{AccountReads, CacheMode, Io, ReadTime, SampleKeys, StoreKind, Variant};
use workload::Workload;

use super::numbers::ratio;
use result::{Device, stats};

use crate::figures::facts::DeclaredKeys;

/// Facts of a cell beside its measurements.
#[derive(Clone, Copy, Debug)]
pub struct CellInput<'a> {
    pub store: StoreKind,
    /// Reason why the store is never cold; `None` if it can be cold.
    pub never_cold: Option<&'static str>,
    /// Estimated number of slots in a block of the store's files.
    pub slots_per_block: Option<f64>,
    pub variant: Variant,
    pub cache: CacheMode,
    pub workload: &'a Workload,
    /// Whether the workload's keys are those of all samples, or fresh keys of one sample.
    pub keys: SampleKeys,
    /// Share of the workload's keys that earlier samples asked the store for; `None` if they are
    /// not counted.
    pub asked_before_share: Option<f64>,
    /// Number of keys that the workload's lists declare.
    pub declared: DeclaredKeys,
    /// Share of the requested slots that exist in the state.
    pub present_share: f64,
    /// The measured device below the state, if the run has one.
    pub device: Option<&'a Device>,
    /// Number of cores that the process may use.
    pub core_count: usize,
}

impl CellInput<'_> {
    /// Returns the median rate in gas of the headers, from `gas_rates`, the rates in gas of the
    /// receipts. `None` if both sums of gas are equal.
    pub(super) fn header_rate(&self, gas_rates: &[f64]) -> Option<f64> {
        let batches = self.workload.batches.iter();
        let header_gas: u64 = batches.flat_map(|batch| &batch.expected.header_gas).sum();
        let gas = self.workload.gas_used();
        let factor = ratio(header_gas as f64, gas as f64).filter(|_| header_gas != gas)?;
        stats::median(gas_rates).map(|rate| rate * factor)
    }
}

/// Returns a lower bound of the reads that the busiest thread makes one after the other, if all
/// threads together read `blocks` blocks. The reads of a transaction are not known before it runs:
/// its share of the gas stands for its share of the reads.
pub(super) fn serial_read_count(input: &CellInput<'_>, blocks: f64) -> f64 {
    if !input.variant.engine.is_parallel() {
        return blocks;
    }
    let (threads, readers) = (input.variant.thread_count, input.variant.io_thread_count);
    match input.variant.io {
        Io::OnDemand => {
            let tx_count = usize::try_from(input.workload.tx_count()).unwrap_or(usize::MAX);
            let under_way = threads * input.variant.fiber_count;
            let equal_share = blocks / under_way.min(tx_count).max(1) as f64;
            equal_share.max(blocks * longest_tx_gas_share(input.workload).unwrap_or(0.0))
        }
        // Executing threads read keys too, unless readers read all keys before execution.
        Io::Batched(policy)
            if readers > 0
                && (policy.time == ReadTime::While
                    || policy.accounts == AccountReads::OnDemand) =>
        {
            blocks / (readers + threads) as f64
        }
        // Without readers, the executing threads read ahead, or verify after execution.
        Io::Batched(_) | Io::FromList => {
            blocks / if readers > 0 { readers } else { threads }.max(1) as f64
        }
    }
}

/// Returns the gas of the largest transaction of each batch, summed up, as a share of all gas.
/// Batches run one after the other.
pub(super) fn longest_tx_gas_share(workload: &Workload) -> Option<f64> {
    let batches = workload.batches.iter().map(|batch| &batch.expected.transactions);
    let largest = batches.map(|all| all.iter().map(|tx| tx.gas_used).max().unwrap_or(0));
    ratio(largest.sum::<u64>() as f64, workload.gas_used() as f64)
}

/// Returns the number of accounts and slots that the lists declare and the state holds. `None` if
/// all requested slots are absent: a block is then read only where a filter errs.
pub(super) fn present_key_count(input: &CellInput<'_>) -> Option<f64> {
    let DeclaredKeys { account_count, slot_count } = input.declared;
    let slots = slot_count as f64 * input.present_share;
    let keys = account_count as f64 + slots;
    (keys >= 1.0 && (slot_count == 0 || slots > 0.0)).then_some(keys)
}

/// Returns the expected distinct blocks per present key: k random keys touch b (1 - e^(-k/b)) of b
/// blocks.
pub(super) fn expected_blocks_per_present_key(input: &CellInput<'_>) -> Option<f64> {
    input.never_cold.is_none().then_some(())?;
    let batch_count = input.workload.batches.len().max(1) as f64;
    let keys = present_key_count(input)? / batch_count;
    let blocks = input.workload.genesis.slot_count() as f64 / input.slots_per_block?;
    (keys > 0.0).then(|| distinct_share(keys / blocks))
}

/// Returns the expected number of distinct blocks per key, for `keys_per_block` random keys per
/// block.
pub fn distinct_share(keys_per_block: f64) -> f64 {
    match keys_per_block > 0.0 {
        true => -(-keys_per_block).exp_m1() / keys_per_block,
        false => 1.0,
    }
}

/// Estimates a cold sample's time: the larger of all reads at the device's ceiling, and of the
/// serial reads at the latency of one read. Blocks in a cache below the machine take less time.
/// `None` if the device is unknown or the sample is not cold.
pub fn time_by_device(input: &CellInput<'_>) -> Option<Duration> {
    (input.cache == CacheMode::Cold).then_some(())?;
    let device = input.device?;
    let blocks = present_key_count(input)? * expected_blocks_per_present_key(input)?;
    let by_rate = blocks / device.ceiling_iops?;
    let by_chain = serial_read_count(input, blocks) * device.depth1_p50_ns? as f64 / 1e9;
    Duration::try_from_secs_f64(by_rate.max(by_chain)).ok()
}
