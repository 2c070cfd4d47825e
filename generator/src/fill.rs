//! Fills blocks: which load's transaction comes next, and with how much gas. A transaction is
//! admitted as the protocol does it: its limit is within what those before it have left.

use workload::block::IndexRange;

use crate::{
    error::GeneratorError,
    scenario::{BlockSpec, BlockTarget, Load},
    storm::{Storm, StormTx},
};

/// A planned transaction.
#[derive(Clone, Debug)]
pub(crate) struct PlannedTx {
    /// Its gas limit.
    pub(crate) gas_limit: u64,
    /// What it does.
    pub(crate) storm: StormTx,
}

/// A planned block.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlannedBlock {
    /// Its gas limit.
    pub(crate) gas_limit: u64,
    /// Its transactions.
    pub(crate) transactions: Vec<PlannedTx>,
}

impl PlannedBlock {
    /// Slots that the block reads.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = IndexRange> + '_ {
        self.transactions.iter().flat_map(|tx| tx.storm.ranges.iter().copied())
    }
}

/// What a load has left of a block.
struct Budget {
    total: u64,
    left: u64,
}

/// Plans the next block.
///
/// # Errors
/// [`GeneratorError::TooLittleGas`] when a load cannot place a single transaction.
pub(crate) fn block(
    spec: &BlockSpec,
    loads: &[Load],
    storms: &mut [Storm<'_>],
) -> Result<PlannedBlock, GeneratorError> {
    match spec.target {
        BlockTarget::Gas(gas) => by_gas(gas, spec.tx_gas, loads, storms),
        BlockTarget::Transactions(count) => by_count(count, spec.tx_gas, loads, storms),
    }
}

fn by_gas(
    gas: u64,
    tx_gas: u64,
    loads: &[Load],
    storms: &mut [Storm<'_>],
) -> Result<PlannedBlock, GeneratorError> {
    let mut budgets = shared(gas, loads);
    let mut out = PlannedBlock { gas_limit: gas, transactions: Vec::new() };
    while let Some(load) = least_used(&budgets) {
        let budget = &mut budgets[load];
        let useful_gas = storms[load].meter().useful_gas();
        let gas_limit = next_limit(budget.left, tx_gas, useful_gas);
        match storms[load].next(gas_limit) {
            Some(storm) => {
                budget.left -= storm.gas;
                out.transactions.push(PlannedTx { gas_limit, storm });
            }
            None if budget.left == budget.total || gas_limit == tx_gas => {
                let key = if gas_limit == tx_gas { "block.tx_gas" } else { "block.gas" };
                return Err(too_little(key, load, gas_limit, storms[load].meter().useful_gas()));
            }
            // What is left is less than a transaction needs.
            None => budget.left = 0,
        }
    }
    Ok(out)
}

/// The next transaction's gas limit: the most, unless what is left after it could not be used
/// up by transactions of at least `useful_gas`, where a smaller one makes that possible.
fn next_limit(left: u64, tx_gas: u64, useful_gas: u64) -> u64 {
    let Some(rest) = left.checked_sub(tx_gas) else { return left };
    let needed = rest.div_ceil(tx_gas).saturating_mul(useful_gas);
    match left.checked_sub(needed) {
        Some(limit) if rest < needed && limit >= useful_gas => limit,
        _ => tx_gas,
    }
}

fn by_count(
    count: u64,
    tx_gas: u64,
    loads: &[Load],
    storms: &mut [Storm<'_>],
) -> Result<PlannedBlock, GeneratorError> {
    let mut budgets = shared(count, loads);
    let mut out =
        PlannedBlock { gas_limit: count.saturating_mul(tx_gas), transactions: Vec::new() };
    while let Some(load) = least_used(&budgets) {
        let useful_gas = storms[load].meter().useful_gas();
        let storm = storms[load].next(tx_gas);
        let storm = storm.ok_or_else(|| too_little("block.tx_gas", load, tx_gas, useful_gas))?;
        budgets[load].left -= 1;
        out.transactions.push(PlannedTx { gas_limit: tx_gas, storm });
    }
    Ok(out)
}

fn too_little(key: &'static str, load: usize, gas: u64, needed_gas: u64) -> GeneratorError {
    let useful_slot_count = crate::meter::USEFUL_SLOT_COUNT;
    GeneratorError::TooLittleGas { key, load, gas, useful_slot_count, needed_gas }
}

/// `total` by the loads' shares, rounded so that the sum is `total`.
fn shared(total: u64, loads: &[Load]) -> Vec<Budget> {
    let mut share = 0.0;
    let mut given = 0;
    let mut out = Vec::with_capacity(loads.len());
    for (index, load) in loads.iter().enumerate() {
        share += load.share;
        let until =
            if index + 1 == loads.len() { total } else { (total as f64 * share).round() as u64 };
        let part = until.clamp(given, total) - given;
        given += part;
        out.push(Budget { total: part, left: part });
    }
    out
}

/// The load that has the largest part of its own budget left; the first of equals. `None` when
/// all is used.
fn least_used(budgets: &[Budget]) -> Option<usize> {
    let open = budgets.iter().enumerate().filter(|(_, budget)| budget.left > 0);
    // a/b > c/d as a·d > c·b; exact.
    open.reduce(|best, next| {
        let (a, b) = (u128::from(next.1.left), u128::from(next.1.total));
        let (c, d) = (u128::from(best.1.left), u128::from(best.1.total));
        if a * d > c * b { next } else { best }
    })
    .map(|(index, _)| index)
}
