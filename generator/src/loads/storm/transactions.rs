//! Plans the storm transactions of one load: chooses the keys that each transaction reads or
//! writes, by their indices in a family. No index repeats in a workload, unless the scenario asks
//! for it. The share of present keys is exact, and a transaction has as many keys as its gas limit
//! pays for. [`Parts`] has the kind of keys (slots or accounts) and the contract.

use alloy_primitives::{B256, Bytes, U256};
use spec::{CalldataByte, Overlap};
use workload::block::IndexRange;

use super::{
    parts::{FirstWord, MemberKind, Parts},
    picks::Picks,
};
use crate::{
    error::GeneratorError,
    meter::{IndexPair, Price, calldata, packed},
    planner::{PlannedTx, Planner, Room, Touched, useful_limit},
    probe::Cost,
    random::Stream,
    senders::Senders,
};

/// Absent indices begin at most this far behind a family's end.
const ABSENT_SPREAD: u64 = 1 << 32;

/// The calldata, the price and the keys of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StormTx {
    /// Index of the callee among the targets.
    target: usize,
    /// Calldata without padding.
    input: Bytes,
    /// Number of bytes of padding after the calldata.
    padding_count: u64,
    /// Price with the padding.
    price: Price,
    /// The keys that the transaction accesses.
    ranges: Vec<IndexRange>,
}

/// Plans a storm, and has its position in each family.
#[derive(Debug)]
pub(crate) struct Storm<'g> {
    parts: Parts<'g>,
    /// The used indices of each target's family.
    cursors: Vec<Cursor>,
    /// Indices of the slots whose hashes begin with the scenario's nibble (`below`), by target; empty
    /// where the scenario sets none.
    picks: Vec<Picks<'g>>,
    /// Random stream of the padding.
    stream: Stream,
    /// Number of transactions made so far.
    tx_count: u64,
    /// Number of keys that the transactions access, and of present ones among them.
    asked_count: u64,
    present_count: u64,
}

/// The used indices of one family.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    /// The present index that is used first.
    start: u64,
    /// Number of used present indices from `start` on. After the family's end they go on at its
    /// beginning.
    used_count: u64,
    /// Number of present indices that transactions have asked for, each counted once.
    asked_count: u64,
    /// Next absent index.
    absent: u64,
}

impl<'g> Storm<'g> {
    /// A storm of `parts`. `stream` gives the index at which each family begins.
    pub(crate) fn new(parts: Parts<'g>, stream: &Stream) -> Self {
        let cursors = parts.targets.iter().enumerate().map(|(target_index, target)| {
            let word = stream.word(format_args!("start/{target_index}"));
            let [start, absent, ..] = *U256::from_be_bytes(word.0).as_limbs();
            let start = target.start.unwrap_or(start % target.held_count.max(1));
            let absent = target.held_count + absent % ABSENT_SPREAD;
            Cursor { start, used_count: 0, asked_count: 0, absent }
        });
        let cursors: Vec<Cursor> = cursors.collect();
        let picks = parts.below.iter().flat_map(|below| {
            let families = below.families.iter().zip(&cursors);
            families.map(|(family, cursor)| Picks::new(family, below.nibble, cursor.start))
        });
        let picks = picks.collect();
        let stream = stream.within("calldata");
        Self { parts, cursors, picks, stream, tx_count: 0, asked_count: 0, present_count: 0 }
    }

    /// Returns the transaction with the most keys within `gas_limit`, and the number of its keys;
    /// `None` where no useful transaction fits.
    fn most_within(&mut self, gas_limit: u64) -> Option<(StormTx, u64)> {
        let target_index = (self.tx_count % self.parts.targets.len() as u64) as usize;
        let mut count = self.parts.meter.count_at_most(gas_limit);
        if let Some(picks) = self.picks.get_mut(target_index) {
            picks.find(count);
        }
        // Not a bisection: one key more can be cheaper, where it completes an unrolled block.
        while count >= self.parts.meter.useful_count() {
            let tx = self.with_count(target_index, count);
            if tx.price.is_within(gas_limit) {
                return Some((tx, count));
            }
            count -= 1;
        }
        None
    }

    /// Returns the next transaction of a target, with `count` keys.
    fn with_count(&self, target_index: usize, count: u64) -> StormTx {
        let target = &self.parts.targets[target_index];
        let present_count = self.present_of_next(count);
        let cursor = &self.cursors[target_index];
        let mut pairs = match self.picks.get(target_index) {
            Some(picks) => picks.ranges(present_count),
            None => cursor.present(target.held_count, present_count),
        };
        if count > present_count {
            pairs.push((cursor.absent, count - present_count));
        }
        let start = pairs.first().map_or(0, |(start, _)| *start);
        let contract = self.parts.contract;
        // A contract that takes a count alone keeps its own position: only the sum of the ranges
        // matters.
        let named = if contract.takes_count_alone() { vec![(start, count)] } else { pairs.clone() };
        let first = match target.first {
            FirstWord::Word(word) => word,
            FirstWord::KeyOf(family) => B256::from(family.key(start)),
            // Consecutive hops are in consecutive contracts.
            FirstWord::KeyOfHop(families) => {
                let contract_count = families.len() as u64;
                let family = &families[(start % contract_count) as usize];
                B256::from(family.key(start / contract_count))
            }
        };
        let head = [&[first], &target.tail[..]].concat();
        let input = calldata(contract, &head, &named);
        let price = self.parts.meter.price(&input, &named);
        let byte = self.parts.calldata_byte;
        let most_count = self.parts.meter.padding_count_max(&input, price, byte);
        let padding_count = (most_count as f64 * self.parts.calldata_share) as u64;
        let price = self.parts.meter.padded(price, padding_count, byte);
        let ranges = pairs
            .into_iter()
            .map(|(start, count)| IndexRange { family: target.family, start, count })
            .collect();
        StormTx { target: target_index, input, padding_count, price, ranges }
    }

    /// Returns the final calldata of `tx`: with its indices in the storm's order, or with its
    /// padding. Neither changes the price, so this waits until the transaction is chosen.
    fn final_calldata(&self, tx: &StormTx) -> Bytes {
        if let Some(sorted) = &self.parts.sorted {
            let head = B256::from_slice(&tx.input[..32]);
            return packed(&[head], sorted.indices(tx.target, &tx.ranges));
        }
        if tx.padding_count == 0 {
            return tx.input.clone();
        }
        let mut random = self.stream.within(self.tx_count).random();
        let padding = (0..tx.padding_count).map(|_| match self.parts.calldata_byte {
            // No byte is zero: a zero costs less.
            CalldataByte::Random => random.below(255) as u8 + 1,
            CalldataByte::Zero => 0,
        });
        tx.input.iter().copied().chain(padding).collect::<Vec<u8>>().into()
    }

    /// Number of present keys among the next `count`, so that their share of all keys is exact.
    fn present_of_next(&self, count: u64) -> u64 {
        let all = ((self.asked_count + count) as f64 * self.parts.present_share).round() as u64;
        all.saturating_sub(self.present_count).min(count)
    }

    /// Uses up the `count` keys of `tx`, which a block has taken.
    fn take(&mut self, tx: &StormTx, count: u64) {
        let target_index = tx.target;
        let present_count = self.present_of_next(count);
        if let Some(picks) = self.picks.get_mut(target_index) {
            picks.take(count);
        }
        let cursor = &mut self.cursors[target_index];
        cursor.asked_count = cursor.asked_count.max(cursor.used_count + present_count);
        if self.parts.overlap == Overlap::Nothing {
            cursor.used_count += present_count;
            cursor.absent += count - present_count;
        }
        debug_assert_eq!(tx.ranges.iter().map(|range| range.count).sum::<u64>(), count);
        self.tx_count += 1;
        self.asked_count += count;
        self.present_count += present_count;
    }
}

impl Planner for Storm<'_> {
    fn next(
        &mut self,
        room: Room,
        senders: &mut Senders<'_>,
    ) -> Result<Option<PlannedTx>, GeneratorError> {
        let Some((mut storm, count)) = self.most_within(room.gas_limit) else { return Ok(None) };
        storm.input = self.final_calldata(&storm);
        self.take(&storm, count);
        let target = &self.parts.targets[storm.target];
        let indices = storm.ranges.iter().flat_map(|of| of.start..of.start + of.count);
        let ranges = match target.member_kind {
            MemberKind::Accounts | MemberKind::Slots => storm.ranges,
            MemberKind::Hops { contract_count } => indices
                .map(|index| target.slot(index % contract_count, index / contract_count))
                .collect(),
            MemberKind::Each { slot } => indices.map(|index| target.slot(index, slot)).collect(),
        };
        let touched = match target.member_kind {
            MemberKind::Accounts => Touched { accounts: ranges, ..Touched::default() },
            _ => Touched { slots: ranges, ..Touched::default() },
        };
        let cost = storm.price.cost();
        Ok(Some(PlannedTx {
            gas_limit: useful_limit(room.gas_limit, storm.price.limit),
            cost,
            sender: senders.in_turn(room.turn),
            to: Some(target.to),
            input: storm.input,
            touched,
            ..PlannedTx::default()
        }))
    }

    fn useful_gas(&self) -> u64 {
        self.parts.meter.useful_gas()
    }

    fn price(&mut self, room: Room, _: &mut Senders<'_>) -> Result<Option<Cost>, GeneratorError> {
        Ok(self.most_within(room.gas_limit).map(|(tx, _)| tx.price.cost()))
    }

    fn shortfall(&self) -> Option<(u64, u64)> {
        let asked = self.cursors.iter().zip(&self.parts.targets).enumerate();
        let short = asked.map(|(target_index, (cursor, target))| {
            let picked_count = self.picks.get(target_index).and_then(Picks::held_count);
            (cursor.asked_count, picked_count.unwrap_or(target.held_count))
        });
        short.filter(|(asked, held)| asked > held).max_by_key(|(asked, held)| asked - held)
    }
}

impl Cursor {
    /// The next `count` present indices of a family of `held_count`, as one range, or as two if
    /// they go on at the family's beginning.
    fn present(&self, held_count: u64, count: u64) -> Vec<IndexPair> {
        if count == 0 {
            return Vec::new();
        }
        let start = (self.start + self.used_count) % held_count;
        let to_end = count.min(held_count - start);
        let mut pairs = vec![(start, to_end)];
        if count > to_end {
            pairs.push((0, count - to_end));
        }
        pairs
    }
}
