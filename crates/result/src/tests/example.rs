//! Results for tests, of this crate and of others: two CPUs, a state of 10 GB, and plausible
//! figures.

use serde_json::json;
use variant::{
    AccountReads, CacheMode, CodeReads, Design, ListDuty, ListForm, Phase, Preset, ReadOrder,
    ReadTime, ReaderShare, RootTime, SampleKeys, Schedule, StopRule, StoreKind,
};

use crate::{
    Program,
    databases::{DatabaseFacts, DatabaseRun, pool},
    environment::{
        Abilities, Build, Cgroup, Cpu, Disk, Environment, Host, Limit, Memory, StealClock,
        Virtualisation,
    },
    figures::{Bucket, Counters},
    names::{Bottleneck, Bound, ClaimVerdict, IoKind},
    phases::{PathNs, PhasesNs},
    run::{
        BalBytes, CacheFacts, Cell, Claim, Device, Estimate, Expects, Fill, LoadFill, Percentiles,
        PrefetchFacts, RunResult, SCHEMA, SampleFacts, SharedDevice, SpeedUps, StoreFacts, Tool,
        WorkloadFacts,
    },
    stats::estimate,
    writes::BatchFigures,
};

#[path = "example/client.rs"]
pub mod client;
#[path = "example/gate.rs"]
pub mod gate;
#[path = "example/limit.rs"]
pub mod limit;
#[path = "example/send.rs"]
pub mod send;

const GAS: u64 = 639_998_214;

/// How the readers of an example read.
pub const PREFETCH: PrefetchFacts = PrefetchFacts {
    time: ReadTime::Before,
    order: ReadOrder::OnDisk,
    accounts: AccountReads::First,
    codes: CodeReads::OnDemand,
    stop: StopRule::Executed,
    share: ReaderShare::Next,
    chunk_key_count: None,
};

/// A run of all designs on RocksDB, one sample each.
pub fn typical() -> RunResult {
    let facts = json!({
        "rocksdb": "10.4.2",
        "file_bytes": "9731233000",
        "reads": "direct (O_DIRECT)",
        "block_cache_bytes": "0",
        "commit": "NoSync",
    });
    RunResult {
        schema: SCHEMA,
        tool: Tool {
            program: Program {
                version: "0.1.0".to_owned(),
                commit: Some("ace5143".to_owned()),
                features: Some(vec!["io-uring".to_owned()]),
                build_profile: Some("release, opt-level 3, fat LTO, 1 codegen unit(s)".to_owned()),
                patched: Vec::new(),
                binary_hash: Some("5fe1".to_owned()),
                generator_version: 1,
            },
            revm: "43.0.3".to_owned(),
        },
        command: vec!["stress".to_owned(), "--scenario".to_owned(), "sload-storm".to_owned()],
        started_unix_s: 1_767_225_600,
        draw_seed: 7,
        workload: workload(),
        environment: environment(),
        device: Some(Device {
            ceiling_iops: Some(70_512.0),
            ceiling_end_iops: Some(69_110.0),
            ceiling_drift: Some(69_110.0 / 70_512.0),
            method: Some("io_uring depth 256".to_owned()),
            depth1_p50_ns: Some(109_800),
            host_cache_ratio: Some(1.02),
            probed_block_share: Some(0.02),
            repeated_read_count: 0,
            state_age_s: Some(86_400),
            reason: None,
            shared: None,
        }),
        stores: vec![StoreFacts {
            store: StoreKind::Rocksdb,
            facts: facts.as_object().cloned().unwrap_or_default(),
        }],
        choices: Vec::new(),
        not_whole: None,
        prepare: None,
        cleanup: None,
        agree: Some(true),
        disagreements: Vec::new(),
        interrupted: false,
        expects: expects(),
        warnings: Vec::new(),
        cells: vec![
            cell(Design::Sequential, Threads { executing: 1, reading: 0 }, 20_134.0),
            cell(Design::ParallelIo, Threads { executing: 2, reading: 0 }, 12_012.0),
            cell(Design::ParallelIo, Threads { executing: 64, reading: 0 }, 5_103.0),
            cell(Design::BatchedIo, Threads { executing: 2, reading: 16 }, 6_021.0),
            cell(Design::BatchedIo, Threads { executing: 2, reading: 64 }, 4_902.0),
        ],
        clients: Vec::new(),
        databases: Vec::new(),
        profile: None,
        conclusion: None,
    }
}

fn workload() -> WorkloadFacts {
    WorkloadFacts {
        scenario: "sload-storm".to_owned(),
        seed: 0,
        fork: "amsterdam".to_owned(),
        gas: GAS,
        header_gas: GAS,
        block_count: 1,
        batch_count: 1,
        blocks_per_batch: 1,
        tx_count: 39,
        digest: "3f9a1c0277b1e0d54c9b".to_owned(),
        bal: BalBytes {
            parallel_io_bytes: 2_210,
            batched_io_bytes: 9_600_412,
            full_bytes: 19_200_930,
        },
        list_account_count: 43,
        list_slot_count: 290_912,
        state_slot_count: 128_000_000,
        sized_slot_count: Some(128_000_000),
        state_account_count: 100_000,
        layout: "hashed".to_owned(),
        overridden: Vec::new(),
        fill: Some(fill()),
    }
}

fn fill() -> Fill {
    let load =
        LoadFill { kind: "sload-storm".to_owned(), execution_gas: GAS, ..LoadFill::default() };
    Fill { limit_gas: GAS, execution_gas: GAS, loads: vec![load], ..Fill::default() }
}

/// The measurement of a device that runs of a sweep share, made ten minutes before [`typical`].
pub fn shared_device() -> SharedDevice {
    let state = "rocksdb-0123456789abcdef".to_owned();
    SharedDevice { measured_unix_s: 1_767_225_000, state, draw_seed: 9 }
}

/// One claim that holds.
fn expects() -> Expects {
    let claim = Claim {
        metric: "bal_bytes(batched-io)".to_owned(),
        store: None,
        bound: Bound::Max,
        limit: 1e7,
        value: Some(9_600_412.0),
        near_end: None,
        verdict: ClaimVerdict::Holds,
        reason: None,
    };
    Expects { count: 1, status: Some("holds".to_owned()), claims: vec![claim] }
}

/// [`typical`] with `n` samples a cell and with intervals.
pub fn sampled(n: usize) -> RunResult {
    let mut result = typical();
    for cell in &mut result.cells {
        cell.samples = vec![cell.samples[0].clone(); n];
        cell.ms_per_batch.ci95 = cell.ms_per_batch.median.map(|ms| [ms * 0.985, ms * 1.021]);
        cell.mgas_per_s.ci95 = cell.mgas_per_s.median.map(|rate| [rate * 0.98, rate * 1.015]);
    }
    result
}

/// A virtual machine with two CPUs of its own.
pub fn environment() -> Environment {
    Environment {
        cpu: Cpu {
            model: Some("Example CPU".to_owned()),
            logical_count: Some(2),
            allowed_count: Some(2),
            allowed: Some("0-1".to_owned()),
            governor: None,
            is_turbo_on: None,
            is_smt_on: Some(false),
            clock_source: Some("tsc".to_owned()),
        },
        cgroup: Cgroup {
            cpu_limit_millicpus: Some(Limit::Unlimited),
            memory_limit_bytes: Some(Limit::At(8 << 30)),
        },
        memory: Memory {
            total_bytes: Some(16 << 30),
            available_bytes: Some(12 << 30),
            swaps: Some(Vec::new()),
            transparent_hugepages: Some("madvise".to_owned()),
        },
        host: host(),
        data_dir: Disk {
            path: "/srv/state".into(),
            mount_point: Some("/srv".into()),
            file_system: Some("ext4".to_owned()),
            mount_options: Some("rw,relatime".to_owned()),
            source: Some("/dev/vdb".to_owned()),
            device: Some("vdb".to_owned()),
            model: None,
            is_rotational: Some(false),
        },
        ground: Abilities {
            has_direct_reads: Some(true),
            can_drop_pages: Some(true),
            has_io_uring: true,
            free_bytes: Some(100 << 30),
        },
        build: Build {
            commit: Some("ace5143".to_owned()),
            features: Some(vec!["io-uring".to_owned()]),
            binary_hash: Some("5fe1".to_owned()),
            rustc: Some("rustc 1.95.0".to_owned()),
            profile: "release".to_owned(),
            opt_level: "3".to_owned(),
            lto: Some("fat".to_owned()),
            codegen_units: Some(1),
            has_debug_assertions: false,
        },
        steal: StealClock::stopped(Some(0)),
    }
}

fn host() -> Host {
    Host {
        kernel: Some("6.12.0".to_owned()),
        os: Some("Example Linux 1".to_owned()),
        architecture: "x86_64".to_owned(),
        virtualisation: Virtualisation {
            has_hypervisor: Some(true),
            product: None,
            hypervisor: None,
            container: None,
        },
        load_average: Some([0.1, 0.2, 0.3]),
    }
}

/// How many threads of each kind a cell has.
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    /// Threads that execute.
    pub executing: u64,
    /// Threads that only read.
    pub reading: u64,
}

/// Blocks that a sample reads.
const BLOCKS: f64 = 273_457.0;

/// A cell with one sample of `ms`.
pub fn cell(design: Design, threads: Threads, ms: f64) -> Cell {
    let Threads { executing, reading } = threads;
    let Preset { list, engine, io } = design.preset();
    let io = IoKind::from(io);
    let list_name = list.map_or("none", ListForm::name);
    let suffix = if reading > 0 { format!("+{reading}io") } else { String::new() };
    let p50 = read_p50_ns(executing.max(reading));
    Cell {
        variant: format!("rocksdb/{list_name}/{}+{io}@{}{suffix}", engine.name(), executing),
        store: StoreKind::Rocksdb,
        design,
        list,
        list_duty: ListDuty::Nothing,
        engine,
        io,
        prefetch: (io == IoKind::Batched).then_some(PREFETCH),
        schedule: Schedule::BlockOrder,
        root: RootTime::Nothing,
        duties: Vec::new(),
        root_way: None,
        threads: executing,
        fibers: 1,
        shards: 0,
        sharding: None,
        io_threads: reading,
        reads_per_reader: (reading > 0).then_some(1),
        counters: Some(Counters { gas: GAS, ..Counters::default() }),
        warm_up_sample_count: None,
        databases: None,
        samples: vec![sample(ms)],
        mgas_per_s: Estimate { median: Some(GAS as f64 / ms / 1e3), ..Estimate::default() },
        header_mgas_per_s: None,
        ms_per_batch: Estimate { median: Some(ms), ..Estimate::default() },
        times: SpeedUps::default(),
        unverified_ms_per_batch: Estimate::default(),
        verifier_priority: None,
        warm_up_found_share: None,
        batch_figures: BatchFigures::over(&[&sample(ms)]),
        tx_latency_ns: Percentiles { p50: Some(488_000_000), p90: None, ..Percentiles::default() },
        read_latency_ns: read_latencies(p50),
        tx_latency_histogram: vec![
            Bucket { up_to_ns: 400_000_000, count: 0 },
            Bucket { up_to_ns: 500_000_000, count: 30 },
            Bucket { up_to_ns: 630_000_000, count: 9 },
        ],
        read_latency_histogram: Vec::new(),
        read_latency_of_batches: false,
        longest_tx_share: Some(520.0 / ms),
        scheduling_quality: None,
        idle_share: None,
        recover_ns_per_tx: None,
        recover_tx_per_s: None,
        device_fraction: Some(BLOCKS / ms * 1e3 / 70_512.0),
        device_fraction_ci95: None,
        device_fraction_unknown: None,
        uniform_ceiling_ratio: Some(BLOCKS / ms * 1e3 / 70_512.0),
        blocks_per_present_key: Some(0.94),
        expected_blocks_per_present_key: Some(0.941),
        device_bytes_per_block: Some(4_121.0),
        reads_in_flight: Some(BLOCKS * p50 as f64 / ms / 1e6),
        ready_share: None,
        cpu_ns_per_read: Some(11_200.0),
        abort_rate: None,
        bottleneck: Some(if ms < 6_000.0 { Bottleneck::Device } else { Bottleneck::Chain }),
        bottleneck_share: Some(0.84),
        cache: CacheFacts {
            want: Some(CacheMode::Cold),
            proved: Some(true),
            reason: "device bytes are 1.00 of the bytes asked for".to_owned(),
        },
    }
}

fn read_latencies(p50: u64) -> Percentiles {
    Percentiles {
        p50: Some(p50),
        p90: Some(p50 * 2),
        p99: Some(p50 * 4),
        max: Some(p50 * 30),
        count: 290_912,
        ..Percentiles::default()
    }
}

const fn read_p50_ns(readers: u64) -> u64 {
    match readers {
        1 | 2 => 108_300,
        16 => 301_000,
        _ => 1_020_000,
    }
}

fn sample(ms: f64) -> SampleFacts {
    let wall_ns = (ms * 1e6) as u64;
    let path_ns = PathNs { reads: wall_ns, ..PathNs::default() };
    SampleFacts {
        wall_ns,
        seed: 1,
        keys: SampleKeys::Same,
        asked_before_share: Some(0.0),
        unverified_wall_ns: None,
        warm_up: None,
        gas: GAS,
        agree: true,
        phases_ns: PhasesNs::of(|phase| match phase {
            Phase::Decode => 9_000_000,
            Phase::Execute => wall_ns,
            _ => 0,
        }),
        path_ns: Some(path_ns),
        store_reads: 290_955,
        unique_keys: 290_955,
        blocks_read: Some(273_457),
        block_bytes: Some(1_127_000_000),
        blocks_per_s: Some(273_457.0 / ms * 1e3),
        trace_blocks_per_s: Some(70_512.0),
        disk_requests: Some(273_460),
        disk_bytes: Some(1_127_000_000),
        row_pages: None,
        resident_row_pages: None,
        device_read_bytes: Some(1_127_000_000),
        read_syscalls: Some(273_500),
        allocations: None,
        instructions: None,
        cpu_ns: Some(3_260_000_000),
        reads_by_readers: 0,
        reads_by_executors: 290_955,
        ready_on_arrival: 0,
        read_wait_count: 0,
        read_wait_ns: 0,
        longest_tx_ns: 520_000_000,
        tx_total_ns: wall_ns,
        speculation: None,
        idle_ns: None,
        makespan_block_order_ns: None,
        makespan_longest_first_ns: None,
        digest_ns: 1_800_000,
        recover_ns: None,
        root_work: None,
        shard_work: None,
        batch_ns: vec![wall_ns],
        writes: None,
    }
}

/// A run whose cells have these wall times in milliseconds on each database; the second variant
/// takes `factor` times as long in the same round.
pub fn ran(times: &[Vec<u64>], factor: u64) -> Vec<DatabaseRun> {
    let of = |(index, times): (u64, &Vec<u64>)| {
        let mut workload = typical().workload;
        workload.seed = 10 + index;
        workload.digest = format!("d{index}");
        let cell = |name: &str, factor: u64| {
            let mut cell = cell(Design::BatchedIo, Threads { executing: 2, reading: 4 }, 1.0);
            cell.variant = name.to_owned();
            let sample = cell.samples[0].clone();
            let sample =
                |ms: &u64| SampleFacts { wall_ns: ms * factor * 1_000_000, ..sample.clone() };
            cell.samples = times.iter().map(sample).collect();
            let ms: Vec<f64> = times.iter().map(|ms| (ms * factor) as f64).collect();
            cell.ms_per_batch = estimate(&ms);
            cell.mgas_per_s = estimate(&ms.iter().map(|ms| 1e3 / ms).collect::<Vec<_>>());
            cell.counters = Some(Counters { gas: index, ..Counters::default() });
            cell
        };
        let facts = DatabaseFacts { workload, device: None, stores: Vec::new() };
        DatabaseRun { facts, cells: vec![cell("memory/a@1", 1), cell("memory/b@1", factor)] }
    };
    (0..).zip(times).map(of).collect()
}

/// The result of a run on one database for each list of times, as [`ran`] makes them.
pub fn pooled(times: &[Vec<u64>]) -> RunResult {
    let ran = ran(times, 2);
    let mut result = typical();
    result.workload = ran[0].facts.workload.clone();
    result.cells = pool(&ran, &[]);
    result.databases = ran.into_iter().map(|ran| ran.facts).collect();
    result
}
