//! Partitions a batch over shards by its list. Partitioners use a transaction's sender, its gas
//! limit, and the keys that it writes by the list. The gas limit stands for its time. All three are
//! known before the transaction runs. A list does not say which transaction reads a key (EIP-7928).
//! The fee recipient's account, which all transactions write, is left out.

use partition::Access;
use rayon::iter::Either;
use variant::Sharding;
use workload::{Batch, StepKind, Steps, list::ListIndex};

use crate::engine::on_shards::{self, Parts};

/// Mark of a step that is no transaction.
const NO_TX: u32 = u32::MAX;

/// Partitions a batch.
pub(super) fn partition(batch: &Batch, list: &ListIndex, sharding: &Sharding) -> Parts {
    let accesses = if on_shards::needs_accesses(sharding.partitioner) {
        shared_writes(batch, &Steps::of(batch), list)
    } else {
        Vec::new()
    };
    Parts::new(batch, sharding, accesses)
}

/// Returns the shard of each step of a batch, as the engine partitions the batch.
pub fn shard_of_steps(batch: &Batch, list: &ListIndex, sharding: &Sharding) -> Vec<u32> {
    let parts = partition(batch, list, sharding);
    let mut shard_of = vec![0; Steps::of(batch).count() as usize];
    for (shard, steps) in (0..).zip(parts.steps) {
        steps.into_iter().for_each(|index| shard_of[index as usize] = shard);
    }
    shard_of
}

/// Returns, for each transaction, the keys that it and at least one other transaction write. A key
/// with one writer connects no transactions.
fn shared_writes(batch: &Batch, steps: &Steps, list: &ListIndex) -> Vec<Vec<Access>> {
    let mut tx_of_step = Vec::with_capacity(steps.count() as usize);
    let mut tx_count = 0;
    for (_, step) in steps.iter() {
        let is_tx = matches!(step.kind, StepKind::Transaction(_));
        tx_of_step.push(if is_tx { tx_count } else { NO_TX });
        tx_count += u32::from(is_tx);
    }
    let mut accesses = vec![Vec::new(); tx_count as usize];
    let mut key_count = 0;
    let mut writers = Vec::new();
    let accounts = list.accounts().filter(|account| {
        let address = list.address(*account);
        batch.blocks.iter().all(|block| block.env.beneficiary != *address)
    });
    let of_accounts = accounts.map(|account| Either::Left(list.account_change_indices(account)));
    let of_slots = list.slots().map(|slot| Either::Right(list.slot_change_indices(slot)));
    for indices in of_accounts.chain(of_slots) {
        writers.clear();
        let txs = indices.filter_map(|index| tx_of_step.get(index as usize).copied());
        writers.extend(txs.filter(|tx| *tx != NO_TX));
        writers.sort_unstable();
        writers.dedup();
        if writers.len() < 2 {
            continue;
        }
        for tx in &writers {
            accesses[*tx as usize].push(Access { key: key_count, writes: true });
        }
        key_count += 1;
    }
    accesses
}
