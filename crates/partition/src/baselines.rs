//! Partitioners to compare with. They use only the order, the senders or the components of the
//! transactions.

use std::cmp::Reverse;

use crate::transactions::Transactions;

/// Puts each transaction on the next shard.
pub(crate) fn round_robin(transactions: &Transactions, shard_count: u32) -> Vec<u32> {
    (0..transactions.count() as u32).map(|tx| tx % shard_count).collect()
}

/// Puts all transactions of a sender on one shard, by the sender's number.
pub(crate) fn by_sender(transactions: &Transactions, shard_count: u32) -> Vec<u32> {
    transactions.senders().iter().map(|sender| sender % shard_count).collect()
}

/// Puts each component of the conflict graph on one shard: components in order of falling gas, each
/// on the shard with the least gas. Two transactions are in conflict if both touch a key and one of
/// them writes the key.
pub(crate) fn by_component(transactions: &Transactions, shard_count: u32) -> Vec<u32> {
    let component_of = components(transactions);
    let mut gas_of = vec![0; transactions.count()];
    for (component, gas) in component_of.iter().zip(transactions.gas()) {
        gas_of[*component as usize] += gas;
    }
    let mut components: Vec<u32> =
        (0..transactions.count() as u32).filter(|tx| component_of[*tx as usize] == *tx).collect();
    components.sort_by_key(|first| Reverse(gas_of[*first as usize]));
    let mut loads = vec![0; shard_count as usize];
    let mut shard_of = vec![0; transactions.count()];
    for component in components {
        let lightest = (0..shard_count).min_by_key(|shard| loads[*shard as usize]).unwrap_or(0);
        shard_of[component as usize] = lightest;
        loads[lightest as usize] += gas_of[component as usize];
    }
    component_of.iter().map(|first| shard_of[*first as usize]).collect()
}

/// For each transaction, the first transaction of its component.
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

fn root(parents: &mut [u32], mut at: u32) -> u32 {
    while parents[at as usize] != at {
        // Paths are halved on the way, so that later walks are short.
        let above = parents[parents[at as usize] as usize];
        parents[at as usize] = above;
        at = above;
    }
    at
}
