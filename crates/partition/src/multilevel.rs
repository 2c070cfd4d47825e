//! Searches for a partition on several levels of a hypergraph. Vertices are joined into clusters
//! again and again, so each level is coarser than the level below it. The clusters of the coarsest
//! level are placed on shards and moved, then the clusters of each level below, down to the
//! transactions.
//!
//! Each level reduces the probabilistic fanout (see `placement`) of its own vertices. So on a
//! coarse level, an edge counts clusters and not transactions. If it counted the dozens of
//! transactions on a shard, the move of one cluster would gain almost nothing. But the edge may
//! have only a few clusters there, and can leave the shard with them.

use crate::{
    balance::{Bounds, cluster_limit},
    cluster::clusters,
    hypergraph::Hypergraph,
    placement::Placement,
    random::Random,
    search::improve,
    start::{grown, scattered},
};

/// Maximum number of vertices of a new level, as a share of the level below. Joining ends once a
/// level would have more.
const SHRINKING_MAX: f64 = 0.95;

/// Number of first placements of each kind, `grown` and `scattered`, on the coarsest level.
const START_COUNT: usize = 4;

/// Maximum number of vertices of a coarsest level that gets `START_COUNT` first placements of each
/// kind. A larger level gets one of each kind, to save time.
const SEVERAL_STARTS_MAX: usize = 50_000;

/// A coarser level: the hypergraph of clusters, and the cluster of each vertex of the level below.
struct Level {
    graph: Hypergraph,
    cluster_of: Vec<u32>,
}

/// Returns the shard of each vertex. Joining ends once a level has at most `coarse_count` clusters
/// for each shard, or would hardly be smaller than the level below.
pub(crate) fn shards(
    graph: &Hypergraph,
    shard_count: u32,
    coarse_count: usize,
    random: &mut Random,
) -> Vec<u32> {
    let bounds = Bounds::new(graph.weights(), shard_count);
    let levels = levels(graph, shard_count, coarse_count, random);
    let coarsest = levels.last().map_or(graph, |level| &level.graph);
    let mut shard_of = best_start(coarsest, bounds, random);
    for (index, level) in levels.iter().enumerate().rev() {
        let below = if index == 0 { graph } else { &levels[index - 1].graph };
        shard_of = level.cluster_of.iter().map(|cluster| shard_of[*cluster as usize]).collect();
        let mut placement = Placement::new(below, shard_count, &shard_of);
        improve(&mut placement, bounds.limit, random);
        shard_of = placement.into_shards();
    }
    shard_of
}

fn levels(
    graph: &Hypergraph,
    shard_count: u32,
    coarse_count: usize,
    random: &mut Random,
) -> Vec<Level> {
    let weight_max = cluster_limit(graph.weights(), shard_count);
    let mut levels: Vec<Level> = Vec::new();
    loop {
        let finest = levels.last().map_or(graph, |level| &level.graph);
        let count = finest.vertex_count();
        if count <= coarse_count * shard_count as usize {
            return levels;
        }
        let found = clusters(finest, weight_max, random);
        if found.count as f64 > SHRINKING_MAX * count as f64 {
            return levels;
        }
        let graph = finest.contracted(&found.cluster_of, found.count);
        levels.push(Level { graph, cluster_of: found.cluster_of });
    }
}

/// Returns the shard of each vertex of the coarsest level: the best of several first placements,
/// each improved by local search.
fn best_start(graph: &Hypergraph, bounds: Bounds, random: &mut Random) -> Vec<u32> {
    let count = if graph.vertex_count() > SEVERAL_STARTS_MAX { 1 } else { START_COUNT };
    let mut best: Option<(u128, Vec<u32>)> = None;
    for number in 0..2 * count {
        let start = if number % 2 == 0 { grown } else { scattered };
        let mut placement = start(graph, bounds, random);
        improve(&mut placement, bounds.limit, random);
        let objective = placement.objective();
        if best.as_ref().is_none_or(|(least, _)| objective < *least) {
            best = Some((objective, placement.into_shards()));
        }
    }
    best.map_or_else(Vec::new, |(_, shards)| shards)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::transactions::{Access, Transactions, Tx};

    fn transactions(all: &[(u64, Vec<u32>)]) -> Transactions {
        let mut transactions = Transactions::default();
        for (gas, keys) in all {
            let accesses = keys.iter().map(|key| Access { key: *key, writes: true }).collect();
            transactions.push(Tx { gas: *gas, sender: 0, accesses });
        }
        transactions
    }

    /// Two groups for each shard, whose transactions meet at three keys of their group, and in
    /// pairs.
    fn groups(shard_count: u32) -> Transactions {
        let count = 2 * shard_count;
        let all: Vec<_> = (0..400 * count)
            .map(|tx| (1_000, vec![3 * (tx % count) + tx / count % 3, 1_000 + tx % (200 * count)]))
            .collect();
        transactions(&all)
    }

    #[test]
    fn groups_are_found_through_several_levels() {
        for shard_count in 2..6 {
            let transactions = groups(shard_count);
            let graph = Hypergraph::new(&transactions);
            let joined = levels(&graph, shard_count, 2, &mut Random::new(1));
            assert!(joined.len() > 1, "{} levels", joined.len());
            let found = shards(&graph, shard_count, 2, &mut Random::new(1));
            let least = Placement::new(&graph, shard_count, &best(shard_count)).objective();
            let own = Placement::new(&graph, shard_count, &found).objective();
            assert_eq!(own, least, "{shard_count} shards");
        }
    }

    /// Whole groups, two on each shard.
    fn best(shard_count: u32) -> Vec<u32> {
        (0..800 * shard_count).map(|tx| tx % (2 * shard_count) / 2).collect()
    }

    proptest! {
        #[test]
        fn every_level_keeps_the_limit_and_the_next_one_has_the_same_weight(
            all in proptest::collection::vec(
                (1..60_u64, proptest::collection::vec(0..25_u32, 0..4)),
                2..150,
            ),
            shard_count in 2..6_u32,
            seed in any::<u64>(),
        ) {
            let transactions = transactions(&all);
            let graph = Hypergraph::new(&transactions);
            let total: u64 = graph.weights().iter().sum();
            let limit = Bounds::new(graph.weights(), shard_count).limit;
            for level in levels(&graph, shard_count, 1, &mut Random::new(seed)) {
                prop_assert_eq!(level.graph.weights().iter().sum::<u64>(), total);
                prop_assert!(Bounds::new(level.graph.weights(), shard_count).limit <= limit);
            }
            let found = shards(&graph, shard_count, 1, &mut Random::new(seed));
            prop_assert_eq!(&found, &shards(&graph, shard_count, 1, &mut Random::new(seed)));
            let placement = Placement::new(&graph, shard_count, &found);
            prop_assert!(placement.loads().iter().all(|load| *load <= limit));
        }
    }
}
