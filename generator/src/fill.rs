//! Fills blocks: which load's transaction comes next, and with how much gas. A transaction is
//! admitted as the protocol does it: its limit is within what those before it have left.

use crate::{
    error::GeneratorError,
    people::People,
    planner::{PlannedTx, Planner, Room},
    scenario::{BlockSpec, BlockTarget, Load},
};

/// A planned block.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlannedBlock {
    /// Its gas limit.
    pub(crate) gas_limit: u64,
    /// Its transactions.
    pub(crate) transactions: Vec<PlannedTx>,
    /// Transactions of the workload up to its end.
    pub(crate) turn: u64,
}

/// Fills one block after another.
pub(crate) struct Filler<'a, 'g> {
    spec: &'a BlockSpec,
    loads: &'a [Load],
    /// One for each load.
    planners: Vec<Box<dyn Planner + 'g>>,
    /// Transactions planned so far.
    turn: u64,
}

/// What a load has left of a block.
#[derive(Clone, Copy)]
struct Budget {
    total: u64,
    left: u64,
}

impl<'a, 'g> Filler<'a, 'g> {
    /// A filler by `spec` with a planner for each of `loads`.
    pub(crate) fn new(
        spec: &'a BlockSpec,
        loads: &'a [Load],
        planners: Vec<Box<dyn Planner + 'g>>,
    ) -> Self {
        Self { spec, loads, planners, turn: 0 }
    }

    /// Per load, its [`Planner::shortfall`].
    pub(crate) fn shortfalls(&self) -> impl Iterator<Item = Option<(u64, u64)>> + '_ {
        self.planners.iter().map(|planner| planner.shortfall())
    }

    /// Plans the next block.
    ///
    /// # Errors
    /// [`GeneratorError::TooLittleGas`] when a load cannot place a single transaction.
    pub(crate) fn block(
        &mut self,
        people: &mut People<'_>,
    ) -> Result<PlannedBlock, GeneratorError> {
        let mut block = match self.spec.target {
            BlockTarget::Gas(gas) => self.by_gas(gas, people)?,
            BlockTarget::Transactions(count) => self.by_count(count, people)?,
        };
        block.turn = self.turn;
        Ok(block)
    }

    fn next(
        &mut self,
        load: usize,
        gas_limit: u64,
        people: &mut People<'_>,
    ) -> Result<Option<PlannedTx>, GeneratorError> {
        let mut next = self.planners[load].next(Room { gas_limit, turn: self.turn }, people)?;
        if let Some(tx) = &mut next {
            tx.nonce = people.count_sent(tx.sender);
            self.turn += 1;
        }
        Ok(next)
    }

    fn by_gas(
        &mut self,
        gas: u64,
        people: &mut People<'_>,
    ) -> Result<PlannedBlock, GeneratorError> {
        let tx_gas = self.spec.tx_gas;
        let mut budgets = shared(gas, self.loads);
        let mut out = PlannedBlock { gas_limit: gas, ..PlannedBlock::default() };
        while let Some(load) = least_used(&budgets) {
            let Budget { total, left } = budgets[load];
            let gas_limit = next_limit(left, tx_gas, self.planners[load].useful_gas());
            match self.next(load, gas_limit, people)? {
                Some(tx) => {
                    budgets[load].left -= tx.gas;
                    // The block's gas is that of its receipts, and refunds are in none.
                    out.gas_limit += tx.refund;
                    out.transactions.push(tx);
                }
                None if left == total || gas_limit == tx_gas => {
                    let key = if gas_limit == tx_gas { "block.tx_gas" } else { "block.gas" };
                    return Err(self.too_little(key, load, gas_limit));
                }
                // What is left is less than a transaction needs: it is for the load that needs least.
                None => {
                    budgets[load].left = 0;
                    let smallest = self.smallest();
                    if smallest != load {
                        budgets[smallest].left += left;
                    }
                }
            }
        }
        Ok(out)
    }

    fn by_count(
        &mut self,
        count: u64,
        people: &mut People<'_>,
    ) -> Result<PlannedBlock, GeneratorError> {
        let tx_gas = self.spec.tx_gas;
        let mut budgets = shared(count, self.loads);
        let gas_limit = count.saturating_mul(tx_gas);
        let mut out = PlannedBlock { gas_limit, ..PlannedBlock::default() };
        while let Some(load) = least_used(&budgets) {
            let tx = self.next(load, tx_gas, people)?;
            let tx = tx.ok_or_else(|| self.too_little("block.tx_gas", load, tx_gas))?;
            budgets[load].left -= 1;
            out.transactions.push(tx);
        }
        Ok(out)
    }

    /// The load with the smallest transactions; the first of equals.
    fn smallest(&self) -> usize {
        let gas = |load: &usize| self.planners[*load].useful_gas();
        (0..self.planners.len()).min_by_key(gas).unwrap_or_default()
    }

    fn too_little(&self, key: &'static str, load: usize, gas: u64) -> GeneratorError {
        let needed_gas = self.planners[load].useful_gas();
        GeneratorError::TooLittleGas { key, load, gas, needed_gas }
    }
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
