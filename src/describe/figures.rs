//! Computes the figures of a workload (`docs/workloads.md`) from the keys that the reference run
//! touched.

use generator::describe::{BatchDescription, ConflictGraph, Description, KeyName, TxKeys};
use partition::Transactions;
use result::WorkloadFacts;
use result::description::{
    Component, ConflictCounts, Conflicts, HotKey, IdealSpeedup, LoadFacts, MeanAndMax, SCHEMA,
    SizeClass, TxFacts, WorkloadDescription,
};
use workload::Workload;

use crate::{
    figures::{
        cells::ratio_or_zero,
        facts::{self, Loads},
    },
    machine::environment,
};

/// The figures of a workload, and the components for the picture of its conflicts.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The figures as `stress describe --json` writes them.
    pub described: WorkloadDescription,
    /// The components of all conflict graphs, the largest first.
    pub components: Vec<Component>,
    /// The transactions of the first batch in the form that partitioners take. `None` if the user
    /// names no shard count.
    pub first_batch: Option<Transactions>,
}

/// Computes the figures of a workload from `description`, the keys that the reference run touched.
/// `scenario` is `None` for a workload file. `threads`: the thread counts of the ideal speed-ups.
pub fn figures(
    workload: &Workload,
    scenario: Option<Loads<'_>>,
    description: &Description,
    threads: &[usize],
) -> Figures {
    let overridden = scenario.map(|loads| loads.scenario.overridden.clone());
    let outcomes = workload.batches.iter().flat_map(|batch| &batch.expected.transactions);
    let gas: Vec<u64> = outcomes.map(|outcome| outcome.gas_used).collect();
    let mut all = Tally::default();
    let (loads, load_of_txs) =
        scenario.map_or((&[][..], &[][..]), |loads| (&loads.scenario.loads[..], loads.of_txs));
    let mut of_loads = vec![Tally::default(); loads.len()];
    for (tx_index, (gas, keys)) in gas.iter().zip(&description.transactions).enumerate() {
        all.add(*gas, keys);
        if let Some(load_index) = load_of_txs.get(tx_index) {
            of_loads[*load_index as usize].add(*gas, keys);
        }
    }
    let all = all.facts();
    let fill = facts::fill(workload, &description.gas, scenario);
    let facts = facts::workload(workload, overridden.unwrap_or_default());
    let facts = WorkloadFacts { fill: Some(fill), ..facts };
    let blocks = workload.batches.iter().flat_map(|batch| &batch.blocks);
    let calldata: Vec<u64> = blocks
        .map(|block| block.transactions.iter().map(|tx| tx.input.len() as u64).sum())
        .collect();
    let calldata_bytes: u64 = calldata.iter().sum();
    let list_bytes = facts.bal.batched_io_bytes;
    let mgas = all.gas as f64 / 1e6;
    let loads = loads.iter().zip(of_loads).map(|(spec, tally)| {
        let transactions = tally.facts();
        let gas_share = ratio_or_zero(transactions.gas as f64, all.gas as f64);
        let (name, kind) = (spec.name.clone(), spec.kind.name().to_owned());
        LoadFacts { name, kind, gas_share, transactions }
    });
    let components = components(&description.batches);
    let described = WorkloadDescription {
        schema: SCHEMA,
        tool: facts::tool(&environment::build()),
        present_share: facts::present_share(workload),
        list_bytes_per_mgas: ratio_or_zero(list_bytes as f64, mgas),
        calldata_bytes,
        block_calldata_bytes_max: calldata.into_iter().max().unwrap_or(0),
        wire_bytes_per_mgas: ratio_or_zero((list_bytes + calldata_bytes) as f64, mgas),
        loads: loads.collect(),
        all,
        conflicts: conflicts(&description.batches, &components, all.gas, threads),
        workload: facts,
        shards: Vec::new(),
    };
    Figures { described, components, first_batch: None }
}

/// Totals of some transactions: their count, and sum and maximum of gas, keys read and keys
/// written.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    tx_count: u64,
    gas: SumAndMax,
    reads: SumAndMax,
    writes: SumAndMax,
}

/// The sum of some values, and the largest of these values.
#[derive(Clone, Copy, Debug, Default)]
struct SumAndMax {
    sum: u64,
    max: u64,
}

impl SumAndMax {
    fn add(&mut self, value: u64) {
        self.sum += value;
        self.max = self.max.max(value);
    }

    fn mean_and_max(self, count: u64) -> MeanAndMax {
        MeanAndMax { mean: ratio_or_zero(self.sum as f64, count as f64), max: self.max }
    }
}

impl Tally {
    fn add(&mut self, gas: u64, keys: &TxKeys) {
        let reads = u64::from(keys.account_count) + u64::from(keys.slot_count);
        let writes = u64::from(keys.written_account_count) + u64::from(keys.written_slot_count);
        self.tx_count += 1;
        self.gas.add(gas);
        self.reads.add(reads);
        self.writes.add(writes);
    }

    fn facts(&self) -> TxFacts {
        TxFacts {
            tx_count: self.tx_count,
            gas: self.gas.sum,
            gas_per_tx: self.gas.mean_and_max(self.tx_count),
            reads_per_tx: self.reads.mean_and_max(self.tx_count),
            writes_per_tx: self.writes.mean_and_max(self.tx_count),
        }
    }
}

/// Returns the components of all batches, the largest first.
fn components(batches: &[BatchDescription]) -> Vec<Component> {
    let mut components: Vec<Component> =
        batches.iter().flat_map(|batch| batch.graph.components()).map(component).collect();
    components.sort_by_key(|one| std::cmp::Reverse((one.tx_count, one.gas, one.chain_gas)));
    components
}

fn conflicts(
    batches: &[BatchDescription],
    components: &[Component],
    gas: u64,
    threads: &[usize],
) -> Conflicts {
    let joined = components.iter().filter(|component| component.tx_count > 1);
    let hot = batches.iter().filter_map(|batch| batch.graph.hottest().zip(batch.hottest));
    let hot = hot.max_by_key(|(hottest, _)| hottest.tx_count);
    let chains = batches.iter().map(|batch| {
        batch.graph.components().iter().map(|component| component.chain_gas).max().unwrap_or(0)
    });
    let ideal = threads.iter().map(|count| {
        let makespan: u64 = batches.iter().map(|batch| batch.graph.makespan_gas(*count)).sum();
        IdealSpeedup { threads: *count as u64, speedup: ratio_or_zero(gas as f64, makespan as f64) }
    });
    Conflicts {
        component_count: components.len() as u64,
        largest_tx_count: most(components, |component| component.tx_count),
        largest_gas: most(components, |component| component.gas),
        conflicting_tx_count: joined.map(|component| component.tx_count).sum(),
        write_write: conflict_counts(batches, ConflictGraph::write_write),
        read_write: conflict_counts(batches, ConflictGraph::read_write),
        longest_chain_tx_count: most(components, |component| component.chain_tx_count),
        longest_chain_gas: most(components, |component| component.chain_gas),
        hottest: hot.map(|(hottest, KeyName { address, slot })| HotKey {
            account: address.to_string(),
            slot: slot.map(|slot| format!("{slot:#x}")),
            tx_count: hottest.tx_count,
            writer_count: hottest.writer_count,
        }),
        ideal: ideal.collect(),
        ideal_unbounded: ratio_or_zero(gas as f64, chains.sum::<u64>() as f64),
        sizes: sizes(components),
    }
}

fn most(components: &[Component], value: fn(&Component) -> u64) -> u64 {
    components.iter().map(value).max().unwrap_or(0)
}

/// Sums the conflicts of one kind (write-write, or read-write) over all batches. A key with
/// conflicts in two batches counts twice, as batches run one after the other.
fn conflict_counts(
    batches: &[BatchDescription],
    of_kind: fn(&ConflictGraph) -> generator::describe::ConflictCounts,
) -> ConflictCounts {
    let all = batches.iter().map(|batch| of_kind(&batch.graph));
    all.fold(ConflictCounts::default(), |sum, batch| ConflictCounts {
        tx_count: sum.tx_count + batch.tx_count,
        key_count: sum.key_count + batch.key_count,
    })
}

const fn component(found: &generator::describe::Component) -> Component {
    let generator::describe::Component { tx_count, gas, chain_tx_count, chain_gas } = *found;
    Component { tx_count, gas, chain_tx_count, chain_gas }
}

/// Groups the components into classes by their number of transactions: 1, 2, 3 to 4, 5 to 8, …
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
        assert_eq!(tally.facts().gas_per_tx, MeanAndMax::default());
        let keys = TxKeys { account_count: 2, slot_count: 4, ..TxKeys::default() };
        tally.add(100, &keys);
        tally.add(300, &TxKeys { written_slot_count: 1, ..TxKeys::default() });
        let facts = tally.facts();
        assert_eq!(facts.gas_per_tx, MeanAndMax { mean: 200.0, max: 300 });
        assert_eq!(facts.reads_per_tx, MeanAndMax { mean: 3.0, max: 6 });
        assert_eq!(facts.writes_per_tx, MeanAndMax { mean: 0.5, max: 1 });
    }
}
