//! Storm transactions of one load: which indices each asks for, so that none is asked for twice in a
//! workload (unless it says so), the share of present keys is exact, and its gas is what it was
//! given. What is asked for, slots or accounts, and by which contract, is in [`Parts`].

mod kinds;

pub(crate) use kinds::{At, account, balance, prefetch_miss, sload, sstore};

use alloy_primitives::{Address, B256, Bytes, U256};
use workload::{SlotFamily, block::IndexRange, stream::stream_seed};

use crate::{
    artifact::Contract,
    error::GeneratorError,
    meter::{Meter, Pair, Price, calldata},
    people::People,
    planner::{PlannedTx, Planner, Room, Touched},
    scenario::Overlap,
};

/// Distance from a family's end within which a load's first absent index lies.
const ABSENT_SPREAD: u64 = 1 << 32;

/// What a storm is made of.
#[derive(Debug)]
pub(crate) struct Parts<'g> {
    /// The contract that transactions call.
    pub(crate) contract: Contract,
    /// What it costs.
    pub(crate) meter: Meter,
    /// Share of what is asked for that exists.
    pub(crate) present_share: f64,
    /// What transactions have in common.
    pub(crate) overlap: Overlap,
    /// Whom transactions call in turn; at least one.
    pub(crate) targets: Vec<Target<'g>>,
}

/// A contract that is called, and the family that it asks of.
#[derive(Clone, Debug)]
pub(crate) struct Target<'g> {
    /// Its address.
    pub(crate) to: Address,
    /// What the family has.
    pub(crate) asked: Asked,
    /// The family's place in its list in the genesis.
    pub(crate) family: u32,
    /// Number of indices that exist.
    pub(crate) held_count: u64,
    /// The first word of calldata.
    pub(crate) first: First<'g>,
    /// The words between that and the ranges.
    pub(crate) tail: Vec<B256>,
    /// Present index to begin at, where the state decides it and not the load's seed.
    pub(crate) start: Option<u64>,
}

/// What a family has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Slots.
    Slots,
    /// Accounts.
    Accounts,
}

/// The first word of a storm's calldata.
#[derive(Clone, Copy, Debug)]
pub(crate) enum First<'g> {
    /// The same for all transactions.
    Word(B256),
    /// The key of the first slot.
    KeyOf(&'g SlotFamily),
}

/// A transaction's work.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StormTx {
    /// Whom it calls, by place among the targets.
    target: usize,
    /// Its calldata.
    input: Bytes,
    /// What it costs.
    price: Price,
    /// What it asks for.
    ranges: Vec<IndexRange>,
}

/// A load's place in its families.
#[derive(Debug)]
pub(crate) struct Storm<'g> {
    parts: Parts<'g>,
    cursors: Vec<Cursor>,
    /// Transactions made.
    tx_count: u64,
    /// Indices asked for, and how many of them are present.
    asked_count: u64,
    present_count: u64,
}

/// Indices of one family that are used up.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    /// First present index, and number used up from there on, around the family's end.
    start: u64,
    used_count: u64,
    /// Present indices that transactions have asked for, each counted once.
    asked_count: u64,
    /// Next absent index.
    absent: u64,
}

impl<'g> Storm<'g> {
    /// A storm of `parts`. The stream's seed and name give the indices it starts at.
    pub(crate) fn new(parts: Parts<'g>, stream: (u64, &str)) -> Self {
        let cursor = |(place, target): (usize, &Target<'_>)| {
            let word = stream_seed(stream.0, &format!("{}/start/{place}", stream.1));
            let [start, absent, ..] = *U256::from_be_bytes(word.0).as_limbs();
            let start = target.start.unwrap_or(start % target.held_count.max(1));
            let absent = target.held_count + absent % ABSENT_SPREAD;
            Cursor { start, used_count: 0, asked_count: 0, absent }
        };
        let cursors = parts.targets.iter().enumerate().map(cursor).collect();
        Self { parts, cursors, tx_count: 0, asked_count: 0, present_count: 0 }
    }

    /// The transaction that asks for most within `gas_limit`; `None` where that is less than a
    /// useful one.
    fn most_within(&mut self, gas_limit: u64) -> Option<StormTx> {
        let place = (self.tx_count % self.parts.targets.len() as u64) as usize;
        let mut count = self.parts.meter.count_at_most(gas_limit);
        // Not a bisection: one more can be cheaper, where it completes an unrolled block.
        while count >= self.parts.meter.useful_count() {
            let tx = self.with_count(place, count);
            if tx.price.limit <= gas_limit {
                self.take(place, &tx, count);
                return Some(tx);
            }
            count -= 1;
        }
        None
    }

    fn with_count(&self, place: usize, count: u64) -> StormTx {
        let target = &self.parts.targets[place];
        let present_count = self.present_of_next(count);
        let cursor = &self.cursors[place];
        let mut pairs = cursor.present(target.held_count, present_count);
        if count > present_count {
            pairs.push((cursor.absent, count - present_count));
        }
        let start = pairs.first().map_or(0, |(start, _)| *start);
        let contract = self.parts.contract;
        // What knows its place by itself goes on around the family's end by itself.
        let said = if contract.takes_count_alone() { vec![(start, count)] } else { pairs.clone() };
        let first = match target.first {
            First::Word(word) => word,
            First::KeyOf(family) => B256::from(family.key(start)),
        };
        let head = [&[first], &target.tail[..]].concat();
        let input = calldata(contract, &head, &said);
        let price = self.parts.meter.price(&input, &said);
        let range = |(start, count): &Pair| IndexRange {
            family: target.family,
            start: *start,
            count: *count,
        };
        StormTx { target: place, input, price, ranges: pairs.iter().map(range).collect() }
    }

    /// How many of the next `count` are present, so that the share of all is exact.
    fn present_of_next(&self, count: u64) -> u64 {
        let all = ((self.asked_count + count) as f64 * self.parts.present_share).round() as u64;
        all.saturating_sub(self.present_count).min(count)
    }

    fn take(&mut self, place: usize, tx: &StormTx, count: u64) {
        let present_count = self.present_of_next(count);
        let cursor = &mut self.cursors[place];
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
        people: &mut People<'_>,
    ) -> Result<Option<PlannedTx>, GeneratorError> {
        let Some(storm) = self.most_within(room.gas_limit) else { return Ok(None) };
        let target = &self.parts.targets[storm.target];
        let touched = match target.asked {
            Asked::Slots => Touched { slots: storm.ranges, ..Touched::default() },
            Asked::Accounts => Touched { accounts: storm.ranges, ..Touched::default() },
        };
        Ok(Some(PlannedTx {
            // All that there is room for: what a storm leaves of it shows nothing.
            gas_limit: room.gas_limit,
            gas: storm.price.gas,
            refund: storm.price.refund,
            sender: people.in_turn(room.turn),
            to: Some(target.to),
            input: storm.input,
            touched,
            ..PlannedTx::default()
        }))
    }

    fn useful_gas(&self) -> u64 {
        self.parts.meter.useful_gas()
    }

    fn shortfall(&self) -> Option<(u64, u64)> {
        let asked = self.cursors.iter().zip(&self.parts.targets);
        let short = asked.map(|(cursor, target)| (cursor.asked_count, target.held_count));
        short.filter(|(asked, held)| asked > held).max_by_key(|(asked, held)| asked - held)
    }
}

impl Cursor {
    /// The next `count` present indices of a family of `held_count`, as one range or, around
    /// the family's end, two.
    fn present(&self, held_count: u64, count: u64) -> Vec<Pair> {
        if count == 0 {
            return Vec::new();
        }
        let start = (self.start + self.used_count) % held_count;
        let straight = count.min(held_count - start);
        let mut pairs = vec![(start, straight)];
        if count > straight {
            pairs.push((0, count - straight));
        }
        pairs
    }
}
