//! The laws of partitions, over random small batches, and against the best partition that there is.

use std::collections::BTreeSet;

use partition::{
    Access, Figures, Hypergraph, Partition, Traffic, Transactions, Tx, gas_limit, shard_order,
};
use proptest::prelude::*;
use variant::Partitioner;

/// Per transaction: gas, sender, keys and whether each is written.
type Txs = Vec<(u64, u32, Vec<(u32, bool)>)>;

fn txs(tx_count: std::ops::Range<usize>, key_count: u32) -> impl Strategy<Value = Txs> {
    let keys = proptest::collection::vec((0..key_count, any::<bool>()), 0..4);
    proptest::collection::vec((1..60_u64, 0..6_u32, keys), tx_count)
}

fn transactions(txs: &Txs) -> Transactions {
    let mut transactions = Transactions::default();
    for (gas, sender, keys) in txs {
        let accesses = keys.iter().map(|(key, writes)| Access { key: *key, writes: *writes });
        transactions.push(Tx { gas: *gas, sender: *sender, accesses: accesses.collect() });
    }
    transactions
}

fn touches(tx: &(u64, u32, Vec<(u32, bool)>), key: u32) -> bool {
    tx.2.iter().any(|(own, _)| *own == key)
}

fn writes(tx: &(u64, u32, Vec<(u32, bool)>), key: u32) -> bool {
    tx.2.iter().any(|(own, writes)| *own == key && *writes)
}

/// Loads of shards, from the definition.
fn loads(txs: &Txs, partition: &Partition) -> Vec<u64> {
    let mut loads = vec![0; partition.shard_count() as usize];
    for (tx, shard) in txs.iter().zip(partition.shards()) {
        loads[*shard as usize] += tx.0;
    }
    loads
}

/// Which keys a fanout is of.
#[derive(Clone, Copy, PartialEq)]
enum Of {
    AllKeys,
    Conflicts,
}

/// Mean shards of keys that two transactions touch.
fn mean_fanout(txs: &Txs, shards: &[u32], of: Of) -> f64 {
    let keys: BTreeSet<u32> = txs.iter().flat_map(|tx| &tx.2).map(|(key, _)| *key).collect();
    let (mut sum, mut count) = (0, 0);
    for key in keys {
        let touching: Vec<usize> = (0..txs.len()).filter(|tx| touches(&txs[*tx], key)).collect();
        let is_written = touching.iter().any(|tx| writes(&txs[*tx], key));
        if touching.len() > 1 && (is_written || of == Of::AllKeys) {
            let on: BTreeSet<u32> = touching.iter().map(|tx| shards[*tx]).collect();
            sum += on.len();
            count += 1;
        }
    }
    if count == 0 { 1.0 } else { sum as f64 / count as f64 }
}

/// Values between shards and the longest sequence of them, transaction by transaction.
fn traffic(txs: &Txs, partition: &Partition, order: &[u32]) -> Traffic {
    let mut sent = BTreeSet::new();
    let mut depths = vec![0; txs.len()];
    for (place, tx) in order.iter().enumerate() {
        let tx = *tx as usize;
        for (key, _) in &txs[tx].2 {
            let earlier = order[..place].iter().rev().map(|before| *before as usize);
            let Some(writer) = earlier.into_iter().find(|before| writes(&txs[*before], *key))
            else {
                continue;
            };
            let is_elsewhere = partition.shard_of(writer) != partition.shard_of(tx);
            if is_elsewhere {
                sent.insert((*key, writer, partition.shard_of(tx)));
            }
            depths[tx] = depths[tx].max(depths[writer] + u64::from(is_elsewhere));
        }
    }
    let hop_count = depths.into_iter().max().unwrap_or(0);
    Traffic { value_count: sent.len() as u64, hop_count }
}

proptest! {
    #[test]
    fn every_transaction_is_on_one_shard_and_a_seed_gives_one_partition(
        txs in txs(0..40, 15),
        shard_count in 1..6_u32,
        seed in any::<u64>(),
    ) {
        let transactions = transactions(&txs);
        for partitioner in Partitioner::ALL {
            let found = Partition::new(&transactions, *partitioner, shard_count, seed);
            prop_assert_eq!(found.shards().len(), txs.len(), "{}", partitioner);
            prop_assert!(found.shards().iter().all(|shard| *shard < shard_count));
            let again = Partition::new(&transactions, *partitioner, shard_count, seed);
            prop_assert_eq!(&found, &again, "{}", partitioner);
        }
    }

    #[test]
    fn figures_and_traffic_are_what_their_definitions_say(
        txs in txs(1..30, 10),
        shard_count in 1..6_u32,
    ) {
        let transactions = transactions(&txs);
        for partitioner in Partitioner::ALL {
            let found = Partition::new(&transactions, *partitioner, shard_count, 1);
            let figures = Figures::of(&transactions, &found);
            prop_assert_eq!(figures.fanout(), mean_fanout(&txs, found.shards(), Of::AllKeys));
            prop_assert_eq!(figures.conflict_fanout(), mean_fanout(&txs, found.shards(), Of::Conflicts));
            let read: BTreeSet<_> = txs.iter().zip(found.shards())
                .flat_map(|(tx, shard)| tx.2.iter().map(move |(key, _)| (*key, *shard)))
                .collect();
            prop_assert_eq!(figures.read_count(), read.len() as u64);
            let loads = loads(&txs, &found);
            let mean = loads.iter().sum::<u64>() as f64 / f64::from(shard_count);
            let fullest = *loads.iter().max().unwrap_or(&0) as f64;
            prop_assert!((figures.imbalance() - (fullest / mean - 1.0)).abs() < 1e-9);
            let block_order: Vec<u32> = (0..txs.len() as u32).collect();
            for order in [block_order, shard_order(&transactions, &found)] {
                let expected = traffic(&txs, &found, &order);
                prop_assert_eq!(Traffic::of(&transactions, &found, &order), expected);
            }
        }
    }

    #[test]
    fn no_shard_is_fuller_than_its_limit(
        txs in txs(1..200, 30),
        shard_count in 1..9_u32,
        seed in any::<u64>(),
    ) {
        let transactions = transactions(&txs);
        let found = Partition::new(&transactions, Partitioner::Fanout, shard_count, seed);
        let limit = gas_limit(transactions.gas(), shard_count);
        prop_assert!(loads(&txs, &found).iter().all(|load| *load <= limit));
    }

    #[test]
    fn whole_components_have_no_conflict_between_shards(
        txs in txs(1..40, 25),
        shard_count in 1..6_u32,
    ) {
        let transactions = transactions(&txs);
        let found = Partition::new(&transactions, Partitioner::ByComponent, shard_count, 1);
        prop_assert_eq!(Figures::of(&transactions, &found).conflict_fanout(), 1.0);
        let order: Vec<u32> = (0..txs.len() as u32).collect();
        prop_assert_eq!(Traffic::of(&transactions, &found, &order), Traffic::default());
    }

    #[test]
    fn an_order_by_shards_has_each_transaction_once_and_keeps_that_of_each_sender(
        txs in txs(1..40, 10),
        shard_count in 1..6_u32,
    ) {
        let transactions = transactions(&txs);
        for partitioner in Partitioner::ALL {
            let found = Partition::new(&transactions, *partitioner, shard_count, 1);
            let order = shard_order(&transactions, &found);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            prop_assert!(sorted.into_iter().eq(0..txs.len() as u32));
            for sender in 0..6 {
                let own = order.iter().filter(|tx| txs[**tx as usize].1 == sender);
                prop_assert!(own.is_sorted(), "sender {} by {}", sender, partitioner);
            }
        }
    }

    /// Where senders are whole, values go to later shards only: each key costs at most one for each
    /// further shard that touches it, and no sequence is longer than the shards.
    #[test]
    fn an_order_by_shards_sends_a_key_to_a_further_shard_once(
        txs in txs(1..40, 10),
        shard_count in 1..6_u32,
    ) {
        let transactions = transactions(&txs);
        let found = Partition::new(&transactions, Partitioner::BySender, shard_count, 1);
        let order = shard_order(&transactions, &found);
        let Traffic { value_count, hop_count } = Traffic::of(&transactions, &found, &order);
        prop_assert!(hop_count < u64::from(shard_count));
        let keys: BTreeSet<u32> = txs.iter().flat_map(|tx| &tx.2).map(|(key, _)| *key).collect();
        let further = keys.into_iter().map(|key| {
            let touching = (0..txs.len()).filter(|tx| touches(&txs[*tx], key));
            touching.map(|tx| found.shard_of(tx)).collect::<BTreeSet<_>>().len() - 1
        });
        prop_assert!(value_count <= further.sum::<usize>() as u64);
    }
}

/// Probabilistic fanout with p = 1/2.
fn objective(txs: &Txs, shards: &[u32], shard_count: u32) -> f64 {
    let keys: BTreeSet<u32> = txs.iter().flat_map(|tx| &tx.2).map(|(key, _)| *key).collect();
    let mut sum = 0.0;
    for key in keys {
        let touching: Vec<usize> = (0..txs.len()).filter(|tx| touches(&txs[*tx], key)).collect();
        for shard in (0..shard_count).filter(|_| touching.len() > 1) {
            let count = touching.iter().filter(|tx| shards[**tx] == shard).count();
            sum += 1.0 - 0.5_f64.powi(count as i32);
        }
    }
    sum
}

/// The least objective of all partitions within the limit.
fn least_objective(txs: &Txs, shard_count: u32, limit: u64) -> f64 {
    let mut least = f64::INFINITY;
    for number in 0..shard_count.pow(txs.len() as u32) {
        let mut rest = number;
        let shards: Vec<u32> = txs
            .iter()
            .map(|_| {
                let shard = rest % shard_count;
                rest /= shard_count;
                shard
            })
            .collect();
        let mut loads = vec![0; shard_count as usize];
        for (tx, shard) in txs.iter().zip(&shards) {
            loads[*shard as usize] += tx.0;
        }
        if loads.iter().all(|load| *load <= limit) {
            least = least.min(objective(txs, &shards, shard_count));
        }
    }
    least
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The search never finds less than there is, and little more.
    #[test]
    fn the_search_comes_near_the_best_of_all_partitions(
        txs in txs(2..9, 5),
        shard_count in 2..4_u32,
        seed in any::<u64>(),
    ) {
        let transactions = transactions(&txs);
        let found = Partition::new(&transactions, Partitioner::Fanout, shard_count, seed);
        let limit = gas_limit(transactions.gas(), shard_count);
        let least = least_objective(&txs, shard_count, limit);
        let own = objective(&txs, found.shards(), shard_count);
        prop_assert!(own >= least - 1e-9, "{own} is less than {least}");
        prop_assert!(own <= 1.25 * least + 1e-9, "{own} is far above {least}");
    }
}

/// Groups of transactions that meet at keys of their own, in a mixed order, with a few keys between
/// groups: the search finds the groups again.
#[test]
fn groups_that_have_next_to_nothing_in_common_are_found() {
    let (group_count, tx_count) = (40, 4_000);
    let mut transactions = Transactions::default();
    for tx in 0..tx_count {
        let (user, resource) = (tx / 3, tx % 5);
        let group = user * 7 % group_count;
        let mut keys = vec![5 * group + resource, 1_000 + user];
        if tx % 400 == 0 {
            keys.push(5 * ((group + 11) % group_count));
        }
        let accesses = keys.into_iter().map(|key| Access { key, writes: true }).collect();
        transactions.push(Tx { gas: 50_000, sender: user, accesses });
    }
    let fanout = |partitioner| {
        let found = Partition::new(&transactions, partitioner, 4, 1);
        (Figures::of(&transactions, &found).conflict_fanout(), found)
    };
    let (of_search, found) = fanout(Partitioner::Fanout);
    let (of_turns, _) = fanout(Partitioner::RoundRobin);
    assert!(of_turns > 1.5, "{of_turns}");
    assert!(of_search < 1.0 + 0.25 * (of_turns - 1.0), "{of_search} beside {of_turns}");
    let limit = gas_limit(transactions.gas(), 4);
    let mut loads = [0; 4];
    found.shards().iter().for_each(|shard| loads[*shard as usize] += 50_000);
    assert!(loads.iter().all(|load| *load <= limit), "{loads:?}");
    let text = Hypergraph::new(&transactions).to_hmetis();
    assert_eq!(text.lines().count(), 1 + Hypergraph::new(&transactions).edge_count() + 4_000);
}
