//! Execution on shards without a list. The outcome equals that in order, whatever steps of
//! different shards share, and in whatever order their messages arrive.

use executor::{engine::CrossShard, shards::Speculation};
use random_blocks::RandomBlocks;
use variant::{PartitionTime, Partitioner, Phase, Sharding};
use workload::{Block, Workload};

use super::{
    Running, changing, generated, generated_on, in_three_ways, running, sample_optimistic,
};
use crate::common::loads::{MEETING_LOADS, OTHER_STORMS, SHAPED_LOADS};

/// Executes a workload on shards 12 times, in several ways. Returns the cost of all runs together.
pub(crate) fn assert_agrees_on_shards(
    workload: &Workload,
    running: &Running,
    what: &str,
) -> CrossShard {
    let mut all = CrossShard::default();
    for (number, partitioner) in Partitioner::ALL.iter().cycle().take(12).enumerate() {
        let delay_us = [0, 0, 400][number % 3];
        let sharding =
            Sharding { partitioner: *partitioner, delay_us, ..Sharding::on(1 + number % 4) };
        let (shards, threads) = (&running.cluster, [1, 2, 4][number / 4]);
        let taken = sample_optimistic(workload, shards, sharding, threads);
        let taken = taken.unwrap_or_else(|error| panic!("{what}, {sharding}@{threads}: {error}"));
        assert_eq!(taken.disagreement, None, "{what}, {sharding}@{threads}");
        all.add(&taken.executed.cross_shard.unwrap());
    }
    all
}

fn partitioned(number: usize, count: usize) -> Sharding {
    let partitioner = Partitioner::ALL[number % Partitioner::ALL.len()];
    Sharding { partitioner, ..Sharding::on(count) }
}

#[test]
fn every_kind_of_load_equals_the_reference_without_a_list() {
    let running = running(4);
    let small = MEETING_LOADS.iter().chain(SHAPED_LOADS);
    let small = small.map(|load| (load, "gas = \"1M\"\nblocks = 4\nbatch = 2"));
    let storms = "gas = \"1M\"\ntx_gas = \"250k\"\nblocks = 2\nbatch = 2";
    let loads = small.chain(OTHER_STORMS.iter().map(|load| (load, storms)));
    for (number, (load, block)) in loads.enumerate() {
        let workload = generated(load, block);
        for (count, threads) in [(2 + number % 3, 1), (1 + number % 4, 2)] {
            let sharding = partitioned(number + threads, count);
            let taken = sample_optimistic(&workload, &running.cluster, sharding, threads);
            let taken = taken.unwrap_or_else(|error| panic!("{load}, {sharding}: {error}"));
            assert_eq!(taken.disagreement, None, "{load}, {sharding}");
            assert_eq!(taken.executed.shard_names.len(), count, "{load}");
        }
    }
}

#[test]
fn random_blocks_equal_the_reference_without_a_list() {
    let running = running(4);
    for seed in 1..=40 {
        let built = RandomBlocks::draw(seed, 10).build().unwrap();
        for count in 1..=4 {
            let number = seed as usize + count;
            let delay_us = if number.is_multiple_of(8) { 300 } else { 0 };
            let sharding = Sharding { delay_us, ..partitioned(number, count) };
            let threads = 1 + number % 3;
            let taken = sample_optimistic(&built.workload, &running.cluster, sharding, threads);
            let taken = taken.unwrap_or_else(|error| panic!("seed {seed}, {sharding}: {error}"));
            assert_eq!(taken.disagreement, None, "seed {seed}, {sharding}@{threads}");
        }
    }
}

#[test]
fn every_way_equals_the_reference() {
    let running = running(3);
    let workloads = [
        RandomBlocks::draw(77, 8).build().unwrap().workload,
        changing().build().unwrap().workload,
        generated("kind = \"erc20\"\nholders = 30", "gas = \"2M\"\nblocks = 4\nbatch = 2"),
        generated("kind = \"one-slot\"\nwork = 2", "gas = \"2M\""),
    ];
    for workload in &workloads {
        for partitioner in Partitioner::ALL {
            for sharding in in_three_ways(*partitioner) {
                let taken = sample_optimistic(workload, &running.cluster, sharding, 2);
                let taken = taken.unwrap_or_else(|error| panic!("{sharding}: {error}"));
                assert_eq!(taken.disagreement, None, "{sharding}");
                let spans = &taken.executed.spans;
                let count = spans.iter().filter(|span| span.phase == Phase::Partition).count();
                let inside = usize::from(sharding.partition_time == PartitionTime::Inside);
                assert_eq!(count, inside * workload.batches.len(), "{sharding}");
                assert!(taken.executed.shard_times.ahead_request_count > 0, "{sharding}");
            }
        }
    }
}

/// A chain of steps: each needs the value of the step before, which runs on another shard.
#[test]
fn a_chain_that_alternates_between_shards_ends_and_is_right() {
    let running = running(3);
    let workload = generated("kind = \"one-slot\"\nwork = 2", "transactions = 400\nblocks = 2");
    for count in [2, 3] {
        for threads in [1, 2] {
            let sharding = Sharding { partitioner: Partitioner::RoundRobin, ..Sharding::on(count) };
            let taken = sample_optimistic(&workload, &running.cluster, sharding, threads).unwrap();
            assert_eq!(taken.disagreement, None, "{sharding}@{threads}");
            let CrossShard { value_count, .. } = taken.executed.cross_shard.unwrap();
            assert!(value_count >= 700, "a value of each step but the last: {value_count}");
            let Speculation { step_count, execution_count, .. } =
                taken.executed.speculation.unwrap();
            assert_eq!(step_count, 2 * 402);
            assert!(execution_count >= step_count, "{execution_count} of {step_count}");
            let spans = &taken.executed.spans;
            assert!(spans.iter().any(|span| span.phase == Phase::ShardValues), "{spans:?}");
        }
    }
}

/// The partitioner keeps conflicting transactions together, by the keys of a run of each alone.
/// System steps are no transactions: the block's last step pays withdrawals, also to senders of the
/// block.
#[test]
fn a_partition_by_component_leaves_only_values_for_withdrawals_between_shards() {
    let running = running(2);
    let chains =
        "kind = \"chains\"\nwork = 3\nconflict = 0.5\nlengths = [1, 2, 5]\norder = \"interleaved\"";
    // Thread timing decides how often a value is sent, but not whether any is sent.
    let values = |workload: &Workload, partitioner| {
        let sharding = Sharding { partitioner, ..Sharding::on(2) };
        let taken = sample_optimistic(workload, &running.cluster, sharding, 2).unwrap();
        assert_eq!(taken.disagreement, None, "{sharding}");
        let used = |shard: u32| taken.executed.batches[0].shard_of_tx.contains(&shard);
        assert!(used(0) && used(1), "{sharding}: one shard has all");
        taken.executed.cross_shard.unwrap().value_count
    };
    for (accounts, are_senders_paid) in [("accounts = 400", true), ("accounts = 50000", false)] {
        let workload = generated_on(accounts, chains, "transactions = 200");
        let Block { withdrawals, transactions, .. } = &workload.batches[0].blocks[0];
        let is_paid = |address| withdrawals.iter().any(|paid| paid.address == address);
        let paid_count = transactions.iter().filter(|tx| is_paid(tx.sender)).count();
        assert_eq!(paid_count > 0, are_senders_paid, "{accounts}: {paid_count} are paid");
        let together = values(&workload, Partitioner::ByComponent);
        assert_eq!(together > 0, are_senders_paid, "{accounts}: {together} values");
        assert!(values(&workload, Partitioner::RoundRobin) > 0, "{accounts}");
    }
}

#[test]
fn more_shards_than_transactions_leave_some_without_work() {
    let running = running(4);
    let workload = generated("kind = \"transfers\"", "transactions = 2\nblocks = 2");
    for number in 0..Partitioner::ALL.len() {
        let sharding = partitioned(number, 4);
        let taken = sample_optimistic(&workload, &running.cluster, sharding, 2).unwrap();
        assert_eq!(taken.disagreement, None, "{}", sharding.partitioner);
    }
}
