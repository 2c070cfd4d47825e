//! Execution on shards: the number of shards, the partition of transactions over them, and the
//! network between shards and coordinator.

use std::{fmt, time::Duration};

crate::named! {
    /// Rule that gives each transaction its shard.
    pub enum Partitioner: "partitioner" {
        /// The next shard in turn, for each transaction.
        RoundRobin = "round-robin",
        /// The next shard in turn, for each sender with all its transactions.
        BySender = "by-sender",
        /// One shard for each component of the conflict graph.
        ByComponent = "by-component",
        /// Shards of about equal gas, such that few shards touch each key; found by local search.
        Fanout = "fanout",
    }
}

crate::named! {
    /// When a batch is partitioned over shards.
    #[derive(Default)]
    pub enum PartitionTime: "time of the partition" {
        /// At the start of each batch, inside the clock.
        #[default]
        Inside = "inside",
        /// Before the clock, for all batches.
        Before = "before",
    }
}

/// One way to execute on shards: how many, and how they get their transactions and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sharding {
    /// Number of shards. Each is another process, with the variant's number of threads; 0 if this
    /// process executes.
    pub count: usize,
    /// Partitioner of the transactions.
    pub partitioner: Partitioner,
    /// When the partitioner runs.
    pub partition_time: PartitionTime,
    /// Maximum number of keys of a micro-batch: a request that a shard makes ahead of its steps.
    pub micro_batch_key_count: u32,
    /// Delay in microseconds that the transport adds to each message, in one direction.
    pub delay_us: u32,
}

impl Sharding {
    /// No shards.
    pub const NONE: Self = Self {
        count: 0,
        partitioner: Partitioner::BySender,
        partition_time: PartitionTime::Inside,
        micro_batch_key_count: 256,
        delay_us: 0,
    };

    /// `count` shards, partitioned by sender, without a delay.
    pub const fn on(count: usize) -> Self {
        Self { count, ..Self::NONE }
    }

    /// Returns whether there are no shards: this process executes.
    pub const fn is_none(&self) -> bool {
        self.count == 0
    }

    /// The delay that the transport adds to each message, in one direction.
    pub const fn delay(&self) -> Duration {
        Duration::from_micros(self.delay_us as u64)
    }
}

impl Default for Sharding {
    fn default() -> Self {
        Self::NONE
    }
}

impl fmt::Display for Sharding {
    /// Writes the number of shards and all values that are not the default: `4shards`,
    /// `4shards-fanout-before-64keys-500us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, partitioner, partition_time, micro_batch_key_count, delay_us } = self;
        write!(f, "{count}shards")?;
        if *partitioner != Self::NONE.partitioner {
            write!(f, "-{partitioner}")?;
        }
        if *partition_time != Self::NONE.partition_time {
            write!(f, "-{partition_time}")?;
        }
        if *micro_batch_key_count != Self::NONE.micro_batch_key_count {
            write!(f, "-{micro_batch_key_count}keys")?;
        }
        if *delay_us > 0 {
            write!(f, "-{delay_us}us")?;
        }
        Ok(())
    }
}
