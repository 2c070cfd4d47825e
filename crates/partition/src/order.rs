//! Orders transactions so that fewer values go back and forth between shards: first the
//! transactions of the first shard, then those of the next shard. Transactions of one sender keep
//! their order because of their nonces. Where each sender is on one shard, values go only from
//! earlier shards to later shards. Then each later shard gets at most one value of a key. A sender
//! on several shards still sends values back and forth.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::{partition::Partition, transactions::Transactions};

/// Returns the transactions in the order of their shards, as far as their senders allow. The
/// candidates for the next place are the next transactions of all senders. The candidate on the
/// lowest shard is taken; of several candidates there, the first in the block.
///
/// The result is another block of the same transactions, which a builder can choose. An existing
/// block keeps its order.
pub fn shard_order(transactions: &Transactions, partition: &Partition) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let count = transactions.count();
    let sender_count = transactions.senders().iter().max().map_or(0, |most| *most as usize + 1);
    // `next_of_sender` has each sender's next transaction, `next` the transaction after each
    // transaction of the same sender. Both are filled from the end of the block.
    let (mut next_of_sender, mut next) = (vec![NONE; sender_count], vec![NONE; count]);
    for tx in (0..count).rev() {
        let of_sender = &mut next_of_sender[transactions.senders()[tx] as usize];
        next[tx] = std::mem::replace(of_sender, tx as u32);
    }
    let ranked = |tx: u32| Reverse((partition.shard_of(tx as usize), tx));
    let firsts = next_of_sender.into_iter().filter(|tx| *tx != NONE);
    let mut ready: BinaryHeap<_> = firsts.map(ranked).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(Reverse((_, tx))) = ready.pop() {
        order.push(tx);
        if next[tx as usize] != NONE {
            ready.push(ranked(next[tx as usize]));
        }
    }
    order
}
