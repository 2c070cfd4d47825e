//! Baselines to compare the partitioner `fanout` with. Each uses only the order of the
//! transactions, their senders, or the components of their conflict graph.

use std::cmp::Reverse;

use crate::transactions::Transactions;

/// Puts the transactions on the shards in turn: transaction i on shard i modulo `shard_count`.
pub(crate) fn round_robin(transactions: &Transactions, shard_count: u32) -> Vec<u32> {
    (0..transactions.count() as u32).map(|tx| tx % shard_count).collect()
}

/// Puts all transactions of a sender on one shard: the sender's number modulo `shard_count`.
pub(crate) fn by_sender(transactions: &Transactions, shard_count: u32) -> Vec<u32> {
    transactions.senders().iter().map(|sender| sender % shard_count).collect()
}

/// Puts each component of the conflict graph on one shard. The components are taken in order of
/// falling gas, and each goes to the shard with the least gas so far. Two transactions conflict if
/// both touch a key and at least one of them writes the key.
pub(crate) fn by_component(transactions: &Transactions, shard_count: u32) -> Vec<u32> {
    let component_of = components(transactions);
    let mut gas_of = vec![0; transactions.count()];
    for (component, gas) in component_of.iter().zip(transactions.gas()) {
        gas_of[*component as usize] += gas;
    }
    // A component's number is that of its first transaction.
    let mut components: Vec<u32> =
        (0..transactions.count() as u32).filter(|tx| component_of[*tx as usize] == *tx).collect();
    components.sort_by_key(|component| Reverse(gas_of[*component as usize]));
    let mut loads = vec![0; shard_count as usize];
    let mut shard_of = vec![0; transactions.count()];
    for component in components {
        let lightest = (0..shard_count).min_by_key(|shard| loads[*shard as usize]).unwrap_or(0);
        shard_of[component as usize] = lightest;
        loads[lightest as usize] += gas_of[component as usize];
    }
    component_of.iter().map(|component| shard_of[*component as usize]).collect()
}

/// Returns for each transaction the first transaction of its component.
fn components(transactions: &Transactions) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut is_written = vec![false; transactions.key_count()];
    for access in transactions.all_accesses().iter().filter(|access| access.writes) {
        is_written[access.key as usize] = true;
    }
    let mut parents: Vec<u32> = (0..transactions.count() as u32).collect();
    let mut first_of = vec![NONE; transactions.key_count()];
    for tx in 0..transactions.count() {
        for access in transactions.accesses(tx) {
            if !is_written[access.key as usize] {
                continue;
            }
            let first = &mut first_of[access.key as usize];
            if *first == NONE {
                *first = tx as u32;
            }
            let (a, b) = (root(&mut parents, *first), root(&mut parents, tx as u32));
            // The first transaction stands for its component.
            parents[a.max(b) as usize] = a.min(b);
        }
    }
    (0..transactions.count() as u32).map(|tx| root(&mut parents, tx)).collect()
}

fn root(parents: &mut [u32], mut tx: u32) -> u32 {
    while parents[tx as usize] != tx {
        // Each visited transaction gets its grandparent as parent (path halving), so that later
        // walks are short.
        let grandparent = parents[parents[tx as usize] as usize];
        parents[tx as usize] = grandparent;
        tx = grandparent;
    }
    tx
}
