//! Places vertices on shards and computes the objective, for the search. Vertices are transactions,
//! or clusters of transactions. Edges are keys that several vertices touch. The objective is
//! probabilistic fanout (Kabiljo et al., *Social Hash Partitioner*, 2017): the fanout if each
//! vertex of an edge touched the key with probability 1/2. So an edge with n vertices on a shard
//! counts 1 - 2^-n there. A move off the shard gains more if few other vertices of the edge are
//! there. The objective counts whole units of 2^-32, so sums are exact in any order.

use crate::hypergraph::Hypergraph;

/// Stands for the shard of a vertex that is on no shard.
const NOWHERE: u32 = u32::MAX;

/// The number one, in the units of the objective.
const ONE: u64 = 1 << 32;

/// 2^-n, in the units of the objective; 0 if it is less than a unit.
const fn half_to_the(n: u32) -> u64 {
    if n > 32 { 0 } else { ONE >> n }
}

/// Growth of the objective if a shard with `n` vertices of an edge gets one more of the edge's
/// vertices.
const fn growth(n: u32) -> u64 {
    half_to_the(n) - half_to_the(n + 1)
}

/// Vertices on shards.
#[derive(Clone, Debug)]
pub(crate) struct Placement<'g> {
    graph: &'g Hypergraph,
    shard_count: u32,
    shard_of: Vec<u32>,
    loads: Vec<u64>,
    /// Number of vertices of each edge on each shard: all shards of the first edge, then of the
    /// next. This takes 4 bytes for each pair of an edge and a shard, the most of all.
    counts: Vec<u32>,
}

impl<'g> Placement<'g> {
    /// Makes a placement with all vertices on no shard.
    pub(crate) fn empty(graph: &'g Hypergraph, shard_count: u32) -> Self {
        Self {
            graph,
            shard_count,
            shard_of: vec![NOWHERE; graph.vertex_count()],
            loads: vec![0; shard_count as usize],
            counts: vec![0; graph.edge_count() * shard_count as usize],
        }
    }

    /// Makes a placement with each vertex on its shard.
    pub(crate) fn new(graph: &'g Hypergraph, shard_count: u32, shard_of: &[u32]) -> Self {
        let mut placement = Self::empty(graph, shard_count);
        for (vertex, shard) in (0..).zip(shard_of) {
            placement.put(vertex, *shard);
        }
        placement
    }

    pub(crate) const fn graph(&self) -> &'g Hypergraph {
        self.graph
    }

    pub(crate) const fn shard_count(&self) -> u32 {
        self.shard_count
    }

    pub(crate) fn shard_of(&self, vertex: u32) -> u32 {
        self.shard_of[vertex as usize]
    }

    /// Whether a vertex is on a shard.
    pub(crate) fn has(&self, vertex: u32) -> bool {
        self.shard_of[vertex as usize] != NOWHERE
    }

    /// Weight on each shard.
    pub(crate) fn loads(&self) -> &[u64] {
        &self.loads
    }

    /// The shard of each vertex.
    pub(crate) fn into_shards(self) -> Vec<u32> {
        self.shard_of
    }

    fn counts_of(&self, edge: u32) -> &[u32] {
        let start = edge as usize * self.shard_count as usize;
        &self.counts[start..start + self.shard_count as usize]
    }

    /// Puts a vertex that is on no shard on `shard`.
    pub(crate) fn put(&mut self, vertex: u32, shard: u32) {
        assert_eq!(self.shard_of[vertex as usize], NOWHERE, "vertex {vertex} is on a shard");
        self.shard_of[vertex as usize] = shard;
        self.loads[shard as usize] += self.graph.weights()[vertex as usize];
        for edge in self.graph.edges_of(vertex) {
            self.counts[*edge as usize * self.shard_count as usize + shard as usize] += 1;
        }
    }

    /// Takes a vertex off its shard. Returns the shard.
    pub(crate) fn take(&mut self, vertex: u32) -> u32 {
        let shard = std::mem::replace(&mut self.shard_of[vertex as usize], NOWHERE);
        self.loads[shard as usize] -= self.graph.weights()[vertex as usize];
        for edge in self.graph.edges_of(vertex) {
            self.counts[*edge as usize * self.shard_count as usize + shard as usize] -= 1;
        }
        shard
    }

    /// Sets `growths` to the growth of the objective for each shard, if the vertex were put on that
    /// shard. The vertex must be on no shard.
    pub(crate) fn growths(&self, vertex: u32, growths: &mut Vec<u64>) {
        growths.clear();
        growths.resize(self.shard_count as usize, 0);
        for edge in self.graph.edges_of(vertex) {
            for (sum, count) in growths.iter_mut().zip(self.counts_of(*edge)) {
                *sum += growth(*count);
            }
        }
    }

    /// Growth of the objective if a vertex that is on no shard is put on `shard`.
    pub(crate) fn growth(&self, vertex: u32, shard: u32) -> u64 {
        let edges = self.graph.edges_of(vertex).iter();
        edges.map(|edge| growth(self.counts_of(*edge)[shard as usize])).sum()
    }

    /// Probabilistic fanout of all edges, in units of 2^-32.
    pub(crate) fn objective(&self) -> u128 {
        self.counts.iter().map(|count| u128::from(ONE - half_to_the(*count))).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transactions::{Access, Transactions, Tx};

    /// One key of four transactions on three shards, 3, 1 and 0 of them: 7/8 + 1/2.
    #[test]
    fn the_objective_is_probabilistic_fanout_with_one_half() {
        let mut transactions = Transactions::default();
        for _ in 0..4 {
            let accesses = vec![Access { key: 0, writes: false }];
            transactions.push(Tx { gas: 1, sender: 0, accesses });
        }
        let graph = Hypergraph::new(&transactions);
        let placement = Placement::new(&graph, 3, &[0, 1, 0, 0]);
        assert_eq!(placement.objective(), u128::from(ONE * 7 / 8 + ONE / 2));
    }

    #[test]
    fn the_objective_grows_by_what_is_told_beforehand() {
        let mut transactions = Transactions::default();
        for tx in 0..70 {
            let accesses = [0, 1 + tx % 7, 20 + tx % 3];
            let accesses = accesses.map(|key| Access { key, writes: false }).to_vec();
            transactions.push(Tx { gas: 1 + u64::from(tx), sender: tx, accesses });
        }
        let graph = Hypergraph::new(&transactions);
        let mut placement = Placement::empty(&graph, 3);
        let mut growths = Vec::new();
        for vertex in 0..70 {
            let shard = vertex * vertex % 3;
            placement.growths(vertex, &mut growths);
            let before = placement.objective();
            placement.put(vertex, shard);
            let grown = placement.objective() - before;
            assert_eq!(grown, u128::from(growths[shard as usize]), "vertex {vertex}");
        }
        let (before, loads) = (placement.objective(), placement.loads().to_vec());
        for vertex in 0..70 {
            let shard = placement.take(vertex);
            assert_eq!(placement.growth(vertex, shard), {
                placement.growths(vertex, &mut growths);
                growths[shard as usize]
            });
            placement.put(vertex, shard);
        }
        assert_eq!((placement.objective(), placement.loads()), (before, &loads[..]));
        assert_eq!(loads.iter().sum::<u64>(), 70 * 71 / 2);
    }
}
