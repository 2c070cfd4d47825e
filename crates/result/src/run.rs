//! The result of a run, in the form in which it is written (`stress.result/3`): its plan, machine
//! and figures, and each sample. Unknown values are `null`, never a default. Times are integer
//! nanoseconds. `src/figures/` fills it. `docs/result.md` explains each key; changing a key is a
//! change of the schema.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use variant::{
    AccountReads, CodeReads, Design, Engine, ListDuty, ListForm, ReadOrder, ReadTime, ReaderShare,
    RootTime, SampleKeys, Schedule, StopRule, StoreKind,
};

use crate::{
    clients::ClientCell,
    environment::Environment,
    figures::{Bucket, Counters},
    named::{Name, NameOrNone, NameOrNull},
    names::{Bottleneck, Bound, ClaimVerdict, IoKind, Priority},
    phases::{PathNs, PhasesNs},
    pooled::{CellDatabases, DatabaseFacts},
    root_and_shards::{RootFacts, RootWayFacts, ShardWayFacts, ShardWorkFacts},
    schema::schema,
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
    /// The schema of a [`RunResult`]. In version 2, the keys `abort_rate`, `bottleneck` and
    /// `bottleneck_share` of a cell were called `vain_share`, `binds` and `binds_share`.
    SCHEMA: RunSchema = "stress.result/3", or "stress.result/2"
}

/// The whole result of a run.
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
    /// Seed of the run's own draws: the blocks that measured the device, and fresh keys, which are
    /// keys of one sample alone.
    pub draw_seed: u64,
    /// The workload.
    pub workload: WorkloadFacts,
    /// The machine that ran the workload.
    pub environment: Environment,
    /// The device below the state; `null` for a run without a device.
    pub device: Option<Device>,
    /// The stores of the run.
    pub stores: Vec<StoreFacts>,
    /// Settings chosen for this machine where the user gave no value, each with its reason.
    #[serde(default)]
    pub choices: Vec<String>,
    /// Reason why no row executes whole blocks although some would by default, with the remedy;
    /// else `null`.
    #[serde(default)]
    pub not_whole: Option<String>,
    /// The user's command that ran before each sample, outside the clock.
    #[serde(default)]
    pub prepare: Option<String>,
    /// The user's command that ran after the last sample.
    #[serde(default)]
    pub cleanup: Option<String>,
    /// Whether every sample of every cell equals the reference; `null` before the first sample.
    pub agree: Option<bool>,
    /// The first differences of samples from the reference; empty if all samples equal it.
    #[serde(default)]
    pub disagreements: Vec<String>,
    /// Whether the run ended before its plan was complete.
    pub interrupted: bool,
    /// The scenario's claims, with a verdict on each.
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
    /// The conclusion in one line; `null` without one.
    pub conclusion: Option<String>,
}

impl RunResult {
    /// Returns whether all samples of all cells equal the reference, so that the figures may be
    /// shown.
    pub fn is_sound(&self) -> bool {
        let mut samples = self.cells.iter().flat_map(|cell| &cell.samples);
        self.agree == Some(true) && samples.all(|sample| sample.agree)
    }

    /// Finds the cell of the client with this name.
    pub fn client(&self, name: &str) -> Option<&ClientCell> {
        self.clients.iter().find(|cell| cell.client == name)
    }

    /// Finds the cell with this name.
    pub fn cell(&self, variant: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.variant == variant)
    }
}

/// The scenario's claims, judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expects {
    /// Number of claims in the scenario.
    pub count: u64,
    /// The worst verdict of all claims, or the reason to skip all of them; `null` without claims.
    pub status: Option<String>,
    /// The claims, each once for each of the stores that it is about.
    pub claims: Vec<Claim>,
}

/// A claim, judged: a bound on a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// The figure, such as `speedup(batched-io, parallel-io)`.
    pub metric: String,
    /// Store of the claim; `null` where the claim does not depend on the store.
    #[serde(default, with = "NameOrNull::<StoreKind>")]
    pub store: Option<StoreKind>,
    /// Side of the bound: `min` or `max`.
    #[serde(with = "Name::<Bound>")]
    pub bound: Bound,
    /// The bound, in the unit of the figure.
    pub limit: f64,
    /// Value of the figure. It is a median if the figure is over samples.
    pub value: Option<f64>,
    /// The end of the figure's 95 % interval that must keep the bound: the lower end for `min`, the
    /// upper end for `max`.
    pub near_end: Option<f64>,
    /// Verdict on the claim: `holds`, `fails`, `inconclusive`, `not judged`, `skipped`.
    #[serde(with = "Name::<ClaimVerdict>")]
    pub verdict: ClaimVerdict,
    /// Reason for the lack of a verdict; `null` with a verdict that needs none.
    pub reason: Option<String>,
}

/// A variant on a store, with its figures over samples.
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
    /// List duty, for an engine that does not take a list.
    #[serde(with = "Name::<ListDuty>")]
    pub list_duty: ListDuty,
    /// The engine.
    #[serde(with = "Name::<Engine>")]
    pub engine: Engine,
    /// How the values that keys have before the batch are read.
    #[serde(with = "Name::<IoKind>")]
    pub io: IoKind,
    /// The prefetch policy; `null` where no keys are read in batches.
    pub prefetch: Option<PrefetchFacts>,
    /// Order in which threads take steps.
    #[serde(with = "Name::<Schedule>")]
    pub schedule: Schedule,
    /// When the state root is computed; absent in results of builds without state roots.
    #[serde(default, with = "Name::<RootTime>")]
    pub root: RootTime,
    /// Duties on blocks beside execution, in their order. If empty: execution alone, with the list
    /// and, if `root` is not `none`, the state root.
    #[serde(default)]
    pub duties: Vec<String>,
    /// Settings of the state root; `null` without a root.
    #[serde(default)]
    pub root_way: Option<RootWayFacts>,
    /// Number of threads that execute.
    pub threads: u64,
    /// Number of transactions under way on each executing thread; 1 where a read blocks its thread.
    #[serde(default = "one")]
    pub fibers: u64,
    /// Number of shards that execute, each with `threads` threads; 0 if this program executes.
    #[serde(default)]
    pub shards: u64,
    /// Settings of the shards; `null` without shards, and in results of builds without shards.
    #[serde(default)]
    pub sharding: Option<ShardWayFacts>,
    /// Number of threads that only read.
    pub io_threads: u64,
    /// Largest number of reads under way of a thread that only reads; `null` without such threads.
    pub reads_per_reader: Option<u64>,
    /// Exact counters, equal in all samples; `null` with fresh keys, and on several databases.
    pub counters: Option<Counters>,
    /// Number of warm-up samples at the start; `null` where the end of the warm-up is not known.
    /// Throughput, times, latencies and device fraction leave these samples out; other figures have
    /// them.
    pub warm_up_sample_count: Option<u64>,
    /// The figures on each database; `null` for a run on one database.
    pub databases: Option<CellDatabases>,
    /// All samples, in the order in which they were taken.
    pub samples: Vec<SampleFacts>,
    /// Million gas per second, over the samples after the warm-up.
    pub mgas_per_s: Estimate,
    /// Median million gas per second by the gas in headers; `null` where that gas equals the gas in
    /// receipts.
    #[serde(default)]
    pub header_mgas_per_s: Option<f64>,
    /// Milliseconds per batch, over the samples after the warm-up.
    pub ms_per_batch: Estimate,
    /// Speed of this cell as a multiple of the speed of other cells.
    pub times: SpeedUps,
    /// Milliseconds per batch without the time that only verification took; `null`s where nothing
    /// is verified.
    pub unverified_ms_per_batch: Estimate,
    /// Priority of the threads that verify: `idle`, `nice 19` or `normal`; `null` without such
    /// threads.
    #[serde(default, with = "NameOrNull::<Priority>")]
    pub verifier_priority: Option<Priority>,
    /// Share of the keys requested by the run in order that the speculative pass of `prewarm` had
    /// read before; median; `null` without such a pass.
    pub warm_up_found_share: Option<f64>,
    /// Times of single batches, and write amplification.
    #[serde(default)]
    pub batch_figures: BatchFigures,
    /// Time per transaction, reads included, over the samples after the warm-up.
    pub tx_latency_ns: Percentiles,
    /// Time per read of the store, over the samples after the warm-up; `null`s where the store's
    /// reads are not timed.
    pub read_latency_ns: Percentiles,
    /// Histogram of the times of `tx_latency_ns`. It begins with an empty range. The longest time
    /// of each range is about a quarter above that of the range before.
    #[serde(default)]
    pub tx_latency_histogram: Vec<Bucket>,
    /// Histogram of the times of `read_latency_ns`, with ranges as in `tx_latency_histogram`.
    #[serde(default)]
    pub read_latency_histogram: Vec<Bucket>,
    /// Whether several reads were made in one call. Then each read has the latency of its call.
    pub read_latency_of_batches: bool,
    /// Time of each batch's longest transaction, summed, as a share of the wall time; median.
    pub longest_tx_share: Option<f64>,
    /// (T − A) / (T − L); median; `null` on one thread. T: time of all transactions; A: time of the
    /// phase `execute`; L: time of each batch's longest transaction, summed.
    pub scheduling_quality: Option<f64>,
    /// Time in which executing threads ran no step, as a share of the time of all of them; median.
    pub idle_share: Option<f64>,
    /// Time of one thread to recover one sender; median.
    pub recover_ns_per_tx: Option<f64>,
    /// Senders recovered a second, on as many threads as execute transactions; median.
    pub recover_tx_per_s: Option<f64>,
    /// Block reads per second over the device's rate on the same blocks, at most 1; median.
    pub device_fraction: Option<f64>,
    /// 95 % confidence interval of `device_fraction`; `null` below six samples.
    pub device_fraction_ci95: Option<[f64; 2]>,
    /// Reason why `device_fraction` is unknown, else `null`.
    pub device_fraction_unknown: Option<String>,
    /// Block reads per second over the ceiling of uniform random reads; median. Above 1 if blocks
    /// lie close together, or several are read in one request.
    pub uniform_ceiling_ratio: Option<f64>,
    /// Block reads per listed key that exists in the state; median. A block counts twice if it was
    /// evicted, or if two threads requested it at once.
    pub blocks_per_present_key: Option<f64>,
    /// Expected distinct blocks per listed key that exists, if a batch's keys were random;
    /// calculated.
    pub expected_blocks_per_present_key: Option<f64>,
    /// Bytes read from devices per block that the store read; median.
    pub device_bytes_per_block: Option<f64>,
    /// Mean number of reads under way while the store reads; median. A call for several keys counts
    /// each of its reads while that read is under way.
    pub reads_in_flight: Option<f64>,
    /// Share of values that were ready when an executing thread requested them; median.
    pub ready_share: Option<f64>,
    /// CPU time of the process per key that was read; median.
    pub cpu_ns_per_read: Option<f64>,
    /// Aborted executions of steps over all executions; median. `null` for engines other than
    /// `block-stm`.
    #[serde(alias = "vain_share")]
    pub abort_rate: Option<f64>,
    /// Bottleneck: the largest lower bound of the time, `device`, `cpu` or `chain`. `null` if none
    /// is known, and for a store that works in the background.
    #[serde(default, alias = "binds", with = "NameOrNull::<Bottleneck>")]
    pub bottleneck: Option<Bottleneck>,
    /// The bottleneck's bound over the wall time, from medians; `null` without a bottleneck.
    #[serde(default, alias = "binds_share")]
    pub bottleneck_share: Option<f64>,
    /// The requested cache state, and whether the samples had it.
    pub cache: CacheFacts,
}

/// Reads the cells of a file. Earlier builds wrote a requested cache state for stores without a
/// device too; it is dropped.
fn cells<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Cell>, D::Error> {
    let mut cells = Vec::<Cell>::deserialize(from)?;
    for Cell { store, cache, .. } in &mut cells {
        cache.want = cache.want.and_then(|want| store.cache_state(want));
    }
    Ok(cells)
}

/// Speed of a cell as a multiple of the speed of other cells, from medians of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpeedUps {
    /// Speed over that of `sequential` on the same store with the same duties; `null` if that was
    /// not run.
    pub in_order: Option<f64>,
    /// Speed over that of the same variant on one thread; `null` on one thread, and if that variant
    /// was not run.
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
    /// Event that ends the readers' work.
    #[serde(with = "Name::<StopRule>")]
    pub stop: StopRule,
    /// Which keys each reader takes.
    #[serde(with = "Name::<ReaderShare>")]
    pub share: ReaderShare,
    /// Number of keys that a reader takes at a time; `null`: the number that suits the store best.
    pub chunk_key_count: Option<u64>,
}

/// One sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampleFacts {
    /// Time from the start of the clock to the last commit, or to the end of the flushes and
    /// compactions that the commits caused. Excludes inspections of files between batches.
    pub wall_ns: u64,
    /// Seed of the sample's work: the workload's seed, or with fresh keys a seed of its own, over
    /// the same state.
    pub seed: u64,
    /// Origin of the sample's keys: the workload, or fresh keys of its own. Figures of samples with
    /// fresh keys are not exact, because each has other keys.
    #[serde(with = "Name::<SampleKeys>")]
    pub keys: SampleKeys,
    /// Share of the sample's keys that earlier samples of this run requested from the same store. A
    /// cache below this machine may hold them. `null` where they were not counted.
    pub asked_before_share: Option<f64>,
    /// Wall time without the time after execution in which only verification went on; `null` where
    /// nothing is verified.
    pub unverified_wall_ns: Option<u64>,
    /// Use of the speculative pass; `null` without one.
    pub warm_up: Option<WarmUpFacts>,
    /// Gas used: the sum of all receipts.
    pub gas: u64,
    /// Whether the sample equals the reference.
    pub agree: bool,
    /// Time of each phase. Phases overlap, so their sum may exceed the wall time.
    pub phases_ns: PhasesNs,
    /// Wall time by its parts on the critical path; `null` in results of earlier builds.
    #[serde(default)]
    pub path_ns: Option<PathNs>,
    /// Number of reads requested from the store.
    pub store_reads: u64,
    /// Number of accounts and slots that the lists name: the same for all cells of a workload.
    pub unique_keys: u64,
    /// Number of blocks that the store read from its files.
    pub blocks_read: Option<u64>,
    /// Bytes that the store requested from its files.
    pub block_bytes: Option<u64>,
    /// Block reads a second, from the start of the first read to the end of the last.
    pub blocks_per_s: Option<f64>,
    /// Block reads a second of plain `io_uring` with the same requests, right after the sample.
    pub trace_blocks_per_s: Option<f64>,
    /// Number of read requests of the whole device during the sample, those of other processes too.
    pub disk_requests: Option<u64>,
    /// Bytes of the whole device's read requests, those of other processes too.
    pub disk_bytes: Option<u64>,
    /// Number of pages with declared rows, for a cold sample that reads through the page cache.
    pub row_pages: Option<u64>,
    /// Number of pages with declared rows that were in memory just before the clock's start.
    pub resident_row_pages: Option<u64>,
    /// Bytes that this process read from devices.
    pub device_read_bytes: Option<u64>,
    /// Number of read system calls of this process.
    pub read_syscalls: Option<u64>,
    /// Number of allocations of this process's Rust code; `null` in a run, which does not count
    /// them.
    #[serde(default)]
    pub allocations: Option<u64>,
    /// Number of instructions of this process in user mode; `null` in a run, and on a machine
    /// without the counter.
    #[serde(default)]
    pub instructions: Option<u64>,
    /// CPU time of the process, user and system.
    pub cpu_ns: Option<u64>,
    /// Number of reads of the store ahead of need: by readers, a speculative pass, or verification.
    pub reads_by_readers: u64,
    /// Number of reads of the store on demand, by executing threads or for shards.
    pub reads_by_executors: u64,
    /// Number of values that were ready when an executing thread requested them.
    pub ready_on_arrival: u64,
    /// Number of values that another thread was reading when an executing thread requested them.
    pub read_wait_count: u64,
    /// Time that executing threads waited for values that other threads were reading, summed.
    pub read_wait_ns: u64,
    /// Time of the longest transaction of each batch, summed.
    pub longest_tx_ns: u64,
    /// Time of all transactions, summed.
    pub tx_total_ns: u64,
    /// Cost of optimistic execution; `null` for engines other than `block-stm`.
    pub speculation: Option<SpeculationFacts>,
    /// Time in which executing threads ran no step, summed over the threads.
    pub idle_ns: Option<u64>,
    /// Time that all steps would take on the executing threads, given out in block order at no
    /// cost.
    pub makespan_block_order_ns: Option<u64>,
    /// Time that all steps would take on the executing threads, the longest given out first, at no
    /// cost.
    pub makespan_longest_first_ns: Option<u64>,
    /// Time to digest logs, return data and net changes, after the clock. No client does this work,
    /// and the wall time excludes it.
    pub digest_ns: u64,
    /// Time to recover all senders, before the clock; `null` in a run that does not measure it.
    pub recover_ns: Option<u64>,
    /// Work for the state roots; `null` without state roots.
    #[serde(default)]
    pub root_work: Option<RootFacts>,
    /// Work for execution on shards; `null` without shards.
    #[serde(default)]
    pub shard_work: Option<ShardWorkFacts>,
    /// Time of each batch to the end of its commit, in order; empty in results of earlier builds.
    #[serde(default)]
    pub batch_ns: Vec<u64>,
    /// Writes of the commits; `null` in results of earlier builds.
    #[serde(default)]
    pub writes: Option<WriteFacts>,
}

/// Cost of optimistic execution, which runs steps before their turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpeculationFacts {
    /// Number of steps: transactions, and two system steps for each block.
    pub step_count: u64,
    /// Number of executions of steps, with aborted executions.
    pub execution_count: u64,
    /// Number of validations: checks that the values that an execution read are still current.
    pub validation_count: u64,
    /// Number of aborted executions.
    pub abort_count: u64,
    /// Number of executions that waited for a lower step.
    pub wait_count: u64,
    /// Number of steps with at least one aborted execution.
    pub aborted_step_count: u64,
    /// Largest number of aborted executions of one step.
    pub most_aborts_of_a_step: u64,
}

/// Use of a speculative pass. A key is an account, a slot or a code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUpFacts {
    /// Number of reads of the store by the pass.
    pub reads: u64,
    /// Number of keys that the run in order requested.
    pub asked: u64,
    /// Number of keys that the run in order requested and the pass had read before.
    pub found: u64,
    /// Number of keys that the pass read and the run in order did not request.
    pub unused: u64,
    /// Time from the end of a batch's run in order to the end of the pass, summed over the batches.
    /// No client has this wait.
    pub pass_wait_ns: u64,
}

/// Default of `fibers`, for files of builds without fibers.
const fn one() -> u64 {
    1
}
