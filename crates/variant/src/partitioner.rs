//! How a batch's transactions are partitioned over shards of execution.

crate::named! {
    /// The partitioner.
    pub enum Partitioner: "partitioner" {
        /// Each transaction on the next shard.
        RoundRobin = "round-robin",
        /// Each sender on the next shard, with all its transactions.
        BySender = "by-sender",
        /// Each component of the conflict graph on one shard.
        ByComponent = "by-component",
        /// As few shards as possible for each key, by local search, and shards of about equal gas.
        Fanout = "fanout",
    }
}
