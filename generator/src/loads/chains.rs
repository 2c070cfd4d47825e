//! Plans transactions in groups. Transactions of a group depend on each other in a given shape. A
//! share of a block's transactions, the conflict rate, is in such groups; all others are alone. For
//! each block, groups are made and put in order. Then each transaction gets the place that it reads
//! and the place that it changes. Each account has one place: its slot in the contract, or its
//! balance.

use std::{collections::BTreeMap, ops::Range};

use alloy_primitives::U256;
use workload::Genesis;

use super::{
    prices::{Callee, Prices},
    solidity::{calldata, filled_mapping, word},
};
use crate::{
    artifact::Contract,
    error::GeneratorError,
    holders::holder_count,
    planner::{PlannedTx, Planner, Room, Touched, fitting_count},
    probe::{Cost, Probe},
    random::Random,
    senders::{Members, Senders},
    state::{LoadGenesis, add_only},
};
use spec::{BlockTarget, Chains as Spec, GroupOrder, Groups, Scenario, Shape, Through, Touch};

/// Adds the contract. If transactions meet in slots, it has a slot for each account.
pub(crate) fn place(
    chains: &Spec,
    scenario: &Scenario,
    tag: &str,
    genesis: &mut Genesis,
) -> Result<LoadGenesis, GeneratorError> {
    let slot_count = match chains.through {
        Through::Slot => holder_count(scenario),
        Through::Account => 0,
    };
    add_only(tag, Contract::Chain, filled_mapping(slot_count), genesis)
}

/// Transactions that depend on each other, or a single transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    length: u64,
    /// Place of the hotspot; `None` where the group begins at its first sender's own place.
    hotspot: Option<u64>,
}

const ALONE: Group = Group { length: 1, hotspot: None };

/// A transaction by its sender, the place that it reads (`from`) and the place that it changes
/// (`to`). Each account has one place, of the account's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Link {
    sender: u64,
    from: u64,
    to: u64,
}

/// The accounts that send. Accounts of hotspots do not send, and senders that meet in slots have a
/// slot each.
pub(crate) fn accounts(spec: &Spec, scenario: &Scenario) -> Range<u64> {
    let start = match spec.groups {
        Groups::Lengths(_) => 0,
        Groups::Hotspots(count) => count,
    };
    let end = match spec.through {
        Through::Slot => holder_count(scenario),
        Through::Account => scenario.state.account_count.max(1),
    };
    start..end
}

/// Facts of a link on which its price depends, beside its calldata: which of its three accounts are
/// the same.
type Form = (bool, bool, bool);

/// Plans calls of `step` and of `pay`.
#[derive(Debug)]
pub(crate) struct Chains {
    spec: Spec,
    function: &'static str,
    probe: Probe,
    prices: Prices<Form>,
    /// Price of a transaction that reads and changes its sender's own place.
    own: Cost,
    /// Price of a transaction that depends on another account's place.
    other: Cost,
    members: Members,
    random: Random,
    /// Number of accounts that have sent.
    sender_count: u64,
    /// The block's drawn transactions, the next one last.
    drawn: Vec<Link>,
}

impl Chains {
    /// Calls of `contract` by `members`; `random` is the load's stream.
    pub(crate) fn new(
        spec: &Spec,
        members: Members,
        random: Random,
        Callee { contract, fork }: Callee,
        senders: &mut Senders<'_>,
    ) -> Result<Self, GeneratorError> {
        let (function, value) = match spec.through {
            Through::Slot => ("step(uint256,uint256,uint256,uint256)", U256::ZERO),
            Through::Account => ("pay(address,address,uint256,uint256)", U256::ONE),
        };
        let probe = Probe::new(Contract::Chain, fork, senders.address(0)?, contract)?;
        let probe = Probe { value, ..probe };
        let mut new = Self {
            spec: spec.clone(),
            function,
            probe,
            prices: Prices::new(),
            own: Cost::default(),
            other: Cost::default(),
            members,
            random,
            sender_count: 0,
            drawn: Vec::new(),
        };
        let [own, other] = [0, 1].map(|index| new.members.at(index));
        let with_another = match spec.shape {
            Shape::Shared => Link { sender: own, from: other, to: other },
            Shape::Relay | Shape::Tree | Shape::Star => Link { sender: own, from: other, to: own },
        };
        new.own = new.price_of(Link { sender: own, from: own, to: own }, senders)?;
        new.other = new.price_of(with_another, senders)?;
        Ok(new)
    }

    fn price_of(&mut self, link: Link, senders: &mut Senders<'_>) -> Result<Cost, GeneratorError> {
        self.plan(link, senders).map(|tx| tx.cost)
    }

    /// The higher of the two prices.
    fn most(&self) -> Cost {
        if self.own.gas > self.other.gas { self.own } else { self.other }
    }

    /// Gas of all transactions of `groups`.
    fn gas_of(&self, groups: &[Group]) -> u64 {
        let gas = groups.iter().map(|group| {
            let own_count = u64::from(group.hotspot.is_none());
            own_count * self.own.gas + (group.length - own_count) * self.other.gas
        });
        gas.sum()
    }

    /// Groups for a block, whose transactions fill `budget`.
    fn filling_groups(&self, budget: BlockTarget) -> Result<Vec<Group>, GeneratorError> {
        let most = self.most();
        let mut count = fitting_count(budget, most);
        if count == 0 {
            // Too little gas: the filler reports it when it asks for a transaction.
            return Ok(Vec::new());
        }
        let mut groups = self.groups(count)?;
        let BlockTarget::Gas(gas) = budget else { return Ok(groups) };
        // Cheaper transactions leave gas, which more transactions of the same conflict rate fill.
        loop {
            let left = gas.saturating_sub(self.gas_of(&groups));
            let more = fitting_count(BlockTarget::Gas(left), most);
            count += more;
            let larger = self.groups(count)?;
            if more == 0 || self.gas_of(&larger) + most.refund > gas {
                return Ok(groups);
            }
            groups = larger;
        }
    }

    fn plan(&mut self, link: Link, senders: &mut Senders<'_>) -> Result<PlannedTx, GeneratorError> {
        let Link { sender, from, to } = link;
        let (first, last) = match self.spec.touch {
            Touch::First => (0, self.spec.work),
            Touch::Last => (self.spec.work, 0),
        };
        let [from_word, to_word] = match self.spec.through {
            Through::Slot => [from, to].map(word),
            Through::Account => {
                [senders.address(from)?, senders.address(to)?].map(|end| end.into_word())
            }
        };
        let input = calldata(self.function, &[from_word, to_word, word(first), word(last)]);
        self.probe.sender = senders.address(sender)?;
        let form = (from == to, to == sender, from == sender);
        let cost = self.prices.price(form, &self.probe, &input)?;
        let touched_senders = match self.spec.through {
            Through::Slot => Vec::new(),
            Through::Account => vec![from, to],
        };
        Ok(PlannedTx {
            sender,
            to: Some(self.probe.to),
            value: self.probe.value,
            input,
            touched: Touched { senders: touched_senders, ..Touched::default() },
            ..PlannedTx::priced(cost)
        })
    }

    /// Number of conflicting transactions among `count`.
    fn conflict_count(&self, count: u64) -> u64 {
        libm::round(count as f64 * self.spec.conflict_share) as u64
    }

    /// The error where the value of `key` needs more conflicts than `tx_count` transactions have.
    fn too_few(&self, key: &'static str, needed_count: u64, tx_count: u64) -> GeneratorError {
        let (load, conflict_count) = (self.members.load(), self.conflict_count(tx_count));
        GeneratorError::TooFewToConflict { load, key, needed_count, conflict_count, tx_count }
    }

    /// The groups of a block of `count` transactions.
    fn groups(&self, count: u64) -> Result<Vec<Group>, GeneratorError> {
        let conflict_count = self.conflict_count(count);
        let mut out = Vec::new();
        let mut left = conflict_count;
        match &self.spec.groups {
            _ if self.spec.conflict_share == 0.0 => {}
            Groups::Lengths(lengths) => {
                for length in lengths.iter().copied().cycle() {
                    if length > left {
                        break;
                    }
                    left -= length;
                    out.push(Group { length, ..ALONE });
                }
                if out.iter().all(|group| group.length == 1) {
                    let first_pair = lengths.iter().position(|length| *length > 1).unwrap_or(0);
                    let needed_count = lengths[..=first_pair].iter().sum();
                    return Err(self.too_few("lengths", needed_count, count));
                }
            }
            Groups::Hotspots(hotspots) => {
                let needed_count = hotspots.saturating_mul(2);
                if conflict_count < needed_count {
                    return Err(self.too_few("hotspots", needed_count, count));
                }
                out.extend((0..*hotspots).map(|index| Group {
                    length: conflict_count / hotspots
                        + u64::from(index < conflict_count % hotspots),
                    hotspot: Some(index),
                }));
                left = 0;
            }
        }
        let alone_count = left + count - conflict_count;
        out.extend((0..alone_count).map(|_| ALONE));
        Ok(out)
    }

    /// The index of the group of each transaction of a block, in the block's order.
    fn group_order(&mut self, groups: &[Group]) -> Vec<usize> {
        let repeated = |index: usize| std::iter::repeat_n(index, groups[index].length as usize);
        match self.spec.order {
            GroupOrder::Shuffled => {
                let mut out: Vec<usize> = (0..groups.len()).flat_map(repeated).collect();
                self.random.shuffle(&mut out);
                out
            }
            GroupOrder::Together => {
                let mut order: Vec<usize> = (0..groups.len()).collect();
                self.random.shuffle(&mut order);
                order.into_iter().flat_map(repeated).collect()
            }
            GroupOrder::Interleaved => interleaved(groups),
        }
    }

    /// Draws a link for each transaction of `groups`.
    fn draw(&mut self, groups: &[Group]) {
        // The places that the transactions of each group have changed, in order.
        let mut places: Vec<Vec<u64>> = vec![Vec::new(); groups.len()];
        for group in self.group_order(groups) {
            let sender = self.members.at(self.sender_count);
            self.sender_count += 1;
            let seen = &mut places[group];
            let (from, to) = match (seen.as_slice(), self.spec.shape) {
                ([], _) => {
                    let root = groups[group].hotspot.unwrap_or(sender);
                    (root, root)
                }
                ([root, ..], Shape::Shared) => (*root, *root),
                ([root, ..], Shape::Star) => (*root, sender),
                ([.., last], Shape::Relay) => (*last, sender),
                (seen, Shape::Tree) => {
                    (seen[self.random.below(seen.len() as u64) as usize], sender)
                }
            };
            seen.push(to);
            self.drawn.push(Link { sender, from, to });
        }
        self.drawn.reverse();
    }
}

/// The index of the group of each transaction of a block, in order. Transactions of a group are as
/// far apart as possible. Groups of one length take turns, spread evenly among the groups of other
/// lengths.
fn interleaved(groups: &[Group]) -> Vec<usize> {
    let mut by_length: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for (index, group) in groups.iter().enumerate() {
        by_length.entry(group.length).or_default().push(index);
    }
    // Position of each transaction in the block, from 0 to 1, as numerator and denominator; and its
    // group.
    let mut out = Vec::new();
    for (length, indices) in by_length {
        let count = length * indices.len() as u64;
        let turns = (0..length).flat_map(|_| &indices).zip(0_u64..);
        out.extend(turns.map(|(group, turn)| (2 * turn + 1, 2 * count, *group)));
    }
    // Compares fractions exactly: a/b < c/d where a·d < c·b.
    let wide = u128::from;
    out.sort_by(|(a, b, _), (c, d, _)| (wide(*a) * wide(*d)).cmp(&(wide(*c) * wide(*b))));
    out.into_iter().map(|(_, _, group)| group).collect()
}

impl Planner for Chains {
    fn begin(&mut self, budget: BlockTarget) -> Result<(), GeneratorError> {
        self.drawn.clear();
        let groups = self.filling_groups(budget)?;
        self.members.check(groups.iter().map(|group| group.length).sum())?;
        self.draw(&groups);
        Ok(())
    }

    fn next(
        &mut self,
        room: Room,
        senders: &mut Senders<'_>,
    ) -> Result<Option<PlannedTx>, GeneratorError> {
        if self.drawn.is_empty() {
            self.draw(&[ALONE]);
        }
        let Some(link) = self.drawn.last().copied() else { return Ok(None) };
        let tx = self.plan(link, senders)?;
        if tx.gas_limit > room.gas_limit {
            return Ok(None);
        }
        self.drawn.pop();
        Ok(Some(tx))
    }

    fn useful_gas(&self) -> u64 {
        self.most().limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_lengths(lengths: &[u64]) -> Vec<Group> {
        lengths.iter().map(|length| Group { length: *length, ..ALONE }).collect()
    }

    #[test]
    fn groups_of_one_length_take_turns() {
        assert_eq!(interleaved(&of_lengths(&[3, 3])), [0, 1, 0, 1, 0, 1]);
        assert_eq!(interleaved(&of_lengths(&[1, 1, 1])), [0, 1, 2]);
    }

    #[test]
    fn groups_of_several_lengths_are_evenly_among_each_other() {
        assert_eq!(interleaved(&of_lengths(&[2, 4])), [1, 0, 1, 1, 0, 1]);
        assert_eq!(interleaved(&of_lengths(&[1, 1, 4])), [2, 0, 2, 2, 1, 2]);
    }
}
