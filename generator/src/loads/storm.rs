//! Storm transactions of one load: which indices each reads, so that no slot is read twice in a
//! workload (unless it says so), the share of present keys is exact, and its gas is what it was
//! given.

use alloy_primitives::{B256, Bytes, U256};
use workload::{SlotFamily, block::IndexRange, stream::stream_seed};

use crate::{
    artifact::Contract,
    error::GeneratorError,
    meter::{Meter, Pair, USEFUL_SLOT_COUNT, calldata},
    people::People,
    planner::{PlannedTx, Planner, Room, Touched},
    scenario::Overlap,
};

/// Distance from a family's end within which a load's first absent index lies.
const ABSENT_SPREAD: u64 = 1 << 32;

/// A transaction's work.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StormTx {
    /// The family that it reads, by its place among the load's.
    family: usize,
    /// Calldata for the family's contract.
    input: Bytes,
    /// Gas that it will use.
    gas: u64,
    /// What it reads.
    ranges: Vec<IndexRange>,
}

/// A load's place in its families.
#[derive(Debug)]
pub(crate) struct Storm<'g> {
    contract: Contract,
    meter: Meter,
    present_share: f64,
    overlap: Overlap,
    first_family: u32,
    families: &'g [SlotFamily],
    cursors: Vec<Cursor>,
    /// Transactions made.
    tx_count: u64,
    /// Slots asked for, and how many of them are present.
    slot_count: u64,
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
    /// A storm over `families`, which begin at `first_family` in the genesis. `seed` and
    /// `name` give the indices it starts at.
    pub(crate) fn new(
        meter: Meter,
        contract: Contract,
        (present_share, overlap): (f64, Overlap),
        families: (u32, &'g [SlotFamily]),
        stream: (u64, &str),
    ) -> Self {
        let (first_family, families) = families;
        let cursor = |(place, family): (usize, &SlotFamily)| {
            let word = stream_seed(stream.0, &format!("{}/start/{place}", stream.1));
            let [start, absent, ..] = *U256::from_be_bytes(word.0).as_limbs();
            let absent = family.count + absent % ABSENT_SPREAD;
            Cursor { start: start % family.count.max(1), used_count: 0, asked_count: 0, absent }
        };
        let cursors = families.iter().enumerate().map(cursor).collect();
        Self {
            contract,
            meter,
            present_share,
            overlap,
            first_family,
            families,
            cursors,
            tx_count: 0,
            slot_count: 0,
            present_count: 0,
        }
    }

    /// The transaction with the most slots within `gas_limit`; `None` where that is less than a
    /// useful one.
    fn most_within(&mut self, gas_limit: u64) -> Option<StormTx> {
        let place = (self.tx_count % self.families.len() as u64) as usize;
        let mut count = self.meter.slots_at_most(gas_limit);
        // Not a bisection: a slot more can be cheaper, where it completes an unrolled block.
        while count >= USEFUL_SLOT_COUNT {
            let tx = self.with_count(place, count);
            if tx.gas <= gas_limit {
                self.take(place, &tx, count);
                return Some(tx);
            }
            count -= 1;
        }
        None
    }

    fn with_count(&self, place: usize, count: u64) -> StormTx {
        let family = &self.families[place];
        let present_count = self.present_of_next(count);
        let cursor = &self.cursors[place];
        let mut pairs = cursor.present(family.count, present_count);
        if count > present_count {
            pairs.push((cursor.absent, count - present_count));
        }
        let (first, calldata_pairs) = if self.contract == Contract::ChaseStorm {
            // A chain goes on around the family's end by itself.
            let start = pairs.first().map_or(0, |(start, _)| *start);
            (B256::from(family.key(start)), vec![(start, count)])
        } else {
            (family.seed, pairs.clone())
        };
        let input = calldata(self.contract, &first, &calldata_pairs);
        let gas = self.meter.gas(&input, &calldata_pairs);
        let index = self.first_family + place as u32;
        let range =
            |(start, count): &Pair| IndexRange { family: index, start: *start, count: *count };
        StormTx { family: place, input, gas, ranges: pairs.iter().map(range).collect() }
    }

    /// How many of the next `count` slots are present, so that the share of all is exact.
    fn present_of_next(&self, count: u64) -> u64 {
        let all = ((self.slot_count + count) as f64 * self.present_share).round() as u64;
        all.saturating_sub(self.present_count).min(count)
    }

    fn take(&mut self, place: usize, tx: &StormTx, count: u64) {
        let present_count = self.present_of_next(count);
        let cursor = &mut self.cursors[place];
        cursor.asked_count = cursor.asked_count.max(cursor.used_count + present_count);
        if self.overlap == Overlap::Nothing {
            cursor.used_count += present_count;
            cursor.absent += count - present_count;
        }
        debug_assert_eq!(tx.ranges.iter().map(|range| range.count).sum::<u64>(), count);
        self.tx_count += 1;
        self.slot_count += count;
        self.present_count += present_count;
    }
}

impl Planner for Storm<'_> {
    fn next(
        &mut self,
        room: Room,
        people: &mut People<'_>,
    ) -> Result<Option<PlannedTx>, GeneratorError> {
        let storm = self.most_within(room.gas_limit);
        let planned = |storm: StormTx| PlannedTx {
            // All that there is room for: what a storm leaves of it shows nothing.
            gas_limit: room.gas_limit,
            gas: storm.gas,
            sender: people.in_turn(room.turn),
            to: Some(self.families[storm.family].address),
            input: storm.input,
            touched: Touched { slots: storm.ranges, ..Touched::default() },
            ..PlannedTx::default()
        };
        Ok(storm.map(planned))
    }

    fn useful_gas(&self) -> u64 {
        self.meter.useful_gas()
    }

    fn shortfall(&self) -> Option<(u64, u64)> {
        let asked = self.cursors.iter().zip(self.families);
        let short = asked.map(|(cursor, family)| (cursor.asked_count, family.count));
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
