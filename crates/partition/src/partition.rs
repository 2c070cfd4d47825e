//! A partition: a shard for each transaction, chosen by one of the partitioners.

use variant::Partitioner;

use crate::{
    balance::gas_limit, baselines, hypergraph::Hypergraph, multilevel, placement::Placement,
    random::Random, search::improve, transactions::Transactions,
};

/// Number of clusters per shard at which a level is coarse enough.
const COARSE_COUNT_PER_SHARD: usize = 100;

/// Largest number of shards. Figures keep a bit for each shard in 64 bits.
pub const SHARD_COUNT_MAX: u32 = 64;

/// A shard for each transaction of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    shard_count: u32,
    shard_of: Vec<u32>,
}

impl Partition {
    /// Partitions transactions over `shard_count` shards, 1 to [`SHARD_COUNT_MAX`]. Only the
    /// partitioner `fanout` uses `seed`.
    ///
    /// # Panics
    /// If `shard_count` is outside this range.
    pub fn new(
        transactions: &Transactions,
        partitioner: Partitioner,
        shard_count: u32,
        seed: u64,
    ) -> Self {
        assert!((1..=SHARD_COUNT_MAX).contains(&shard_count), "{shard_count} shards");
        let shard_of = match partitioner {
            Partitioner::RoundRobin => baselines::round_robin(transactions, shard_count),
            Partitioner::BySender => baselines::by_sender(transactions, shard_count),
            Partitioner::ByComponent => baselines::by_component(transactions, shard_count),
            Partitioner::Fanout => by_fanout(transactions, shard_count, seed),
        };
        Self { shard_count, shard_of }
    }

    /// Number of shards.
    pub const fn shard_count(&self) -> u32 {
        self.shard_count
    }

    /// The shard of a transaction.
    pub fn shard_of(&self, tx: usize) -> u32 {
        self.shard_of[tx]
    }

    /// The shard of each transaction.
    pub fn shards(&self) -> &[u32] {
        &self.shard_of
    }
}

/// Returns the shard of each transaction, from the placement with the lower objective of two. One
/// is found by the search on several levels. The other is the baseline `by_component` after local
/// search, if it overfills no shard.
fn by_fanout(transactions: &Transactions, shard_count: u32, seed: u64) -> Vec<u32> {
    if shard_count == 1 {
        return vec![0; transactions.count()];
    }
    let graph = Hypergraph::new(transactions);
    let mut random = Random::new(seed);
    let searched = multilevel::shards(&graph, shard_count, COARSE_COUNT_PER_SHARD, &mut random);
    let objective = Placement::new(&graph, shard_count, &searched).objective();
    let limit = gas_limit(transactions.gas(), shard_count);
    let components = baselines::by_component(transactions, shard_count);
    let mut components = Placement::new(&graph, shard_count, &components);
    if components.loads().iter().all(|load| *load <= limit) {
        improve(&mut components, limit, &mut random);
        if components.objective() < objective {
            return components.into_shards();
        }
    }
    searched
}
