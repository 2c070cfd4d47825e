//! The hypergraph of transactions, which the partitioner `fanout` works on: a vertex for each
//! transaction, and a hyperedge for each key that several transactions touch. A key that only one
//! transaction touches is left out: it is on one shard in every partition. The vertices of an edge
//! are called its pins.

use std::fmt::Write;

use crate::{rows::Rows, transactions::Transactions};

/// Vertices with weights, and the sets of vertices that hyperedges join.
#[derive(Clone, Debug)]
pub struct Hypergraph {
    weights: Vec<u64>,
    /// Vertices of each edge, ascending.
    pins: Rows<u32>,
    /// Edges of each vertex, ascending.
    edges: Rows<u32>,
}

impl Hypergraph {
    /// Makes the hypergraph of transactions. The weight of a vertex is the gas of its transaction.
    /// A key that is only read is an edge too: each shard that touches the key has to fetch it.
    pub fn new(transactions: &Transactions) -> Self {
        const NONE: u32 = u32::MAX;
        let mut tx_counts = vec![0_u32; transactions.key_count()];
        for access in transactions.all_accesses() {
            tx_counts[access.key as usize] += 1;
        }
        let mut edge_count = 0;
        let edges_of_keys = tx_counts.into_iter().map(|tx_count| {
            let is_shared = tx_count > 1;
            edge_count += u32::from(is_shared);
            if is_shared { edge_count - 1 } else { NONE }
        });
        let edges_of_keys: Vec<u32> = edges_of_keys.collect();
        let mut edges = Rows::default();
        for tx in 0..transactions.count() {
            let accesses = transactions.accesses(tx).iter();
            let tx_edges = accesses.map(|access| edges_of_keys[access.key as usize]);
            edges.push(tx_edges.filter(|edge| *edge != NONE));
        }
        let pins = edges.transposed(edge_count as usize);
        Self { weights: transactions.gas().to_vec(), pins, edges }
    }

    /// Returns the hypergraph whose vertices are clusters of this hypergraph's vertices.
    /// `cluster_of` gives each vertex the number of its cluster, below `cluster_count`. An edge
    /// within one cluster is left out.
    pub(crate) fn contracted(&self, cluster_of: &[u32], cluster_count: usize) -> Self {
        let mut weights = vec![0; cluster_count];
        for (weight, cluster) in self.weights.iter().zip(cluster_of) {
            weights[*cluster as usize] += weight;
        }
        let (mut pins, mut clusters) = (Rows::default(), Vec::new());
        for edge in self.pins.all() {
            clusters.clear();
            clusters.extend(edge.iter().map(|vertex| cluster_of[*vertex as usize]));
            clusters.sort_unstable();
            clusters.dedup();
            if clusters.len() > 1 {
                pins.push(clusters.iter().copied());
            }
        }
        let edges = pins.transposed(cluster_count);
        Self { weights, pins, edges }
    }

    /// Number of vertices.
    pub const fn vertex_count(&self) -> usize {
        self.weights.len()
    }

    /// Number of hyperedges.
    pub const fn edge_count(&self) -> usize {
        self.pins.count()
    }

    /// Weight of each vertex.
    pub(crate) fn weights(&self) -> &[u64] {
        &self.weights
    }

    /// The vertices of an edge, ascending.
    pub(crate) fn pins_of(&self, edge: u32) -> &[u32] {
        self.pins.row(edge as usize)
    }

    /// The edges of a vertex, ascending.
    pub(crate) fn edges_of(&self, vertex: u32) -> &[u32] {
        self.edges.row(vertex as usize)
    }

    /// Returns the hypergraph in the format of hMETIS, for other partitioners. The first line has
    /// the number of edges, the number of vertices, and the code 10, which means weights of
    /// vertices. A line for each edge follows, with the edge's vertices, counted from 1. A line for
    /// each vertex follows, with its weight.
    pub fn to_hmetis(&self) -> String {
        let mut text = format!("{} {} 10\n", self.edge_count(), self.vertex_count());
        for edge in self.pins.all() {
            for (index, vertex) in edge.iter().enumerate() {
                let gap = if index == 0 { "" } else { " " };
                // Writing to a string cannot fail.
                let _ = write!(text, "{gap}{}", vertex + 1);
            }
            text.push('\n');
        }
        for weight in &self.weights {
            let _ = writeln!(text, "{weight}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transactions::{Access, Tx};

    fn graph(keys_of: &[&[u32]]) -> Hypergraph {
        let mut transactions = Transactions::default();
        for (gas, keys) in (1..).zip(keys_of) {
            let accesses = keys.iter().map(|key| Access { key: *key, writes: true }).collect();
            transactions.push(Tx { gas, sender: 0, accesses });
        }
        Hypergraph::new(&transactions)
    }

    #[test]
    fn keys_of_two_transactions_are_edges_and_others_are_not() {
        let graph = graph(&[&[5, 2], &[9], &[2, 7], &[7, 5, 2]]);
        assert_eq!((graph.vertex_count(), graph.edge_count()), (4, 3));
        assert_eq!(graph.pins_of(0), [0, 2, 3], "key 2");
        assert_eq!(graph.pins_of(1), [0, 3], "key 5");
        assert_eq!(graph.pins_of(2), [2, 3], "key 7");
        assert_eq!(graph.edges_of(1), [0; 0]);
        assert_eq!(graph.edges_of(3), [0, 1, 2]);
    }

    #[test]
    fn clusters_have_the_weights_and_the_edges_between_them() {
        let graph = graph(&[&[1, 2], &[1], &[2, 3], &[3]]);
        let merged = graph.contracted(&[0, 0, 1, 1], 2);
        assert_eq!(merged.weights(), [3, 7]);
        assert_eq!(merged.edge_count(), 1, "only key 2 joins both");
        assert_eq!(merged.pins_of(0), [0, 1]);
    }

    #[test]
    fn the_format_of_hmetis_counts_vertices_from_one() {
        let text = graph(&[&[1, 2], &[1], &[2]]).to_hmetis();
        assert_eq!(text, "2 3 10\n1 2\n1 3\n1\n2\n3\n");
    }
}
