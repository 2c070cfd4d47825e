//! Sums up the measurements of a cell for a result. A measurement is dropped after it is summed up,
//! so memory does not grow with the size of a sample.

mod input;
mod numbers;
mod path;
mod pieces;
mod sample;
mod scheduling;
mod ways;

use executor::{place::RowPages, recover::Recovered, sample::Measurement};
use hdrhistogram::Histogram;
use report::units;
use result::{
    BatchFigures, Bottleneck, CacheFacts, Cell, Counters, Estimate, Priority, SampleFacts,
    SpeedUps,
    stats::{self, WarmUpEnd},
};
use variant::{CacheMode, Io, ReadTime, SampleKeys, Variant};

use crate::figures::counters;

use input::{expected_blocks_per_present_key, present_key_count, serial_read_count};
pub use numbers::{ns, ratio, ratio_or_zero};
use pieces::Pieces;
use sample::sample;
use scheduling::Scheduling;
use ways::{policy_facts, priority, root_way};

pub use input::{CellInput, distinct_share, time_by_device};
pub use pieces::piece_size;
pub use ways::sharding_facts;

/// Minimal ratio of device bytes to bytes that the store asked of its files, for proved cold.
pub const COLD_SHARE: f64 = 0.95;
/// Size of a page of the page cache, in bytes.
const PAGE_BYTES: f64 = 4096.0;
/// Reads on demand are few if their share of all reads is at most 1 / `FEW_READS`.
const FEW_READS: u64 = 50;

/// The part of a cell's measurements that is kept: facts of each sample, and at most some megabytes
/// of latencies.
#[derive(Clone, Debug, Default)]
pub struct CellSamples {
    samples: Vec<SampleFacts>,
    /// The counters that all samples have in common; `None` for samples of different works.
    counters: Option<Counters>,
    /// Times of transactions, in nanoseconds.
    tx_latencies: Pieces,
    /// Times of reads, in nanoseconds.
    read_latencies: Pieces,
    /// Maximal number of reads that a reader makes in one call. Each of these reads has the latency
    /// of the whole call. `None`: a reader makes one read after the other.
    reads_at_once: Option<usize>,
    /// Priority of the threads that verify the values of a full list.
    verifier_priority: Option<Priority>,
    reads_in_flight: Vec<f64>,
    /// Reason why the last sample has no trace ceiling.
    no_trace_ceiling: Option<String>,
    /// Pages with rows or trie nodes, and how many were in memory at the clock's start. One entry
    /// for each sample that read through the page cache; an error is the reason for unknown pages.
    row_pages: Vec<Result<RowPages, String>>,
    scheduling: Vec<Scheduling>,
    recover_ns_per_tx: Vec<f64>,
    recover_rates: Vec<f64>,
}

/// Finds the end of the warm-up of cells that took turns: from there on, the times of all cells are
/// steady. The warm-up has whole rounds, so that compared samples stay together. In a run of many
/// rounds its length is a multiple of [`piece_size`], so that latencies and times come from the
/// same samples.
pub fn warm_up<'s>(cells: impl IntoIterator<Item = &'s CellSamples>) -> WarmUpEnd {
    let (mut count, mut size) = (0, 1);
    for samples in cells {
        match samples.warm_up() {
            WarmUpEnd::Found(of_cell) => count = of_cell.max(count),
            other => return other,
        }
        // Sizes are powers of two, so a multiple of the largest size is a multiple of each size.
        size = piece_size(samples.count()).max(size);
    }
    WarmUpEnd::Found(count.next_multiple_of(size))
}

/// Returns the number of first samples that all figures leave out. `None`: the end of the warm-up
/// is not known, and all samples count.
pub fn left_out_count<'s>(cells: impl IntoIterator<Item = &'s CellSamples>) -> Option<usize> {
    match warm_up(cells) {
        WarmUpEnd::Found(count) => Some(count),
        WarmUpEnd::Unknown | WarmUpEnd::NoEnd => None,
    }
}

impl CellSamples {
    pub const fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    pub fn last(&self) -> Option<&SampleFacts> {
        self.samples.last()
    }

    pub const fn count(&self) -> usize {
        self.samples.len()
    }

    /// Median of the wall times, in nanoseconds.
    pub fn wall_ns(&self) -> Option<f64> {
        self.median(|sample| Some(sample.wall_ns as f64))
    }

    /// Median of the throughputs so far, in MGas/s.
    pub fn mgas_per_s(&self) -> Option<f64> {
        self.median(|sample| stats::mgas_per_s(sample.gas, sample.wall_ns))
    }

    /// Sums up the measurement of the next sample.
    pub fn add(&mut self, input: &CellInput<'_>, measurement: &Measurement) {
        let executed = &measurement.executed;
        let scheduling = Scheduling::of(&input.variant, executed);
        self.samples.push(sample(input, measurement, &scheduling));
        let unique_keys = input.declared.count();
        let counted = counters::of(input.workload, &input.variant, unique_keys, measurement);
        let is_one_work = self.samples.iter().all(|sample| sample.keys == SampleKeys::Same);
        self.counters = is_one_work.then(|| match self.counters.take() {
            Some(before) => before.in_common(&counted),
            None => counted,
        });
        self.scheduling.push(scheduling);
        self.verifier_priority = executed.verifier_priority.map(priority);
        self.tx_latencies.add(executed.tx_latencies.histogram());
        let is_batched = matches!(input.variant.io, Io::Batched(_) | Io::FromList);
        self.reads_at_once = executed.prefetch_reads_at_once.filter(|_| is_batched);
        let mut all_reads = executed.prefetched.latencies.clone();
        all_reads.merge(&executed.on_demand.latencies);
        self.read_latencies.add(all_reads.histogram());
        let mut reads = executed.prefetched.clone();
        // A few reads on demand, of codes, do not count beside readers that end before execution,
        // or only verify. These reads would stretch the time from the first to the last read.
        let io = input.variant.io;
        let read_time = io.prefetch().map(|policy| policy.time);
        let is_apart = io == Io::FromList || read_time == Some(ReadTime::Before);
        let few = executed.counters.key_count / FEW_READS;
        if !is_apart || executed.on_demand.read_count > few {
            reads.merge(&executed.on_demand);
        }
        let window = reads.window.filter(|(start, end)| end > start);
        let window_s = window.map(|(start, end)| (end - start).as_secs_f64());
        self.reads_in_flight.extend(window_s.map(|s| reads.read_time_sum.as_secs_f64() / s));
        let rate = window_s.map(|s| executed.counters.block_count as f64 / s);
        if let Some(sample) = self.samples.last_mut() {
            sample.blocks_per_s = rate.filter(|_| input.never_cold.is_none());
        }
        self.row_pages.extend(measurement.row_pages.clone());
    }

    /// Adds the trace ceiling of the last sample, in blocks a second, or the reason for its lack.
    /// It is measured right after the sample.
    pub fn add_trace_ceiling(&mut self, ceiling: Result<f64, String>) {
        if let Some(sample) = self.samples.last_mut() {
            sample.trace_blocks_per_s = ceiling.as_ref().ok().copied();
        }
        self.no_trace_ceiling = ceiling.err();
    }

    /// Maximal number of reads that a reader has in flight.
    fn reads_per_reader(&self, input: &CellInput<'_>) -> u64 {
        let chunk = input.variant.io.prefetch().and_then(|policy| policy.chunk);
        let most = self.reads_at_once.unwrap_or(1);
        chunk.map_or(most, |keys| most.min(keys.get() as usize)) as u64
    }

    /// Adds the cost of recovering the senders before the last sample.
    pub fn add_recovery(&mut self, recovered: &Recovered) {
        if let Some(sample) = self.samples.last_mut() {
            sample.recover_ns = Some(ns(recovered.wall));
        }
        let tx_count = recovered.tx_count as f64;
        let work_ns = recovered.latencies.total().as_secs_f64() * 1e9;
        self.recover_ns_per_tx.extend(ratio(work_ns, tx_count));
        self.recover_rates.extend(ratio(tx_count, recovered.wall.as_secs_f64()));
    }

    fn median_scheduling(&self, figure: impl Fn(&Scheduling) -> Option<f64>) -> Option<f64> {
        stats::median(&self.scheduling.iter().filter_map(figure).collect::<Vec<_>>())
    }

    fn median(&self, figure: impl Fn(&SampleFacts) -> Option<f64>) -> Option<f64> {
        stats::median(&self.samples.iter().filter_map(figure).collect::<Vec<_>>())
    }

    pub fn warm_up(&self) -> WarmUpEnd {
        let times: Vec<_> = self.samples.iter().map(|sample| sample.wall_ns as f64).collect();
        stats::warm_up(&times)
    }

    /// Returns the times of transactions and the times of reads, without the first `warm_up`
    /// samples.
    pub fn latencies(&self, warm_up: Option<usize>) -> [Histogram<u64>; 2] {
        let left_out = warm_up.unwrap_or(0);
        [self.tx_latencies.after(left_out), self.read_latencies.after(left_out)]
    }

    /// Returns the cell of the result. Its first `warm_up` samples, a multiple of [`piece_size`],
    /// are left out of throughput, times, latencies and the device's share. `None`: the end of the
    /// warm-up is not known, and all samples count.
    pub fn cell(&self, input: &CellInput<'_>, warm_up: Option<usize>) -> Cell {
        let variant = &input.variant;
        let left_out = warm_up.unwrap_or(0).min(self.samples.len());
        let samples = &self.samples[left_out..];
        let gas_rates: Vec<_> =
            samples.iter().filter_map(|s| stats::mgas_per_s(s.gas, s.wall_ns)).collect();
        let batch_count = input.workload.batches.len().max(1) as f64;
        let [batch_ms, unverified_ms] = batch_ms(samples, batch_count);
        let present_keys = present_key_count(input);
        let [tx_latencies, read_latencies] = self.latencies(warm_up);
        let share = self.device_share(input, samples);
        let bottleneck = self.bottleneck(input);
        Cell {
            variant: format!("{}/{variant}", input.store),
            store: input.store,
            design: variant.design,
            list: variant.list,
            list_duty: variant.list_duty,
            engine: variant.engine,
            io: variant.io.into(),
            prefetch: variant.io.prefetch().map(|policy| policy_facts(&policy)),
            schedule: variant.schedule,
            root: variant.root.time,
            duties: variant.block_duties.iter().map(|duty| duty.name().to_owned()).collect(),
            root_way: root_way(&variant.root),
            threads: variant.thread_count as u64,
            fibers: variant.fiber_count as u64,
            shards: variant.sharding.count as u64,
            sharding: (!variant.sharding.is_none()).then(|| sharding_facts(&variant.sharding)),
            io_threads: variant.io_thread_count as u64,
            reads_per_reader: (variant.io_thread_count > 0).then(|| self.reads_per_reader(input)),
            counters: self.counters.clone(),
            warm_up_sample_count: warm_up.map(|count| count as u64),
            databases: None,
            samples: self.samples.clone(),
            mgas_per_s: stats::estimate(&gas_rates),
            header_mgas_per_s: input.header_rate(&gas_rates),
            ms_per_batch: stats::estimate(&batch_ms),
            times: SpeedUps::default(),
            unverified_ms_per_batch: stats::estimate(&unverified_ms),
            verifier_priority: self.verifier_priority,
            warm_up_found_share: self.median(found_share),
            batch_figures: BatchFigures::over(&samples.iter().collect::<Vec<_>>()),
            tx_latency_ns: stats::percentiles(&tx_latencies),
            read_latency_ns: stats::percentiles(&read_latencies),
            tx_latency_histogram: stats::buckets(&tx_latencies),
            read_latency_histogram: stats::buckets(&read_latencies),
            read_latency_of_batches: self.reads_at_once.is_some(),
            longest_tx_share: self.median(|s| ratio(s.longest_tx_ns as f64, s.wall_ns as f64)),
            scheduling_quality: self.median_scheduling(|s| s.quality),
            idle_share: self.median_scheduling(|s| s.idle_share),
            recover_ns_per_tx: stats::median(&self.recover_ns_per_tx),
            recover_tx_per_s: stats::median(&self.recover_rates),
            device_fraction: share.of_trace.median,
            device_fraction_ci95: share.of_trace.ci95,
            device_fraction_unknown: share.unknown,
            uniform_ceiling_ratio: share.of_uniform,
            blocks_per_present_key: self.median(|s| ratio(s.blocks_read? as f64, present_keys?)),
            expected_blocks_per_present_key: expected_blocks_per_present_key(input),
            device_bytes_per_block: self
                .median(|s| ratio(s.device_read_bytes? as f64, s.blocks_read? as f64)),
            reads_in_flight: stats::median(&self.reads_in_flight),
            ready_share: self.median(ready_share).filter(|_| asks_for_values(variant)),
            cpu_ns_per_read: self.median(|s| ratio(s.cpu_ns? as f64, s.store_reads as f64)),
            abort_rate: self.median(abort_rate),
            bottleneck: bottleneck.map(|bound| bound.term),
            bottleneck_share: bottleneck.and_then(|bound| bound.wall_share),
            cache: self.cache(input),
        }
    }

    /// Computes the share of the device's read rate that `samples` reached.
    fn device_share(&self, input: &CellInput<'_>, samples: &[SampleFacts]) -> DeviceShare {
        let ceiling = input.device.and_then(|device| device.ceiling_iops);
        let fractions: Vec<_> = samples.iter().filter_map(device_fraction).collect();
        let ratios: Vec<_> =
            samples.iter().filter_map(|s| ratio(s.blocks_per_s?, ceiling?)).collect();
        let of_trace = stats::estimate(&fractions);
        DeviceShare {
            unknown: match (of_trace.median, &input.never_cold) {
                (Some(_), _) => None,
                (None, Some(reason)) => Some((*reason).to_owned()),
                (None, None) => self.no_trace_ceiling.clone(),
            },
            of_trace,
            of_uniform: stats::median(&ratios),
        }
    }

    /// Returns the largest lower bound of the time: the device's reads, the CPU's work, or one
    /// thread's serial reads. Drops bounds by reads far above the measured time. `None` for a store
    /// with background work: its threads use CPU time, and no bound includes its writes.
    fn bottleneck(&self, input: &CellInput<'_>) -> Option<Bound> {
        if self.samples.iter().any(has_background) {
            return None;
        }
        // CPU time and reads of the shards' processes are not counted here.
        let device = input.device.filter(|_| input.variant.sharding.is_none())?;
        // Adjacent blocks that one request reads come faster than single blocks. The trace ceiling
        // includes that, if it is known.
        let device_rate = self.median(|s| s.trace_blocks_per_s).or(device.ceiling_iops);
        let blocks = self.median(|s| s.blocks_read.map(|blocks| blocks as f64))?;
        let root_blocks = self.median(|s| Some(s.root_work.as_ref()?.root_blocks_read? as f64));
        let cpu_s = self.median(|s| s.cpu_ns.map(|ns| ns as f64 / 1e9))?;
        let latency_s = device.depth1_p50_ns? as f64 / 1e9;
        let threads = input.variant.thread_count + input.variant.io_thread_count;
        let busy = threads.clamp(1, input.core_count.max(1));
        let serial_reads = match self.reads_at_once {
            // Reads made together do not wait for one another.
            Some(_) => 0.0,
            None => serial_read_count(input, blocks),
        };
        let terms = [
            (Bottleneck::Device, (blocks + root_blocks.unwrap_or(0.0)) / device_rate?),
            (Bottleneck::Cpu, cpu_s / busy as f64),
            (Bottleneck::Chain, serial_reads * latency_s),
        ];
        let wall_s = self.median(|s| Some(s.wall_ns as f64 / 1e9));
        let most_s = wall_s.map_or(f64::INFINITY, |wall_s| wall_s * READ_BOUND_SHARE_MAX);
        // Reads that would take longer than the sample overlapped, or a cache answered them.
        let bounds = terms.into_iter().filter(|(term, s)| *term == Bottleneck::Cpu || *s <= most_s);
        let (term, seconds) = bounds.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Bound { term, wall_share: wall_s.and_then(|wall_s| ratio(seconds, wall_s)) })
    }

    fn cache(&self, input: &CellInput<'_>) -> CacheFacts {
        let (proved, reason) = self.proved_cold(input);
        CacheFacts { want: input.store.cache_state(input.cache), proved, reason }
    }

    /// Returns whether cold is proved for the cell's samples, and why. `None`: that is not known.
    fn proved_cold(&self, input: &CellInput<'_>) -> (Option<bool>, String) {
        if let Some(reason) = input.never_cold {
            return (None, reason.to_owned());
        }
        if input.cache == CacheMode::Warm {
            let most = self.samples.iter().map(|s| s.device_read_bytes).max().flatten();
            let from_device = most.map_or("it is not known how much".to_owned(), |bytes| {
                format!("at most {}", units::bytes(bytes))
            });
            let reason = format!(
                "all declared keys were read once before the clock; {from_device} came from a \
                 device in a sample"
            );
            return (None, reason);
        }
        if self.samples.iter().all(|s| s.blocks_read == Some(0)) {
            return (None, "no block was read: the filters answered".to_owned());
        }
        if !self.row_pages.is_empty() {
            return cold_rows(&self.row_pages, &self.samples);
        }
        // A sample that asked its files for no bytes proves nothing either way.
        let asked = self.samples.iter().filter(|s| asked_bytes(s) != Some(0));
        let shares: Option<Vec<_>> =
            asked.map(|s| ratio(read_for_blocks(s)? as f64, asked_bytes(s)? as f64)).collect();
        let Some(lowest) = shares.and_then(|all| all.into_iter().min_by(f64::total_cmp)) else {
            return (None, "the kernel does not count bytes from devices".to_owned());
        };
        let reason = format!(
            "{lowest:.2} of the bytes asked of the files came from a device; the store's cache \
             was made empty before each sample"
        );
        (Some(lowest >= COLD_SHARE), reason)
    }
}

/// Maximal ratio of a lower bound by reads to the measured time. It is above 1, as the device's
/// rates vary from minute to minute.
const READ_BOUND_SHARE_MAX: f64 = 1.25;

/// The largest lower bound of a time.
#[derive(Clone, Copy)]
struct Bound {
    term: Bottleneck,
    /// The bound over the wall time.
    wall_share: Option<f64>,
}

/// The share of the device's read rate that some samples reached.
struct DeviceShare {
    /// Rate of block reads over the rate of a plain ring on the same blocks.
    of_trace: Estimate,
    unknown: Option<String>,
    /// Rate of block reads over the ceiling of single random blocks. It may be above 1, since one
    /// request may read adjacent blocks.
    of_uniform: Option<f64>,
}

/// Returns the block reads a second over the device's rate, at most 1. A plain ring measures that
/// rate on the sample's own blocks right after it. Where the sample was faster, its own rate is the
/// device's.
fn device_fraction(sample: &SampleFacts) -> Option<f64> {
    let (rate, again) = (sample.blocks_per_s?, sample.trace_blocks_per_s?);
    ratio(rate, again.max(rate))
}

/// Decides whether samples that read through the page cache were cold. Before the clock, no page
/// with a declared row, or with a trie node above a written key, may be in memory. At least
/// [`COLD_SHARE`] of the bytes of the rows' pages must come from a device.
fn cold_rows(
    row_pages: &[Result<RowPages, String>],
    samples: &[SampleFacts],
) -> (Option<bool>, String) {
    let mut lowest = f64::INFINITY;
    for (pages, sample) in row_pages.iter().zip(samples) {
        let RowPages { page_count, resident_count, node_page_count, resident_node_count } =
            match pages {
                Ok(pages) => *pages,
                Err(reason) => return (None, format!("pages with rows are not known: {reason}")),
            };
        if resident_node_count > 0 {
            let reason = format!(
                "{resident_node_count} of the {node_page_count} pages with nodes above the written keys \
                 were in memory just before the clock"
            );
            return (Some(false), reason);
        }
        if resident_count > 0 {
            let reason = format!(
                "{resident_count} of the {page_count} pages with declared rows were in memory just \
                 before the clock"
            );
            return (Some(false), reason);
        }
        let Some(bytes) = sample.device_read_bytes else {
            return (None, "the kernel does not count bytes from devices".to_owned());
        };
        lowest = ratio(bytes as f64, page_count as f64 * PAGE_BYTES).unwrap_or(1.0).min(lowest);
    }
    let has_nodes = row_pages.iter().flatten().any(|pages| pages.node_page_count > 0);
    let nodes = if has_nodes { ", or with a node above a written key," } else { "" };
    let reason = format!(
        "no page with a declared row{nodes} was in memory just before the clock; {lowest:.2} of the \
         bytes of the rows' pages came from a device"
    );
    (Some(lowest >= COLD_SHARE), reason)
}

/// Whether the store did background work, such as compactions.
fn has_background(sample: &SampleFacts) -> bool {
    sample.writes.as_ref().is_some_and(|writes| writes.store.is_some())
}

/// Bytes that came from a device for the store's blocks. Reads of compactions are left out, as they
/// prove nothing.
fn read_for_blocks(sample: &SampleFacts) -> Option<u64> {
    let store = sample.writes.as_ref().and_then(|writes| writes.store);
    let compacted = store.map_or(0, |store| store.compaction_read_bytes);
    Some(sample.device_read_bytes?.saturating_sub(compacted))
}

/// Bytes that the store asked of its files, for keys and for the root.
fn asked_bytes(sample: &SampleFacts) -> Option<u64> {
    let for_root = sample.root_work.as_ref().and_then(|root| root.root_block_bytes);
    Some(sample.block_bytes? + for_root.unwrap_or(0))
}

/// Returns two lists of milliseconds per batch. The first has each sample with its wait for
/// verification, the second each sample that has a time without that wait.
fn batch_ms(samples: &[SampleFacts], batch_count: f64) -> [Vec<f64>; 2] {
    let ms = |wall_ns: u64| wall_ns as f64 / 1e6 / batch_count;
    let all = samples.iter().map(|s| ms(s.wall_ns)).collect();
    [all, samples.iter().filter_map(|s| s.unverified_wall_ns.map(ms)).collect()]
}

/// Share of the keys that the run in order requested and the speculative pass had found.
fn found_share(sample: &SampleFacts) -> Option<f64> {
    let warm_up = sample.warm_up?;
    ratio(warm_up.found as f64, warm_up.asked as f64)
}

/// Share of the executions that were aborted.
fn abort_rate(sample: &SampleFacts) -> Option<f64> {
    let speculation = sample.speculation?;
    ratio(speculation.abort_count as f64, speculation.execution_count as f64)
}

/// Whether executing threads of this process ask for values that other threads may have read.
const fn asks_for_values(variant: &Variant) -> bool {
    variant.list.is_some() && variant.sharding.is_none()
}

/// Share of the values that were there when an executing thread asked for them.
fn ready_share(sample: &SampleFacts) -> Option<f64> {
    let asked = sample.ready_on_arrival + sample.read_wait_count + sample.reads_by_executors;
    ratio(sample.ready_on_arrival as f64, asked as f64)
}

#[cfg(test)]
mod tests;
