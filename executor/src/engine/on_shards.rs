//! What engines that execute on shards have in common: the shards that are connected, and the parts of a batch.

use alloy_primitives::{Address, Bytes, map::HashMap};
use partition::{Access, Partition, Transactions, Tx};
use variant::{Partitioner, Sharding, Variant};
use workload::{Batch, BlockAccessIndex, StepKind, Steps};

use super::{error::EngineError, task::Task};
use crate::{
    error::StoreError,
    shards::{Assignment, Shards},
};

/// Seed of the search: one input has one partition.
const SEED: u64 = 1;

/// The shards of a task.
///
/// # Errors
/// [`EngineError::Store`] where fewer shards are connected than the variant has.
pub(super) fn connected<'a>(task: &Task<'a>) -> Result<&'a dyn Shards, EngineError> {
    let wanted = task.variant.sharding.count;
    let connected = task.shards.map_or(0, Shards::count);
    match task.shards {
        Some(shards) if connected >= wanted => Ok(shards),
        _ => Err(EngineError::Store(StoreError::Failed {
            store: "shards",
            action: format!("execute on {wanted}"),
            reason: format!("{connected} are connected"),
        })),
    }
}

/// Gives a shard the workload, before any clock.
///
/// # Errors
/// [`StoreError`] with the shard's name.
pub(super) fn load(shards: &dyn Shards, shard: usize, task: &Task<'_>) -> Result<(), StoreError> {
    shards.load(shard, task.workload, task.cancel).map_err(|error| StoreError::Failed {
        store: "shards",
        action: format!("give the workload to {}", shards.name(shard)),
        reason: error.0,
    })
}

/// Whether a partitioner looks at the keys of transactions.
pub(super) const fn needs_accesses(partitioner: Partitioner) -> bool {
    match partitioner {
        Partitioner::RoundRobin | Partitioner::BySender => false,
        Partitioner::ByComponent | Partitioner::Fanout => true,
    }
}

/// Which shard executes which steps of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// Steps of each shard, ascending. System steps are the first shard's.
    pub(super) steps: Vec<Vec<BlockAccessIndex>>,
    /// The shard of each transaction.
    pub(super) shard_of_tx: Vec<u32>,
}

impl Parts {
    /// Partitions a batch. `accesses` are those of each transaction, as far as they are known.
    pub(super) fn new(batch: &Batch, sharding: &Sharding, accesses: Vec<Vec<Access>>) -> Self {
        let Sharding { count, partitioner, .. } = *sharding;
        let shard_count = u32::try_from(count).unwrap_or(u32::MAX);
        let partition =
            Partition::new(&transactions(batch, accesses), partitioner, shard_count, SEED);
        let mut parts = Self { steps: vec![Vec::new(); count], shard_of_tx: Vec::new() };
        for (index, step) in Steps::of(batch).iter() {
            let mut shard = 0;
            if let StepKind::Transaction(_) = step.kind {
                shard = partition.shard_of(parts.shard_of_tx.len());
                parts.shard_of_tx.push(shard);
            }
            parts.steps[shard as usize].push(index);
        }
        parts
    }
}

/// The transactions of a batch as partitioners take them.
fn transactions(batch: &Batch, accesses: Vec<Vec<Access>>) -> Transactions {
    let mut accesses = accesses.into_iter();
    let mut senders: HashMap<Address, u32> = HashMap::default();
    let mut transactions = Transactions::default();
    for tx in batch.blocks.iter().flat_map(|block| &block.transactions) {
        let next = senders.len() as u32;
        let sender = *senders.entry(tx.sender).or_insert(next);
        let accesses = accesses.next().unwrap_or_default();
        transactions.push(Tx { gas: tx.gas_limit, sender, accesses });
    }
    transactions
}

/// The parts of the batch at `batch`, as shards are given them.
pub(super) fn assignments(
    steps: Vec<Vec<BlockAccessIndex>>,
    batch: usize,
    list: &Bytes,
    variant: &Variant,
) -> Vec<Assignment> {
    let of_shard = |steps| Assignment {
        batch,
        list: list.clone(),
        steps,
        thread_count: variant.thread_count,
        micro_batch_key_count: variant.sharding.micro_batch_key_count,
        delay: variant.sharding.delay(),
    };
    steps.into_iter().map(of_shard).collect()
}
