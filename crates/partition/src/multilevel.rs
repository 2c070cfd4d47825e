//! The search on several levels: vertices are joined to clusters again and again, the few clusters
//! that are left are placed and moved, then the clusters within them, down to the transactions.

use crate::{
    balance::{Bounds, cluster_limit},
    cluster::clusters,
    hypergraph::Hypergraph,
    placement::Placement,
    random::Random,
    search::improve,
    start::{grown, scattered},
};

/// Clusters for each shard at which joining ends.
const COARSE_COUNT_PER_SHARD: usize = 100;

/// Joining ends where a level has more than this share of the vertices of the one below it.
const SHRINKING_MAX: f64 = 0.95;

/// First placements of each kind that are tried on the coarsest level.
const START_COUNT: usize = 4;

/// Vertices of the coarsest level above which one of each kind is tried.
const SEVERAL_STARTS_MAX: usize = 50_000;

/// A level: the hypergraph of clusters, and the cluster of each vertex of the level below.
struct Level {
    graph: Hypergraph,
    cluster_of: Vec<u32>,
}

/// The shard of each vertex.
pub(crate) fn shards(graph: &Hypergraph, shard_count: u32, random: &mut Random) -> Vec<u32> {
    let bounds = Bounds::of(graph.weights(), shard_count);
    let levels = levels(graph, shard_count, random);
    let coarsest = levels.last().map_or(graph, |level| &level.graph);
    let mut shard_of = first(coarsest, bounds, random);
    for (index, level) in levels.iter().enumerate().rev() {
        let below = if index == 0 { graph } else { &levels[index - 1].graph };
        shard_of = level.cluster_of.iter().map(|cluster| shard_of[*cluster as usize]).collect();
        let mut placement = Placement::of(below, shard_count, &shard_of);
        improve(&mut placement, bounds.limit, random);
        shard_of = placement.into_shards();
    }
    shard_of
}

fn levels(graph: &Hypergraph, shard_count: u32, random: &mut Random) -> Vec<Level> {
    let weight_max = cluster_limit(graph.weights(), shard_count);
    let mut levels: Vec<Level> = Vec::new();
    loop {
        let finest = levels.last().map_or(graph, |level| &level.graph);
        let count = finest.vertex_count();
        if count <= COARSE_COUNT_PER_SHARD * shard_count as usize {
            return levels;
        }
        let found = clusters(finest, weight_max, random);
        if found.count as f64 > SHRINKING_MAX * count as f64 {
            return levels;
        }
        let graph = finest.contracted(&found.of, found.count);
        levels.push(Level { graph, cluster_of: found.of });
    }
}

/// The best of several first placements, each improved.
fn first(graph: &Hypergraph, bounds: Bounds, random: &mut Random) -> Vec<u32> {
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
