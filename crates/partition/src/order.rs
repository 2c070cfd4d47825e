//! Orders the transactions of a block by their shards, so that fewer values go back and forth. The
//! transactions of the first shard come first, then those of the next. Transactions of one sender
//! keep their order because of their nonces. If each sender is on one shard, values go only to
//! later shards, and each of these gets at most one value of a key. A sender on several shards may
//! still send values back. `stress describe` reports the traffic of this order.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::{partition::Partition, transactions::Transactions};

/// Returns the transactions in the order of their shards, as far as their senders allow. Of the
/// next transactions of all senders, the one on the lowest shard comes next; of several there, the
/// first in the block.
///
/// This is another block of the same transactions, as a block builder could choose it. It does not
/// apply to an existing block.
pub fn shard_order(transactions: &Transactions, partition: &Partition) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let count = transactions.count();
    let sender_count = transactions.senders().iter().max().map_or(0, |most| *most as usize + 1);
    // `next_of_sender` has each sender's next transaction, `next` the transaction after each
    // transaction of the same sender. Both are filled from the end of the block.
    let (mut next_of_sender, mut next) = (vec![NONE; sender_count], vec![NONE; count]);
    for tx in (0..count).rev() {
        let later = &mut next_of_sender[transactions.senders()[tx] as usize];
        next[tx] = std::mem::replace(later, tx as u32);
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
