//! The parts of a batch that shards execute. Partitioners take what is known before a transaction runs: its
//! sender, its gas limit for its time, and the keys that the list says it writes. Which keys it reads alone
//! is not in a list (EIP-7928), and the account of the fee recipient, which all transactions write, is left out.

use alloy_primitives::{Address, map::HashMap};
use partition::{Access, Partition, Transactions, Tx};
use variant::{Partitioner, Sharding};
use workload::{Batch, BlockAccessIndex, StepKind, Steps, list::ListIndex};

/// Seed of the search: one list has one partition.
const SEED: u64 = 1;

/// A step of a batch that is no transaction.
const NO_TX: u32 = u32::MAX;

/// Which shard executes which steps of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// Steps of each shard, ascending. System steps are the first shard's.
    pub(super) steps: Vec<Vec<BlockAccessIndex>>,
    /// The shard of each transaction.
    pub(super) shard_of_tx: Vec<u32>,
}

impl Parts {
    /// Partitions a batch.
    pub(super) fn of(batch: &Batch, list: &ListIndex, sharding: &Sharding) -> Self {
        let Sharding { count, partitioner, .. } = *sharding;
        let steps = Steps::of(batch);
        let transactions = transactions(batch, &steps, list, partitioner);
        let shard_count = u32::try_from(count).unwrap_or(u32::MAX);
        let partition = Partition::new(&transactions, partitioner, shard_count, SEED);
        let mut parts = Self { steps: vec![Vec::new(); count], shard_of_tx: Vec::new() };
        for (index, step) in steps.iter() {
            let mut shard = 0;
            if let StepKind::Transaction(_) = step.kind {
                shard = partition.shard_of(parts.shard_of_tx.len());
                parts.shard_of_tx.push(shard);
            }
            parts.steps[shard as usize].push(index);
        }
        parts
    }
}

/// The transactions of a batch as partitioners take them.
fn transactions(
    batch: &Batch,
    steps: &Steps,
    list: &ListIndex,
    partitioner: Partitioner,
) -> Transactions {
    let mut accesses = match partitioner {
        Partitioner::RoundRobin | Partitioner::BySender => Vec::new(),
        Partitioner::ByComponent | Partitioner::Fanout => written(batch, steps, list),
    }
    .into_iter();
    let mut senders: HashMap<Address, u32> = HashMap::default();
    let mut transactions = Transactions::default();
    for tx in batch.blocks.iter().flat_map(|block| &block.transactions) {
        let next = senders.len() as u32;
        let sender = *senders.entry(tx.sender).or_insert(next);
        let accesses = accesses.next().unwrap_or_default();
        transactions.push(Tx { gas: tx.gas_limit, sender, accesses });
    }
    transactions
}

/// Keys that two transactions or more write, by transaction: others tie nothing together.
fn written(batch: &Batch, steps: &Steps, list: &ListIndex) -> Vec<Vec<Access>> {
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
    let mut add = |indices: &mut dyn Iterator<Item = BlockAccessIndex>| {
        writers.clear();
        let txs = indices.filter_map(|index| tx_of_step.get(index as usize).copied());
        writers.extend(txs.filter(|tx| *tx != NO_TX));
        writers.sort_unstable();
        writers.dedup();
        if writers.len() < 2 {
            return;
        }
        for tx in &writers {
            accesses[*tx as usize].push(Access { key: key_count, writes: true });
        }
        key_count += 1;
    };
    let recipients = || batch.blocks.iter().map(|block| block.env.beneficiary);
    for account in list.accounts() {
        let address = *list.address(account);
        if recipients().all(|recipient| recipient != address) {
            add(&mut list.account_change_indices(account));
        }
    }
    list.slots().for_each(|slot| add(&mut list.slot_change_indices(slot)));
    accesses
}
