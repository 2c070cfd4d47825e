//! Fees that transactions owe to their blocks' beneficiaries. If fees were paid at once, every
//! transaction of a block would depend on the one before it. So the fee of each step is kept apart
//! from the account. A read of a beneficiary's account adds the sum of the fees of lower steps to
//! the balance.

use std::sync::{
    Mutex,
    atomic::{AtomicU64, Ordering},
};

use alloy_primitives::{Address, U256, map::HashMap};
use workload::{Batch, BlockAccessIndex, Steps};

use super::{
    memory::{CellId, Memory},
    scheduler::NO_STEP,
};

use crate::lock::lock;

/// The sum of the fees of the steps from `start` to before `end`.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    start: BlockAccessIndex,
    end: BlockAccessIndex,
    wei: U256,
}

/// Fees that are owed to one beneficiary.
#[derive(Debug, Default)]
struct DeferredFees {
    /// The beneficiary's blocks, ascending: each block's first step, and the step after its last.
    blocks: Vec<(BlockAccessIndex, BlockAccessIndex)>,
    /// The last sum that was computed. Most sums continue it.
    last: Mutex<Sum>,
}

/// All fees of a batch.
#[derive(Debug)]
pub(super) struct BatchFees {
    /// Fees of each beneficiary, by the id of its account in the memory.
    of_beneficiary: Vec<DeferredFees>,
    /// Low and high half of each step's fee in wei. The scheduler's lock orders writes before
    /// reads.
    fees: Vec<[AtomicU64; 2]>,
}

impl BatchFees {
    /// Prepares the fees of `batch`. Gives the beneficiaries the first account ids of `memory`,
    /// which must have no accounts yet.
    pub(super) fn new(batch: &Batch, steps: &Steps, memory: &Memory) -> Self {
        let mut of_beneficiary = Vec::<DeferredFees>::new();
        let mut start = 0;
        for block in &batch.blocks {
            let id = memory.accounts.id(&block.env.beneficiary) as usize;
            if id == of_beneficiary.len() {
                of_beneficiary.push(DeferredFees::default());
            }
            let end = start + block.transactions.len() as BlockAccessIndex + 2;
            of_beneficiary[id].blocks.push((start, end));
            start = end;
        }
        debug_assert_eq!(start, steps.count());
        let fees = (0..steps.count()).map(|_| <[AtomicU64; 2]>::default()).collect();
        Self { of_beneficiary, fees }
    }

    /// Returns whether the account with this id receives fees.
    #[inline]
    pub(super) const fn has(&self, id: CellId) -> bool {
        (id as usize) < self.of_beneficiary.len()
    }

    /// Sets the fee of a step. It has at most 128 bits, as in revm.
    pub(super) fn set(&self, index: BlockAccessIndex, wei: U256) {
        let [low, high, ..] = *wei.as_limbs();
        let fee = &self.fees[index as usize];
        fee[0].store(low, Ordering::Relaxed);
        fee[1].store(high, Ordering::Relaxed);
    }

    fn fee(&self, index: BlockAccessIndex) -> U256 {
        let [low, high] = &self.fees[index as usize];
        U256::from_limbs([low.load(Ordering::Relaxed), high.load(Ordering::Relaxed), 0, 0])
    }

    /// Returns the fees that the steps from `start` to before `end` owe to the beneficiary `id`.
    /// These steps must be committed.
    pub(super) fn sum(&self, id: CellId, start: BlockAccessIndex, end: BlockAccessIndex) -> U256 {
        let owed = &self.of_beneficiary[id as usize];
        let mut last = lock(&owed.last);
        if last.start != start || last.end > end {
            *last = Sum { start, end: start, wei: U256::ZERO };
        }
        let first = owed.blocks.partition_point(|block| block.1 <= last.end);
        for (from, to) in &owed.blocks[first..] {
            for index in (*from).max(last.end)..(*to).min(end) {
                last.wei = last.wei.wrapping_add(self.fee(index));
            }
            if *to >= end {
                break;
            }
        }
        last.end = end;
        last.wei
    }
}

/// Returns, for each step, the step that must have executed before it: the previous transaction of
/// the same sender, whose nonce it needs. [`NO_STEP`] if there is none.
pub(super) fn nonce_links(batch: &Batch, steps: &Steps) -> Vec<BlockAccessIndex> {
    let mut links = Vec::with_capacity(steps.count() as usize);
    let tx_count = batch.blocks.iter().map(|block| block.transactions.len()).sum();
    let mut last =
        HashMap::<Address, BlockAccessIndex>::with_capacity_and_hasher(tx_count, <_>::default());
    for block in &batch.blocks {
        links.push(NO_STEP);
        for tx in &block.transactions {
            let index = links.len() as BlockAccessIndex;
            links.push(last.insert(tx.sender, index).unwrap_or(NO_STEP));
        }
        links.push(NO_STEP);
    }
    links
}

#[cfg(test)]
mod tests {
    use workload::{Block, BlockEnv, Transaction};

    use super::*;

    fn batch(beneficiaries: &[u8]) -> Batch {
        let block = |byte: &u8| Block {
            env: BlockEnv { beneficiary: Address::repeat_byte(*byte), ..BlockEnv::default() },
            transactions: vec![Transaction::default(); 3],
            ..Block::default()
        };
        Batch { blocks: beneficiaries.iter().map(block).collect(), ..Batch::default() }
    }

    #[test]
    fn each_beneficiary_is_owed_the_fees_of_its_own_blocks_in_any_range() {
        let batch = batch(&[1, 2, 1]);
        let steps = Steps::of(&batch);
        let fees = BatchFees::new(&batch, &steps, &Memory::new(15));
        assert!(fees.has(0) && fees.has(1) && !fees.has(2));
        (0..15).for_each(|index| fees.set(index, U256::from(1_u128 << (index * 6))));
        let expected = |id: CellId, range: std::ops::Range<u32>| -> U256 {
            let of = |index: &u32| (*index / 5 == 1) == (id == 1);
            range.filter(of).map(|index| U256::from(1_u128 << (index * 6))).sum()
        };
        for (start, end) in [(0, 4), (0, 8), (0, 15), (3, 12), (3, 15), (7, 7), (0, 15), (6, 11)] {
            for id in [0, 1] {
                assert_eq!(fees.sum(id, start, end), expected(id, start..end), "{start}..{end}");
            }
        }
    }

    #[test]
    fn a_transaction_is_linked_to_the_last_one_of_its_sender_in_any_block() {
        let batch = batch(&[1, 2]);
        let none = NO_STEP;
        let links = nonce_links(&batch, &Steps::of(&batch));
        assert_eq!(links, [none, none, 1, 2, none, none, 3, 6, 7, none]);
    }
}
