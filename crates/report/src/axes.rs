//! Facts of the work that several results share, and the axes of their sweep. The head of a page of
//! several results shows both, and no fact of the first result alone.

use result::{Shown, WorkloadFacts};

use super::{facts, units};

/// A key that was swept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// Path of the key in a scenario: `run.threads`.
    pub(super) key: String,
    /// Its values, in the order of the cells.
    pub(super) values: Vec<String>,
}

/// Returns whether the results are cells of a sweep that has several cells. A single result counts
/// if the sweep left out other cells that would repeat it.
pub(super) fn is_sweep(results: &[&Shown]) -> bool {
    let has_several = results.len() > 1 || results.iter().any(|shown| !shown.left_out.is_empty());
    has_several && results.iter().all(|shown| !shown.swept.is_empty())
}

/// The axes of a sweep; empty where the results are no cells of a sweep.
pub(super) fn axes(results: &[&Shown]) -> Vec<Axis> {
    if !is_sweep(results) {
        return Vec::new();
    }
    let of_results = results.iter().map(|shown| &shown.swept);
    let keys = of_results.chain(results.iter().flat_map(|shown| &shown.left_out)).flatten();
    let axes = facts::grouped(keys, |(a, _), (b, _)| a == b).into_iter().map(|pairs| {
        let values = facts::distinct(pairs.iter().map(|(_, value)| (*value).clone()));
        Axis { key: pairs[0].0.clone(), values }
    });
    axes.collect()
}

/// A fact of the work as text.
type Fact = fn(&WorkloadFacts) -> String;

/// Names of the facts of the work that a head shows.
pub(super) const GAS: &str = "gas";
pub(super) const TRANSACTIONS: &str = "transactions";
pub(super) const BLOCKS: &str = "blocks";
pub(super) const FORK: &str = "fork";
pub(super) const SLOTS: &str = "slots of the state";
pub(super) const DIGEST: &str = "workload digest";

const FACTS: [(&str, Fact); 6] = [
    (GAS, |work| work.gas.to_string()),
    (TRANSACTIONS, |work| work.tx_count.to_string()),
    (BLOCKS, |work| work.block_count.to_string()),
    (FORK, |work| work.fork.clone()),
    (SLOTS, |work| work.state_slot_count.to_string()),
    (DIGEST, |work| work.digest.clone()),
];

/// Names of the facts that differ between the works.
pub(super) fn differing(works: &[&WorkloadFacts]) -> Vec<&'static str> {
    FACTS
        .into_iter()
        .filter(|(_, fact)| works.windows(2).any(|pair| fact(pair[0]) != fact(pair[1])))
        .map(|(name, _)| name)
        .collect()
}

/// `64M gas, 4 transactions, 1 block, on amsterdam, a state of 1M slots`: the facts that all works
/// share, without the digest.
pub(super) fn shared_words(works: &[&WorkloadFacts]) -> String {
    let Some(work) = works.first() else { return String::new() };
    let differing = differing(works);
    let facts = [
        (GAS, format!("{} gas", units::count(work.gas))),
        (TRANSACTIONS, units::things(work.tx_count, "transaction")),
        (BLOCKS, units::things(work.block_count, "block")),
        (FORK, format!("on {}", work.fork)),
        (SLOTS, format!("a state of {}", units::things(work.state_slot_count, "slot"))),
    ];
    let shared = facts.into_iter().filter(|(name, _)| !differing.contains(name));
    units::joined(shared.map(|(_, text)| text), ", ")
}

#[cfg(test)]
mod tests {
    use result::{RunResult, Stored, example, sweep::Keys};

    use super::*;

    fn cell(gas: u64, keys: [(&str, &str); 2]) -> Shown {
        let mut run: RunResult = example::typical();
        run.workload.gas = gas;
        let keys = keys.map(|(key, value)| (key.to_owned(), value.to_owned()));
        Shown { swept: Keys::from(keys), ..Stored::new("r.json".into(), run).into() }
    }

    #[test]
    fn axes_have_the_values_of_all_cells_and_the_head_those_facts_that_none_differs_in() {
        let cells = [
            cell(9, [("block.gas", "9M"), ("run.threads", "2")]),
            cell(9, [("block.gas", "9M"), ("run.threads", "1")]),
            cell(1, [("block.gas", "1M"), ("run.threads", "2")]),
        ];
        let cells: Vec<&Shown> = cells.iter().collect();
        let axes = axes(&cells);
        let texts: Vec<_> =
            axes.iter().map(|axis| format!("{}: {}", axis.key, axis.values.join(","))).collect();
        assert_eq!(texts, ["block.gas: 9M,1M", "run.threads: 2,1"]);
        let works: Vec<_> = cells.iter().filter_map(|shown| shown.workload()).collect();
        assert_eq!(differing(&works), [GAS]);
        let words = "39 transactions, 1 block, on amsterdam, a state of 128M slots";
        assert_eq!(shared_words(&works), words);
        assert_eq!(shared_words(&works[..2]), format!("9 gas, {words}"));
        assert_eq!(super::axes(&cells[..1]), []);
    }
}
