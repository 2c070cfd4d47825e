//! Fills blocks with transactions, for `generate.rs`: chooses the load of the next transaction, and
//! its gas limit. A transaction is admitted by the protocol's rule: its limits of execution and
//! state gas fit in the gas that earlier transactions left (EIP-8037). A load's transactions depend
//! on its own earlier ones, never on those of another load.

mod budget;

use alloy_primitives::{U256, keccak256};
use evm::BlockGas;
use workload::{Fork, file::MAX_BLOCK_GAS};

use crate::{
    error::GeneratorError,
    planner::{PlannedTx, Planner, Room},
    probe::Cost,
    senders::Senders,
    sizes::SizeDraw,
};
use budget::{Budget, Mix, dimensions, filling_budgets, least_used, share_budgets};
use spec::{BlockSpec, BlockTarget, Load, LoadOrder, Scenario};

/// A planned block.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlannedBlock {
    /// Gas limit of the block.
    pub(crate) gas_limit: u64,
    /// Transactions of the block.
    pub(crate) transactions: Vec<PlannedTx>,
    /// Index of each transaction's load.
    pub(crate) loads: Vec<u32>,
    /// Number of transactions of the workload up to the block's end.
    pub(crate) end_tx_count: u64,
}

impl PlannedBlock {
    fn push(&mut self, tx: PlannedTx, load: usize) {
        self.transactions.push(tx);
        self.loads.push(load as u32);
    }
}

/// Fills one block after another.
pub(crate) struct Filler<'a, 'g> {
    spec: &'a BlockSpec,
    fork: Fork,
    loads: &'a [Load],
    /// The planner of each load.
    planners: Vec<Box<dyn Planner + 'g>>,
    /// The turns of each load.
    turns: Vec<Turns>,
    /// Number of transactions planned so far.
    tx_count: u64,
}

/// The turns of a load: they give the next sender and the size of the next transaction.
struct Turns {
    /// Start of the load's turns among all accounts, as a share of 2^64.
    begin: u64,
    /// Number of the load's transactions so far.
    count: u64,
    sizes: Option<SizeDraw>,
}

impl Turns {
    fn new(scenario: &Scenario, index: usize) -> Self {
        let load = &scenario.loads[index];
        let begin = match &load.name {
            // 0, 1/2, 1/4, 3/4, 1/8, …: the starts are far apart, and a new load does not move the
            // starts of loads before it.
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

    /// The next turn of `account_count` accounts. Loads begin in the lower half of the accounts, so
    /// their senders do not meet recipients in the upper half.
    fn next(&self, account_count: u64) -> u64 {
        let begin = (u128::from(account_count) * u128::from(self.begin)) >> 65;
        begin as u64 + self.count
    }

    /// The most gas of the next transaction, and the scenario's key that sets it.
    fn most_gas(&self, tx_gas: u64) -> (u64, &'static str) {
        match &self.sizes {
            Some(sizes) => (sizes.at(self.count), sizes.least_key()),
            None => (tx_gas, "block.tx_gas"),
        }
    }
}

impl<'a, 'g> Filler<'a, 'g> {
    /// A filler for the blocks of `scenario` with a planner for each of its loads.
    pub(crate) fn new(scenario: &'a Scenario, planners: Vec<Box<dyn Planner + 'g>>) -> Self {
        let turns = (0..scenario.loads.len()).map(|index| Turns::new(scenario, index)).collect();
        let (spec, fork, loads) = (&scenario.block, scenario.fork, &scenario.loads);
        Self { spec, fork, loads, planners, turns, tx_count: 0 }
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
        senders: &mut Senders<'_>,
    ) -> Result<PlannedBlock, GeneratorError> {
        self.check_sizes()?;
        let mut block = match self.spec.target {
            BlockTarget::Gas(gas) => self.by_gas(gas, senders)?,
            BlockTarget::Limit(gas) => self.by_limit(gas, senders)?,
            BlockTarget::Transactions(count) => self.by_count(count, senders)?,
        };
        block.end_tx_count = self.tx_count;
        Ok(block)
    }

    /// Plans the next transaction of a load within `gas_limit`; `None` if none fits.
    fn next(
        &mut self,
        load: usize,
        gas_limit: u64,
        senders: &mut Senders<'_>,
    ) -> Result<Option<PlannedTx>, GeneratorError> {
        let turn = self.turns[load].next(senders.count());
        let mut next = self.planners[load].next(Room { gas_limit, turn }, senders)?;
        if let Some(tx) = &mut next {
            tx.nonce = senders.count_sent(tx.sender);
            self.turns[load].count += 1;
            self.tx_count += 1;
        }
        Ok(next)
    }

    /// Fills a block whose receipts use `gas` in all. Loads take turns by their shares.
    fn by_gas(
        &mut self,
        gas: u64,
        senders: &mut Senders<'_>,
    ) -> Result<PlannedBlock, GeneratorError> {
        let tx_gas = self.spec.tx_gas;
        let mut budgets = share_budgets(gas, self.loads);
        for (planner, budget) in self.planners.iter_mut().zip(&budgets) {
            planner.begin(BlockTarget::Gas(budget.total))?;
        }
        let mut out = PlannedBlock { gas_limit: gas, ..PlannedBlock::default() };
        let mut spare = 0;
        while let Some(load) = self.next_load(&budgets) {
            let Budget { total, left } = budgets[load];
            let (most_gas, most_key) = self.turns[load].most_gas(tx_gas);
            let gas_limit = next_limit(left, most_gas, self.planners[load].useful_gas());
            match self.next(load, gas_limit, senders)? {
                Some(tx) => {
                    budgets[load].left -= tx.cost.gas;
                    // The target counts receipt gas. The block's limit also has to hold refunded
                    // gas.
                    out.gas_limit += tx.cost.refund;
                    out.push(tx, load);
                }
                None if self.planners[load].has_ended() => budgets[load].left = 0,
                None if left == total || gas_limit == most_gas => {
                    let key = if gas_limit == most_gas { most_key } else { "block.gas" };
                    return Err(self.too_little(key, load, gas_limit));
                }
                // The rest of the budget is less than a transaction needs.
                None => {
                    budgets[load].left = 0;
                    spare += left;
                }
            }
        }
        self.use_spare(spare, &mut out, senders)?;
        Ok(out)
    }

    /// Fills both dimensions of a block's gas (execution and state) up to `limit`. Loads take turns
    /// by their shares. Each round divides the gas that the round before left. A load that has no
    /// room ends, and the others go on.
    fn by_limit(
        &mut self,
        limit: u64,
        senders: &mut Senders<'_>,
    ) -> Result<PlannedBlock, GeneratorError> {
        let mut mixes = self.mixes(limit, senders)?;
        let mut budgets = filling_budgets([limit; 2], &mixes);
        let mut load_gas = Vec::with_capacity(mixes.len());
        for (load, mix) in mixes.iter().enumerate() {
            let total = budgets[load].total;
            load_gas.push(mix.map_or(0, |mix| mix.limit_gas(total)));
            let gas = mix.map_or(0, |mix| mix.receipt_gas(total));
            self.planners[load].begin(BlockTarget::Gas(gas))?;
        }
        let mut filled = Filled { limit, fork: self.fork, used: BlockGas::default() };
        let mut out = PlannedBlock { gas_limit: limit, ..PlannedBlock::default() };
        loop {
            let before = out.transactions.len();
            while let Some(load) = self.next_load(&budgets) {
                let Some(mix) = mixes[load] else { break };
                let budget_gas = mix.limit_gas(budgets[load].left);
                if budget_gas < self.planners[load].useful_gas() {
                    budgets[load].left = 0;
                    continue;
                }
                let budget_gas = match has_both_bounds(&mixes) && self.loads[load].kind.fills_room()
                {
                    // A transaction needs its gas limit in both dimensions. So neither dimension
                    // may be full long before the other: sizes shrink towards the end.
                    true => (budget_gas / 2).max(self.planners[load].useful_gas()),
                    false => budget_gas,
                };
                let room = filled.room();
                match self.next_within(load, room.min(budget_gas), senders)? {
                    Some(tx) => {
                        let used = dimensions(tx.cost, self.fork)[mix.bound];
                        budgets[load].left = budgets[load].left.saturating_sub(used);
                        filled.used.add(&tx.cost.tx_gas());
                        out.push(tx, load);
                    }
                    None => {
                        budgets[load].left = 0;
                        mixes[load] = mixes[load].filter(|_| budget_gas < room);
                    }
                }
            }
            if out.transactions.len() == before {
                break;
            }
            budgets = filling_budgets(filled.left(), &mixes);
        }
        self.use_rest(&mixes, &mut filled, &mut out, senders)?;
        self.check_all_have_some(limit, &load_gas, &out)?;
        Ok(out)
    }

    /// Returns the mix of each load: the division of its gas over the dimensions. It follows from
    /// the cost of a transaction within the load's share of `limit`.
    fn mixes(
        &mut self,
        limit: u64,
        senders: &mut Senders<'_>,
    ) -> Result<Vec<Option<Mix>>, GeneratorError> {
        let mut out = Vec::with_capacity(self.loads.len());
        for (load, planner) in self.planners.iter_mut().enumerate() {
            let share = self.loads[load].share;
            let most_gas = self.turns[load].most_gas(self.spec.tx_gas).0;
            let gas_limit = most_gas.min((limit as f64 * share) as u64);
            let turn = self.turns[load].next(senders.count());
            let gas = planner.useful_gas();
            let execution = Cost { gas, regular_gas: gas, ..Cost::default() };
            let cost = planner.price(Room { gas_limit, turn }, senders)?.unwrap_or(execution);
            out.push(Some(Mix::new(share, cost, self.fork)));
        }
        Ok(out)
    }

    /// The next transaction of a load, as large as `gas` allows.
    fn next_within(
        &mut self,
        load: usize,
        gas: u64,
        senders: &mut Senders<'_>,
    ) -> Result<Option<PlannedTx>, GeneratorError> {
        let most_gas = self.turns[load].most_gas(self.spec.tx_gas).0;
        let gas_limit = next_limit(gas, most_gas, self.planners[load].useful_gas());
        self.next(load, gas_limit, senders)
    }

    /// Ends a block with transactions of all loads that still have room. Loads whose smallest
    /// useful transactions are the largest come first.
    fn use_rest(
        &mut self,
        mixes: &[Option<Mix>],
        filled: &mut Filled,
        out: &mut PlannedBlock,
        senders: &mut Senders<'_>,
    ) -> Result<(), GeneratorError> {
        let mut open: Vec<usize> = (0..mixes.len()).filter(|load| mixes[*load].is_some()).collect();
        open.sort_by_key(|load| std::cmp::Reverse(self.planners[*load].useful_gas()));
        for load in open {
            while let Some(tx) = self.next_within(load, filled.room(), senders)? {
                filled.used.add(&tx.cost.tx_gas());
                out.push(tx, load);
            }
        }
        Ok(())
    }

    /// Refuses a block without a transaction of each load, unless the load has ended. `load_gas` is
    /// the gas that each load has of the block at first.
    fn check_all_have_some(
        &self,
        limit: u64,
        load_gas: &[u64],
        block: &PlannedBlock,
    ) -> Result<(), GeneratorError> {
        for (load, gas) in load_gas.iter().copied().enumerate() {
            if block.loads.contains(&(load as u32)) || self.planners[load].has_ended() {
                continue;
            }
            let (most_gas, most_key) = self.turns[load].most_gas(self.spec.tx_gas);
            let needed_gas = self.planners[load].useful_gas();
            if most_gas < needed_gas {
                return Err(self.too_little(most_key, load, most_gas));
            }
            // The load's gas is proportional to the limit.
            let enough = u128::from(limit) * u128::from(needed_gas) / u128::from(gas.max(1)) + 1;
            let least_limit = u64::try_from(enough).unwrap_or(u64::MAX).max(limit + 1);
            return Err(GeneratorError::TooLittleLimit {
                load,
                limit,
                gas,
                needed_gas,
                least_limit,
            });
        }
        Ok(())
    }

    /// Fills a block with `count` transactions. Loads take turns by their shares.
    fn by_count(
        &mut self,
        count: u64,
        senders: &mut Senders<'_>,
    ) -> Result<PlannedBlock, GeneratorError> {
        let tx_gas = self.spec.tx_gas;
        let mut budgets = share_budgets(count, self.loads);
        for (planner, budget) in self.planners.iter_mut().zip(&budgets) {
            planner.begin(BlockTarget::Transactions(budget.total))?;
        }
        let gas_limit = count.saturating_mul(tx_gas).min(MAX_BLOCK_GAS);
        let mut out = PlannedBlock { gas_limit, ..PlannedBlock::default() };
        while let Some(load) = self.next_load(&budgets) {
            let (most_gas, most_key) = self.turns[load].most_gas(tx_gas);
            let tx = self.next(load, most_gas, senders)?;
            if tx.is_none() && self.planners[load].has_ended() {
                budgets[load].left = 0;
                continue;
            }
            let tx = tx.ok_or_else(|| self.too_little(most_key, load, most_gas))?;
            budgets[load].left -= 1;
            out.push(tx, load);
        }
        Ok(out)
    }

    /// Refuses a size that is too small for a transaction, even if it is never drawn. The draw must
    /// not decide whether there is a workload.
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

    /// The load whose transaction comes next; `None` when all budgets are used.
    fn next_load(&self, budgets: &[Budget]) -> Option<usize> {
        match self.spec.order {
            LoadOrder::Interleaved => least_used(budgets),
            LoadOrder::Phases => budgets.iter().position(|budget| budget.left > 0),
        }
    }

    /// Spends the gas that no load has used, on transactions of the load with the smallest ones.
    /// They end the block, so they do not change earlier ones. Loads whose transactions fill any
    /// room are no candidates: their later transactions would change.
    fn use_spare(
        &mut self,
        mut spare: u64,
        out: &mut PlannedBlock,
        senders: &mut Senders<'_>,
    ) -> Result<(), GeneratorError> {
        let Some(load) = self.smallest() else { return Ok(()) };
        while spare >= self.planners[load].useful_gas() {
            let gas_limit = spare.min(self.turns[load].most_gas(self.spec.tx_gas).0);
            let Some(tx) = self.next(load, gas_limit, senders)? else { break };
            spare -= tx.cost.gas;
            out.gas_limit += tx.cost.refund;
            out.push(tx, load);
        }
        Ok(())
    }

    /// The load with the smallest useful transactions among loads of fixed sizes; the first of
    /// equal loads.
    fn smallest(&self) -> Option<usize> {
        let loads = 0..self.planners.len();
        loads
            .filter(|load| !self.loads[*load].kind.fills_room())
            .min_by_key(|load| self.planners[*load].useful_gas())
    }

    /// The error for a load without gas for its smallest useful transaction. `key` sets the gas.
    fn too_little(&self, key: &'static str, load: usize, gas: u64) -> GeneratorError {
        let needed_gas = self.planners[load].useful_gas();
        GeneratorError::TooLittleGas { key, load, gas, needed_gas }
    }
}

/// A block of a gas limit while it is filled.
struct Filled {
    limit: u64,
    fork: Fork,
    used: BlockGas,
}

impl Filled {
    /// The largest gas limit of a transaction that still fits.
    fn room(&self) -> u64 {
        self.used.tx_gas_limit_max(self.limit, self.fork)
    }

    /// Gas that is left of each dimension.
    fn left(&self) -> [u64; 2] {
        let BlockGas { receipt_gas, regular_gas, state_gas } = self.used;
        let cost = Cost { gas: receipt_gas, regular_gas, state_gas, refund: 0 };
        dimensions(cost, self.fork).map(|used| self.limit.saturating_sub(used))
    }
}

/// Whether execution gas bounds some loads, and state gas others.
fn has_both_bounds(mixes: &[Option<Mix>]) -> bool {
    let has = |bound| mixes.iter().flatten().any(|mix| mix.bound == bound);
    has(0) && has(1)
}

/// Returns the next transaction's gas limit: `tx_gas`, or all that is left. The limit is lower
/// where the rest would be too small for the next transactions of `useful_gas` each, if a lower
/// limit helps.
fn next_limit(left: u64, tx_gas: u64, useful_gas: u64) -> u64 {
    let Some(rest) = left.checked_sub(tx_gas) else { return left };
    let needed = rest.div_ceil(tx_gas).saturating_mul(useful_gas);
    match left.checked_sub(needed) {
        Some(limit) if rest < needed && limit >= useful_gas => limit,
        _ => tx_gas,
    }
}
