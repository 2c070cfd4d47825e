//! The kinds of load: each one's part of the genesis, and the planner of its transactions. Each
//! kind has a file; its keys in a scenario are in `crates/spec/src/load/`. A new kind is an arm in
//! [`place`] and one in [`planner`].

mod airdrop;
mod amm;
mod bloated;
mod calls;
mod chains;
mod compute;
mod dapps;
mod delegate;
mod deploy;
mod hash_chain;
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
    planner::Planner,
    random::Stream,
    senders::{Members, Senders},
    state::{LoadGenesis, State, add_bare},
};
use airdrop::Airdrops;
use amm::Swaps;
use bloated::BloatedCalls;
use calls::{Calls, Script, ScriptEnv};
use chains::Chains;
use compute::Computations;
use dapps::Dapps;
use delegate::Delegations;
use deploy::Deployments;
use hash_chain::HashChains;
use logs::LogWrites;
use nft::{Mints, NftTransfers};
use non_conflicting::NonConflicting;
use prices::Callee;
use transfers::{Asset, Parties, Transfers};

/// The facts by which a load adds its part to a genesis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadSite<'s> {
    pub(crate) scenario: &'s Scenario,
    /// Index of the load.
    pub(crate) index: usize,
    /// Seed of the state.
    pub(crate) seed: u64,
    /// Number of the state's slots that the load gets.
    pub(crate) slot_count: u64,
}

/// Adds the load's part to `genesis`.
///
/// # Errors
/// [`GeneratorError`] when the state is too small for the load.
pub(crate) fn place(
    site: &LoadSite<'_>,
    genesis: &mut Genesis,
) -> Result<LoadGenesis, GeneratorError> {
    let LoadSite { scenario, index, seed, slot_count } = *site;
    let tag = scenario.loads[index].tag(index);
    let tag = tag.as_str();
    let state_slot_count = scenario.state.slot_count;
    let at = storm::StormInput { index, tag, seed, slot_count, state_slot_count };
    match &scenario.loads[index].kind {
        LoadKind::SloadStorm(storm) => at.sload(storm, genesis),
        LoadKind::SstoreStorm(storm) => at.sstore(storm, genesis),
        LoadKind::PrefetchMiss(storm) => at.prefetch_miss(storm, genesis),
        LoadKind::AccountStorm(storm) => at.accounts(storm, genesis),
        LoadKind::BalanceStorm(_) => at.balances(genesis),
        LoadKind::ContractChase(chase) => at.contract_chase(chase, genesis),
        LoadKind::Bloated(_) => at.bloated(genesis),
        LoadKind::Transfers(_) => Ok(LoadGenesis::default()),
        LoadKind::Erc20(erc20) => transfers::place(erc20, tag, genesis),
        LoadKind::OneSlot(_) => one_slot::place(tag, genesis),
        LoadKind::Dapps(load) => dapps::place(load, tag, genesis),
        LoadKind::Chains(load) => chains::place(load, scenario, tag, genesis),
        LoadKind::HashChain(load) => hash_chain::place(load, tag, genesis),
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
/// [`GeneratorError`] when the gas of the load's transactions cannot be measured.
pub(crate) fn planner<'g>(
    scenario: &Scenario,
    index: usize,
    state: &'g State,
    senders: &mut Senders<'_>,
) -> PlannerResult<'g> {
    let load = &scenario.loads[index];
    let placed = &state.loads[index];
    let (contract, fork) = (placed.contract, scenario.fork);
    let tag = load.tag(index);
    let stream = Stream::new(load.seed.unwrap_or(scenario.seed), format!("load[{tag}]"));
    let state_seed = scenario.state.seed.unwrap_or(scenario.seed);
    let batch = scenario.block.batch_block_count;
    let callee = Callee { contract, fork };
    let storm_env = storm::StormEnv { scenario, state, placed, load: index, stream: &stream };
    let env =
        ScriptEnv { load: index, fork, genesis: &state.genesis, tx_gas: scenario.block.tx_gas };
    match &load.kind {
        LoadKind::SloadStorm(load) => boxed(storm::sload(storm_env, load)?),
        LoadKind::SstoreStorm(load) => boxed(storm::sstore(storm_env, load)?),
        LoadKind::PrefetchMiss(load) => boxed(storm::prefetch_miss(storm_env, load)?),
        LoadKind::AccountStorm(load) => boxed(storm::account(storm_env, load)?),
        LoadKind::BalanceStorm(_) => boxed(storm::balance(storm_env)?),
        LoadKind::ContractChase(load) => boxed(storm::contract_chase(storm_env, load)?),
        LoadKind::Transfers(load) => {
            let parties = Parties::new(load.pattern, senders.count(), stream);
            boxed(Transfers::new(Asset::Ether, parties, fork, senders)?)
        }
        LoadKind::Erc20(load) => {
            let parties = Parties::new(load.pattern, load.holder_count, stream);
            boxed(Transfers::new(Asset::token(contract)?, parties, fork, senders)?)
        }
        LoadKind::OneSlot(load) => boxed(one_slot::calls(callee, load, senders)?),
        LoadKind::Dapps(load) => {
            let members = Members::new(index, 0..senders.count(), batch);
            let dapps_input = dapps::DappsInput { tag: &tag, fork };
            boxed(Dapps::new(load, dapps_input, members, stream.random(), senders)?)
        }
        LoadKind::Chains(load) => {
            let members = Members::new(index, chains::accounts(load, scenario), batch);
            boxed(Chains::new(load, members, stream.random(), callee, senders)?)
        }
        LoadKind::HashChain(load) => boxed(HashChains::new(load, &tag, env, senders)?),
        LoadKind::Bloated(load) => {
            let account = bloated::Account::new(placed, &state.genesis);
            boxed(BloatedCalls::new(load.op, account, env, senders)?)
        }
        LoadKind::NonConflicting(load) => {
            let members = Members::new(index, 0..holder_count(scenario), batch);
            boxed(NonConflicting::new(load, members, callee, senders)?)
        }
        LoadKind::Erc721(load) => {
            calls(NftTransfers::new(contract, load.holder_count), env, senders)
        }
        LoadKind::NftMint(load) => calls(Mints::new(contract, load.minter_count), env, senders),
        LoadKind::Amm(load) => calls(Swaps::new(load, &tag, state_seed), env, senders),
        LoadKind::Airdrop(load) => {
            calls(Airdrops::new(load.clone(), contract, stream), env, senders)
        }
        LoadKind::Deploy(load) => {
            calls(Deployments::new(load.clone(), contract, stream)?, env, senders)
        }
        LoadKind::Delegate(load) => {
            let script = Delegations::new(load.clone(), &tag, placed, &state.genesis)?;
            calls(script, env, senders)
        }
        LoadKind::Compute(load) => calls(Computations::new(load, contract), env, senders),
        LoadKind::Logs(load) => calls(LogWrites::new(load.clone(), contract), env, senders),
    }
}

type PlannerResult<'g> = Result<Box<dyn Planner + 'g>, GeneratorError>;

fn boxed<'g>(planner: impl Planner + 'g) -> PlannerResult<'g> {
    Ok(Box::new(planner))
}

/// The planner of a script's transactions.
fn calls<'g, S: Script + 'g>(
    script: S,
    env: ScriptEnv<'g>,
    senders: &mut Senders<'_>,
) -> PlannerResult<'g> {
    boxed(Calls::new(script, env, senders)?)
}
