//! The written result of a run (`stress.result/3`): its plan, machine and figures, sample by
//! sample. Unknown values are `null`, never a default. Times are integer nanoseconds.
//! `docs/result.md` explains each key; changing one is a change of the schema.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use variant::{
    AccountReads, CodeReads, Design, Engine, ListDuty, ListForm, ReadOrder, ReadTime, RootTime,
    SampleKeys, Schedule, Sharing, StopRule, StoreKind,
};

use crate::{
    clients::ClientCell,
    environment::Environment,
    figures::{Bucket, Counters},
    named::{Name, NameOrNone, NameOrNull},
    names::{Bottleneck, Bound, IoKind, Priority, Verdict},
    phases::{PathNs, PhasesNs},
    pooled::{CellDatabases, DatabaseFacts},
    schema::schema,
    ways::{RootFacts, RootWayFacts, ShardWayFacts, ShardWorkFacts},
    writes::{BatchFigures, WriteFacts},
};

pub use crate::{
    facts::{
        BalBytes, CacheFacts, DRIFT_MAX, Device, Fill, FrameFacts, HOST_CACHE_RATIO, LoadFill,
        ProfileFacts, SharedDevice, StoreFacts, Tool, WorkloadFacts,
    },
    figures::{Estimate, Percentiles},
};

schema! {
    /// The schema of a [`RunResult`]. Version 2 called `abort_rate`, `bottleneck` and
    /// `bottleneck_share` of a cell `vain_share`, `binds` and `binds_share`.
    SCHEMA: RunSchema = "stress.result/3", or "stress.result/2"
}

/// A whole result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// Name and version of this format.
    pub schema: RunSchema,
    /// The program that made the result.
    pub tool: Tool,
    /// The command line, to repeat the run.
    pub command: Vec<String>,
    /// Start of the run, seconds since 1970.
    pub started_unix_s: u64,
    /// Seed of the run's own draws: the blocks that measured the device, and the keys of samples
    /// with keys of their own.
    pub draw_seed: u64,
    /// The workload.
    pub workload: WorkloadFacts,
    /// The machine.
    pub environment: Environment,
    /// The device under the state; `null` for a run without a device.
    pub device: Option<Device>,
    /// The stores that were used.
    pub stores: Vec<StoreFacts>,
    /// Settings chosen for this machine where the user gave no value, each with its reason.
    #[serde(default)]
    pub choices: Vec<String>,
    /// Reason why no row runs whole blocks, where some would by default, and the remedy; else
    /// `null`.
    #[serde(default)]
    pub not_whole: Option<String>,
    /// The user's command before each sample, outside its clock.
    #[serde(default)]
    pub prepare: Option<String>,
    /// The user's command after the last sample.
    #[serde(default)]
    pub cleanup: Option<String>,
    /// Whether every sample of every cell equals the reference; `null` before the first sample.
    pub agree: Option<bool>,
    /// The first differences, where a sample does not equal the reference.
    #[serde(default)]
    pub disagreements: Vec<String>,
    /// Whether the run ended before its plan was complete.
    pub interrupted: bool,
    /// The scenario's claims, and whether each holds.
    pub expects: Expects,
    /// Reasons to doubt the figures, each with its remedy.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// One cell for each store and variant.
    #[serde(deserialize_with = "cells")]
    pub cells: Vec<Cell>,
    /// One cell for each client that executed the same blocks by its Engine API; empty without a
    /// client.
    #[serde(default)]
    pub clients: Vec<ClientCell>,
    /// The databases of a run on several databases; empty for a run on one.
    #[serde(default)]
    pub databases: Vec<DatabaseFacts>,
    /// CPU profile of a variant; `null` without a profile.
    pub profile: Option<ProfileFacts>,
    /// The conclusion, in one line.
    pub conclusion: Option<String>,
}

impl RunResult {
    /// Whether the designs agree in every sample, so that the figures may be shown.
    pub fn is_sound(&self) -> bool {
        let mut samples = self.cells.iter().flat_map(|cell| &cell.samples);
        self.agree == Some(true) && samples.all(|sample| sample.agree)
    }

    /// The cell of the client of this name.
    pub fn client(&self, name: &str) -> Option<&ClientCell> {
        self.clients.iter().find(|cell| cell.client == name)
    }

    /// The cell of this variant.
    pub fn cell(&self, variant: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.variant == variant)
    }
}

/// The scenario's claims.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expects {
    /// Number of claims.
    pub count: u64,
    /// The verdict on all claims, or the reason to skip them; `null` without claims.
    pub status: Option<String>,
    /// Each judged claim, once for each of its stores.
    pub claims: Vec<Claim>,
}

/// A bound on a figure, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// The figure, such as `speedup(batched-io, parallel-io)`.
    pub metric: String,
    /// Store of the claim; `null` where the claim does not depend on the store.
    #[serde(default, with = "NameOrNull::<StoreKind>")]
    pub store: Option<StoreKind>,
    /// Kind of the bound: `min` or `max`.
    #[serde(with = "Name::<Bound>")]
    pub bound: Bound,
    /// The bound, in the metric's unit.
    pub limit: f64,
    /// Value of the figure; a median where it is over samples.
    pub value: Option<f64>,
    /// The end of the figure's 95 % interval that must keep the bound: the lower end for `min`, the
    /// upper end for `max`.
    pub near_end: Option<f64>,
    /// Verdict on the claim: `holds`, `fails`, `inconclusive`, `not judged`, `skipped`.
    #[serde(with = "Name::<Verdict>")]
    pub verdict: Verdict,
    /// Reason for the lack of a verdict.
    pub reason: Option<String>,
}

/// One store and variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Name of the cell: `rocksdb/batched-io/bal+batched@2+64io`.
    pub variant: String,
    /// The store.
    #[serde(with = "Name::<StoreKind>")]
    pub store: StoreKind,
    /// The design.
    #[serde(with = "Name::<Design>")]
    pub design: Design,
    /// The list's form.
    #[serde(with = "NameOrNone::<ListForm>")]
    pub list: Option<ListForm>,
    /// Duty towards the list, for an engine that does not take a list.
    #[serde(with = "Name::<ListDuty>")]
    pub list_duty: ListDuty,
    /// The engine.
    #[serde(with = "Name::<Engine>")]
    pub engine: Engine,
    /// The way to read the state below the batch.
    #[serde(with = "Name::<IoKind>")]
    pub io: IoKind,
    /// The prefetch policy; `null` without readers.
    pub prefetch: Option<PrefetchFacts>,
    /// Order in which threads take transactions.
    #[serde(with = "Name::<Schedule>")]
    pub schedule: Schedule,
    /// Time at which the state root is computed; absent in results of builds without roots.
    #[serde(default, with = "Name::<RootTime>")]
    pub root: RootTime,
    /// Duties on blocks beside execution, in their order. Empty: execution alone, with the list
    /// and, if there is one, the root.
    #[serde(default)]
    pub duties: Vec<String>,
    /// Settings of the state root; `null` without a root.
    #[serde(default)]
    pub root_way: Option<RootWayFacts>,
    /// Threads that execute.
    pub threads: u64,
    /// Transactions under way on each executing thread; 1 where a read blocks its thread.
    #[serde(default = "one")]
    pub fibers: u64,
    /// Shards that execute, each with `threads` threads; 0 where the program itself executes.
    #[serde(default)]
    pub shards: u64,
    /// Settings of the shards; `null` without shards, and in results of builds without shards.
    #[serde(default)]
    pub sharding: Option<ShardWayFacts>,
    /// Threads that only read.
    pub io_threads: u64,
    /// Most reads under way of each reading thread; `null` without such threads.
    pub reads_per_reader: Option<u64>,
    /// Counts that are equal in every sample; `null` without a sample, and where databases differ.
    pub counters: Option<Counters>,
    /// Number of warm-up samples at the start; `null` where the end of the warm-up is not known.
    /// Throughput, times, latencies and the device's share leave these samples out.
    pub warm_up_sample_count: Option<u64>,
    /// The databases' values that the figures are pooled from; `null` for a run on one database.
    pub databases: Option<CellDatabases>,
    /// All samples in the order they were taken.
    pub samples: Vec<SampleFacts>,
    /// Gas per second over the samples.
    pub mgas_per_s: Estimate,
    /// Median gas per second by the headers' gas; `null` where it equals that of the receipts.
    #[serde(default)]
    pub header_mgas_per_s: Option<f64>,
    /// Milliseconds per batch over the samples.
    pub ms_per_batch: Estimate,
    /// Speed of the cell as a multiple of other cells' speed.
    pub times: TimesAsFast,
    /// Milliseconds per batch without waiting for verification; `null`s where nothing is verified.
    pub unverified_ms_per_batch: Estimate,
    /// Priority of the threads that verify: `idle`, `nice 19` or `normal`; `null` without such
    /// threads.
    #[serde(default, with = "NameOrNull::<Priority>")]
    pub verifier_priority: Option<Priority>,
    /// Share of the keys that the warm-up had read, among the keys that the run in order asked for;
    /// median; `null` without a warm-up.
    pub warm_up_found_share: Option<f64>,
    /// Times of single batches, and writes of batches.
    #[serde(default)]
    pub batch_figures: BatchFigures,
    /// Time per transaction over the samples after the warm-up, reads included.
    pub tx_latency_ns: Percentiles,
    /// Time per read of the store over the samples after the warm-up; `null`s where the store is
    /// not timed.
    pub read_latency_ns: Percentiles,
    /// Histogram of the times of `tx_latency_ns`. It begins with an empty range, and each range is a
    /// quarter longer than the one before.
    #[serde(default)]
    pub tx_latency_histogram: Vec<Bucket>,
    /// Histogram of the times of `read_latency_ns`.
    #[serde(default)]
    pub read_latency_histogram: Vec<Bucket>,
    /// Whether reads were made in batches. Then each read counts as long as its batch.
    pub read_latency_of_batches: bool,
    /// The longest transaction of each batch as a share of the wall time; median.
    pub longest_tx_share: Option<f64>,
    /// (T − A) / (T − L) of all transactions T, the longest L and the phase `execute` A; median.
    pub scheduling_quality: Option<f64>,
    /// Time in which executing threads ran no step, as a share of their time; median.
    pub idle_share: Option<f64>,
    /// Thread time to recover one sender; median.
    pub recover_ns_per_tx: Option<f64>,
    /// Senders recovered a second, on as many threads as execute transactions; median.
    pub recover_tx_per_s: Option<f64>,
    /// Block reads per second over the device's rate on the same blocks, at most 1; median.
    pub device_fraction: Option<f64>,
    /// 95 % confidence interval of the device's share; `null` below six samples.
    pub device_fraction_ci95: Option<[f64; 2]>,
    /// Reason for an unknown share of the device, else `null`.
    pub device_fraction_unknown: Option<String>,
    /// Block reads per second over the ceiling of uniform random reads; median. Above 1 if blocks
    /// lie close together, or several are read in one request.
    pub uniform_ceiling_ratio: Option<f64>,
    /// Block reads per listed key that exists; median. A block counts twice if it was evicted, or
    /// if two threads asked for it at once.
    pub blocks_per_present_key: Option<f64>,
    /// Distinct blocks per key if as many keys of this state were random, by calculation.
    pub expected_blocks_per_present_key: Option<f64>,
    /// Device bytes per block that the store read; median.
    pub device_bytes_per_block: Option<f64>,
    /// Mean number of reads under way while the store reads; median. A call that reads many keys
    /// together counts each read that it has under way.
    pub reads_in_flight: Option<f64>,
    /// Share of values that were ready when an executing thread asked for them; median.
    pub ready_share: Option<f64>,
    /// CPU time of the process per key read; median.
    pub cpu_ns_per_read: Option<f64>,
    /// Aborted executions of steps over all executions; median. `null` for an engine that runs no
    /// step before its turn.
    #[serde(alias = "vain_share")]
    pub abort_rate: Option<f64>,
    /// The bottleneck: the term that bounds the time from below. `device`, `cpu`, `chain`, or
    /// `null`.
    #[serde(default, alias = "binds", with = "NameOrNull::<Bottleneck>")]
    pub bottleneck: Option<Bottleneck>,
    /// The bottleneck's term over the wall time, from medians; `null` where no term is known.
    #[serde(default, alias = "binds_share")]
    pub bottleneck_share: Option<f64>,
    /// Whether the state was cold.
    pub cache: CacheFacts,
}

/// Reads the cells of a file. Earlier builds also wrote the requested cache state for a store
/// without a device.
fn cells<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Cell>, D::Error> {
    let mut cells = Vec::<Cell>::deserialize(from)?;
    for Cell { store, cache, .. } in &mut cells {
        cache.want = cache.want.and_then(|want| store.cache_state(want));
    }
    Ok(cells)
}

/// Speed of a cell as a multiple of other cells' speed, from medians of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimesAsFast {
    /// Speed over the speed of `sequential` on the same store; `null` if `sequential` was not run.
    pub in_order: Option<f64>,
    /// Speed over the speed of the same variant on one thread; `null` on one thread, and if that
    /// variant was not run.
    pub one_thread: Option<f64>,
}

/// The prefetch policy of readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrefetchFacts {
    /// When readers read.
    #[serde(with = "Name::<ReadTime>")]
    pub time: ReadTime,
    /// Order of the reads.
    #[serde(with = "Name::<ReadOrder>")]
    pub order: ReadOrder,
    /// When accounts are read.
    #[serde(with = "Name::<AccountReads>")]
    pub accounts: AccountReads,
    /// When codes are read.
    #[serde(with = "Name::<CodeReads>")]
    pub codes: CodeReads,
    /// The event that ends the readers' work.
    #[serde(with = "Name::<StopRule>")]
    pub stop: StopRule,
    /// How readers share the keys.
    #[serde(with = "Name::<Sharing>")]
    pub share: Sharing,
    /// Keys that a reader takes at a time; `null`: as many as the store reads best.
    pub chunk_key_count: Option<u64>,
}

/// One sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampleFacts {
    /// From the clock's start to the last commit, or to the end of the flushes and compactions that
    /// the commits caused. Inspections of files between batches are not counted.
    pub wall_ns: u64,
    /// Seed of the sample's work: the workload's seed, or one of the sample's own over the same
    /// state.
    pub seed: u64,
    /// Origin of the sample's work: the workload, or work of its own. Figures of samples with work
    /// of their own are not exact, because each has other keys.
    #[serde(with = "Name::<SampleKeys>")]
    pub keys: SampleKeys,
    /// Share of the sample's keys that earlier samples of this run requested from the same store. A
    /// cache below this machine may hold these keys. `null` where this was not counted.
    pub asked_before_share: Option<f64>,
    /// Wall time without the part in which only verification went on, after execution; `null` where
    /// nothing is verified.
    pub unverified_wall_ns: Option<u64>,
    /// The effect of the warm-up; `null` without one.
    pub warm_up: Option<WarmUpFacts>,
    /// Gas used.
    pub gas: u64,
    /// Whether the sample equals the reference.
    pub agree: bool,
    /// Duration of each phase. Phases overlap, so their sum may exceed the wall time.
    pub phases_ns: PhasesNs,
    /// Time on the critical path by part; `null` in results of builds without this figure.
    #[serde(default)]
    pub path_ns: Option<PathNs>,
    /// Reads requested from the store.
    pub store_reads: u64,
    /// Accounts and slots that the lists name: the same for all cells.
    pub unique_keys: u64,
    /// Blocks that the store read from its files.
    pub blocks_read: Option<u64>,
    /// Bytes that the store requested from its files.
    pub block_bytes: Option<u64>,
    /// Blocks a second, from the start of the first read to the end of the last.
    pub blocks_per_s: Option<f64>,
    /// Blocks a second of a plain ring that makes the same requests right after the sample.
    pub trace_blocks_per_s: Option<f64>,
    /// Read requests of the whole device during the sample, those of other processes too.
    pub disk_requests: Option<u64>,
    /// Bytes of these read requests.
    pub disk_bytes: Option<u64>,
    /// Pages that hold the declared rows, for a cold sample that reads through the page cache.
    pub row_pages: Option<u64>,
    /// Pages of declared rows that were in memory just before the clock's start.
    pub resident_row_pages: Option<u64>,
    /// Bytes that this process read from devices.
    pub device_read_bytes: Option<u64>,
    /// System calls that read, in this process.
    pub read_syscalls: Option<u64>,
    /// Allocations of Rust code in this process; `null` in a run, which does not count them.
    #[serde(default)]
    pub allocations: Option<u64>,
    /// Instructions of this process in user mode; `null` in a run, and on a machine without the
    /// counter.
    #[serde(default)]
    pub instructions: Option<u64>,
    /// CPU time of the process, user and system.
    pub cpu_ns: Option<u64>,
    /// Reads of the store by threads that read ahead.
    pub reads_by_readers: u64,
    /// Reads of the store by threads that execute.
    pub reads_by_executors: u64,
    /// Values that were ready when an executing thread asked for them.
    pub ready_on_arrival: u64,
    /// Values that another thread was reading when an executing thread asked for them.
    pub read_wait_count: u64,
    /// Time that executing threads waited for values that other threads were reading, summed.
    pub read_wait_ns: u64,
    /// Time of the longest transaction of each batch, summed.
    pub longest_tx_ns: u64,
    /// Sum of all transactions' times.
    pub tx_total_ns: u64,
    /// The cost of running steps before their turn; `null` for other engines.
    pub speculation: Option<SpeculationFacts>,
    /// Time in which executing threads ran no step, summed over the threads.
    pub idle_ns: Option<u64>,
    /// Time of all steps on as many threads, if threads got steps in block order at no cost.
    pub makespan_block_order_ns: Option<u64>,
    /// Time of all steps on as many threads, if threads got the longest steps first at no cost.
    pub makespan_longest_first_ns: Option<u64>,
    /// Time to digest logs, return data and net changes after the clock. No client does this work,
    /// and the wall time excludes it.
    pub digest_ns: u64,
    /// Time to recover all senders, before the clock; `null` where it was not requested.
    pub recover_ns: Option<u64>,
    /// Work for the state roots; `null` without state roots.
    #[serde(default)]
    pub root_work: Option<RootFacts>,
    /// Work for execution on shards; `null` without shards.
    #[serde(default)]
    pub shard_work: Option<ShardWorkFacts>,
    /// Time of each batch to the end of its commit, in order; empty in older results.
    #[serde(default)]
    pub batch_ns: Vec<u64>,
    /// Writes of the commits; `null` in results from before writes were counted.
    #[serde(default)]
    pub writes: Option<WriteFacts>,
}

/// The cost of running steps before their turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpeculationFacts {
    /// Steps: transactions, and two for each block.
    pub step_count: u64,
    /// Executions of steps, aborted ones included.
    pub execution_count: u64,
    /// Validations: checks that the values that an execution read are still current.
    pub validation_count: u64,
    /// Aborted executions.
    pub abort_count: u64,
    /// Executions that waited for a lower step.
    pub wait_count: u64,
    /// Steps with at least one aborted execution.
    pub aborted_step_count: u64,
    /// The most aborted executions of one step.
    pub most_aborts_of_a_step: u64,
}

/// The effect of a speculative pass. A key is an account, a slot or a code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUpFacts {
    /// Reads of the store by the pass.
    pub reads: u64,
    /// Keys that the run in order asked for.
    pub asked: u64,
    /// Keys that the run in order asked for and the pass had read.
    pub found: u64,
    /// Keys that the pass had read and the run in order did not ask for.
    pub unused: u64,
    /// Wall time between the end of a batch's run in order and the end of the pass. No client waits
    /// for it.
    pub pass_wait_ns: u64,
}

/// Default of `fibers` for files of builds without fibers.
const fn one() -> u64 {
    1
}
