//! Counts the values that shards read and send each other, for one order of the transactions. This
//! describes a partition without a simulation of time.

use crate::{partition::Partition, transactions::Transactions};

/// Counts of the values that shards read and send each other. The counts of several batches can be
/// added, since batches run one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of values that one shard wrote and another shard reads. Each value counts once for
    /// each shard that reads it.
    pub value_count: u64,
    /// Number of hops: values in the longest sequence in which each value depends on the value
    /// before it, and goes to another shard.
    pub hop_count: u64,
    /// Number of values that shards read from the state as it was before the batch. No earlier
    /// transaction of the batch has written these keys. Each key counts once for each shard.
    pub state_read_count: u64,
}

/// The newest value of a key, while transactions are visited.
#[derive(Clone, Copy, Debug, Default)]
struct Newest {
    /// The shard that wrote the value, and the number of hops of the longest sequence up to the
    /// value. `None` for the value before the batch.
    writer: Option<(u32, u64)>,
    /// A bit for each shard that has the value.
    shards: u64,
}

impl Traffic {
    /// Counts the traffic of the transactions in this order. A transaction reads each key that it
    /// writes.
    pub fn new(transactions: &Transactions, partition: &Partition, order: &[u32]) -> Self {
        let mut keys = vec![Newest::default(); transactions.key_count()];
        let mut traffic = Self::default();
        for tx in order {
            let shard = partition.shard_of(*tx as usize);
            let accesses = transactions.accesses(*tx as usize);
            let mut depth = 0;
            for access in accesses {
                let key = &mut keys[access.key as usize];
                let is_new = u64::from(key.shards & (1 << shard) == 0);
                key.shards |= 1 << shard;
                match key.writer {
                    None => traffic.state_read_count += is_new,
                    Some((writer, before)) => {
                        depth = depth.max(before + u64::from(writer != shard));
                        traffic.value_count += is_new;
                    }
                }
            }
            for access in accesses.iter().filter(|access| access.writes) {
                let writer = Some((shard, depth));
                keys[access.key as usize] = Newest { writer, shards: 1 << shard };
            }
            traffic.hop_count = traffic.hop_count.max(depth);
        }
        traffic
    }

    /// Adds the counts of the next batch.
    pub const fn add(&mut self, other: Self) {
        self.value_count += other.value_count;
        self.hop_count += other.hop_count;
        self.state_read_count += other.state_read_count;
    }
}
