//! The metrics of a run.

use result::{Cell, Device, Estimate, RunResult, SampleFacts};

use super::{
    exposition::{Exposition, Labels, Metric},
    shared::{Ended, add_claims, add_counters},
};

const AGREE: Metric =
    Metric("stress_agree", "1 if every sample equals the reference, 0 if one does not.");
const INTERRUPTED: Metric = Metric("stress_interrupted", "1 if the run ended before its plan did.");
const WORKLOAD_GAS: Metric = Metric("stress_workload_gas", "Gas of the workload.");
const WORKLOAD_BLOCKS: Metric = Metric("stress_workload_blocks", "Blocks of the workload.");
const WORKLOAD_BATCHES: Metric =
    Metric("stress_workload_batches", "Batches that the blocks are run in.");
const WORKLOAD_TRANSACTIONS: Metric =
    Metric("stress_workload_transactions", "Transactions of the workload.");
const CEILING: Metric = Metric(
    "stress_device_ceiling_reads_per_second",
    "Random reads of 4 KiB a second that the device gave, before and after the samples.",
);

/// The metrics of an estimate: its median, and the lower and the upper end of its interval.
type Estimated = [Metric; 3];

const fn estimated(median: Metric, low: &'static str, high: &'static str) -> Estimated {
    let of_low = "Lower end of the 95 % confidence interval of that median.";
    let of_high = "Upper end of the 95 % confidence interval of that median.";
    [median, Metric(low, of_low), Metric(high, of_high)]
}

const BATCH_DURATION: Estimated = estimated(
    Metric(
        "stress_batch_duration_median_seconds",
        "Time of a batch of blocks, median over the samples.",
    ),
    "stress_batch_duration_ci95_low_seconds",
    "stress_batch_duration_ci95_high_seconds",
);
const THROUGHPUT: Estimated = estimated(
    Metric("stress_throughput_median_gas_per_second", "Gas a second, median over the samples."),
    "stress_throughput_ci95_low_gas_per_second",
    "stress_throughput_ci95_high_gas_per_second",
);
const UTILIZATION: Estimated = estimated(
    Metric(
        "stress_device_utilization_ratio",
        "Block reads a second over the device's rate on the same blocks, median.",
    ),
    "stress_device_utilization_ci95_low_ratio",
    "stress_device_utilization_ci95_high_ratio",
);
const SPEEDUP: Metric = Metric(
    "stress_speedup_in_order_ratio",
    "Speed as a multiple of that of sequential on the same store.",
);
const COLD: Metric = Metric(
    "stress_cold_proved",
    "1 if it is proved that the state was as cold as asked, 0 if it was not.",
);
const SAMPLES: Metric = Metric("stress_samples_total", "Samples, with the warm-up.");
const WARM_UP: Metric = Metric(
    "stress_warm_up_samples_total",
    "First samples that belong to the warm-up and count for no time.",
);

const NS_PER_S: f64 = 1e9;
const MS_PER_S: f64 = 1e3;
const GAS_PER_MGAS: f64 = 1e6;

/// A sum over all samples of a cell: name and help of its counter, and the value of a sample. A
/// name with `seconds` is of nanoseconds.
type Sum = (&'static str, &'static str, fn(&SampleFacts) -> Option<u64>);

const SUMS: [Sum; 8] = [
    ("stress_wall_seconds_total", "Wall time of all samples.", |of| Some(of.wall_ns)),
    ("stress_cpu_seconds_total", "CPU time of all samples.", |of| of.cpu_ns),
    ("stress_gas_total", "Gas of all samples.", |of| Some(of.gas)),
    ("stress_store_reads_total", "Reads that all samples asked of the store.", |of| {
        Some(of.store_reads)
    }),
    (
        "stress_blocks_read_total",
        "Blocks that the store read from its files in all samples.",
        |of| of.blocks_read,
    ),
    (
        "stress_block_read_bytes_total",
        "Bytes that the store asked of its files in all samples.",
        |of| of.block_bytes,
    ),
    (
        "stress_device_read_bytes_total",
        "Bytes that the process read from devices in all samples.",
        |of| of.device_read_bytes,
    ),
    ("stress_read_syscalls_total", "System calls that read in all samples.", |of| of.read_syscalls),
];

/// The metrics of a run that ends with this exit code.
pub fn metrics_of_run(result: &RunResult, exit_code: u8) -> String {
    let mut all = Exposition::default();
    let RunResult { tool, workload, warnings, .. } = result;
    let started_unix_s = result.started_unix_s;
    let labels = Labels::default().with("scenario", workload.scenario.clone());
    let ended = Ended { verb: "run", exit_code, started_unix_s, warnings, tool: Some(tool) };
    ended.add_to(&mut all, &labels);
    all.add(AGREE, &labels, result.agree.map(f64::from));
    all.add(INTERRUPTED, &labels, f64::from(result.interrupted));
    let work = labels.with("workload", workload.digest.clone());
    all.add(WORKLOAD_GAS, &work, workload.gas as f64);
    all.add(WORKLOAD_BLOCKS, &work, workload.block_count as f64);
    all.add(WORKLOAD_BATCHES, &work, workload.batch_count as f64);
    all.add(WORKLOAD_TRANSACTIONS, &work, workload.tx_count as f64);
    if !result.is_sound() {
        return all.text();
    }
    if let Some(Device { ceiling_iops, ceiling_end_iops, .. }) = &result.device {
        all.add(CEILING, &labels.with("when", "before"), *ceiling_iops);
        all.add(CEILING, &labels.with("when", "after"), *ceiling_end_iops);
    }
    add_claims(&mut all, &labels, &result.expects);
    for cell in &result.cells {
        add_cell(&mut all, &labels, cell);
    }
    all.text()
}

/// The metrics of a run or a gate, as `verb` says, that ended without a result.
pub fn metrics_of_failure(verb: &'static str, started_unix_s: u64, exit_code: u8) -> String {
    let mut all = Exposition::default();
    let ended = Ended { verb, exit_code, started_unix_s, warnings: &[], tool: None };
    ended.add_to(&mut all, &Labels::default());
    all.text()
}

fn add_cell(all: &mut Exposition, labels: &Labels, cell: &Cell) {
    let labels = labels
        .with("variant", cell.variant.clone())
        .with("store", cell.store.name())
        .with("design", cell.design.name())
        .with("threads", cell.threads.to_string());
    add_estimate(all, &labels, &BATCH_DURATION, scaled(&cell.ms_per_batch, 1.0 / MS_PER_S));
    add_estimate(all, &labels, &THROUGHPUT, scaled(&cell.mgas_per_s, GAS_PER_MGAS));
    let fraction = [
        cell.device_fraction,
        cell.device_fraction_ci95.map(|[low, _]| low),
        cell.device_fraction_ci95.map(|[_, high]| high),
    ];
    add_estimate(all, &labels, &UTILIZATION, fraction);
    all.add(SPEEDUP, &labels, cell.times.in_order);
    all.add(COLD, &labels, cell.cache.proved.map(f64::from));
    all.add(SAMPLES, &labels, cell.samples.len() as f64);
    all.add(WARM_UP, &labels, cell.warm_up_sample_count.map(|count| count as f64));
    if let Some(counters) = &cell.counters {
        add_counters(all, &labels, counters);
    }
    for (name, help, of) in SUMS {
        let sum: Option<u64> = cell.samples.iter().map(of).sum();
        let per_unit = if name.contains("seconds") { NS_PER_S } else { 1.0 };
        all.add(Metric(name, help), &labels, sum.map(|sum| sum as f64 / per_unit));
    }
}

/// Median, lower end and upper end of an estimate, each times `factor`.
fn scaled(estimate: &Estimate, factor: f64) -> [Option<f64>; 3] {
    let [low, high] = [0, 1].map(|end| estimate.ci95.map(|ends| ends[end]));
    [estimate.median, low, high].map(|value| value.map(|value| value * factor))
}

fn add_estimate(
    all: &mut Exposition,
    labels: &Labels,
    metrics: &Estimated,
    values: [Option<f64>; 3],
) {
    for (metric, value) in metrics.iter().zip(values) {
        all.add(*metric, labels, value);
    }
}
