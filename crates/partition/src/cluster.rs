//! Joins related vertices into clusters, which are the vertices of the next coarser level of the
//! search in `multilevel.rs`. Moves of single vertices cannot bring all transactions of a user to
//! another shard: the first of these moves raises the objective. A cluster moves as a whole.

use crate::{hypergraph::Hypergraph, random::Random};

/// Maximum number of vertices of an edge that counts in ratings, since a larger edge takes long to
/// rate. It gets smaller on coarser levels, once smaller edges have joined its vertices.
const RATED_VERTEX_COUNT_MAX: usize = 1_000;

/// Rating that an edge distributes over the neighbours of one of its vertices: each of its other
/// vertices gets an equal part. Large, so that a part is not rounded to 0.
const EDGE_RATING_SUM: u64 = 1 << 32;

/// Clusters of a hypergraph's vertices.
#[derive(Debug)]
pub(crate) struct Clusters {
    /// Number of each vertex's cluster, below `count`.
    pub(crate) cluster_of: Vec<u32>,
    /// Number of clusters.
    pub(crate) count: usize,
}

/// Joins vertices into clusters. Visits each vertex once, in a random order. A vertex that is still
/// alone in its cluster joins the neighbouring cluster with the highest rating. The rating sums the
/// edges that the vertex shares with the cluster. An edge with few vertices counts more. A cluster
/// weighs at most `weight_max`, unless a single vertex weighs more.
pub(crate) fn clusters(graph: &Hypergraph, weight_max: u64, random: &mut Random) -> Clusters {
    let count = graph.vertex_count();
    let mut cluster_of: Vec<u32> = (0..count as u32).collect();
    let mut weights = graph.weights().to_vec();
    let mut sizes = vec![1_u32; count];
    let mut ratings = vec![0_u64; count];
    let mut rated: Vec<u32> = Vec::new();
    for vertex in random.order(count) {
        let own = cluster_of[vertex as usize];
        if sizes[own as usize] > 1 {
            continue;
        }
        for (pins, rating) in rated_edges(graph, vertex) {
            for pin in pins {
                let cluster = cluster_of[*pin as usize];
                if ratings[cluster as usize] == 0 {
                    rated.push(cluster);
                }
                ratings[cluster as usize] += rating;
            }
        }
        let room = weight_max.saturating_sub(weights[own as usize]);
        let others = rated.iter().copied().filter(|cluster| *cluster != own);
        let with_room = others.filter(|cluster| weights[*cluster as usize] <= room);
        let best = with_room.max_by_key(|cluster| {
            let index = *cluster as usize;
            (ratings[index], std::cmp::Reverse((weights[index], index)))
        });
        if let Some(best) = best {
            cluster_of[vertex as usize] = best;
            sizes[best as usize] += 1;
            sizes[own as usize] = 0;
            weights[best as usize] += weights[own as usize];
        }
        for cluster in rated.drain(..) {
            ratings[cluster as usize] = 0;
        }
    }
    numbered(cluster_of)
}

/// The edges of a vertex that count in ratings: the vertices of each, and its rating.
pub(crate) fn rated_edges(graph: &Hypergraph, vertex: u32) -> impl Iterator<Item = (&[u32], u64)> {
    let edges = graph.edges_of(vertex).iter().map(move |edge| graph.pins_of(*edge));
    let rated = edges.filter(|pins| pins.len() <= RATED_VERTEX_COUNT_MAX);
    rated.map(|pins| (pins, EDGE_RATING_SUM / (pins.len() as u64 - 1)))
}

/// Numbers the clusters from 0, in the order of their first vertices.
fn numbered(mut cluster_of: Vec<u32>) -> Clusters {
    const NONE: u32 = u32::MAX;
    let mut number_of = vec![NONE; cluster_of.len()];
    let mut count = 0;
    for cluster in &mut cluster_of {
        let number = &mut number_of[*cluster as usize];
        if *number == NONE {
            *number = count;
            count += 1;
        }
        *cluster = *number;
    }
    Clusters { cluster_of, count: count as usize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transactions::{Access, Transactions, Tx};

    /// Transactions in pairs: each pair shares one of 50 keys, and all pairs share one more key.
    fn pairs() -> Hypergraph {
        let mut transactions = Transactions::default();
        for tx in 0..100 {
            let accesses = [tx % 50, 50].map(|key| Access { key, writes: true }).to_vec();
            transactions.push(Tx { gas: 10, sender: tx, accesses });
        }
        Hypergraph::new(&transactions)
    }

    #[test]
    fn transactions_of_a_small_key_join_before_those_of_a_large_one() {
        let clusters = clusters(&pairs(), 20, &mut Random::new(3));
        assert_eq!(clusters.count, 50);
        assert!((0..50).all(|tx| clusters.cluster_of[tx] == clusters.cluster_of[tx + 50]));
    }

    #[test]
    fn no_cluster_is_heavier_than_its_limit() {
        let graph = pairs();
        for weight_max in [0, 10, 35, 100, 10_000] {
            let clusters = clusters(&graph, weight_max, &mut Random::new(3));
            let mut weights = vec![0; clusters.count];
            clusters.cluster_of.iter().for_each(|cluster| weights[*cluster as usize] += 10);
            assert!(weights.iter().all(|weight| *weight <= weight_max.max(10)), "{weights:?}");
        }
    }
}
