//! Steps: the units of a batch that have a block access index of their own (EIP-7928).
//!
//! In a block of n transactions, the system calls before the transactions have index 0.
//! Transactions have 1 to n; withdrawals and system calls after them have n + 1. In a batch of
//! several blocks the index continues: the second block begins at n + 2. Only this module converts
//! between steps and indices.

use crate::block::Batch;

/// Index of a step in its batch: 0 before the first transaction (EIP-7928). In a batch of one block
/// the indices are those of the EIP.
pub type BlockAccessIndex = u32;

/// The kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// System calls before the first transaction (EIP-4788, EIP-2935).
    BeforeTransactions,
    /// The transaction at this 0-based index in its block.
    Transaction(usize),
    /// Withdrawals and system calls after the last transaction (EIP-7002, EIP-7251, EIP-8282).
    AfterTransactions,
}

/// One step of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Index of the block in its batch, 0-based.
    pub block: usize,
    /// Kind of the step.
    pub kind: StepKind,
}

/// The steps of a batch in order. The position of a step is its [`BlockAccessIndex`].
#[derive(Clone, Debug)]
pub struct Steps {
    /// Index of each block's first step, then the number of steps.
    starts: Vec<BlockAccessIndex>,
}

impl Steps {
    /// The steps of `batch`.
    ///
    /// # Panics
    /// When the batch has 2^32 steps or more. The check of a workload file excludes that.
    pub fn of(batch: &Batch) -> Self {
        let mut next: BlockAccessIndex = 0;
        let mut starts = vec![0];
        for block in &batch.blocks {
            let count = u32::try_from(block.transactions.len() + 2).unwrap_or(u32::MAX);
            next = next.checked_add(count).unwrap_or_else(|| panic!("{count} steps after {next}"));
            starts.push(next);
        }
        Self { starts }
    }

    /// Number of steps.
    pub fn count(&self) -> BlockAccessIndex {
        self.starts[self.starts.len() - 1]
    }

    /// The step at `index`.
    ///
    /// # Panics
    /// When `index` is not below [`Self::count`].
    pub fn at(&self, index: BlockAccessIndex) -> Step {
        assert!(index < self.count(), "step {index} of {}", self.count());
        let block = self.starts.partition_point(|start| *start <= index) - 1;
        let within = index - self.starts[block];
        let last = self.starts[block + 1] - self.starts[block] - 1;
        let kind = match within {
            0 => StepKind::BeforeTransactions,
            n if n == last => StepKind::AfterTransactions,
            n => StepKind::Transaction(n as usize - 1),
        };
        Step { block, kind }
    }

    /// All steps with their indices, in order.
    pub fn iter(&self) -> impl Iterator<Item = (BlockAccessIndex, Step)> + '_ {
        (0..self.count()).map(|index| (index, self.at(index)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Block, Transaction};

    #[test]
    fn indices_of_a_single_block_are_those_of_the_eip() {
        let batch = Batch {
            blocks: vec![Block {
                transactions: vec![Transaction::default(); 2],
                ..Block::default()
            }],
            ..Batch::default()
        };
        let kinds: Vec<_> = Steps::of(&batch).iter().map(|(i, s)| (i, s.kind)).collect();
        let expected = [
            (0, StepKind::BeforeTransactions),
            (1, StepKind::Transaction(0)),
            (2, StepKind::Transaction(1)),
            (3, StepKind::AfterTransactions),
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn the_index_runs_on_through_the_blocks_of_a_batch() {
        let block = Block { transactions: vec![Transaction::default()], ..Block::default() };
        let batch =
            Batch { blocks: vec![block.clone(), Block::default(), block], ..Batch::default() };
        let steps = Steps::of(&batch);
        assert_eq!(steps.count(), 8);
        assert_eq!(steps.at(3), Step { block: 1, kind: StepKind::BeforeTransactions });
        assert_eq!(steps.at(4), Step { block: 1, kind: StepKind::AfterTransactions });
        assert_eq!(steps.at(6), Step { block: 2, kind: StepKind::Transaction(0) });
    }
}
