//! Execution on shards: every kind of load and random blocks equal the reference, on servers over
//! gRPC.

use std::{
    net::SocketAddr,
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use alloy_primitives::Bytes;
use executor::{
    engine::{EngineError, Task},
    sample::{self, Measurement},
    shards::{Assignment, Channel, Conversation, ShardError, Shards},
};
use random_blocks::RandomBlocks;
use shard::{Cluster, ClusterInput, ServerInput};
use spec::Scenario;
use variant::{CacheMode, Design, ListForm, PartitionTime, Partitioner, Sharding, Variant};
use workload::{Fork, Workload};

use crate::common::{
    agree,
    loads::{MEETING_LOADS, OTHER_STORMS, SHAPED_LOADS},
};

mod faults;
mod messages;
mod optimistic;
mod optimistic_faults;
mod ways;

pub(crate) use optimistic::assert_agrees_on_shards;

const PROGRAM: &str = "stress of the test";

/// A shard in this process.
struct Server {
    address: SocketAddr,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(program: &str, token: Option<&str>) -> Self {
        let input = ServerInput {
            listen: "127.0.0.1:0".parse().unwrap(),
            token: token.map(str::to_owned),
            program: program.to_owned(),
        };
        let ends = Arc::new(AtomicBool::new(false));
        let (bound, address) = mpsc::channel();
        let ended = Arc::clone(&ends);
        let thread = thread::spawn(move || {
            let interval = Duration::from_millis(5);
            let listening = |at| bound.send(at).unwrap();
            shard::serve(&input, listening, interval, || ended.load(Ordering::Relaxed)).unwrap();
        });
        Self { address: address.recv().unwrap(), ends, thread: Some(thread) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // The server ends after its connections, and a failed test may still hold one.
        if !thread::panicking() {
            self.thread.take().unwrap().join().unwrap();
        }
    }
}

fn reach(addresses: &[SocketAddr]) -> ClusterInput {
    ClusterInput {
        addresses: addresses.iter().map(ToString::to_string).collect(),
        token: None,
        program: PROGRAM.to_owned(),
        deadline: Duration::from_secs(10),
    }
}

fn generated(load: &str, block: &str) -> Workload {
    generated_on("accounts = 300\nslots = 60_000", load, block)
}

fn generated_on(state: &str, load: &str, block: &str) -> Workload {
    let text =
        format!("schema = 1\nname = \"s\"\n[state]\n{state}\n[block]\n{block}\n[[load]]\n{load}\n");
    let scenario = Scenario::parse("s.toml", &text, &[]).unwrap();
    generator::generate(&scenario, |_| ()).unwrap()
}

fn sample(
    workload: &Workload,
    shards: &dyn Shards,
    sharding: Sharding,
    threads: usize,
) -> Result<Measurement, EngineError> {
    let lists = agree::lists(workload, Some(ListForm::BatchedIo)).unwrap();
    sample_with(workload, &lists, shards, variant(sharding, threads))
}

fn variant(sharding: Sharding, threads: usize) -> Variant {
    let threads = NonZeroUsize::new(threads).unwrap();
    Variant::of(Design::BatchedIo, threads, threads).on_shards(sharding)
}

/// Takes a sample of `block-stm`.
fn sample_optimistic(
    workload: &Workload,
    shards: &dyn Shards,
    sharding: Sharding,
    threads: usize,
) -> Result<Measurement, EngineError> {
    let threads = NonZeroUsize::new(threads).unwrap();
    let variant = Variant::of(Design::BlockStm, threads, threads).on_shards(sharding);
    let lists = agree::lists(workload, None).unwrap();
    sample_with(workload, &lists, shards, variant)
}

fn sample_with(
    workload: &Workload,
    lists: &[Bytes],
    shards: &dyn Shards,
    variant: Variant,
) -> Result<Measurement, EngineError> {
    let cancel = AtomicBool::new(false);
    let task = Task::new(workload, lists, variant, &cancel);
    let task = Task { shards: Some(shards), ..task };
    sample::take(&agree::in_memory(workload), &task, CacheMode::Cold)
}

/// Servers, and the connection to them.
pub(crate) struct Running {
    cluster: Cluster,
    servers: Vec<Server>,
}

pub(crate) fn running(count: usize) -> Running {
    let servers: Vec<_> = (0..count).map(|_| Server::start(PROGRAM, None)).collect();
    let addresses: Vec<_> = servers.iter().map(|server| server.address).collect();
    Running { cluster: Cluster::connect(&reach(&addresses)).unwrap(), servers }
}

/// Three shardings on three shards that differ in everything but the partitioner.
pub(crate) fn in_three_ways(partitioner: Partitioner) -> [Sharding; 3] {
    let way = |(partition_time, micro_batch_key_count, delay_us)| Sharding {
        partitioner,
        partition_time,
        micro_batch_key_count,
        delay_us,
        ..Sharding::on(3)
    };
    [
        (PartitionTime::Inside, 1, 0),
        (PartitionTime::Before, 7, 300),
        (PartitionTime::Inside, 1 << 16, 1_000),
    ]
    .map(way)
}

#[test]
fn every_kind_of_load_equals_the_reference_on_shards() {
    let running = running(3);
    let small = MEETING_LOADS.iter().chain(SHAPED_LOADS);
    let small = small.map(|load| (load, "gas = \"1M\"\nblocks = 4\nbatch = 2"));
    let storms = "gas = \"1M\"\ntx_gas = \"250k\"\nblocks = 2\nbatch = 2";
    let loads = small.chain(OTHER_STORMS.iter().map(|load| (load, storms)));
    for (number, (load, block)) in loads.enumerate() {
        let workload = generated(load, block);
        let (shard_count, threads) = (1 + number % 3, 1 + number % 2);
        let taken = sample(&workload, &running.cluster, Sharding::on(shard_count), threads);
        let taken = taken.unwrap_or_else(|error| panic!("{load}: {error}"));
        assert_eq!(taken.disagreement, None, "{load}");
        assert_eq!(taken.executed.shard_names.len(), shard_count, "{load}");
        let ran: Vec<_> = taken.executed.batches.iter().map(|of| of.shard_of_tx.len()).collect();
        let there: Vec<usize> = workload
            .batches
            .iter()
            .map(|batch| batch.blocks.iter().map(|block| block.transactions.len()).sum())
            .collect();
        assert_eq!(ran, there, "{load}: each transaction has its shard");
    }
}

/// The store reads each requested key once, for all shards together, and only declared keys.
#[test]
fn shards_have_each_declared_key_read_once() {
    let running = running(2);
    let workload =
        generated("kind = \"sload-storm\"\noverlap = \"all\"", "gas = \"4M\"\ntx_gas = \"1M\"");
    let taken = sample(&workload, &running.cluster, Sharding::on(2), 2).unwrap();
    assert_eq!(taken.disagreement, None);
    let on_demand = &taken.executed.on_demand;
    let bounds = workload::list::ListBounds::new(&workload.batches[0], &workload.rules);
    let list = workload::list::ListIndex::decode(&workload.batches[0].list, &bounds).unwrap();
    let declared = u64::from(list.account_count()) + u64::from(list.slot_count());
    let code_count = 20;
    assert!(on_demand.read_count <= declared + code_count, "{}", on_demand.read_count);
    let shared_count = on_demand.ready_count + on_demand.waited_count;
    assert!(shared_count > 400, "the other shard asks for the same keys: {on_demand:?}");
}

/// Shards that receive a workload when the user interrupts.
#[derive(Debug)]
struct Interrupted<'c>(&'c AtomicBool);

impl Shards for Interrupted<'_> {
    fn count(&self) -> usize {
        1
    }

    fn name(&self, _: usize) -> String {
        "a shard".to_owned()
    }

    fn load(&self, _: usize, _: &Workload, stop: &AtomicBool) -> Result<(), ShardError> {
        self.0.store(true, Ordering::Relaxed);
        assert!(stop.load(Ordering::Relaxed), "the interrupt is seen here");
        Err(ShardError("the sample was stopped".to_owned()))
    }

    fn begin<'a>(
        &'a self,
        _: usize,
        _: &Assignment,
        _: &'a AtomicBool,
    ) -> Result<Box<dyn Conversation + 'a>, ShardError> {
        Err(ShardError("it has no workload".to_owned()))
    }

    fn begin_optimistic<'a>(
        &'a self,
        _: usize,
        _: &Assignment,
        _: &'a AtomicBool,
    ) -> Result<Channel<'a>, ShardError> {
        Err(ShardError("it has no workload".to_owned()))
    }
}

#[test]
fn an_interrupt_while_a_workload_is_sent_is_no_failure_of_the_shard() {
    let workload = generated("kind = \"transfers\"", "gas = \"1M\"");
    let lists = agree::lists(&workload, Some(ListForm::BatchedIo)).unwrap();
    let cancel = AtomicBool::new(false);
    let shards = Interrupted(&cancel);
    let task = Task::new(&workload, &lists, variant(Sharding::on(1), 1), &cancel);
    let task = Task { shards: Some(&shards), ..task };
    match sample::take(&agree::in_memory(&workload), &task, CacheMode::Cold) {
        Err(EngineError::Cancelled) => {}
        other => panic!("{:?}", other.map(|taken| taken.disagreement)),
    }
}

/// Blocks of Osaka, and in the midst of a batch those of Amsterdam.
fn changing() -> RandomBlocks {
    let earlier = Some((Fork::Osaka, 3));
    RandomBlocks {
        fork: Fork::Amsterdam,
        earlier,
        batch_block_count: 5,
        ..RandomBlocks::draw(78, 8)
    }
}

#[test]
fn random_blocks_equal_the_reference_on_one_to_four_shards() {
    let running = running(4);
    for seed in 1..=24 {
        let built = RandomBlocks::draw(seed, 10).build().unwrap();
        for shard_count in 1..=4 {
            let threads = 1 + (seed as usize + shard_count) % 2;
            let sharding = Sharding::on(shard_count);
            let taken = sample(&built.workload, &running.cluster, sharding, threads);
            let taken = taken.unwrap_or_else(|error| panic!("seed {seed}, {sharding}: {error}"));
            assert_eq!(taken.disagreement, None, "seed {seed}, {sharding}");
        }
    }
}
