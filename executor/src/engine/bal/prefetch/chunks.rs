//! Divides the keys of a list into chunks, which the threads that read ahead take one by one. A
//! chunk is a range of positions in the order of the accounts, or of the slots. Chunks are numbered
//! in the order of reading, and each position is in exactly one chunk.

use std::ops::Range;

use workload::list::ListIndex;

use crate::store::Reader;
use variant::{AccountReads, Prefetch, ReadOrder};

/// One of the threads that read ahead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    /// Number of the thread, from 0.
    pub(crate) number: usize,
    /// Number of threads that read ahead.
    pub(crate) count: usize,
}

/// Number of accounts in a chunk, if the store reads keys one by one. The number is small, because
/// accounts are fewer than slots, and every transaction begins with reads of accounts.
const ACCOUNT_CHUNK: usize = 8;

/// Positions of keys to read together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    /// Positions of accounts.
    Accounts(Range<usize>),
    /// Positions of slots.
    Slots(Range<usize>),
}

/// Division of the positions of one kind of key (accounts or slots) into chunks of `size`
/// positions.
#[derive(Clone, Copy, Debug)]
struct ChunkSplit {
    position_count: usize,
    size: usize,
}

impl ChunkSplit {
    const fn count(self) -> usize {
        self.position_count.div_ceil(self.size)
    }

    fn at(self, number: usize) -> Range<usize> {
        let start = number * self.size;
        start..(start + self.size).min(self.position_count)
    }
}

/// All chunks of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunks {
    accounts: ChunkSplit,
    slots: ChunkSplit,
    mixes: bool,
}

impl Chunks {
    /// Makes the chunks of `list` by `policy`. If the policy gives no size, a chunk has a size that
    /// suits `reader`.
    pub(super) fn new(policy: &Prefetch, list: &ListIndex, reader: &dyn Reader) -> Self {
        let call_sizes = reader.call_sizes();
        let suitable_size = match policy.order {
            ReadOrder::OnDisk => call_sizes.rows_per_call,
            ReadOrder::Listed | ReadOrder::FirstWrite => call_sizes.slots_per_call,
        };
        let suitable_size = suitable_size.max(1);
        let given = policy.chunk.map(|keys| keys.get() as usize);
        let account_size = if call_sizes.reads_together() { suitable_size } else { ACCOUNT_CHUNK };
        let account_count = match policy.accounts {
            AccountReads::OnDemand => 0,
            AccountReads::First | AccountReads::Mixed => list.account_count() as usize,
        };
        let slot_count = list.slot_count() as usize;
        Self {
            accounts: ChunkSplit {
                position_count: account_count,
                size: given.unwrap_or(account_size),
            },
            slots: ChunkSplit { position_count: slot_count, size: given.unwrap_or(suitable_size) },
            mixes: policy.accounts == AccountReads::Mixed,
        }
    }

    /// Returns the number of chunks.
    pub(super) const fn count(&self) -> usize {
        self.accounts.count() + self.slots.count()
    }

    /// Returns the chunk of this number in the order of reading.
    pub(super) fn at(&self, number: usize) -> Chunk {
        let (accounts, all) = (self.accounts.count(), self.count());
        if !self.mixes {
            return match number.checked_sub(accounts) {
                None => Chunk::Accounts(self.accounts.at(number)),
                Some(number) => Chunk::Slots(self.slots.at(number)),
            };
        }
        // Mixes evenly: of the first n chunks, n × accounts / all, rounded down, are chunks of
        // accounts.
        let before = number * accounts / all;
        if (number + 1) * accounts / all > before {
            Chunk::Accounts(self.accounts.at(before))
        } else {
            Chunk::Slots(self.slots.at(number - before))
        }
    }

    /// Returns the numbers of a thread's own chunks, for [`ReaderShare::Ranges`]. If chunks of
    /// accounts and of slots are mixed, the thread has one range. Otherwise it has a range of
    /// account chunks, then a range of slot chunks.
    ///
    /// [`ReaderShare::Ranges`]: variant::ReaderShare::Ranges
    pub(super) fn of_lane(&self, lane: Lane) -> impl Iterator<Item = usize> + use<> {
        let (accounts, all) = (self.accounts.count(), self.count());
        let first = if self.mixes { 0..0 } else { 0..accounts };
        let rest = first.end..all;
        let share = move |range: Range<usize>| {
            let split = |number: usize| range.start + range.len() * number / lane.count;
            split(lane.number)..split(lane.number + 1)
        };
        share(first).chain(share(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_in_one_chunk_and_each_chunk_in_one_lane() {
        for (account_count, slot_count, mixes) in
            [(0, 0, false), (1, 0, true), (0, 5, true), (17, 100, true), (17, 100, false)]
        {
            let accounts = ChunkSplit { position_count: account_count, size: 3 };
            let slots = ChunkSplit { position_count: slot_count, size: 7 };
            let chunks = Chunks { accounts, slots, mixes };
            let (mut of_accounts, mut of_slots) = (Vec::new(), Vec::new());
            for number in 0..chunks.count() {
                match chunks.at(number) {
                    Chunk::Accounts(positions) => of_accounts.extend(positions),
                    Chunk::Slots(positions) => of_slots.extend(positions),
                }
            }
            assert_eq!(of_accounts, (0..account_count).collect::<Vec<_>>());
            assert_eq!(of_slots, (0..slot_count).collect::<Vec<_>>());
            for count in [1, 4, 50] {
                let lanes = (0..count).map(|number| Lane { number, count });
                let mut taken: Vec<_> = lanes.flat_map(|lane| chunks.of_lane(lane)).collect();
                taken.sort_unstable();
                assert_eq!(taken, (0..chunks.count()).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn mixed_accounts_are_spread_and_accounts_that_come_first_come_first() {
        let split = |position_count| ChunkSplit { position_count, size: 1 };
        let numbers = |mixes| -> Vec<usize> {
            let chunks = Chunks { accounts: split(3), slots: split(9), mixes };
            let is_account = |n: &usize| matches!(chunks.at(*n), Chunk::Accounts(_));
            (0..chunks.count()).filter(is_account).collect()
        };
        assert_eq!(numbers(false), [0, 1, 2]);
        assert_eq!(numbers(true), [3, 7, 11]);
    }
}
