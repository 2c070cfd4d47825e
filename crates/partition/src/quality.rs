//! Quality of a partition, for descriptions and results: fanout and imbalance. It does not depend
//! on the order of the transactions; see `traffic.rs` for figures that do.

use crate::{partition::Partition, transactions::Transactions};

/// Counts of keys, of shards that touch them, and of gas. The counts of several batches can be
/// added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quality {
    /// Number of shared keys: keys that two or more transactions touch.
    shared_key_count: u64,
    /// Number of shards that touch a shared key, summed over all shared keys.
    shared_shard_count: u64,
    /// Number of keys in conflict: two or more transactions touch the key, and one of them writes
    /// it.
    conflict_key_count: u64,
    /// Number of shards that touch a key in conflict, summed over all keys in conflict.
    conflict_shard_count: u64,
    /// Gas of all transactions.
    gas: u64,
    /// Gas of the shard with the most gas, summed over the batches.
    fullest_gas: u64,
    shard_count: u32,
}

/// Facts of a key while transactions are visited.
#[derive(Clone, Copy, Debug, Default)]
struct Key {
    /// A bit for each shard that touches the key.
    shards: u64,
    /// Number of transactions that touch the key.
    tx_count: u32,
    is_written: bool,
}

impl Quality {
    /// Computes the quality of a partition of these transactions.
    pub fn new(transactions: &Transactions, partition: &Partition) -> Self {
        let mut keys = vec![Key::default(); transactions.key_count()];
        let mut loads = vec![0; partition.shard_count() as usize];
        for tx in 0..transactions.count() {
            let shard = partition.shard_of(tx);
            loads[shard as usize] += transactions.gas()[tx];
            for access in transactions.accesses(tx) {
                let key = &mut keys[access.key as usize];
                key.shards |= 1 << shard;
                key.tx_count += 1;
                key.is_written |= access.writes;
            }
        }
        let mut quality = Self {
            gas: loads.iter().sum(),
            fullest_gas: loads.into_iter().max().unwrap_or(0),
            shard_count: partition.shard_count(),
            ..Self::default()
        };
        for key in &keys {
            let shard_count = u64::from(key.shards.count_ones());
            if key.tx_count > 1 {
                quality.shared_key_count += 1;
                quality.shared_shard_count += shard_count;
            }
            if key.tx_count > 1 && key.is_written {
                quality.conflict_key_count += 1;
                quality.conflict_shard_count += shard_count;
            }
        }
        quality
    }

    /// Adds the quality of another batch on the same number of shards.
    pub fn add(&mut self, other: &Self) {
        self.shared_key_count += other.shared_key_count;
        self.shared_shard_count += other.shared_shard_count;
        self.conflict_key_count += other.conflict_key_count;
        self.conflict_shard_count += other.conflict_shard_count;
        self.gas += other.gas;
        self.fullest_gas += other.fullest_gas;
        self.shard_count = other.shard_count;
    }

    /// Mean number of shards that touch a shared key; 1 where no key is shared.
    pub fn fanout(&self) -> f64 {
        mean(self.shared_shard_count, self.shared_key_count)
    }

    /// Mean number of shards that touch a key in conflict; 1 where no key is in conflict.
    pub fn conflict_fanout(&self) -> f64 {
        mean(self.conflict_shard_count, self.conflict_key_count)
    }

    /// Returns how far the gas of the fullest shard exceeds the mean gas of a shard, as a share of
    /// that mean.
    pub fn imbalance(&self) -> f64 {
        if self.gas == 0 {
            return 0.0;
        }
        self.fullest_gas as f64 * f64::from(self.shard_count) / self.gas as f64 - 1.0
    }
}

fn mean(sum: u64, count: u64) -> f64 {
    if count == 0 { 1.0 } else { sum as f64 / count as f64 }
}
