//! Plans calls of DApps by their users. For each block, users and their transactions are drawn
//! until the block is full, and then shuffled. The DApps' sizes and the published variant of the
//! transactions per user follow the clustered workload of Aptos' block partitioner benchmark.

use alloy_primitives::{Address, Bytes};
use workload::{Fork, Genesis};

use super::{
    prices::Prices,
    solidity::{calldata, filled_mapping, word},
};
use crate::{
    artifact::Contract,
    error::GeneratorError,
    planner::{PlannedTx, Planner, Room, fitting_count},
    probe::{Cost, Probe},
    random::Random,
    senders::{Members, Senders},
    state::{LoadGenesis, add_numbered, numbered_contract},
};
use spec::{BlockTarget, Dapps as Spec, Outside, PerUser};

/// Adds the DApps, each with all resources.
pub(crate) fn place(
    dapps: &Spec,
    tag: &str,
    genesis: &mut Genesis,
) -> Result<LoadGenesis, GeneratorError> {
    let mut storage = filled_mapping(dapps.resource_count);
    storage.sort_unstable_by_key(|(key, _)| *key);
    add_numbered(tag, Contract::Dapp, dapps.dapp_count, &storage, genesis)?;
    Ok(LoadGenesis::default())
}

/// Bound of a user's drawn number of transactions in the published generator, as a multiple of the
/// mean.
const PUBLISHED_MOST: f64 = 10.0;

/// The name of the load, from which the DApps' addresses follow, and the fork.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DappsInput<'a> {
    /// Name of the load in names of contracts.
    pub(crate) tag: &'a str,
    pub(crate) fork: Fork,
}

/// A transaction of a user with a resource of a DApp.
#[derive(Clone, Copy, Debug)]
struct Call {
    user: u64,
    dapp: usize,
    resource: usize,
}

/// Plans calls of `use(uint256,uint256)`.
#[derive(Debug)]
pub(crate) struct Dapps {
    spec: Spec,
    contracts: Vec<Address>,
    /// Accounts that are users, one after another.
    members: Members,
    /// Per resource, calldata and price.
    resources: Vec<(Bytes, Cost)>,
    random: Random,
    /// Number of users so far.
    user_count: u64,
    /// The block's drawn transactions, the next one last.
    drawn: Vec<Call>,
}

impl Dapps {
    /// Calls of the load's DApps by `members`; `random` is the load's stream.
    pub(crate) fn new(
        spec: &Spec,
        dapps_input: DappsInput<'_>,
        members: Members,
        random: Random,
        senders: &mut Senders<'_>,
    ) -> Result<Self, GeneratorError> {
        let DappsInput { tag, fork } = dapps_input;
        let contracts =
            (0..spec.dapp_count).map(|index| numbered_contract(tag, Contract::Dapp, index));
        let contracts: Vec<Address> = contracts.collect();
        let to = numbered_contract(tag, Contract::Dapp, 0);
        let probe = Probe::new(Contract::Dapp, fork, senders.address(0)?, to)?;
        let mut prices = Prices::new();
        let mut resources = Vec::new();
        for resource in 0..spec.resource_count {
            let input = calldata("use(uint256,uint256)", &[resource, spec.work].map(word));
            let cost = prices.price((), &probe, &input)?;
            resources.push((input, cost));
        }
        Ok(Self {
            spec: spec.clone(),
            contracts,
            members,
            resources,
            random,
            user_count: 0,
            drawn: Vec::new(),
        })
    }

    /// Cost of the most expensive transaction.
    fn most(&self) -> Cost {
        let costs = self.resources.iter().map(|(_, cost)| *cost);
        costs.max_by_key(|cost| cost.gas).unwrap_or(Cost { gas: 1, ..Cost::default() })
    }

    /// Draws `count` transactions, and returns the number of their users.
    fn draw(&mut self, count: u64) -> u64 {
        let per_user = match self.spec.per_user {
            PerUser::LogNormal => self.log_normal(count),
            PerUser::Published => self.published(count),
        };
        let user_count = per_user.len() as u64;
        let users_per_dapp = self.users_per_dapp(user_count);
        let mut outside = Outsiders::new(self.spec.outside, count);
        let first = self.user_count;
        self.user_count += user_count;
        let mut counts = per_user.into_iter().zip(first..);
        for (home, users) in users_per_dapp.into_iter().enumerate() {
            for (tx_count, user) in counts.by_ref().take(users as usize) {
                for _ in 0..tx_count {
                    let dapp = self.dapp(home, &mut outside);
                    let resource = self.random.below(self.spec.resource_count) as usize;
                    self.drawn.push(Call { user, dapp, resource });
                }
            }
        }
        self.random.shuffle(&mut self.drawn);
        user_count
    }

    /// Draws the DApp of a transaction: its user's home, or any other DApp if there is one.
    fn dapp(&mut self, home: usize, outside: &mut Outsiders) -> usize {
        let dapp_count = self.contracts.len();
        if dapp_count == 1 || outside.stays(&mut self.random) {
            return home;
        }
        let other = self.random.below(dapp_count as u64 - 1) as usize;
        if other < home { other } else { other + 1 }
    }

    /// Draws the number of transactions of one user after another, until there are `count`.
    fn log_normal(&mut self, count: u64) -> Vec<u64> {
        let (mean, sigma) = (self.spec.per_user_mean as f64, self.spec.per_user_sigma);
        let mu = libm::log(mean) - sigma * sigma / 2.0;
        let mut left = count;
        let mut out = Vec::new();
        while left > 0 {
            let drawn = libm::round(libm::exp(mu + sigma * self.random.normal()));
            let drawn = (drawn as u64).min(left);
            left -= drawn;
            out.push(drawn);
        }
        out
    }

    /// Draws the number of transactions of each user as the published generator does, and evens the
    /// sum out to `count`.
    fn published(&mut self, count: u64) -> Vec<u64> {
        let (mean, sigma) = (self.spec.per_user_mean as f64, self.spec.per_user_sigma);
        let user_count = (count / self.spec.per_user_mean).max(1);
        let mu = libm::log(mean);
        let drawn = (0..user_count).map(|_| {
            let drawn = libm::exp(mu + sigma * self.random.normal());
            libm::round(drawn).min(PUBLISHED_MOST * mean) as u64
        });
        let mut out: Vec<u64> = drawn.collect();
        even_out(&mut out, count, 1, 0);
        out
    }

    /// Draws the number of users of each DApp, normally distributed and not negative.
    fn users_per_dapp(&mut self, user_count: u64) -> Vec<u64> {
        let dapp_count = self.contracts.len();
        let mean = user_count as f64 / dapp_count as f64;
        let deviation = self.spec.deviation;
        let mut out: Vec<u64> = std::iter::from_fn(|| {
            Some(libm::round(mean * (1.0 + deviation * self.random.normal())))
        })
        .filter(|size| *size >= 0.0)
        .map(|size| size as u64)
        .take(dapp_count)
        .collect();
        // The start is random. Otherwise only the first DApps would have users if users are fewer
        // than DApps.
        let start = self.random.below(dapp_count as u64) as usize;
        even_out(&mut out, user_count, 0, start);
        out
    }
}

/// Chooses the transactions of a block that leave their home.
#[derive(Debug)]
enum Outsiders {
    /// A transaction stays at home with this probability.
    Share(f64),
    /// The choice among `left` remaining transactions, of which `outside` leave their home.
    Count { outside: u64, left: u64 },
}

impl Outsiders {
    /// The choice for a block of `count` transactions.
    fn new(outside: Outside, count: u64) -> Self {
        match outside {
            Outside::Home(share) => Self::Share(share),
            Outside::Count(outside) => Self::Count { outside: outside.min(count / 2), left: count },
        }
    }

    /// Whether the next transaction stays at home. For a count, every choice of transactions is
    /// equally likely (selection sampling: Knuth, The Art of Computer Programming 2, algorithm S).
    fn stays(&mut self, random: &mut Random) -> bool {
        match self {
            Self::Share(share) => random.chance(*share),
            Self::Count { outside, left } => {
                let goes = random.below(*left) < *outside;
                *left -= 1;
                *outside -= u64::from(goes);
                !goes
            }
        }
    }
}

/// Adds 1 to size after size, or subtracts 1, from `start` on, until the sum is `total`. No size
/// goes below `least`.
fn even_out(sizes: &mut [u64], total: u64, least: u64, start: usize) {
    let sum: u64 = sizes.iter().sum();
    let len = sizes.len();
    let mut indices = (start..start + len).cycle().map(|index| index % len);
    let mut missing = total.saturating_sub(sum);
    let spare: u64 = sizes.iter().map(|size| size.saturating_sub(least)).sum();
    let mut surplus = sum.saturating_sub(total).min(spare);
    while let (true, Some(index)) = (missing + surplus > 0, indices.next()) {
        if missing > 0 {
            sizes[index] += 1;
            missing -= 1;
        } else if sizes[index] > least {
            sizes[index] -= 1;
            surplus -= 1;
        }
    }
}

impl Planner for Dapps {
    fn begin(&mut self, budget: BlockTarget) -> Result<(), GeneratorError> {
        self.drawn.clear();
        let user_count = self.draw(fitting_count(budget, self.most()));
        self.members.check(user_count)
    }

    fn next(
        &mut self,
        room: Room,
        _: &mut Senders<'_>,
    ) -> Result<Option<PlannedTx>, GeneratorError> {
        if self.drawn.is_empty() {
            self.draw(1);
        }
        let Some(Call { user, dapp, resource }) = self.drawn.last().copied() else {
            return Ok(None);
        };
        let (input, cost) = self.resources[resource].clone();
        if cost.limit() > room.gas_limit {
            return Ok(None);
        }
        self.drawn.pop();
        Ok(Some(PlannedTx {
            sender: self.members.at(user),
            to: Some(self.contracts[dapp]),
            input,
            ..PlannedTx::priced(cost)
        }))
    }

    fn useful_gas(&self) -> u64 {
        self.most().limit()
    }
}

#[cfg(test)]
mod tests;
