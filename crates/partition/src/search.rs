//! Improves a placement by local search. A vertex moves to the shard where the objective falls
//! most, if that shard has room. Without room, the vertex is swapped with a vertex there that waits
//! for the opposite move. No move or swap raises the objective, and none raises the weight of a
//! shard above the limit.

use crate::{placement::Placement, random::Random};

/// Maximum number of passes over all vertices.
const PASS_COUNT_MAX: usize = 24;

/// Maximum number of partners that are tried for a swap of a vertex.
const PARTNER_COUNT_MAX: usize = 4;

/// State of a search.
#[derive(Debug)]
pub(crate) struct Search<'p, 'g> {
    placement: &'p mut Placement<'g>,
    limit: u64,
    /// For each ordered pair of shards, vertices on the first shard that wait for room on the
    /// second, which is their best shard.
    waiting: Vec<Vec<u32>>,
    growths: Vec<u64>,
}

/// Improves a placement by moves that keep each shard at `limit` or below. Ends after a pass over
/// all vertices without an improvement, or after [`PASS_COUNT_MAX`] passes.
pub(crate) fn improve(placement: &mut Placement<'_>, limit: u64, random: &mut Random) {
    let mut search = Search::new(placement, limit);
    for _ in 0..PASS_COUNT_MAX {
        if search.pass(random) == 0 {
            break;
        }
    }
}

impl<'p, 'g> Search<'p, 'g> {
    pub(crate) fn new(placement: &'p mut Placement<'g>, limit: u64) -> Self {
        let pair_count = (placement.shard_count() * placement.shard_count()) as usize;
        Self { placement, limit, waiting: vec![Vec::new(); pair_count], growths: Vec::new() }
    }

    /// Visits each vertex once, in a random order. Returns the number of visits that made the
    /// objective smaller.
    fn pass(&mut self, random: &mut Random) -> usize {
        self.waiting.iter_mut().for_each(Vec::clear);
        let order = random.order(self.placement.graph().vertex_count());
        order.into_iter().filter(|vertex| self.visit(*vertex)).count()
    }

    /// Moves a vertex to the best shard with room, or swaps it. Returns whether the objective
    /// became smaller.
    pub(crate) fn visit(&mut self, vertex: u32) -> bool {
        let from = self.placement.take(vertex);
        let weight = self.placement.graph().weights()[vertex as usize];
        self.placement.growths(vertex, &mut self.growths);
        let loads = self.placement.loads();
        // Among shards with equal growths, the lightest is best: a move there costs nothing and
        // makes room on a heavier shard.
        let rank = |shard: &u32| (self.growths[*shard as usize], loads[*shard as usize]);
        let shards = 0..self.placement.shard_count();
        let with_room = |shard: &u32| {
            *shard == from || loads[*shard as usize].saturating_add(weight) <= self.limit
        };
        let best = shards.clone().filter(with_room).min_by_key(rank).unwrap_or(from);
        let wanted = shards.min_by_key(rank).unwrap_or(from);
        let [best_growth, wanted_growth, old_growth] =
            [best, wanted, from].map(|shard| self.growths[shard as usize]);
        self.placement.put(vertex, best);
        if best_growth < old_growth {
            return true;
        }
        // The vertex is on a shard that is as good as its old shard. If a better one is full, the
        // vertex may swap with another there.
        wanted_growth < best_growth && self.swap(vertex, wanted)
    }

    /// Swaps a vertex with a vertex on shard `wanted` that waits for the opposite move. If no swap
    /// is made, the vertex itself begins to wait. Returns whether the vertex was swapped, which
    /// makes the objective smaller.
    fn swap(&mut self, vertex: u32, wanted: u32) -> bool {
        let own = self.placement.shard_of(vertex);
        let shard_count = self.placement.shard_count();
        let (opposite_move, own_move) = (wanted * shard_count + own, own * shard_count + wanted);
        for _ in 0..PARTNER_COUNT_MAX {
            let Some(partner) = self.waiting[opposite_move as usize].pop() else { break };
            if self.placement.shard_of(partner) == wanted && self.exchange([vertex, partner]) {
                return true;
            }
        }
        self.waiting[own_move as usize].push(vertex);
        false
    }

    /// Exchanges the shards of two vertices, if the objective falls and both shards stay within the
    /// limit. Returns whether it exchanged them.
    fn exchange(&mut self, pair: [u32; 2]) -> bool {
        let [a, b] = self.take(pair);
        let before = self.put(pair, [a, b]);
        self.take(pair);
        let after = self.put(pair, [b, a]);
        let loads = [a, b].map(|shard| self.placement.loads()[shard as usize]);
        if after < before && loads.iter().all(|load| *load <= self.limit) {
            return true;
        }
        self.take(pair);
        self.put(pair, [a, b]);
        false
    }

    /// Takes two vertices off their shards. Returns the shards.
    fn take(&mut self, pair: [u32; 2]) -> [u32; 2] {
        pair.map(|vertex| self.placement.take(vertex))
    }

    /// Puts two vertices, which are on no shard, on these shards. Returns the growth of the
    /// objective.
    fn put(&mut self, pair: [u32; 2], shards: [u32; 2]) -> u64 {
        let mut growth = 0;
        for (vertex, shard) in pair.into_iter().zip(shards) {
            growth += self.placement.growth(vertex, shard);
            self.placement.put(vertex, shard);
        }
        growth
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        balance::gas_limit,
        hypergraph::Hypergraph,
        transactions::{Access, Transactions, Tx},
    };

    fn transactions() -> impl Strategy<Value = Transactions> {
        let keys = proptest::collection::vec(0..12_u32, 0..5);
        proptest::collection::vec((1..40_u64, keys), 1..40).prop_map(|all| {
            let mut transactions = Transactions::default();
            for (gas, keys) in all {
                let accesses = keys.into_iter().map(|key| Access { key, writes: true }).collect();
                transactions.push(Tx { gas, sender: 0, accesses });
            }
            transactions
        })
    }

    proptest! {
        #[test]
        fn no_visit_makes_the_objective_grow_or_a_shard_heavier_than_its_limit(
            transactions in transactions(),
            shard_count in 1..5_u32,
            seed in 0..u64::MAX,
        ) {
            let graph = Hypergraph::new(&transactions);
            let limit = gas_limit(transactions.gas(), shard_count);
            let mut placement = Placement::empty(&graph, shard_count);
            for vertex in 0..transactions.count() as u32 {
                let lightest = (0..shard_count).min_by_key(|at| placement.loads()[*at as usize]);
                placement.put(vertex, lightest.unwrap_or(0));
            }
            let mut search = Search::new(&mut placement, limit);
            let mut objective = search.placement.objective();
            for vertex in Random::new(seed).order(transactions.count()).repeat(3) {
                let is_smaller = search.visit(vertex);
                let now = search.placement.objective();
                prop_assert!(now <= objective, "{objective} grew to {now}");
                prop_assert_eq!(is_smaller, now < objective);
                prop_assert!(search.placement.loads().iter().all(|load| *load <= limit));
                objective = now;
            }
        }
    }

    /// Two full shards with the wrong halves of two groups: only an exchange helps.
    #[test]
    fn vertices_of_full_shards_are_swapped() {
        let mut transactions = Transactions::default();
        for tx in 0..4 {
            let accesses = vec![Access { key: tx % 2, writes: true }];
            transactions.push(Tx { gas: 10, sender: tx, accesses });
        }
        let graph = Hypergraph::new(&transactions);
        let mut placement = Placement::new(&graph, 2, &[0, 0, 1, 1]);
        improve(&mut placement, 20, &mut Random::new(1));
        let shards = placement.into_shards();
        assert_eq!((shards[0], shards[1]), (shards[2], shards[3]));
        assert_ne!(shards[0], shards[1]);
    }
}
