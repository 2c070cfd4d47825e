//! First placements of vertices, from which the search starts.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::{
    balance::Bounds, cluster::rated_edges, hypergraph::Hypergraph, placement::Placement,
    random::Random,
};

/// Places the vertices in a random order, each on the shard where the objective grows least.
pub(crate) fn scattered<'g>(
    graph: &'g Hypergraph,
    bounds: Bounds,
    random: &mut Random,
) -> Placement<'g> {
    let mut placement = Placement::empty(graph, bounds.shard_count);
    let mut growths = Vec::new();
    for vertex in random.order(graph.vertex_count()) {
        put_where_best(&mut placement, vertex, bounds, &mut growths);
    }
    placement
}

/// Fills one shard after the other up to the mean weight. Each shard begins with a random vertex.
/// The next vertex is always the vertex that shares most edges with the shard's vertices. An edge
/// with few vertices counts more, and a large edge does not count ([`rated_edges`]). The remaining
/// vertices go where the objective grows least.
pub(crate) fn grown<'g>(
    graph: &'g Hypergraph,
    bounds: Bounds,
    random: &mut Random,
) -> Placement<'g> {
    let mut placement = Placement::empty(graph, bounds.shard_count);
    let total: u128 = graph.weights().iter().map(|weight| u128::from(*weight)).sum();
    let mean = total / u128::from(bounds.shard_count);
    let mut seeds = random.order(graph.vertex_count()).into_iter();
    let mut pulls = vec![0_u64; graph.vertex_count()];
    for shard in 0..bounds.shard_count {
        pulls.fill(0);
        let mut near = BinaryHeap::new();
        while u128::from(placement.loads()[shard as usize]) < mean {
            let vertex = match near.pop() {
                Some((pull, Reverse(vertex))) => {
                    // The entry is out of date: the pull has grown since, or the vertex is placed.
                    if pulls[vertex as usize] != pull || placement.has(vertex) {
                        continue;
                    }
                    vertex
                }
                None => match seeds.find(|vertex| !placement.has(*vertex)) {
                    Some(seed) => seed,
                    None => break,
                },
            };
            // Below the mean there is room for any vertex.
            placement.put(vertex, shard);
            for (pins, rating) in rated_edges(graph, vertex) {
                for pin in pins.iter().filter(|pin| !placement.has(**pin)) {
                    pulls[*pin as usize] += rating;
                    near.push((pulls[*pin as usize], Reverse(*pin)));
                }
            }
        }
    }
    let mut growths = Vec::new();
    for vertex in 0..graph.vertex_count() as u32 {
        if !placement.has(vertex) {
            put_where_best(&mut placement, vertex, bounds, &mut growths);
        }
    }
    placement
}

/// Puts a vertex on the shard with room where the objective grows least.
fn put_where_best(
    placement: &mut Placement<'_>,
    vertex: u32,
    bounds: Bounds,
    growths: &mut Vec<u64>,
) {
    placement.growths(vertex, growths);
    let weight = placement.graph().weights()[vertex as usize];
    let loads = placement.loads();
    let limit = bounds.limit;
    let with_room =
        (0..growths.len()).filter(|shard| loads[*shard].saturating_add(weight) <= limit);
    let best = with_room.min_by_key(|shard| (growths[*shard], loads[*shard]));
    // The limit is at least the mean plus the heaviest vertex.
    let best = best.unwrap_or_else(|| panic!("{weight} on one of {loads:?} is above {limit}"));
    placement.put(vertex, best as u32);
}
