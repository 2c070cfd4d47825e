//! `stress describe`: what a workload holds, as figures. This file is the answer as it is written
//! (`stress.describe/1`, explained in `docs/describe.md`) and how it follows from what the
//! reference run saw.

use generator::describe::{BatchDescription, Component, Description, KeyName, TxKeys};
use serde::Serialize;
use spec::Scenario;
use workload::Workload;

use crate::{
    facts,
    result::{Tool, WorkloadFacts},
};

/// Name and version of the schema.
pub const SCHEMA: &str = "stress.describe/1";

/// What a workload holds.
#[derive(Clone, Debug, Serialize)]
pub struct Described {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// What made it.
    pub tool: Tool,
    /// The workload.
    pub workload: WorkloadFacts,
    /// Share of the slots asked of families that exist.
    pub present_share: f64,
    /// Bytes of the `batched-io` list for each million gas.
    pub list_bytes_per_mgas: f64,
    /// Bytes of calldata.
    pub calldata_bytes: u64,
    /// The most bytes of calldata of a block.
    pub block_calldata_bytes_max: u64,
    /// Bytes of calldata and of the `batched-io` list together, for each million gas.
    pub wire_bytes_per_mgas: f64,
    /// Its loads, in the order of the scenario; none are known of a workload file.
    pub loads: Vec<LoadFacts>,
    /// All transactions.
    pub all: TxFacts,
    /// Where they meet.
    pub conflicts: Conflicts,
}

/// One load.
#[derive(Clone, Debug, Serialize)]
pub struct LoadFacts {
    /// Its kind.
    pub kind: &'static str,
    /// Share of the gas of all.
    pub gas_share: f64,
    /// Its transactions.
    #[serde(flatten)]
    pub transactions: TxFacts,
}

/// What some transactions have in common.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct TxFacts {
    /// Their number.
    pub tx_count: u64,
    /// Their gas.
    pub gas: u64,
    /// Gas of one.
    pub gas_per_tx: Spread,
    /// Accounts and slots that one reads; what it writes it reads too.
    pub reads_per_tx: Spread,
    /// Accounts and slots that one leaves with another value.
    pub writes_per_tx: Spread,
}

/// A mean and the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// The mean; 0 of nothing.
    pub mean: f64,
    /// The most.
    pub max: u64,
}

/// The conflict graphs of all batches together. Batches run one after the other.
#[derive(Clone, Debug, Serialize)]
pub struct Conflicts {
    /// Components: transactions that conflicts join, directly or through others.
    pub component_count: u64,
    /// Transactions of the largest.
    pub largest_tx_count: u64,
    /// The most gas of a component.
    pub largest_gas: u64,
    /// Transactions that are in conflict with another.
    pub conflicting_tx_count: u64,
    /// The most transactions of a chain: each reads what one before it wrote.
    pub longest_chain_tx_count: u64,
    /// The most gas of a chain.
    pub longest_chain_gas: u64,
    /// The key that most transactions meet at.
    pub hottest: Option<HotKey>,
    /// Ideal speed-up without a list, by threads.
    pub ideal: Vec<Ideal>,
    /// The same without a bound on threads: gas over that of the longest chain.
    pub ideal_unbounded: f64,
    /// Components by their transactions, the smallest first.
    pub sizes: Vec<SizeClass>,
    /// Every component, the largest first: for the picture.
    #[serde(skip)]
    pub components: Vec<Component>,
}

/// A key at which transactions meet.
#[derive(Clone, Debug, Serialize)]
pub struct HotKey {
    /// The account.
    pub account: String,
    /// Its slot; `null` for the account's own row.
    pub slot: Option<String>,
    /// Transactions that touch it.
    pub tx_count: u64,
    /// Those that write it.
    pub writer_count: u64,
}

/// What so many threads can gain at best.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ideal {
    /// Executing threads.
    pub threads: u64,
    /// Gas over the gas done one after the other.
    pub speedup: f64,
}

/// Components of about one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SizeClass {
    /// The fewest transactions of one.
    pub least_tx_count: u64,
    /// The most.
    pub most_tx_count: u64,
    /// Components.
    pub component_count: u64,
    /// Their transactions.
    pub tx_count: u64,
    /// Their gas.
    pub gas: u64,
}

/// What is described, and who made what.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// Its scenario, with the load of each transaction; a workload file has none.
    pub scenario: Option<(&'a Scenario, &'a [u32])>,
    /// What made this.
    pub tool: Tool,
}

impl Described {
    /// The figures of what the reference run saw, with speed-ups for these numbers of threads.
    pub fn new(subject: Subject<'_>, seen: &Description, threads: &[usize]) -> Self {
        let workload = subject.workload;
        let overridden = subject.scenario.map(|(scenario, _)| scenario.overridden.clone());
        let outcomes = workload.batches.iter().flat_map(|batch| &batch.expected.transactions);
        let gas: Vec<u64> = outcomes.map(|outcome| outcome.gas_used).collect();
        let mut all = Tally::default();
        let mut of_loads = Vec::new();
        if let Some((scenario, _)) = subject.scenario {
            of_loads = vec![Tally::default(); scenario.loads.len()];
        }
        let places = subject.scenario.map_or(&[][..], |(_, places)| places);
        for (tx, (gas, keys)) in gas.iter().zip(&seen.transactions).enumerate() {
            all.add(*gas, keys);
            if let Some(place) = places.get(tx) {
                of_loads[*place as usize].add(*gas, keys);
            }
        }
        let all = all.facts();
        let facts = facts::workload(workload, overridden.unwrap_or_default());
        let blocks = workload.batches.iter().flat_map(|batch| &batch.blocks);
        let calldata: Vec<u64> = blocks
            .map(|block| block.transactions.iter().map(|tx| tx.input.len() as u64).sum())
            .collect();
        let calldata_bytes: u64 = calldata.iter().sum();
        let list_bytes = facts.bal.batched_io_bytes;
        let per_mgas = |bytes: u64| ratio(bytes as f64, all.gas as f64 / 1e6);
        let load = |(place, tally): (usize, Tally)| {
            let (scenario, _) = subject.scenario?;
            let transactions = tally.facts();
            let gas_share = ratio(transactions.gas as f64, all.gas as f64);
            Some(LoadFacts { kind: scenario.loads[place].kind.name(), gas_share, transactions })
        };
        Self {
            schema: SCHEMA,
            tool: subject.tool,
            present_share: facts::present_share(workload),
            list_bytes_per_mgas: per_mgas(list_bytes),
            calldata_bytes,
            block_calldata_bytes_max: calldata.into_iter().max().unwrap_or(0),
            wire_bytes_per_mgas: per_mgas(list_bytes + calldata_bytes),
            loads: of_loads.into_iter().enumerate().filter_map(load).collect(),
            all,
            conflicts: conflicts(&seen.batches, all.gas, threads),
            workload: facts,
        }
    }
}

/// Adds transactions up.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    tx_count: u64,
    gas: (u64, u64),
    reads: (u64, u64),
    writes: (u64, u64),
}

impl Tally {
    fn add(&mut self, gas: u64, keys: &TxKeys) {
        let reads = u64::from(keys.account_count) + u64::from(keys.slot_count);
        let writes = u64::from(keys.written_account_count) + u64::from(keys.written_slot_count);
        self.tx_count += 1;
        for (of, value) in
            [(&mut self.gas, gas), (&mut self.reads, reads), (&mut self.writes, writes)]
        {
            of.0 += value;
            of.1 = of.1.max(value);
        }
    }

    fn facts(&self) -> TxFacts {
        let spread =
            |(sum, max): (u64, u64)| Spread { mean: ratio(sum as f64, self.tx_count as f64), max };
        TxFacts {
            tx_count: self.tx_count,
            gas: self.gas.0,
            gas_per_tx: spread(self.gas),
            reads_per_tx: spread(self.reads),
            writes_per_tx: spread(self.writes),
        }
    }
}

/// A ratio; 0 where there is nothing.
fn ratio(of: f64, to: f64) -> f64 {
    if to == 0.0 { 0.0 } else { of / to }
}

fn conflicts(batches: &[BatchDescription], gas: u64, threads: &[usize]) -> Conflicts {
    let mut components: Vec<Component> =
        batches.iter().flat_map(|batch| batch.graph.components()).copied().collect();
    components.sort_by_key(|of| std::cmp::Reverse((of.tx_count, of.gas, of.chain_gas)));
    let most = |value: fn(&Component) -> u64| components.iter().map(value).max().unwrap_or(0);
    let joined = components.iter().filter(|component| component.tx_count > 1);
    let hot = batches.iter().filter_map(|batch| batch.graph.hottest().zip(batch.hottest));
    let hot = hot.max_by_key(|(hottest, _)| hottest.tx_count);
    let chains = batches.iter().map(|batch| {
        batch.graph.components().iter().map(|component| component.chain_gas).max().unwrap_or(0)
    });
    let ideal = |count: &usize| {
        let makespan: u64 = batches.iter().map(|batch| batch.graph.makespan_gas(*count)).sum();
        Ideal { threads: *count as u64, speedup: ratio(gas as f64, makespan as f64) }
    };
    Conflicts {
        component_count: components.len() as u64,
        largest_tx_count: most(|component| component.tx_count),
        largest_gas: most(|component| component.gas),
        conflicting_tx_count: joined.map(|component| component.tx_count).sum(),
        longest_chain_tx_count: most(|component| component.chain_tx_count),
        longest_chain_gas: most(|component| component.chain_gas),
        hottest: hot.map(|(hottest, KeyName { address, slot })| HotKey {
            account: address.to_string(),
            slot: slot.map(|slot| format!("{slot:#x}")),
            tx_count: hottest.tx_count,
            writer_count: hottest.writer_count,
        }),
        ideal: threads.iter().map(ideal).collect(),
        ideal_unbounded: ratio(gas as f64, chains.sum::<u64>() as f64),
        sizes: sizes(&components),
        components,
    }
}

/// The components in classes of doubling size: 1, 2, 3 to 4, 5 to 8, …
fn sizes(components: &[Component]) -> Vec<SizeClass> {
    let mut classes: Vec<SizeClass> = Vec::new();
    for component in components.iter().rev() {
        let most_tx_count = component.tx_count.next_power_of_two();
        if classes.last().is_none_or(|class| class.most_tx_count != most_tx_count) {
            let least_tx_count = most_tx_count / 2 + 1;
            classes.push(SizeClass { least_tx_count, most_tx_count, ..SizeClass::default() });
        }
        if let Some(class) = classes.last_mut() {
            class.component_count += 1;
            class.tx_count += component.tx_count;
            class.gas += component.gas;
        }
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(tx_count: u64) -> Component {
        Component { tx_count, gas: 10 * tx_count, chain_tx_count: 1, chain_gas: 10 }
    }

    #[test]
    fn classes_of_size_double_and_hold_every_component_once() {
        let counts = [1_000, 9, 8, 5, 4, 3, 2, 2, 1, 1, 1];
        let classes = sizes(&counts.map(component));
        let found: Vec<_> = classes
            .iter()
            .map(|of| (of.least_tx_count, of.most_tx_count, of.component_count))
            .collect();
        let expected = [(1, 1, 3), (2, 2, 2), (3, 4, 2), (5, 8, 2), (9, 16, 1), (513, 1_024, 1)];
        assert_eq!(found, expected);
        assert_eq!(classes.iter().map(|of| of.tx_count).sum::<u64>(), counts.iter().sum::<u64>());
    }

    #[test]
    fn a_tally_has_means_and_the_most() {
        let mut tally = Tally::default();
        assert_eq!(tally.facts().gas_per_tx, Spread::default());
        let keys = TxKeys { account_count: 2, slot_count: 4, ..TxKeys::default() };
        tally.add(100, &keys);
        tally.add(300, &TxKeys { written_slot_count: 1, ..TxKeys::default() });
        let facts = tally.facts();
        assert_eq!(facts.gas_per_tx, Spread { mean: 200.0, max: 300 });
        assert_eq!(facts.reads_per_tx, Spread { mean: 3.0, max: 6 });
        assert_eq!(facts.writes_per_tx, Spread { mean: 0.5, max: 1 });
    }
}
