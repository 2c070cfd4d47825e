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
    figures::Counters,
    named::{Name, NameOrNone, NameOrNull},
    names::{Bottleneck, Bound, IoKind, Priority, Verdict},
    phases::PhasesNs,
    pooled::{CellDatabases, DatabaseFacts},
    schema::schema,
    ways::{RootFacts, RootWayFacts, ShardWayFacts, ShardWorkFacts},
    writes::{BatchFigures, WriteFacts},
};

pub use crate::{
    facts::{
        BalBytes, CacheFacts, DRIFT_MAX, Device, HOST_CACHE_RATIO, SharedDevice, StoreFacts, Tool,
        WorkloadFacts,
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
    /// The program that made it.
    pub tool: Tool,
    /// The command line, to make it again.
    pub command: Vec<String>,
    /// When it began, seconds since 1970.
    pub started_unix_s: u64,
    /// Seed of the run's own draws: the blocks that measured the device, and the keys of samples
    /// that have their own.
    pub draw_seed: u64,
    /// The workload.
    pub workload: WorkloadFacts,
    /// The machine.
    pub environment: Environment,
    /// The device under the state; `null` for a run without one.
    pub device: Option<Device>,
    /// The stores that were used.
    pub stores: Vec<StoreFacts>,
    /// Settings chosen for this machine where the user gave none, each with its reason.
    #[serde(default)]
    pub choices: Vec<String>,
    /// Why no row runs whole blocks, where some would by default, and the remedy; else `null`.
    #[serde(default)]
    pub not_whole: Option<String>,
    /// The user's command before each sample, outside its clock.
    #[serde(default)]
    pub prepare: Option<String>,
    /// The user's command after the last one.
    #[serde(default)]
    pub cleanup: Option<String>,
    /// Whether every sample of every cell equals the reference; `null` before the first.
    pub agree: Option<bool>,
    /// Where not, the first differences.
    #[serde(default)]
    pub disagreements: Vec<String>,
    /// Whether the run ended before its plan did.
    pub interrupted: bool,
    /// The scenario's claims, and whether each holds.
    pub expects: Expects,
    /// Reasons to doubt the figures, each with its remedy.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// One per store and variant.
    #[serde(deserialize_with = "cells")]
    pub cells: Vec<Cell>,
    /// One per client that took the same block by its Engine API; empty without one.
    #[serde(default)]
    pub clients: Vec<ClientCell>,
    /// The databases of a run on several; empty of a run on one.
    #[serde(default)]
    pub databases: Vec<DatabaseFacts>,
    /// Where the CPU's time of a variant goes; `null` where that was not asked for.
    pub profile: Option<ProfileFacts>,
    /// The finding, in one line.
    pub conclusion: Option<String>,
}

impl RunResult {
    /// Whether its designs agree in every sample, so that its figures may be shown.
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

/// Where the CPU's time of a variant goes, from samples that count for no other figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileFacts {
    /// Which variant.
    pub variant: String,
    /// Samples that were taken for it.
    pub sample_count: u64,
    /// Stacks that were seen inside the engine.
    pub stack_count: u64,
    /// Stacks that were seen outside of it and are left out.
    pub outside_count: u64,
    /// File name of the flame graph.
    pub flame_graph: String,
    /// The functions that ran most often, at most ten.
    pub frames: Vec<FrameFacts>,
}

/// A function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrameFacts {
    /// Its name.
    pub name: String,
    /// Share of the stacks in which it was running itself.
    pub self_share: f64,
    /// Share of the stacks that it is in.
    pub total_share: f64,
}

/// The scenario's claims.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expects {
    /// Number of claims.
    pub count: u64,
    /// The verdict on all of them, or why they are skipped; `null` where there are none.
    pub status: Option<String>,
    /// Each claim that was looked at, once for each store it speaks of.
    pub claims: Vec<Claim>,
}

/// A bound on a figure, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// `speedup(batched-io, parallel-io)`.
    pub metric: String,
    /// On which store; `null` where it does not matter.
    #[serde(default, with = "NameOrNull::<StoreKind>")]
    pub store: Option<StoreKind>,
    /// `min` or `max`.
    #[serde(with = "Name::<Bound>")]
    pub bound: Bound,
    /// The bound, in the metric's unit.
    pub limit: f64,
    /// The figure; a median where it is of samples.
    pub value: Option<f64>,
    /// The end of the figure's 95 % interval that lies nearest to the bound.
    pub near_end: Option<f64>,
    /// `holds`, `fails`, `inconclusive`, `not judged`, `skipped`.
    #[serde(with = "Name::<Verdict>")]
    pub verdict: Verdict,
    /// Why there is no verdict.
    pub reason: Option<String>,
}

/// One store and variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// `rocksdb/batched-io/bal+batched@2+64io`.
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
    /// Duty towards the list of an engine that takes none.
    #[serde(with = "Name::<ListDuty>")]
    pub list_duty: ListDuty,
    /// The engine.
    #[serde(with = "Name::<Engine>")]
    pub engine: Engine,
    /// Its I/O.
    #[serde(with = "Name::<IoKind>")]
    pub io: IoKind,
    /// How its readers read ahead; `null` where there are none.
    pub prefetch: Option<PrefetchFacts>,
    /// In which order threads take transactions.
    #[serde(with = "Name::<Schedule>")]
    pub schedule: Schedule,
    /// When the state root is computed; results of before there were roots have none.
    #[serde(default, with = "Name::<RootTime>")]
    pub root: RootTime,
    /// Duties on blocks beside execution, in their order; empty: execution alone, with the list and, where
    /// there is one, the root.
    #[serde(default)]
    pub duties: Vec<String>,
    /// How the root is computed; `null` without one.
    #[serde(default)]
    pub root_way: Option<RootWayFacts>,
    /// Threads that execute.
    pub threads: u64,
    /// Transactions under way on each of those; 1 where a read holds its thread.
    #[serde(default = "one")]
    pub fibers: u64,
    /// Shards that execute, each with those threads; 0 where the program itself does.
    #[serde(default)]
    pub shards: u64,
    /// How shards execute; `null` without any, and in results of before there were shards.
    #[serde(default)]
    pub sharding: Option<ShardWayFacts>,
    /// Threads that only read.
    pub io_threads: u64,
    /// Reads that each of those has under way at most; `null` where there are none.
    pub reads_per_reader: Option<u64>,
    /// Counts that are equal in every sample; `null` without a sample, and where
    /// each database has its own.
    pub counters: Option<Counters>,
    /// The first samples that belong to the warm-up: throughput, times, latencies and the device's
    /// share leave them out; `null` where it is not known where it ends.
    pub warm_up_sample_count: Option<u64>,
    /// The values that the figures are pooled of; `null` of a run on one database.
    pub databases: Option<CellDatabases>,
    /// All samples in the order they were taken.
    pub samples: Vec<SampleFacts>,
    /// Gas per second over the samples.
    pub mgas_per_s: Estimate,
    /// Milliseconds per batch over the samples.
    pub ms_per_batch: Estimate,
    /// Its speed as a multiple of others'.
    pub times: TimesAsFast,
    /// Milliseconds per batch without waiting for verification; `null`s where nothing is verified.
    pub unverified_ms_per_batch: Estimate,
    /// How the threads that verify were scheduled: `idle`, `nice 19` or `normal`; `null` without.
    #[serde(default, with = "NameOrNull::<Priority>")]
    pub verifier_priority: Option<Priority>,
    /// Share of the keys that the run in order asked for and the warm-up had read; median;
    /// `null` without a warm-up.
    pub warm_up_found_share: Option<f64>,
    /// Times of single batches, and writes for them.
    #[serde(default)]
    pub batch_figures: BatchFigures,
    /// Time per transaction over the samples that count, reads included.
    pub tx_latency_ns: Percentiles,
    /// Time per read of the store over the samples that count; `null`s where the store is not timed.
    pub read_latency_ns: Percentiles,
    /// Whether reads were made in batches and each is counted as long as its batch.
    pub read_latency_of_batches: bool,
    /// The longest transaction of each batch as a share of the wall time; median.
    pub longest_tx_share: Option<f64>,
    /// (T − A) / (T − L): T all transactions, L the longest, A the execute phase; median.
    pub scheduling_quality: Option<f64>,
    /// Time in which executing threads ran no step, as a share of their time; median.
    pub idle_share: Option<f64>,
    /// Thread time of recovering a sender; median.
    pub recover_ns_per_tx: Option<f64>,
    /// Senders recovered a second, on as many threads as execute; median.
    pub recover_tx_per_s: Option<f64>,
    /// Block reads per second over the device's rate on the same blocks, at most 1; median.
    pub device_fraction: Option<f64>,
    /// 95 % confidence interval of that median; `null` below six samples.
    pub device_fraction_ci95: Option<[f64; 2]>,
    /// Reason for an unknown share of the device, else `null`.
    pub device_fraction_unknown: Option<String>,
    /// Block reads per second over the ceiling of uniform random reads: above 1 if blocks lie close
    /// together, or are read in one request; median.
    pub uniform_ceiling_ratio: Option<f64>,
    /// Block reads per key that the lists name and that exists; median. A block that was
    /// evicted, or asked for by two threads at once, counts twice.
    pub blocks_per_present_key: Option<f64>,
    /// Distinct blocks that as many random keys of this state touch per key, by calculation.
    pub expected_blocks_per_present_key: Option<f64>,
    /// Device bytes per block that the store read; median.
    pub device_bytes_per_block: Option<f64>,
    /// Reads under way: their integral over time by the store's reading time; median. A call that
    /// reads many keys together counts as many as it had under way.
    pub reads_in_flight: Option<f64>,
    /// Share of the values that were there when an executing thread asked for them; median.
    pub ready_share: Option<f64>,
    /// CPU time of the process per key read; median.
    pub cpu_ns_per_read: Option<f64>,
    /// Aborted executions of steps over all executions; median. `null` for an engine that runs none
    /// before its turn.
    #[serde(alias = "vain_share")]
    pub abort_rate: Option<f64>,
    /// Which term bounds the time from below: `device`, `cpu`, `chain`, or `null`.
    #[serde(default, alias = "binds", with = "NameOrNull::<Bottleneck>")]
    pub bottleneck: Option<Bottleneck>,
    /// That term over the wall time, from medians; `null` where no term is known.
    #[serde(default, alias = "binds_share")]
    pub bottleneck_share: Option<f64>,
    /// Whether the state was cold.
    pub cache: CacheFacts,
}

/// Cells of a file. Earlier builds wrote the asked cache state of a store without a device, too.
fn cells<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Cell>, D::Error> {
    let mut cells = Vec::<Cell>::deserialize(from)?;
    for Cell { store, cache, .. } in &mut cells {
        cache.want = cache.want.and_then(|want| store.cache_state(want));
    }
    Ok(cells)
}

/// Speed of a cell as a multiple of others', from medians of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimesAsFast {
    /// As execution in order: `sequential` on the same store; `null` if that was not run.
    pub in_order: Option<f64>,
    /// As the same variant on one thread; `null` on one thread, and if that was not run.
    pub one_thread: Option<f64>,
}

/// How readers read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrefetchFacts {
    /// When they read.
    #[serde(with = "Name::<ReadTime>")]
    pub time: ReadTime,
    /// In which order.
    #[serde(with = "Name::<ReadOrder>")]
    pub order: ReadOrder,
    /// When accounts are read.
    #[serde(with = "Name::<AccountReads>")]
    pub accounts: AccountReads,
    /// When codes are read.
    #[serde(with = "Name::<CodeReads>")]
    pub codes: CodeReads,
    /// The event that ends their work.
    #[serde(with = "Name::<StopRule>")]
    pub stop: StopRule,
    /// Which keys each takes.
    #[serde(with = "Name::<Sharing>")]
    pub share: Sharing,
    /// Keys that each takes at a time; `null`: as many as the store reads best.
    pub chunk_key_count: Option<u64>,
}

/// One sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampleFacts {
    /// From the clock's start to the last commit, or to the end of the flushes and compactions that commits
    /// have caused, without looks at files between batches.
    pub wall_ns: u64,
    /// Seed of the work that it ran: the workload's, or one of its own over the same state.
    pub seed: u64,
    /// Origin of that work: the workload, or one of its own. Figures of samples of works of their
    /// own are not exact, as each has other keys.
    #[serde(with = "Name::<SampleKeys>")]
    pub keys: SampleKeys,
    /// Share of its keys that samples before it in this run have asked the same store for: a cache
    /// below the machine may have them. `null` if nobody counted.
    pub asked_before_share: Option<f64>,
    /// The same without the time in which execution had ended and only verification went on;
    /// `null` where nothing is verified.
    pub unverified_wall_ns: Option<u64>,
    /// The effect of the warm-up; `null` without one.
    pub warm_up: Option<WarmUpFacts>,
    /// Gas used.
    pub gas: u64,
    /// Whether it equals the reference.
    pub agree: bool,
    /// How long each phase was going on. Phases overlap where they are sums above the wall.
    pub phases_ns: PhasesNs,
    /// Reads that the store was asked for.
    pub store_reads: u64,
    /// Accounts and slots that the lists name: the same for all cells.
    pub unique_keys: u64,
    /// Blocks that the store read from its files.
    pub blocks_read: Option<u64>,
    /// Bytes that the store asked of its files.
    pub block_bytes: Option<u64>,
    /// Blocks a second, from the first read's begin to the last one's end.
    pub blocks_per_s: Option<f64>,
    /// Blocks a second of a plain ring that makes the same requests right after the sample.
    pub trace_blocks_per_s: Option<f64>,
    /// Read requests of the whole device meanwhile, those of other processes too.
    pub disk_requests: Option<u64>,
    /// Bytes of them.
    pub disk_bytes: Option<u64>,
    /// Pages that hold the declared rows, of a cold sample that reads through the page cache.
    pub row_pages: Option<u64>,
    /// Those of them that were in memory just before the clock.
    pub resident_row_pages: Option<u64>,
    /// Bytes that this process read from devices.
    pub device_read_bytes: Option<u64>,
    /// System calls that read, in this process.
    pub read_syscalls: Option<u64>,
    /// Allocations of Rust code in this process; `null` in a run, where nobody counts them.
    #[serde(default)]
    pub allocations: Option<u64>,
    /// Instructions of this process in user mode; `null` in a run, and where the machine has no counter.
    #[serde(default)]
    pub instructions: Option<u64>,
    /// CPU time of the process, user and system.
    pub cpu_ns: Option<u64>,
    /// Reads of the store by threads that read ahead.
    pub reads_by_readers: u64,
    /// Reads of the store by threads that execute.
    pub reads_by_executors: u64,
    /// Values that were there when an executing thread asked.
    pub ready_on_arrival: u64,
    /// Values that another thread was reading when an executing thread asked.
    pub read_wait_count: u64,
    /// Time that executing threads waited for values that others were reading, summed.
    pub read_wait_ns: u64,
    /// The longest transaction of each batch, summed.
    pub longest_tx_ns: u64,
    /// Sum of all transactions' times.
    pub tx_total_ns: u64,
    /// The cost of running steps before their turn; `null` for an engine that does not.
    pub speculation: Option<SpeculationFacts>,
    /// Time in which executing threads ran no step, summed over the threads.
    pub idle_ns: Option<u64>,
    /// How long the steps' times take in block order where handing out is free.
    pub makespan_block_order_ns: Option<u64>,
    /// The same with the longest first.
    pub makespan_longest_first_ns: Option<u64>,
    /// Digesting logs, return data and net changes after the clock, which no client does: no part
    /// of the wall.
    pub digest_ns: u64,
    /// Recovering all senders, before the clock; `null` where it was not asked for.
    pub recover_ns: Option<u64>,
    /// Work for the state roots; `null` where none is computed.
    #[serde(default)]
    pub root_work: Option<RootFacts>,
    /// Work for execution on shards; `null` without any.
    #[serde(default)]
    pub shard_work: Option<ShardWorkFacts>,
    /// Time of each batch to the end of its commit, in their order; empty in results of before these
    /// were kept.
    #[serde(default)]
    pub batch_ns: Vec<u64>,
    /// Writes for the commits; `null` in results of before these were counted.
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
    /// Validations: checks that the values a run had read are still current.
    pub validation_count: u64,
    /// Aborted executions.
    pub abort_count: u64,
    /// Runs that waited for a lower step.
    pub wait_count: u64,
    /// Steps with at least one aborted execution.
    pub aborted_step_count: u64,
    /// The most aborted executions of one step.
    pub most_aborts_of_a_step: u64,
}

/// The effect of a speculative pass. A key is an account, a slot or a code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WarmUpFacts {
    /// Reads of the store that it made.
    pub reads: u64,
    /// Keys that the run in order asked for.
    pub asked: u64,
    /// Those among them that the pass had read.
    pub found: u64,
    /// Keys that the pass had read and the run in order did not ask for.
    pub unused: u64,
    /// Time of the wall between the end of a batch's run in order and the end of the pass: no
    /// client waits for it.
    pub pass_wait_ns: u64,
}

/// The fibers of a file that was written before there were any.
const fn one() -> u64 {
    1
}
