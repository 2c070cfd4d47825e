//! What a load is to whoever fills blocks: a planner that gives one transaction after another,
//! each with its exact gas and with all that it touches. A kind of load is an implementation of
//! [`Planner`] and an arm in [`of_load`].

use alloy_primitives::{Address, Bytes, U256};
use workload::block::IndexRange;

use crate::{
    error::GeneratorError,
    genesis::State,
    loads::{
        one_slot::OneSlot,
        storm,
        transfers::{Asset, Parties, Transfers},
    },
    people::People,
    scenario::{LoadKind, Scenario},
};

/// A planned transaction: it succeeds, with exactly this gas.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlannedTx {
    /// Its gas limit.
    pub(crate) gas_limit: u64,
    /// Gas that it will use.
    pub(crate) gas: u64,
    /// Gas that comes back to it at its end, and counts against the block (EIP-7778).
    pub(crate) refund: u64,
    /// Who sends it, by place in the genesis' senders.
    pub(crate) sender: u64,
    /// Whom it calls, or `None` to create.
    pub(crate) to: Option<Address>,
    /// Wei that it carries.
    pub(crate) value: U256,
    /// Calldata.
    pub(crate) input: Bytes,
    /// What it touches beside its sender and accounts written out in the genesis.
    pub(crate) touched: Touched,
}

/// What a transaction touches of families, or of nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    /// Slots of families.
    pub(crate) slots: Vec<IndexRange>,
    /// Accounts, by place in the genesis' senders.
    pub(crate) senders: Vec<u64>,
    /// Accounts of families.
    pub(crate) accounts: Vec<IndexRange>,
    /// Addresses without an account.
    pub(crate) absent: Vec<Address>,
}

/// What the next transaction may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// The most gas that its limit may be.
    pub(crate) gas_limit: u64,
    /// Transactions of the workload before it: whose turn it is to send.
    pub(crate) turn: u64,
}

/// Plans the transactions of one load.
pub(crate) trait Planner {
    /// The next transaction; `None` where the room is less than a useful one needs.
    fn next(
        &mut self,
        room: Room,
        people: &mut People<'_>,
    ) -> Result<Option<PlannedTx>, GeneratorError>;

    /// Gas in which a useful transaction fits.
    fn useful_gas(&self) -> u64;

    /// Slots or accounts asked of the family that lacks most, and those it holds, if these are fewer.
    fn shortfall(&self) -> Option<(u64, u64)> {
        None
    }
}

/// The planner of the load at `index`.
///
/// # Errors
/// [`GeneratorError`] when its gas cannot be measured.
pub(crate) fn of_load<'g>(
    scenario: &Scenario,
    index: usize,
    state: &'g State,
    people: &mut People<'_>,
) -> Result<Box<dyn Planner + 'g>, GeneratorError> {
    let load = &scenario.loads[index];
    let placed = &state.loads[index];
    let seed = load.seed.unwrap_or(scenario.seed);
    let stream = format!("load[{index}]");
    let at = storm::At { scenario, state, placed, stream: (seed, &stream) };
    Ok(match &load.kind {
        LoadKind::SloadStorm(load) => Box::new(storm::sload(at, load)?),
        LoadKind::SstoreStorm(load) => Box::new(storm::sstore(at, load)?),
        LoadKind::PrefetchMiss(load) => Box::new(storm::prefetch_miss(at, load)?),
        LoadKind::AccountStorm(load) => Box::new(storm::account(at, load)?),
        LoadKind::BalanceStorm(_) => Box::new(storm::balance(at)?),
        LoadKind::Transfers(transfers) => {
            let parties = Parties::new(transfers.pattern, people.count(), (seed, stream));
            Box::new(Transfers::new(Asset::Ether, parties, scenario.fork, people)?)
        }
        LoadKind::Erc20(erc20) => {
            let parties = Parties::new(erc20.pattern, erc20.holder_count, (seed, stream));
            let asset = Asset::token(placed.contract)?;
            Box::new(Transfers::new(asset, parties, scenario.fork, people)?)
        }
        LoadKind::OneSlot(one_slot) => {
            Box::new(OneSlot::new(placed.contract, one_slot.work, scenario.fork, people)?)
        }
    })
}
