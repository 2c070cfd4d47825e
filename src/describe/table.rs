//! `stress describe --table`: describes and measures every shipped scenario at a small size.

use spec::{Override, Scenario, shipped};
use variant::Design;

use super::{
    figures::Figures,
    reference::{Requested, of_scenario},
};
use report::ScenarioRow;
use result::{
    Cell,
    description::{TxFacts, WorkloadDescription},
    stats,
};

use crate::{
    run::{
        self,
        prepare::{add_default, size_key},
    },
    terminal::{Code, Failure, Progress, WithExitCode, interrupt},
};

/// Default overrides of the table: a key, other keys that set the same quantity, the value. A
/// default applies unless the user sets one of these keys. Small blocks on a small state in memory
/// run in seconds.
const SMALL: [(&str, &[&str], &str); 5] = [
    (GAS_KEY, &["block.limit", "block.transactions"], DEFAULT_GAS),
    ("state.slots", &["state.size"], "200k"),
    ("run.stores", &[], "memory"),
    // One half of the samples chooses the fastest row, the other half gives its rate.
    ("run.samples", &["run.budget"], "6"),
    ("run.cache", &[], "warm"),
];
/// The key of a block's gas. A scenario with a gas limit gets the same default for its limit.
const GAS_KEY: &str = "block.gas";
/// The gas of a block, unless the user sets it.
const DEFAULT_GAS: &str = "30M";
/// The override of the number of blocks, for a scenario with more than [`BLOCK_COUNT_MAX`] blocks.
/// All blocks of such a scenario are alike.
const FEW_BLOCKS: (&str, &str) = ("block.blocks", "2");
/// The maximal number of blocks that run without [`FEW_BLOCKS`].
const BLOCK_COUNT_MAX: u64 = 100;
/// The maximal gas of a transaction (EIP-7825).
const TX_GAS_CAP: f64 = 16_777_216.0;
/// Number of accounts that a storm's transaction touches beside the keys of the storm: the sender
/// and the contract.
const OWN_ACCOUNT_COUNT: f64 = 2.0;

/// The operation whose gas a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    /// A touched key, in a scenario whose loads are all storms.
    Key,
    Transaction,
}

impl Operation {
    const fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Transaction => "transaction",
        }
    }
}

/// The rows of the table, one for each shipped scenario.
#[derive(Debug, Default)]
pub struct Rows {
    /// Rows of the scenarios that ran.
    pub made: Vec<ScenarioRow>,
    /// Errors of the scenarios that the overrides do not fit. These scenarios have no row.
    pub refused: Vec<Failure>,
}

/// Describes and measures each shipped scenario with `overrides`. Returns `None` if the user
/// interrupts.
///
/// # Errors
/// A scenario cannot be run, and its overrides are not the reason.
pub fn rows(mut overrides: Vec<Override>, progress: &Progress) -> Result<Option<Rows>, Failure> {
    let designs = designs();
    let every_design = ("run.designs", &[][..], designs.as_str());
    for (key, others, value) in SMALL.into_iter().chain([every_design]) {
        add_default(&mut overrides, others, table_default(key, value));
    }
    let mut rows = Rows::default();
    for (name, text) in shipped::all() {
        if interrupt::happened() {
            return Ok(None);
        }
        match row(name, text, &overrides, progress)
            .map_err(|error| error.context((*name).to_owned()))
        {
            Ok(row) => rows.made.push(row),
            Err(failure) if failure.code == Code::Usage => rows.refused.push(failure),
            Err(failure) => return Err(failure),
        }
    }
    Ok(Some(rows))
}

/// Returns a default of the table as an override.
fn table_default(key: &str, value: &str) -> Override {
    Override::new(key, value, format!("--table: {key} = {value}"))
}

/// Names of the designs that the table compares: all but yardsticks, which no client can choose.
fn designs() -> String {
    let compared = Design::ALL.iter().filter(|design| !design.is_yardstick());
    compared.map(|design| design.name()).collect::<Vec<_>>().join(",")
}

fn row(
    name: &str,
    text: &str,
    overrides: &[Override],
    progress: &Progress,
) -> Result<ScenarioRow, Failure> {
    let stated = Scenario::parse(name, text, &[]).with_exit_code(Code::Usage)?;
    let default_gas = table_default(GAS_KEY, DEFAULT_GAS);
    let mut overrides = overrides.to_vec();
    for default in overrides.iter_mut().filter(|given| **given == default_gas) {
        *default = table_default(size_key(stated.block.target), DEFAULT_GAS);
    }
    let (key, value) = FEW_BLOCKS;
    if stated.block.block_count > BLOCK_COUNT_MAX {
        add_default(&mut overrides, &[], table_default(key, value));
    }
    let scenario = Scenario::parse(name, text, &overrides).with_exit_code(Code::Usage)?;
    let (Figures { described, .. }, workload) =
        of_scenario(&scenario, Requested::default(), progress)?;
    let cells = run::measure(workload, &scenario.run, progress)?;
    let is_storm = scenario.loads.iter().all(|load| load.kind.is_storm());
    let operation = if is_storm { Operation::Key } else { Operation::Transaction };
    let operation_gas = operation_gas(&described.all, operation);
    let mut kinds: Vec<_> = described.loads.iter().map(|load| load.kind.clone()).collect();
    kinds.dedup();
    Ok(ScenarioRow {
        scenario: name.to_owned(),
        kinds,
        operation: operation.name(),
        operation_gas,
        operations_per_tx_cap: (TX_GAS_CAP / operation_gas).floor(),
        list_bytes_per_mgas: described.list_bytes_per_mgas,
        in_order_mgas_per_s: cells
            .iter()
            .find(|cell| cell.design == Design::Sequential)
            .and_then(|cell| rate(cell, RateHalf::Rating)),
        best: best(&cells),
        about: about(text, &described),
    })
}

/// A half of a row's samples: every second sample. If the same samples chose the fastest row and
/// gave its rate, the rate would be too high (the winner's curse).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RateHalf {
    /// The half that chooses the fastest row.
    Selection = 0,
    /// The half that gives the rates of the table.
    Rating = 1,
}

/// Returns the median rate of one half of a row's samples, in MGas/s; `None` if the half is empty.
fn rate(cell: &Cell, half: RateHalf) -> Option<f64> {
    let samples = cell.counted().into_iter().flatten().skip(half as usize).step_by(2);
    let rates = samples.map(|sample| sample.gas as f64 * 1e3 / sample.wall_ns as f64);
    stats::median(&rates.collect::<Vec<_>>())
}

/// Returns the name and the rate of the best row. One half of the samples chooses the fastest row,
/// the other half gives its rate. If execution in order has a higher rate in that other half, it is
/// the best row.
fn best(cells: &[Cell]) -> Option<(String, f64)> {
    let rates = cells.iter().filter_map(|cell| Some((cell, rate(cell, RateHalf::Selection)?)));
    let (chosen, _) = rates.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let in_order = cells.iter().find(|cell| cell.design == Design::Sequential);
    let [in_order, best] = [in_order, Some(chosen)]
        .map(|cell| Some((report::row_name(cell?), rate(cell?, RateHalf::Rating)?)));
    let best = best?;
    Some(in_order.filter(|(_, rate)| *rate > best.1).unwrap_or(best))
}

/// Returns the mean gas of an operation. The gas of a key is the mean gas of a transaction over its
/// mean number of storm keys.
fn operation_gas(all: &TxFacts, operation: Operation) -> f64 {
    let keys = all.reads_per_tx.mean - OWN_ACCOUNT_COUNT;
    match operation {
        Operation::Key if keys > 0.0 => all.gas_per_tx.mean / keys,
        Operation::Key | Operation::Transaction => all.gas_per_tx.mean,
    }
}

/// Returns the comment at the head of a scenario's file as one paragraph. Without a comment, it is
/// the name of the scenario.
fn about(text: &str, described: &WorkloadDescription) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
    let words = lines.collect::<Vec<_>>().join(" ");
    if words.is_empty() { described.workload.scenario.clone() } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{description::MeanAndMax, example};

    #[test]
    fn the_table_compares_every_design_but_the_yardstick() {
        assert_eq!(designs(), "sequential,prewarm,block-stm,parallel-io,batched-io,full");
    }

    #[test]
    fn the_rate_of_the_best_row_is_of_other_samples_than_those_that_chose_it() {
        let row = |threads: u64, walls_ms: [u64; 4]| {
            let mut cell = example::sampled(4).cells[0].clone();
            (cell.threads, cell.design) = (threads, Design::BatchedIo);
            for (sample, ms) in cell.samples.iter_mut().zip(walls_ms) {
                (sample.gas, sample.wall_ns) = (1_000_000, ms * 1_000_000);
            }
            cell
        };
        // The second is lucky in those that choose, and no better in the others.
        let cells = [row(1, [10, 10, 10, 10]), row(2, [5, 20, 5, 20])];
        let (name, rate) = best(&cells).unwrap();
        assert!(name.contains(" 2"), "{name}");
        assert_eq!(rate, 50.0);
        // In order is a row too, and none is said to be best that is slower.
        let mut lucky = [row(1, [10, 10, 10, 10]), row(2, [5, 20, 5, 20])];
        lucky[0].design = Design::Sequential;
        let (name, rate) = best(&lucky).unwrap();
        assert!(name.starts_with("sequential") && rate == 100.0, "{name} {rate}");
        // One sample chooses, and none is left to tell.
        let mut single = cells[0].clone();
        single.samples.truncate(1);
        assert_eq!(best(&[single]), None);
    }

    #[test]
    fn an_operation_is_a_key_where_transactions_are_filled_and_else_a_transaction() {
        let mean_and_max = |mean| MeanAndMax { mean, max: 0 };
        let all = TxFacts {
            gas_per_tx: mean_and_max(2_100.0),
            reads_per_tx: mean_and_max(5.0),
            ..TxFacts::default()
        };
        assert_eq!(operation_gas(&all, Operation::Key), 700.0);
        assert_eq!(operation_gas(&all, Operation::Transaction), 2_100.0);
    }
}
