//! State of the task that reads blocks. It has the numbers and hashes of the read blocks, and the
//! times at which the node's newest blocks were first seen.

use std::time::Duration;

use alloy_primitives::B256;

use crate::node::Header;

/// A block that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadBlock {
    pub(super) number: u64,
    pub(super) hash: B256,
    /// Whether the block was reported to the driving task. Blocks up to the start of the load are
    /// not reported.
    pub(super) is_reported: bool,
}

impl ReadBlock {
    /// Makes a block that is not reported.
    fn unreported(header: &Header) -> Self {
        Self { number: header.number.to(), hash: header.hash, is_reported: false }
    }
}

/// The blocks that were read: the blocks since the start of the load, and some before it, which a
/// deep reorganisation may remove.
#[derive(Debug)]
pub(super) struct Chain {
    /// The blocks with rising numbers, without a gap; never empty.
    blocks: Vec<ReadBlock>,
}

impl Chain {
    /// Makes the chain up to `base`. `ancestors` are the blocks right below it, newest first.
    pub(super) fn new(base: &Header, ancestors: &[Header]) -> Self {
        let mut blocks = vec![ReadBlock::unreported(base)];
        let mut child = base;
        for ancestor in ancestors {
            let is_parent = ancestor.hash == child.parent_hash
                && ancestor.number.to::<u64>().checked_add(1) == Some(child.number.to());
            if !is_parent {
                break;
            }
            blocks.push(ReadBlock::unreported(ancestor));
            child = ancestor;
        }
        blocks.reverse();
        Self { blocks }
    }

    pub(super) fn tip(&self) -> ReadBlock {
        self.blocks[self.blocks.len() - 1]
    }

    /// Returns the block with this number, if it was read.
    fn at(&self, number: u64) -> Option<&ReadBlock> {
        let index = number.checked_sub(self.blocks[0].number)?;
        self.blocks.get(usize::try_from(index).ok()?)
    }

    /// Adds a block after the tip.
    pub(super) fn push(&mut self, header: &Header) {
        let (number, hash) = (header.number.to(), header.hash);
        self.blocks.push(ReadBlock { number, hash, is_reported: true });
    }

    /// Removes the tip, unless no block below it is known.
    pub(super) fn pop(&mut self) -> Option<ReadBlock> {
        if self.blocks.len() > 1 { self.blocks.pop() } else { None }
    }

    /// Restarts the chain at a block, without the blocks below it.
    pub(super) fn restart(&mut self, base: &Header) {
        self.blocks = vec![ReadBlock::unreported(base)];
    }

    /// Whether the chain of `latest`, the node's newest block, no longer has the tip. A node that
    /// is behind (one of several at the same URL) has removed nothing.
    pub(super) fn is_tip_removed(&self, latest: &Header) -> bool {
        match latest.number.to::<u64>().cmp(&self.tip().number) {
            std::cmp::Ordering::Greater => false,
            std::cmp::Ordering::Equal => latest.hash != self.tip().hash,
            std::cmp::Ordering::Less => {
                self.at(latest.number.to()).is_some_and(|read| read.hash != latest.hash)
            }
        }
    }
}

/// A block that was the node's newest when it was first seen.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) header: Header,
    /// Time since the start of the load at which the block was first seen.
    pub(crate) at: Duration,
}

/// Heads in the order in which they were seen. A head is dropped once its block is read and a newer
/// head is known.
#[derive(Debug, Default)]
pub(super) struct Heads(Vec<Head>);

impl Heads {
    pub(super) fn push(&mut self, head: Head) {
        self.0.push(head);
    }

    pub(super) fn newest(&self) -> Option<&Head> {
        self.0.last()
    }

    /// Returns the time at which a block was first seen. For a block that was never the newest,
    /// returns the time of the first seen block above it.
    pub(super) fn seen_at(&self, block: &Header) -> Option<Duration> {
        let itself = self.0.iter().find(|head| head.header.hash == block.hash);
        let found = itself.or_else(|| self.0.iter().find(|head| head.header.number > block.number));
        found.map(|head| head.at)
    }

    /// Removes blocks up to `number`, which have been read. Keeps the newest block.
    pub(super) fn drop_read(&mut self, number: u64) {
        let newest = self.0.pop();
        self.0.retain(|head| head.header.number.to::<u64>() > number);
        self.0.extend(newest);
    }

    /// Removes all blocks except the newest: only this block is known to be on the new branch.
    pub(super) fn change_branch(&mut self) {
        let newest = self.0.pop();
        self.0 = newest.into_iter().collect();
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{U64, U256};

    use super::*;

    fn header(number: u64, branch: u8) -> Header {
        let hash = |number: u64| B256::from([branch; 32]) ^ B256::from(U256::from(number));
        Header {
            number: U64::from(number),
            hash: hash(number),
            parent_hash: hash(number.saturating_sub(1)),
            timestamp: U64::ZERO,
            gas_used: U64::ZERO,
            gas_limit: U64::ZERO,
            base_fee_per_gas: None,
            transactions: Vec::new(),
            block_access_list_hash: None,
        }
    }

    #[test]
    fn a_node_that_is_behind_has_removed_nothing_and_another_branch_has() {
        let mut chain = Chain::new(&header(5, 1), &[header(4, 1), header(3, 1)]);
        (6..=8).for_each(|number| chain.push(&header(number, 1)));
        assert!(!chain.is_tip_removed(&header(8, 1)));
        assert!(!chain.is_tip_removed(&header(7, 1)), "behind");
        assert!(!chain.is_tip_removed(&header(9, 2)), "its parent is asked for first");
        assert!(chain.is_tip_removed(&header(8, 2)));
        assert!(chain.is_tip_removed(&header(6, 2)));
        assert!(chain.is_tip_removed(&header(4, 2)), "below the start");
        assert!(!chain.is_tip_removed(&header(2, 2)), "nothing is known of it");
    }

    #[test]
    fn a_reorganisation_below_the_start_goes_back_to_the_block_that_both_branches_have() {
        let ancestors = [header(4, 1), header(3, 1), header(2, 7), header(1, 7)];
        let mut chain = Chain::new(&header(5, 1), &ancestors);
        chain.push(&header(6, 1));
        let removed: Vec<_> = std::iter::from_fn(|| chain.pop()).collect();
        let removed: Vec<_> =
            removed.iter().map(|block| (block.number, block.is_reported)).collect();
        assert_eq!(removed, [(6, true), (5, false), (4, false)], "2 is no parent of 3");
        assert_eq!(chain.tip(), ReadBlock::unreported(&header(3, 1)));
    }

    #[test]
    fn a_block_was_seen_with_itself_or_the_first_above_it_however_late_it_is_read() {
        let at = Duration::from_secs;
        let mut heads = Heads::default();
        for (number, second) in [(6, 1), (7, 2), (9, 5), (10, 6)] {
            heads.push(Head { header: header(number, 1), at: at(second) });
        }
        let seen = |heads: &Heads, number| heads.seen_at(&header(number, 1));
        assert_eq!(
            [6, 7, 8, 9].map(|number| seen(&heads, number)),
            [1, 2, 5, 5].map(|s| Some(at(s)))
        );
        assert_eq!(seen(&heads, 11), None);
        heads.drop_read(8);
        assert_eq!((heads.0.len(), seen(&heads, 9)), (2, Some(at(5))));
        heads.drop_read(10);
        assert_eq!(heads.newest().map(|head| head.at), Some(at(6)), "the newest stays");
        // The times of the old branch must not be used for the new one.
        heads.push(Head { header: header(12, 1), at: at(7) });
        heads.push(Head { header: header(11, 2), at: at(8) });
        heads.change_branch();
        assert_eq!(heads.seen_at(&header(10, 2)), Some(at(8)));
    }
}
