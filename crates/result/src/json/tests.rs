//! Laws of written values: each is read back as the same value, or it is not written.

use std::{collections::BTreeSet, fmt::Debug};

use proptest::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use variant::{CacheMode, PartitionTime, Partitioner, ReadMethod, StoreKind};

use super::*;
use crate::{
    comparison::{self, Change, Comparison, Figure, Row, Source, Work},
    description::{
        self, ConflictCounts, Conflicts, HotKey, IdealSpeedup, LoadFacts, PartitionFacts,
        ShardPartitions, SizeClass, TrafficFacts, TxFacts, WorkloadDescription,
    },
    environment::{Check, DOCTOR_SCHEMA, DoctorResult, Status},
    example,
    gate::{self, Calibration, GateResult},
    io::{self, DevicePoint, IoDevice, IoPoint, IoResult, IoState, IoStore},
    limit::LimitResult,
    program::Program,
    root_and_shards::ShardWayFacts,
    run::{CacheFacts, Claim, Percentiles, RunResult},
    simulation::{self, CheckedRow, SimulatedBound, SimulatedRow, Simulation, SimulationCosts},
    sweep::{
        self, Ceiling, Keys, LeftOut, MERGED_SCHEMA, MachineKind, Matrix, Merged, MergedCell,
        SweepCounters, SweepDevice,
    },
};

mod schemas;

/// A figure that a file may hold; about one in 18 is infinite or no number, which JSON cannot say.
fn any_figure() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => any::<f64>().prop_map(|figure| if figure.is_finite() { figure } else { 0.1 }),
        8 => 0.0..1e6,
        1 => proptest::sample::select(vec![f64::MIN_POSITIVE, -0.0, f64::MAX, 5e-324, 1.0 / 3.0]),
        1 => proptest::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
    ]
}

/// Hands out figures one after the other.
struct Figures<'a> {
    all: &'a [f64],
    given: usize,
}

impl Figures<'_> {
    fn next(&mut self) -> f64 {
        self.given += 1;
        self.all[(self.given - 1) % self.all.len()]
    }

    fn maybe(&mut self) -> Option<f64> {
        Some(self.next()).filter(|_| !self.given.is_multiple_of(3))
    }
}

fn run(of: &mut Figures<'_>) -> RunResult {
    let mut run = example::sampled(7);
    run.clients = vec![example::client::timed(&[100, 110])];
    run.clients[0].in_order_ratio = of.maybe();
    run.clients[0].ms_per_batch.ci95 = of.maybe().map(|low| [low, of.next()]);
    for cell in &mut run.cells {
        cell.mgas_per_s.median = of.maybe();
        cell.ms_per_batch.ci95 = of.maybe().map(|low| [low, of.next()]);
        cell.longest_tx_share = of.maybe();
        cell.reads_in_flight = of.maybe();
        cell.recover_ns_per_tx = of.maybe();
    }
    if let Some(device) = &mut run.device {
        device.ceiling_iops = of.maybe();
    }
    run.environment.host.load_average = Some([of.next(), of.next(), of.next()]);
    let first = run.expects.claims.first().cloned();
    let claim = first.map(|claim| Claim { limit: of.next(), value: of.maybe(), ..claim });
    run.expects.claims.extend(claim);
    run
}

fn gate(of: &mut Figures<'_>) -> GateResult {
    let mut gate = example::gate::passed();
    gate.took_s = of.next();
    gate.gate.delta = of.next();
    let figures = gate.gate.attempts[0].cells.iter_mut().flat_map(|cell| &mut cell.figures);
    for look in figures.flat_map(|figure| &mut figure.looks) {
        (look.change, look.null) = (of.next(), [of.next(), of.next()]);
    }
    gate
}

fn calibration(of: &mut Figures<'_>) -> Calibration {
    let variant = "memory/x".to_owned();
    let (error, smallest_delta) = (of.next(), of.next());
    let cell = gate::CalibratedCell { variant, base_ns: 7, error, smallest_delta };
    Calibration::new(1, example::environment(), "0x7".to_owned(), Vec::new(), vec![cell])
}

fn merged(of: &mut Figures<'_>) -> Merged {
    let result = run(of);
    let keys = Keys::from([("run.threads".to_owned(), "2".to_owned())]);
    let points = sweep::points_of(7, &keys, &result);
    let counters = SweepCounters {
        keys: keys.clone(),
        variant: "memory/x".to_owned(),
        cells: vec![7],
        gas: BTreeSet::from([1, 2]),
        unique_keys: BTreeSet::new(),
        store_reads: BTreeSet::from([3]),
    };
    let machine = MachineKind {
        cpu_model: None,
        cpu_count: Some(2),
        memory_bytes: None,
        kernel: Some("6.1".to_owned()),
        disk_model: None,
        cells: vec![7],
    };
    Merged {
        schema: MERGED_SCHEMA,
        sweep: Matrix {
            scenario: "one-slot".to_owned(),
            quick: false,
            fixed: Vec::new(),
            axes: Vec::new(),
            cell_count: 1,
            settings_digest: "0x1".to_owned(),
            left_out: vec![LeftOut { cell: 1, same_as: 0 }],
        },
        program: Program {
            version: "0.1.0".to_owned(),
            commit: None,
            features: Some(vec!["io-uring".to_owned()]),
            binary_hash: Some("00".to_owned()),
            build_profile: Some("release".to_owned()),
            patched: vec!["revm=../revm".to_owned()],
            generator_version: 1,
        },
        missing: vec![1],
        disagreeing: Vec::new(),
        doubts: vec!["a doubt".to_owned()],
        machines: vec![machine],
        devices: vec![SweepDevice {
            schema: sweep::DEVICE_SCHEMA,
            measured_unix_s: 7,
            state: "rocksdb-07".to_owned(),
            draw_seed: u64::MAX,
            read_count: 8,
            device: result.device.clone().unwrap(),
            ceilings: vec![Ceiling { measured_unix_s: 7, ceiling_iops: of.next() }],
        }],
        knees: sweep::knees(&points),
        points,
        counters: vec![counters],
        cells: vec![MergedCell { index: 7, keys, result }],
    }
}

fn io_result(of: &mut Figures<'_>) -> IoResult {
    let example = example::typical();
    let latency = Percentiles { p50: Some(u64::MAX), count: 7, ..Percentiles::default() };
    let sweep = DevicePoint {
        method: "io_uring depth 16".to_owned(),
        depth: 16,
        iops: of.next(),
        latency_ns: latency,
        cpu_ns_per_read: None,
    };
    let device = IoDevice {
        ceiling_iops: of.maybe(),
        ceiling_drift: of.maybe(),
        sweep: vec![sweep],
        reason: Some("too short".to_owned()),
        ..IoDevice::default()
    };
    let point = IoPoint {
        threads: 1,
        keys_per_call: 1,
        depth: 1,
        gets: 7,
        present_gets: 6,
        elapsed_ns: 5,
        gets_per_s: of.next(),
        blocks_per_s: of.maybe(),
        blocks_per_get: of.maybe(),
        bytes_per_block: of.maybe(),
        device_bytes_per_get: of.maybe(),
        read_syscalls_per_get: of.maybe(),
        cpu_ns_per_get: of.maybe(),
        present_latency_ns: latency,
        absent_latency_ns: Percentiles::default(),
        latency_of_calls: false,
        ceiling_ratio: of.maybe(),
        keys_exhausted: true,
        earlier_passes: 0,
        cache: CacheFacts {
            want: Some(CacheMode::Cold),
            proved: None,
            reason: "in memory".to_owned(),
        },
    };
    let mut store = IoStore::new(example.stores[0].clone());
    (store.device, store.points) = (Some(device), vec![point]);
    IoResult {
        schema: io::SCHEMA,
        tool: example.tool,
        command: vec!["stress".to_owned(), "io".to_owned()],
        started_unix_s: 7,
        environment: example.environment,
        state: IoState {
            rows: 7,
            key_layout: "hashed".to_owned(),
            key_bytes: 64,
            value_bytes: 32,
            present_share: of.next(),
        },
        read: ReadMethod::Get,
        seed: u64::MAX,
        seconds: of.next(),
        order: io::ORDER.to_owned(),
        stores: vec![
            store,
            IoStore { store: StoreKind::Memory, ..IoStore::new(example.stores[0].clone()) },
        ],
        interrupted: true,
        warnings: vec!["noise".to_owned()],
    }
}

fn limits(of: &mut Figures<'_>) -> LimitResult {
    let mut result = example::limit::example();
    for load in &mut result.loads {
        (load.gas_per_operation, load.blocks_per_present_key) = (of.next(), of.maybe());
        for design in &mut load.designs {
            design.price_factor = of.maybe();
            design.ns_per_operation_ci95 = of.maybe().map(|low| [low, of.next()]);
            if let Some(check) = &mut design.check {
                check.predicted_ns = [of.next(), of.next()];
            }
        }
    }
    result
}

fn described(of: &mut Figures<'_>) -> WorkloadDescription {
    let example = example::typical();
    let figure = |mean| description::MeanAndMax { mean, max: 7 };
    let all = TxFacts {
        tx_count: 7,
        gas: 8,
        gas_per_tx: figure(of.next()),
        reads_per_tx: figure(of.next()),
        writes_per_tx: figure(of.next()),
    };
    let hottest = HotKey { account: "0x7".to_owned(), slot: None, tx_count: 2, writer_count: 1 };
    WorkloadDescription {
        schema: description::SCHEMA,
        tool: example.tool,
        workload: example.workload,
        present_share: of.next(),
        list_bytes_per_mgas: of.next(),
        calldata_bytes: 1,
        block_calldata_bytes_max: 2,
        wire_bytes_per_mgas: of.next(),
        loads: vec![LoadFacts {
            name: Some("payments".to_owned()),
            kind: "transfers".to_owned(),
            gas_share: of.next(),
            transactions: all,
        }],
        all,
        conflicts: Conflicts {
            component_count: 1,
            largest_tx_count: 2,
            largest_gas: 3,
            conflicting_tx_count: 4,
            write_write: ConflictCounts { tx_count: 3, key_count: 1 },
            read_write: ConflictCounts { tx_count: 2, key_count: 2 },
            longest_chain_tx_count: 5,
            longest_chain_gas: 6,
            hottest: Some(hottest),
            ideal: vec![IdealSpeedup { threads: 2, speedup: of.next() }],
            ideal_unbounded: of.next(),
            sizes: vec![SizeClass { tx_count: 7, ..SizeClass::default() }],
        },
        shards: vec![ShardPartitions { shard_count: 4, partitions: vec![partition(of)] }],
    }
}

fn partition(of: &mut Figures<'_>) -> PartitionFacts {
    let traffic = TrafficFacts { cross_shard_value_count: 7, hop_count: 3, state_read_count: 9 };
    PartitionFacts {
        partitioner: Partitioner::Fanout,
        fanout: of.next(),
        conflict_fanout: of.next(),
        imbalance: of.next(),
        in_block_order: traffic,
        in_shard_order: traffic,
        partition_ns: 7,
    }
}

fn simulation(of: &mut Figures<'_>) -> Simulation {
    let example = example::typical();
    Simulation {
        schema: simulation::SCHEMA,
        tool: example.tool,
        workload: example.workload,
        core_count: 2,
        coordinator_core_count: Some(60),
        host_core_count: None,
        costs: SimulationCosts {
            given_tx_ns: Some(1_600_000),
            tx_ns: description::MeanAndMax { mean: of.next(), max: 7 },
            ..SimulationCosts::default()
        },
        assumptions: vec!["a network without a limit".to_owned()],
        rows: vec![SimulatedRow {
            shard_count: 30,
            thread_count: 60,
            sharding: ShardWayFacts {
                partitioner: Partitioner::Fanout,
                partition_time: PartitionTime::Inside,
                micro_batch_key_count: 256,
                delay_ns: 500_000,
            },
            has_list: false,
            time_ns: 7,
            tx_per_s: of.next(),
            speedup: of.maybe(),
            bound: SimulatedBound::CoordinatorThread,
            bound_share: of.next(),
            partition_ns: 1,
            imbalance: of.next(),
            chain_ns: 2,
            value_wait_ns: 3,
            coordinator_work_ns: 4,
            busiest_thread_work_ns: 5,
            shard_message_work_ns: 11,
            ahead_request_count: 6,
            ahead_key_count: 7,
            demand_request_count: 8,
            result_message_count: 10,
            shard_message_count: 9,
        }],
        checks: vec![CheckedRow {
            variant: "memory/x".to_owned(),
            error: of.next(),
            ..CheckedRow::default()
        }],
    }
}

fn doctor_result(of: &mut Figures<'_>) -> DoctorResult {
    let check = |status, remedy: Option<&str>| Check {
        name: "governor".to_owned(),
        status,
        found: "powersave".to_owned(),
        remedy: remedy.map(str::to_owned),
    };
    let mut environment = example::environment();
    environment.host.load_average = Some([of.next(), of.next(), of.next()]);
    let checks = vec![
        check(Status::Ok, None),
        check(Status::Warning, Some("performance")),
        check(Status::Unknown, Some("look yourself")),
    ];
    DoctorResult { schema: DOCTOR_SCHEMA, checks, environment }
}

fn compared(of: &mut Figures<'_>) -> Comparison {
    let source = Source {
        fastest: None,
        less_than_first: None,
        label: "A".to_owned(),
        path: "a.json".to_owned(),
        started_unix_s: Some(7),
        commit: None,
        warning_count: 1,
        interrupted: false,
    };
    let figure = Figure {
        sample_count: 7,
        database_count: None,
        ms_per_batch: of.maybe(),
        ms_per_batch_ci95: of.maybe().map(|low| [low, of.next()]),
        mgas_per_s: of.maybe(),
        device_fraction: of.maybe(),
        time_ratio: of.maybe(),
        time_ratio_ci95: of.maybe().map(|low| [low, of.next()]),
    };
    let values = vec![serde_json::json!(7), serde_json::Value::Null];
    Comparison {
        schema: comparison::SCHEMA,
        work: Work { scenario: "x".to_owned(), gas: None, digest: "0x7".to_owned() },
        results: vec![source],
        changes: vec![Change { key: "tool.commit".to_owned(), values }],
        counters: Vec::new(),
        rows: vec![Row { variant: "memory/x".to_owned(), figures: vec![Some(figure), None] }],
    }
}

/// The law of one kind of file: `make` fills it from the figures. If one it took is not finite, it
/// is refused; else it is read back as the same value, which is written as the same bytes.
fn law<T>(make: fn(&mut Figures<'_>) -> T, all: &[f64])
where
    T: Serialize + DeserializeOwned + PartialEq + Debug,
{
    let written = make(&mut Figures { all, given: 0 });
    match json(&written) {
        Ok(text) => {
            let read: T = serde_json::from_str(&text).expect("what is written can be read");
            assert_eq!(read, written);
            assert_eq!(json(&read).expect("as finite as before"), text);
        }
        Err(Error::NotFinite { key, value }) => {
            assert!(!value.is_finite() && !key.is_empty(), "{key} = {value}");
            assert!(all.iter().any(|figure| !figure.is_finite()), "{key} = {value}");
        }
        Err(error) => panic!("{error}"),
    }
}

fn laws(all: &[f64]) {
    law(run, all);
    law(gate, all);
    law(calibration, all);
    law(merged, all);
    law(io_result, all);
    law(limits, all);
    law(described, all);
    law(doctor_result, all);
    law(simulation, all);
    law(compared, all);
}

proptest! {
    #[test]
    fn every_file_that_is_written_is_read_back_as_it_was(
        all in proptest::collection::vec(any_figure(), 1..40),
    ) {
        laws(&all);
    }
}

#[test]
fn no_file_holds_a_figure_that_is_not_finite() {
    laws(&[1.0 / 3.0]);
    for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let of = || Figures { all: std::slice::from_ref(&wrong), given: 0 };
        let refused = [
            json(&run(&mut of())),
            json(&gate(&mut of())),
            json(&calibration(&mut of())),
            json(&merged(&mut of())),
            json(&io_result(&mut of())),
            json(&limits(&mut of())),
            json(&described(&mut of())),
            json(&doctor_result(&mut of())),
            json(&simulation(&mut of())),
            json(&compared(&mut of())),
        ];
        for written in refused {
            assert!(matches!(written, Err(Error::NotFinite { .. })), "{written:?}");
        }
    }
}

#[test]
fn a_refused_figure_is_named_by_its_place() {
    let mut result = example::typical();
    result.cells[2].mgas_per_s.median = Some(f64::NAN);
    let error = json(&result).expect_err("not finite").to_string();
    assert!(error.contains("cells[2].mgas_per_s.median = NaN"), "{error}");
}
