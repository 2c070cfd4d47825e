//! Plans groups of transactions that hash, and then read and write slot 0 of their group's
//! contract. The number of transactions and their gas follow the schedules of the official
//! benchmarks of parallel execution.

use std::collections::{HashMap, VecDeque};

use alloy_primitives::{Address, Bytes, U256};
use workload::Genesis;

use super::{calls::ScriptEnv, prices::Prices};
use crate::{
    artifact::Contract,
    error::GeneratorError,
    planner::{PlannedTx, Planner, Room, TX_EXECUTION_GAS, Touched},
    probe::{Cost, Probe, most_within},
    senders::Senders,
    state::{LoadGenesis, add_numbered, numbered_contract},
    trial::Trial,
};
use spec::{BlockTarget, Density, Deployed, HashChain as Spec};

/// Adds a contract with 1 in slot 0 for each possible group, unless transactions deploy the
/// contracts.
pub(crate) fn place(
    chain: &Spec,
    tag: &str,
    genesis: &mut Genesis,
) -> Result<LoadGenesis, GeneratorError> {
    if chain.deployed == Deployed::Before {
        let slot = [(U256::ZERO, U256::ONE)];
        add_numbered(tag, Contract::HashChain, chain.contract_count, &slot, genesis)?;
    }
    Ok(LoadGenesis::default())
}

/// A planned transaction of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Deploys a contract.
    Deploys,
    /// Calls the contract of a group, or the last deployed contract, with at most this gas.
    Calls { group: Option<u64>, limit: u64 },
}

/// Bounds of the gas limits of transactions.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Gas limit of a call of one hash.
    least: u64,
    /// Gas limit of a deployment.
    deploy: u64,
    /// Largest gas limit of a transaction.
    most: u64,
}

/// Plans calls that hash, and deployments.
#[derive(Debug)]
pub(crate) struct HashChains {
    spec: Spec,
    load: usize,
    tag: String,
    limits: Limits,
    /// Gas of one hash.
    hash_gas: u64,
    probe: Probe,
    prices: Prices<u64>,
    /// For each gas limit, the largest number of hashes that fits, with its price.
    largest: HashMap<u64, Option<(u64, Cost)>>,
    /// Creation code of the contract, and price of a deployment.
    creation: Bytes,
    deployment: Cost,
    /// The contract that was deployed last.
    deployed: Option<Address>,
    /// The block's planned transactions that are not made yet.
    steps: VecDeque<Step>,
    /// Whether the block had planned transactions at its start.
    is_planned: bool,
}

impl HashChains {
    /// A planner of calls of the load's contracts, and of their deployments.
    pub(crate) fn new(
        spec: &Spec,
        tag: &str,
        env: ScriptEnv<'_>,
        senders: &mut Senders<'_>,
    ) -> Result<Self, GeneratorError> {
        let sender = senders.address(0)?;
        let to = numbered_contract(tag, Contract::HashChain, 0);
        let probe = Probe::new(Contract::HashChain, env.fork, sender, to)?;
        let creation = Contract::HashChain.creation_code()?;
        let tx = PlannedTx { sender: 0, input: creation.clone(), ..PlannedTx::default() };
        let trial = Trial {
            name: Contract::HashChain.name(),
            fork: env.fork,
            genesis: env.genesis,
            named: Vec::new(),
            before: Vec::new(),
            tx: tx.to_tx(senders)?,
        };
        let deployment = trial.cost()?;
        // Calls create no state, so they use no state gas.
        let most = env.tx_gas.min(TX_EXECUTION_GAS);
        let mut new = Self {
            spec: spec.clone(),
            load: env.load,
            tag: tag.to_owned(),
            limits: Limits { least: 0, deploy: deployment.limit(), most },
            hash_gas: 1,
            probe,
            prices: Prices::new(),
            largest: HashMap::new(),
            creation,
            deployment,
            deployed: None,
            steps: VecDeque::new(),
            is_planned: false,
        };
        new.limits.least = new.price_of(1)?.limit();
        // Both counts have one byte that is not zero, and cost more than the calldata's floor.
        let (few, many) = (new.price_of(2 << 8)?, new.price_of(2 << 16)?);
        new.hash_gas = ((many.gas - few.gas) / ((2 << 16) - (2 << 8))).max(1);
        Ok(new)
    }

    fn price_of(&mut self, count: u64) -> Result<Cost, GeneratorError> {
        self.prices.price(count, &self.probe, &calldata(count))
    }

    /// The most hashes of a transaction within `gas_limit`, with their price; `None` where not even
    /// one fits.
    fn most_within(&mut self, gas_limit: u64) -> Result<Option<(u64, Cost)>, GeneratorError> {
        if let Some(known) = self.largest.get(&gas_limit) {
            return Ok(*known);
        }
        let found = self.search(gas_limit)?;
        self.largest.insert(gas_limit, found);
        Ok(found)
    }

    /// Finds what [`Self::most_within`] returns.
    fn search(&mut self, gas_limit: u64) -> Result<Option<(u64, Cost)>, GeneratorError> {
        let Some(room) = gas_limit.checked_sub(self.limits.least) else { return Ok(None) };
        // Bytes of calldata that are not zero make the guess a little too large.
        most_within(1 + room / self.hash_gas, gas_limit, |count| self.price_of(count))
    }

    /// The transactions of a block of `budget`.
    fn steps(&self, budget: BlockTarget) -> Result<VecDeque<Step>, GeneratorError> {
        if matches!(budget, BlockTarget::Gas(gas) if gas < self.limits.least) {
            // Too little gas: the filler reports it when it asks for a transaction.
            return Ok(VecDeque::new());
        }
        match self.spec.deployed {
            Deployed::Before => self.groups(&schedule(self.spec.density, self.limits, budget)),
            Deployed::Pairs => {
                let (count, limit) = pairs(self.spec.density, self.limits, budget);
                let pair = [Step::Deploys, Step::Calls { group: None, limit }];
                Ok((0..count).flat_map(|_| pair).collect())
            }
            Deployed::First => {
                let (count, limit) = calls_of_one(self.spec.density, self.limits, budget);
                let calls = (0..count).map(|_| Step::Calls { group: None, limit });
                Ok([Step::Deploys].into_iter().chain(calls).collect())
            }
        }
    }

    /// Whole groups of calls with these limits. The groups take turns.
    fn groups(&self, limits: &[u64]) -> Result<VecDeque<Step>, GeneratorError> {
        let tx_count = limits.len() as u64;
        let length = self.spec.group_length.unwrap_or(tx_count).max(1);
        let group_count = tx_count / length;
        let (load, held_count) = (self.load, self.spec.contract_count);
        if group_count == 0 {
            return Err(GeneratorError::NoWholeGroup { load, length, tx_count });
        }
        if group_count > held_count {
            let needed_count = group_count;
            return Err(GeneratorError::TooFewGroupContracts { load, needed_count, held_count });
        }
        let whole = limits.iter().take((group_count * length) as usize).zip(0..);
        Ok(whole
            .map(|(limit, index)| Step::Calls { group: Some(index % group_count), limit: *limit })
            .collect())
    }

    fn deployment(
        &mut self,
        turn: u64,
        senders: &mut Senders<'_>,
    ) -> Result<PlannedTx, GeneratorError> {
        let sender = senders.in_turn(turn);
        let address = senders.address(sender)?.create(senders.nonce(sender));
        self.deployed = Some(address);
        Ok(PlannedTx {
            sender,
            input: self.creation.clone(),
            touched: Touched { absent: vec![address], ..Touched::default() },
            ..PlannedTx::priced(self.deployment)
        })
    }
}

/// Calldata of a call of `count` hashes.
fn calldata(count: u64) -> Bytes {
    U256::from(count).to_be_bytes::<32>().into()
}

/// Gas limits of the calls of a block.
fn schedule(density: Density, limits: Limits, budget: BlockTarget) -> Vec<u64> {
    let Limits { least, most, .. } = limits;
    match budget {
        BlockTarget::Gas(gas) | BlockTarget::Limit(gas) if density == Density::Greedy => {
            let last = Some(gas % most).filter(|rest| *rest >= least);
            (0..gas / most).map(|_| most).chain(last).collect()
        }
        _ => {
            let (count, limit) = calls(density, Limits { deploy: 0, ..limits }, budget);
            vec![limit; count as usize]
        }
    }
}

/// Number of pairs of a deployment and a call, and gas limit of each call.
fn pairs(density: Density, limits: Limits, budget: BlockTarget) -> (u64, u64) {
    let budget = match budget {
        BlockTarget::Transactions(count) => BlockTarget::Transactions(count / 2),
        gas => gas,
    };
    calls(density, limits, budget)
}

/// Number of calls of one contract, and gas limit of each call.
fn calls_of_one(density: Density, limits: Limits, budget: BlockTarget) -> (u64, u64) {
    let budget = match budget {
        BlockTarget::Gas(gas) | BlockTarget::Limit(gas) => {
            BlockTarget::Gas(gas.saturating_sub(limits.deploy))
        }
        BlockTarget::Transactions(count) => BlockTarget::Transactions(count.saturating_sub(1)),
    };
    calls(density, Limits { deploy: 0, ..limits }, budget)
}

/// Number of calls within `budget`, and gas limit of each call. A budget of gas also pays for a
/// deployment of `deploy` gas before each call.
fn calls(
    density: Density,
    Limits { least, deploy, most }: Limits,
    budget: BlockTarget,
) -> (u64, u64) {
    match budget {
        BlockTarget::Transactions(count) => match density {
            Density::Greedy => (count, most),
            Density::Half => (count, (2 * least).min(most)),
            Density::Max => (count, least),
        },
        BlockTarget::Gas(gas) | BlockTarget::Limit(gas) => {
            let (least_gas, most_gas) = (deploy + least, deploy + most);
            let count = match density {
                Density::Greedy => gas / most_gas + u64::from(gas % most_gas >= least_gas),
                Density::Half => gas / least_gas / 2,
                Density::Max => gas / least_gas,
            };
            let count = count.max(1);
            (count, (gas / count).saturating_sub(deploy).min(most))
        }
    }
}

impl Planner for HashChains {
    fn begin(&mut self, budget: BlockTarget) -> Result<(), GeneratorError> {
        self.steps = self.steps(budget)?;
        self.is_planned = !self.steps.is_empty();
        Ok(())
    }

    fn next(
        &mut self,
        Room { gas_limit, turn }: Room,
        senders: &mut Senders<'_>,
    ) -> Result<Option<PlannedTx>, GeneratorError> {
        let Some(step) = self.steps.front().copied() else { return Ok(None) };
        let tx = match step {
            Step::Deploys if self.deployment.limit() > gas_limit => return Ok(None),
            Step::Deploys => self.deployment(turn, senders)?,
            Step::Calls { group, limit: planned } => {
                let most = self.most_within(planned.min(gas_limit))?;
                let Some((count, cost)) = most else { return Ok(None) };
                let absent = if group.is_none() { self.deployed } else { None };
                let contract =
                    group.map(|group| numbered_contract(&self.tag, Contract::HashChain, group));
                PlannedTx {
                    sender: senders.in_turn(turn),
                    to: contract.or(self.deployed),
                    input: calldata(count),
                    touched: Touched { absent: absent.into_iter().collect(), ..Touched::default() },
                    ..PlannedTx::priced(cost)
                }
            }
        };
        self.steps.pop_front();
        Ok(Some(tx))
    }

    fn useful_gas(&self) -> u64 {
        match self.spec.deployed {
            Deployed::Before => self.limits.least,
            Deployed::Pairs | Deployed::First => self.limits.least.max(self.limits.deploy),
        }
    }

    fn has_ended(&self) -> bool {
        self.is_planned && self.steps.is_empty()
    }

    /// The price of a deployment with its call, where deployments and calls come in pairs; else
    /// `None`.
    fn price(&mut self, room: Room, _: &mut Senders<'_>) -> Result<Option<Cost>, GeneratorError> {
        if !matches!(self.spec.deployed, Deployed::Pairs) {
            return Ok(None);
        }
        let Limits { least, deploy, most } = self.limits;
        let call_gas = match self.spec.density {
            Density::Greedy => most.min(room.gas_limit),
            // With half of the possible pairs, each pair has twice the gas.
            Density::Half => (deploy + 2 * least).min(most),
            Density::Max => least,
        };
        let Cost { gas, refund, regular_gas, state_gas } = self.deployment;
        let (gas, regular_gas) = (gas + call_gas, regular_gas + call_gas);
        Ok(Some(Cost { gas, refund, regular_gas, state_gas }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { least: 27_000, deploy: 150_000, most: 1 << 24 };

    #[test]
    fn a_greedy_block_has_as_few_transactions_as_the_cap_allows_and_one_of_what_is_left() {
        let of = |gas| schedule(Density::Greedy, LIMITS, BlockTarget::Gas(gas));
        let at_120m = of(120_000_000);
        assert_eq!(at_120m.len(), 8);
        assert_eq!(at_120m[..7], [1 << 24; 7]);
        assert_eq!(at_120m.iter().sum::<u64>(), 120_000_000);
        assert_eq!(of(60_000_000).len(), 4);
        assert_eq!(of((1 << 24) + 26_999), [1 << 24], "too little is left for another");
    }

    #[test]
    fn dense_blocks_have_equal_transactions() {
        let of = |density| schedule(density, LIMITS, BlockTarget::Gas(120_000_000));
        let (max, half) = (of(Density::Max), of(Density::Half));
        assert_eq!((max.len(), max[0]), (4_444, 27_002));
        assert_eq!((half.len(), half[0]), (2_222, 54_005));
        assert!(half.iter().all(|limit| *limit == half[0]));
    }

    #[test]
    fn pairs_and_calls_of_one_contract_share_what_deployments_leave() {
        let gas = BlockTarget::Gas(120_000_000);
        assert_eq!(pairs(Density::Greedy, LIMITS, gas), (8, 15_000_000 - 150_000));
        assert_eq!(pairs(Density::Max, LIMITS, gas), (677, 120_000_000 / 677 - 150_000));
        assert_eq!(pairs(Density::Half, LIMITS, gas).0, 338);
        assert_eq!(calls_of_one(Density::Greedy, LIMITS, gas), (8, 119_850_000 / 8));
        assert_eq!(calls_of_one(Density::Max, LIMITS, gas).0, 119_850_000 / 27_000);
        let count = BlockTarget::Transactions(10);
        assert_eq!(pairs(Density::Max, LIMITS, count), (5, 27_000));
        assert_eq!(calls_of_one(Density::Half, LIMITS, count), (9, 54_000));
    }
}
