//! What a load is to whoever fills blocks: a planner that gives one transaction after another,
//! each with its exact gas and with all that it touches. A kind of load is an implementation of
//! [`Planner`] and an arm in [`of_load`].

use alloy_primitives::{Address, Bytes, U256};
use workload::{
    Transaction, TxType,
    block::{Authorization, IndexRange},
    senders::SenderError,
};

use crate::{
    error::GeneratorError,
    genesis::{State, holder_count},
    loads::{
        airdrop::Airdrops,
        amm::Swaps,
        calls::{Around, Calls},
        chains::{self, Chains},
        compute::Computations,
        dapps::Dapps,
        delegate::Delegations,
        deploy::Deployments,
        logs::LogWrites,
        nft::{Mints, NftTransfers},
        non_conflicting::NonConflicting,
        one_slot::OneSlot,
        storm,
        transfers::{Asset, Parties, Transfers},
    },
    people::{Members, People},
    probe::Cost,
    random::Random,
};
use spec::{BlockTarget, LoadKind, Scenario};

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
    /// The sender's nonce: counted by whoever fills the block.
    pub(crate) nonce: u64,
    /// Whom it calls, or `None` to create.
    pub(crate) to: Option<Address>,
    /// Wei that it carries.
    pub(crate) value: U256,
    /// Calldata.
    pub(crate) input: Bytes,
    /// Delegations (EIP-7702); with any it is a set-code transaction.
    pub(crate) authorizations: Vec<Authorization>,
    /// What it touches beside its sender and accounts written out in the genesis.
    pub(crate) touched: Touched,
}

impl PlannedTx {
    /// It as it is run, but for its fees.
    ///
    /// # Errors
    /// [`SenderError`] when its sender has no valid secret.
    pub(crate) fn to_run(&self, people: &mut People<'_>) -> Result<Transaction, SenderError> {
        let tx_type = match self.authorizations.is_empty() {
            true => TxType::DynamicFee,
            false => TxType::SetCode,
        };
        Ok(Transaction {
            tx_type,
            sender: people.address(self.sender)?,
            nonce: self.nonce,
            gas_limit: self.gas_limit,
            to: self.to,
            value: self.value,
            input: self.input.clone(),
            authorizations: self.authorizations.clone(),
            ..Transaction::default()
        })
    }
}

/// What a transaction touches of families, or of nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    /// Slots of families.
    pub(crate) slots: Vec<IndexRange>,
    /// Accounts, by place in the genesis' senders.
    pub(crate) senders: Vec<u64>,
    /// Accounts of other sender families than the first.
    pub(crate) others: Vec<IndexRange>,
    /// Accounts of account families.
    pub(crate) accounts: Vec<IndexRange>,
    /// Addresses without an account, or without one before the workload's transactions.
    pub(crate) absent: Vec<Address>,
}

/// What the next transaction may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// The most gas that its limit may be.
    pub(crate) gas_limit: u64,
    /// Whose turn it is to send: the load's transactions before it, from a place of the load's own
    /// among the accounts.
    pub(crate) turn: u64,
}

/// Plans the transactions of one load.
pub(crate) trait Planner {
    /// Told at the start of each block what the load has of it.
    fn begin(&mut self, _: BlockTarget) -> Result<(), GeneratorError> {
        Ok(())
    }

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

/// Transactions of `cost` that fit `budget`.
pub(crate) fn fitting(budget: BlockTarget, cost: Cost) -> u64 {
    match budget {
        BlockTarget::Gas(gas) => gas.saturating_sub(cost.refund) / cost.gas.max(1),
        BlockTarget::Transactions(count) => count,
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
    let tag = load.tag(index);
    let stream = format!("load[{tag}]");
    let batch = scenario.block.batch_block_count;
    let around = Around {
        load: index,
        fork: scenario.fork,
        genesis: &state.genesis,
        tx_gas: scenario.block.tx_gas,
    };
    let at = storm::At { scenario, state, placed, load: index, stream: (seed, &stream) };
    Ok(match &load.kind {
        LoadKind::SloadStorm(load) => Box::new(storm::sload(at, load)?),
        LoadKind::SstoreStorm(load) => Box::new(storm::sstore(at, load)?),
        LoadKind::PrefetchMiss(load) => Box::new(storm::prefetch_miss(at, load)?),
        LoadKind::AccountStorm(load) => Box::new(storm::account(at, load)?),
        LoadKind::BalanceStorm(_) => Box::new(storm::balance(at)?),
        LoadKind::ContractChase(load) => Box::new(storm::contract_chase(at, load)?),
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
        LoadKind::Dapps(dapps) => {
            let members = Members::new(index, 0..people.count(), batch);
            let random = Random::new(seed, &stream);
            Box::new(Dapps::new(dapps, &tag, members, random, scenario.fork, people)?)
        }
        LoadKind::Chains(chains) => {
            let random = Random::new(seed, &stream);
            let members = Members::new(index, chains::accounts(chains, scenario), batch);
            let at = (placed.contract, scenario.fork);
            Box::new(Chains::new(chains, members, random, at, people)?)
        }
        LoadKind::NonConflicting(holders) => {
            let members = Members::new(index, 0..holder_count(scenario), batch);
            let at = (placed.contract, scenario.fork);
            Box::new(NonConflicting::new(holders, members, at, people)?)
        }
        LoadKind::Erc721(erc721) => {
            let script = NftTransfers::new(placed.contract, erc721.holder_count);
            Box::new(Calls::new(script, around, people)?)
        }
        LoadKind::NftMint(mint) => {
            let script = Mints::new(placed.contract, mint.minter_count);
            Box::new(Calls::new(script, around, people)?)
        }
        LoadKind::Amm(amm) => {
            let script = Swaps::new(amm, &tag, scenario.state.seed.unwrap_or(scenario.seed));
            Box::new(Calls::new(script, around, people)?)
        }
        LoadKind::Airdrop(airdrop) => {
            let script = Airdrops::new(airdrop.clone(), placed.contract, (seed, stream));
            Box::new(Calls::new(script, around, people)?)
        }
        LoadKind::Deploy(deploy) => {
            let script = Deployments::new(deploy.clone(), placed.contract, (seed, stream))?;
            Box::new(Calls::new(script, around, people)?)
        }
        LoadKind::Delegate(delegate) => {
            let script = Delegations::new(delegate.clone(), &tag, placed, &state.genesis)?;
            Box::new(Calls::new(script, around, people)?)
        }
        LoadKind::Compute(compute) => {
            Box::new(Calls::new(Computations::new(compute, placed.contract), around, people)?)
        }
        LoadKind::Logs(logs) => {
            let script = LogWrites::new(logs.clone(), placed.contract);
            Box::new(Calls::new(script, around, people)?)
        }
    })
}
