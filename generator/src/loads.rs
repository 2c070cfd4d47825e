//! The kinds of load: what each has of the genesis, and the planner of its transactions. One file
//! a kind; its keys in a scenario are in `crates/spec/src/load/`. A new kind is an arm in [`place`]
//! and one in [`planner`].

mod airdrop;
mod amm;
mod calls;
mod chains;
mod compute;
mod dapps;
mod delegate;
mod deploy;
mod logs;
mod nft;
mod non_conflicting;
mod one_slot;
mod prices;
mod solidity;
mod storm;
mod transfers;

use spec::{LoadKind, Scenario};
use workload::Genesis;

use crate::{
    artifact::Contract,
    error::GeneratorError,
    holders::holder_count,
    people::{Members, People},
    planner::Planner,
    random::Stream,
    state::{Placed, State, add_bare},
};
use airdrop::Airdrops;
use amm::Swaps;
use calls::{Around, Calls};
use chains::Chains;
use compute::Computations;
use dapps::Dapps;
use delegate::Delegations;
use deploy::Deployments;
use logs::LogWrites;
use nft::{Mints, NftTransfers};
use non_conflicting::NonConflicting;
use one_slot::OneSlot;
use prices::Callee;
use transfers::{Asset, Parties, Transfers};

/// A load whose part of a genesis is to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site<'s> {
    pub(crate) scenario: &'s Scenario,
    /// Its place among the loads.
    pub(crate) index: usize,
    /// Seed of the state.
    pub(crate) seed: u64,
    /// Its slots.
    pub(crate) slot_count: u64,
}

/// Adds to `genesis` what the load has of it.
///
/// # Errors
/// [`GeneratorError`] when the state is too small for it.
pub(crate) fn place(site: &Site<'_>, genesis: &mut Genesis) -> Result<Placed, GeneratorError> {
    let Site { scenario, index, seed, slot_count } = *site;
    let tag = scenario.loads[index].tag(index);
    let tag = tag.as_str();
    let state_slot_count = scenario.state.slot_count;
    let at = storm::StormPlace { index, tag, seed, slot_count, state_slot_count };
    match &scenario.loads[index].kind {
        LoadKind::SloadStorm(storm) => at.sload(storm, genesis),
        LoadKind::SstoreStorm(storm) => at.sstore(storm, genesis),
        LoadKind::PrefetchMiss(storm) => at.prefetch_miss(storm, genesis),
        LoadKind::AccountStorm(storm) => at.accounts(storm, genesis),
        LoadKind::BalanceStorm(_) => at.balances(genesis),
        LoadKind::ContractChase(chase) => at.contract_chase(chase, genesis),
        LoadKind::Transfers(_) => Ok(Placed::default()),
        LoadKind::Erc20(erc20) => transfers::place(erc20, tag, genesis),
        LoadKind::OneSlot(_) => one_slot::place(tag, genesis),
        LoadKind::Dapps(load) => dapps::place(load, tag, genesis),
        LoadKind::Chains(load) => chains::place(load, scenario, tag, genesis),
        LoadKind::NonConflicting(_) => non_conflicting::place(scenario, tag, genesis),
        LoadKind::Erc721(erc721) => nft::place(erc721.holder_count, tag, genesis),
        LoadKind::NftMint(mint) => nft::place(mint.minter_count, tag, genesis),
        LoadKind::Amm(amm) => amm::place(amm, tag, seed, genesis),
        LoadKind::Airdrop(airdrop) => airdrop::place(airdrop, tag, genesis),
        LoadKind::Deploy(_) => deploy::place(tag, genesis),
        LoadKind::Delegate(delegate) => delegate::place(delegate, tag, seed, genesis),
        LoadKind::Compute(_) => add_bare(tag, Contract::Compute, genesis),
        LoadKind::Logs(_) => add_bare(tag, Contract::Logs, genesis),
    }
}

/// The planner of the load at `index`.
///
/// # Errors
/// [`GeneratorError`] when its gas cannot be measured.
pub(crate) fn planner<'g>(
    scenario: &Scenario,
    index: usize,
    state: &'g State,
    people: &mut People<'_>,
) -> Result<Box<dyn Planner + 'g>, GeneratorError> {
    let load = &scenario.loads[index];
    let placed = &state.loads[index];
    let seed = load.seed.unwrap_or(scenario.seed);
    let tag = load.tag(index);
    let stream = Stream::new(seed, format!("load[{tag}]"));
    let batch = scenario.block.batch_block_count;
    let around = Around {
        load: index,
        fork: scenario.fork,
        genesis: &state.genesis,
        tx_gas: scenario.block.tx_gas,
    };
    let at = storm::At { scenario, state, placed, load: index, stream: &stream };
    Ok(match &load.kind {
        LoadKind::SloadStorm(load) => Box::new(storm::sload(at, load)?),
        LoadKind::SstoreStorm(load) => Box::new(storm::sstore(at, load)?),
        LoadKind::PrefetchMiss(load) => Box::new(storm::prefetch_miss(at, load)?),
        LoadKind::AccountStorm(load) => Box::new(storm::account(at, load)?),
        LoadKind::BalanceStorm(_) => Box::new(storm::balance(at)?),
        LoadKind::ContractChase(load) => Box::new(storm::contract_chase(at, load)?),
        LoadKind::Transfers(transfers) => {
            let parties = Parties::new(transfers.pattern, people.count(), stream);
            Box::new(Transfers::new(Asset::Ether, parties, scenario.fork, people)?)
        }
        LoadKind::Erc20(erc20) => {
            let parties = Parties::new(erc20.pattern, erc20.holder_count, stream);
            let asset = Asset::token(placed.contract)?;
            Box::new(Transfers::new(asset, parties, scenario.fork, people)?)
        }
        LoadKind::OneSlot(one_slot) => {
            Box::new(OneSlot::new(placed.contract, one_slot.work, scenario.fork, people)?)
        }
        LoadKind::Dapps(dapps) => {
            let members = Members::new(index, 0..people.count(), batch);
            let random = stream.random();
            Box::new(Dapps::new(dapps, &tag, members, random, scenario.fork, people)?)
        }
        LoadKind::Chains(chains) => {
            let random = stream.random();
            let members = Members::new(index, chains::accounts(chains, scenario), batch);
            let at = Callee { contract: placed.contract, fork: scenario.fork };
            Box::new(Chains::new(chains, members, random, at, people)?)
        }
        LoadKind::NonConflicting(holders) => {
            let members = Members::new(index, 0..holder_count(scenario), batch);
            let at = Callee { contract: placed.contract, fork: scenario.fork };
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
            let script = Airdrops::new(airdrop.clone(), placed.contract, stream);
            Box::new(Calls::new(script, around, people)?)
        }
        LoadKind::Deploy(deploy) => {
            let script = Deployments::new(deploy.clone(), placed.contract, stream)?;
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
