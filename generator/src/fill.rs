//! Fills blocks: which load's transaction comes next, and with how much gas. A transaction is
//! admitted as the protocol does it: its limit is within the gas that those before it have left.
//! A load's transactions depend on its own before them, never on those of another load.

use alloy_primitives::{U256, keccak256};
use workload::file::MAX_BLOCK_GAS;

use crate::{
    error::GeneratorError,
    people::People,
    planner::{PlannedTx, Planner, Room},
    sizes::SizeDraw,
};
use spec::{BlockSpec, BlockTarget, Load, LoadOrder, Scenario};

/// A planned block.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlannedBlock {
    /// Its gas limit.
    pub(crate) gas_limit: u64,
    /// Its transactions.
    pub(crate) transactions: Vec<PlannedTx>,
    /// The load of each, by its place.
    pub(crate) loads: Vec<u32>,
    /// Transactions of the workload up to its end.
    pub(crate) turn: u64,
}

/// Fills one block after another.
pub(crate) struct Filler<'a, 'g> {
    spec: &'a BlockSpec,
    loads: &'a [Load],
    /// One for each load.
    planners: Vec<Box<dyn Planner + 'g>>,
    /// Of each load, its memory of its own transactions.
    turns: Vec<Turns>,
    /// Transactions planned so far.
    turn: u64,
}

/// Whose turn it is in a load, and how large its next transaction is.
struct Turns {
    /// Where among all accounts its turns begin, as a share of 2^64.
    begin: u64,
    /// Its transactions so far.
    count: u64,
    sizes: Option<SizeDraw>,
}

impl Turns {
    fn new(scenario: &Scenario, index: usize) -> Self {
        let load = &scenario.loads[index];
        let begin = match &load.name {
            // 0, 1/2, 1/4, 3/4, 1/8, …: however many loads follow, each keeps its place, and they
            // are as far apart as can be.
            None => (index as u64).reverse_bits(),
            Some(name) => {
                let hash = keccak256(format!("stress load {name}"));
                U256::from_be_bytes(hash.0).as_limbs()[0]
            }
        };
        let stream = format!("load[{}]", load.tag(index));
        let seed = load.seed.unwrap_or(scenario.seed);
        let sizes = load.sizes.map(|sizes| SizeDraw::new(sizes, seed, stream));
        Self { begin, count: 0, sizes }
    }

    /// The next turn of `account_count` accounts. Loads begin in the lower half of the accounts,
    /// so that those who give there do not meet those who take in the upper one.
    fn next(&self, account_count: u64) -> u64 {
        let begin = (u128::from(account_count) * u128::from(self.begin)) >> 65;
        begin as u64 + self.count
    }

    /// The most gas of the next transaction, and the key that says it.
    fn most_gas(&self, tx_gas: u64) -> (u64, &'static str) {
        match &self.sizes {
            Some(sizes) => (sizes.at(self.count), sizes.least_key()),
            None => (tx_gas, "block.tx_gas"),
        }
    }
}

/// The gas that a load has left of a block.
#[derive(Clone, Copy)]
struct Budget {
    total: u64,
    left: u64,
}

impl<'a, 'g> Filler<'a, 'g> {
    /// A filler for the blocks of `scenario` with a planner for each of its loads.
    pub(crate) fn new(scenario: &'a Scenario, planners: Vec<Box<dyn Planner + 'g>>) -> Self {
        let turns = (0..scenario.loads.len()).map(|index| Turns::new(scenario, index)).collect();
        Self { spec: &scenario.block, loads: &scenario.loads, planners, turns, turn: 0 }
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
        self.check_sizes()?;
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
        let turn = self.turns[load].next(people.count());
        let mut next = self.planners[load].next(Room { gas_limit, turn }, people)?;
        if let Some(tx) = &mut next {
            tx.nonce = people.count_sent(tx.sender);
            self.turns[load].count += 1;
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
        for (planner, budget) in self.planners.iter_mut().zip(&budgets) {
            planner.begin(BlockTarget::Gas(budget.total))?;
        }
        let mut out = PlannedBlock { gas_limit: gas, ..PlannedBlock::default() };
        let mut spare = 0;
        while let Some(load) = self.next_load(&budgets) {
            let Budget { total, left } = budgets[load];
            let (most_gas, most_key) = self.turns[load].most_gas(tx_gas);
            let gas_limit = next_limit(left, most_gas, self.planners[load].useful_gas());
            match self.next(load, gas_limit, people)? {
                Some(tx) => {
                    budgets[load].left -= tx.gas;
                    // The block's gas is that of its receipts, and refunds are in none.
                    out.gas_limit += tx.refund;
                    out.transactions.push(tx);
                    out.loads.push(load as u32);
                }
                None if self.planners[load].has_ended() => budgets[load].left = 0,
                None if left == total || gas_limit == most_gas => {
                    let key = if gas_limit == most_gas { most_key } else { "block.gas" };
                    return Err(self.too_little(key, load, gas_limit));
                }
                // The rest is less than a transaction needs.
                None => {
                    budgets[load].left = 0;
                    spare += left;
                }
            }
        }
        self.use_spare(spare, &mut out, people)?;
        Ok(out)
    }

    fn by_count(
        &mut self,
        count: u64,
        people: &mut People<'_>,
    ) -> Result<PlannedBlock, GeneratorError> {
        let tx_gas = self.spec.tx_gas;
        let mut budgets = shared(count, self.loads);
        for (planner, budget) in self.planners.iter_mut().zip(&budgets) {
            planner.begin(BlockTarget::Transactions(budget.total))?;
        }
        let gas_limit = count.saturating_mul(tx_gas).min(MAX_BLOCK_GAS);
        let mut out = PlannedBlock { gas_limit, ..PlannedBlock::default() };
        while let Some(load) = self.next_load(&budgets) {
            let (most_gas, most_key) = self.turns[load].most_gas(tx_gas);
            let tx = self.next(load, most_gas, people)?;
            if tx.is_none() && self.planners[load].has_ended() {
                budgets[load].left = 0;
                continue;
            }
            let tx = tx.ok_or_else(|| self.too_little(most_key, load, most_gas))?;
            budgets[load].left -= 1;
            out.transactions.push(tx);
            out.loads.push(load as u32);
        }
        Ok(out)
    }

    /// No size may be too small: whether one is drawn must not decide whether there is a workload.
    fn check_sizes(&self) -> Result<(), GeneratorError> {
        for (load, turns) in self.turns.iter().enumerate() {
            if let Some(sizes) = &turns.sizes
                && sizes.least_gas() < self.planners[load].useful_gas()
            {
                return Err(self.too_little(sizes.least_key(), load, sizes.least_gas()));
            }
        }
        Ok(())
    }

    /// The load whose transaction comes next; `None` when all is used.
    fn next_load(&self, budgets: &[Budget]) -> Option<usize> {
        match self.spec.order {
            LoadOrder::Interleaved => least_used(budgets),
            LoadOrder::Phases => budgets.iter().position(|budget| budget.left > 0),
        }
    }

    /// Ends a block with transactions of the load that has the smallest, from the gas that all
    /// loads had left: at the end, where they change none of those before. Not of a load that fills
    /// all that it is given, whose later transactions would change.
    fn use_spare(
        &mut self,
        mut spare: u64,
        out: &mut PlannedBlock,
        people: &mut People<'_>,
    ) -> Result<(), GeneratorError> {
        let Some(load) = self.smallest() else { return Ok(()) };
        while spare >= self.planners[load].useful_gas() {
            let gas_limit = spare.min(self.turns[load].most_gas(self.spec.tx_gas).0);
            let Some(tx) = self.next(load, gas_limit, people)? else { break };
            spare -= tx.gas;
            out.gas_limit += tx.refund;
            out.transactions.push(tx);
            out.loads.push(load as u32);
        }
        Ok(())
    }

    /// The load with the smallest transactions of those of fixed size; the first of
    /// equals.
    fn smallest(&self) -> Option<usize> {
        let loads = 0..self.planners.len();
        loads
            .filter(|load| !self.loads[*load].kind.fills_room())
            .min_by_key(|load| self.planners[*load].useful_gas())
    }

    fn too_little(&self, key: &'static str, load: usize, gas: u64) -> GeneratorError {
        let needed_gas = self.planners[load].useful_gas();
        GeneratorError::TooLittleGas { key, load, gas, needed_gas }
    }
}

/// The next transaction's gas limit: the most, unless the rest after it could not be used
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
