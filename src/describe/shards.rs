//! Partitions each batch over shards of execution, for `stress describe --shards`. A partitioner
//! gets the keys of the reference run, each as a number. The result has the quality, the traffic
//! and the time of each partitioner.

use std::{
    collections::{HashMap, HashSet},
    time::Instant,
};

use generator::describe::{BatchDescription, Description};
use partition::{Partition, Quality, Traffic, Transactions, Tx, shard_order};
use result::description::{PartitionFacts, ShardPartitions, TrafficFacts};
use variant::Partitioner;
use workload::{Batch, Workload};

use crate::figures::cells::ns;
use crate::terminal::{Failure, Progress, interrupt};

/// Seed of the partitioners' search. It is fixed, so that a scenario and its workload file get the
/// same partition.
const SEED: u64 = 1;

/// Builds the transactions of each batch in the form that partitioners take. Moves the accesses out
/// of `description`.
pub fn transactions(workload: &Workload, description: &mut Description) -> Vec<Transactions> {
    let batches = workload.batches.iter().zip(&mut description.batches);
    batches.map(|(batch, description)| transactions_of(batch, description)).collect()
}

fn transactions_of(batch: &Batch, description: &mut BatchDescription) -> Transactions {
    let of_txs = std::mem::take(&mut description.accesses);
    let mut numbers = HashMap::new();
    let mut transactions = Transactions::default();
    let all = batch.blocks.iter().flat_map(|block| &block.transactions);
    for (tx, (envelope, gas)) in all.zip(description.graph.gas()).enumerate() {
        let next = numbers.len() as u32;
        let sender = *numbers.entry(envelope.sender).or_insert(next);
        let accesses = of_txs.of(tx).iter();
        let accesses = accesses
            .map(|access| partition::Access { key: access.key, writes: access.writes })
            .collect();
        transactions.push(Tx { gas: *gas, sender, accesses });
    }
    transactions
}

/// Partitions all batches with each partitioner, for each number of shards.
///
/// # Errors
/// The user interrupted.
pub fn partitioned(
    batches: &[Transactions],
    counts: &[u32],
    progress: &Progress,
) -> Result<Vec<ShardPartitions>, Failure> {
    let mut seen = HashSet::new();
    let distinct: Vec<u32> = counts.iter().copied().filter(|count| seen.insert(*count)).collect();
    let total = (distinct.len() * Partitioner::ALL.len() * batches.len()) as u64;
    let stage = progress.stage("partitioning", total);
    let mut done = 0;
    let mut all = Vec::new();
    for count in distinct {
        let mut partitions = Vec::new();
        for partitioner in Partitioner::ALL {
            let mut sum = Sum::default();
            for batch in batches {
                interrupt::check()?;
                sum.add(batch, *partitioner, count);
                done += 1;
                stage.set(done, total);
            }
            partitions.push(sum.facts(*partitioner));
        }
        all.push(ShardPartitions { shard_count: u64::from(count), partitions });
    }
    stage.finish();
    Ok(all)
}

/// Sums of one partitioner's figures over all batches.
#[derive(Default)]
struct Sum {
    quality: Quality,
    in_block_order: Traffic,
    in_shard_order: Traffic,
    partition_ns: u64,
}

impl Sum {
    fn add(&mut self, batch: &Transactions, partitioner: Partitioner, shard_count: u32) {
        let started = Instant::now();
        let found = Partition::new(batch, partitioner, shard_count, SEED);
        self.partition_ns += ns(started.elapsed());
        self.quality.add(&Quality::new(batch, &found));
        let block_order: Vec<u32> = (0..batch.count() as u32).collect();
        self.in_block_order.add(Traffic::new(batch, &found, &block_order));
        self.in_shard_order.add(Traffic::new(batch, &found, &shard_order(batch, &found)));
    }

    fn facts(&self, partitioner: Partitioner) -> PartitionFacts {
        PartitionFacts {
            partitioner,
            fanout: self.quality.fanout(),
            conflict_fanout: self.quality.conflict_fanout(),
            imbalance: self.quality.imbalance(),
            in_block_order: traffic(self.in_block_order),
            in_shard_order: traffic(self.in_shard_order),
            partition_ns: self.partition_ns,
        }
    }
}

const fn traffic(found: Traffic) -> TrafficFacts {
    let Traffic { value_count, hop_count, state_read_count } = found;
    TrafficFacts { cross_shard_value_count: value_count, hop_count, state_read_count }
}
