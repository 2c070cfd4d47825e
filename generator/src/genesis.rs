//! The genesis of a scenario: what `[state]` and the loads need, independent of `[block]`, so
//! that blocks of any size run on the same state database.

mod storms;

pub(crate) use storms::{
    POINTER_START, pointer_contract, read_contract, sload_contract, write_contract,
};

use alloy_primitives::{Address, B256, U256, address, keccak256};
use evm::system;
use workload::{Genesis, GenesisAccount, SenderFamily, stream::stream_seed};

use crate::{
    artifact::Contract,
    error::GeneratorError,
    loads::{
        self,
        transfers::{balance_key, mapping_key},
    },
};
use spec::{Dapps, Load, LoadKind, Scenario, Through};
use storms::StormPlace;

/// Receives the priority fees of all blocks. It exists, as a block builder's account does.
pub const BENEFICIARY: Address = address!("be9ef1c1a27e00000000000000000000000000be");

/// Wei of a sender, 10^24: more than any generated workload burns.
pub(crate) const SENDER_BALANCE: U256 = U256::from_limbs([2_003_764_205_206_896_640, 54_210, 0, 0]);
/// Wei of the beneficiary, 1 ether: not zero, since an empty account would not survive (EIP-161).
const BENEFICIARY_BALANCE: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);
/// Units of a token that a holder has at least, 10^24: more than it can give away.
pub(crate) const TOKEN_BALANCE: U256 = SENDER_BALANCE;

/// Slot of the total supply of `Supply`.
const SUPPLY_KEY: U256 = U256::ONE;
/// Accounts that can have a slot of their own. These are written out in the state's recipe: their
/// number bounds its memory.
pub(crate) const HOLDERS_MAX: u64 = 1_000_000;

/// Accounts that have a slot of their own in the contracts of `chains` and `non-conflicting`.
pub(crate) fn holder_count(scenario: &Scenario) -> u64 {
    scenario.state.account_count.clamp(1, HOLDERS_MAX)
}

/// A genesis, and what of it each load has.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) genesis: Genesis,
    /// Per load, what it has of it.
    pub(crate) loads: Vec<Placed>,
}

/// What a load has of a genesis.
#[derive(Clone, Debug, Default)]
pub(crate) struct Placed {
    /// Its families, by their place in [`Genesis::slots`].
    pub(crate) families: std::ops::Range<u32>,
    /// Its contract, if it has one; that of a storm with its families.
    pub(crate) contract: Address,
    /// Its family of accounts beside the senders, by its place in [`Genesis::senders`].
    pub(crate) people: u32,
    /// Its account family, by its place in [`Genesis::account_families`].
    pub(crate) account_family: u32,
}

/// Builds the genesis of `scenario`.
pub(crate) fn build(scenario: &Scenario) -> Result<State, GeneratorError> {
    let seed = scenario.state.seed.unwrap_or(scenario.seed);
    let mut genesis = Genesis {
        accounts: system::contracts(scenario.fork),
        senders: vec![SenderFamily {
            first_secret: first_secret(seed, "state/senders"),
            // Without a sender there is no transaction.
            count: scenario.state.account_count.max(1),
            balance: SENDER_BALANCE,
        }],
        ..Genesis::default()
    };
    genesis.accounts.push(GenesisAccount {
        address: BENEFICIARY,
        balance: BENEFICIARY_BALANCE,
        ..GenesisAccount::default()
    });
    let mut loads = Vec::new();
    for (index, slot_count) in slots_of_loads(scenario).into_iter().enumerate() {
        loads.push(add_load(scenario, seed, index, slot_count, &mut genesis)?);
    }
    genesis.accounts.sort_unstable_by_key(|account| account.address);
    Ok(State { genesis, loads })
}

/// A secret key k0 with room above it: below 2^252, so below the order of the curve by far.
pub(crate) fn first_secret(seed: u64, stream: &str) -> B256 {
    let mut secret = stream_seed(seed, stream);
    secret[0] &= 0x0f;
    secret
}

/// The share of the state's slots that a load has: its share of the gas among the storms'.
pub(crate) fn slot_share(scenario: &Scenario, load: usize) -> f64 {
    let storms = scenario.loads.iter().filter(|load| asks_slots(load));
    match (asks_slots(&scenario.loads[load]), scenario.loads.iter().all(asks_slots)) {
        (false, _) => 0.0,
        (true, true) => scenario.loads[load].share,
        (true, false) => scenario.loads[load].share / storms.map(|load| load.share).sum::<f64>(),
    }
}

/// Whether a load has a part of the state's slots.
const fn asks_slots(load: &Load) -> bool {
    matches!(
        load.kind,
        LoadKind::SloadStorm(_)
            | LoadKind::SstoreStorm(_)
            | LoadKind::PrefetchMiss(_)
            | LoadKind::BalanceStorm(_)
            | LoadKind::ContractChase(_)
    )
}

/// Each load's slots: the state's by their shares, the rest to the last storm.
fn slots_of_loads(scenario: &Scenario) -> Vec<u64> {
    let total = scenario.state.slot_count;
    let mut left = total;
    let mut counts: Vec<u64> = Vec::with_capacity(scenario.loads.len());
    for load in 0..scenario.loads.len() {
        // Rounded: a third load must not take a slot from the first because of a float's last bit.
        let count = ((total as f64 * slot_share(scenario, load)).round() as u64).min(left);
        left -= count;
        counts.push(count);
    }
    if let Some(last) = scenario.loads.iter().rposition(asks_slots) {
        counts[last] += left;
    }
    counts
}

fn add_load(
    scenario: &Scenario,
    seed: u64,
    index: usize,
    slot_count: u64,
    genesis: &mut Genesis,
) -> Result<Placed, GeneratorError> {
    let tag = scenario.loads[index].tag(index);
    let tag = tag.as_str();
    let state_slot_count = scenario.state.slot_count;
    let at = StormPlace { index, tag, seed, slot_count, state_slot_count };
    match &scenario.loads[index].kind {
        LoadKind::SloadStorm(storm) => at.sload(storm, genesis),
        LoadKind::SstoreStorm(storm) => at.sstore(storm, genesis),
        LoadKind::PrefetchMiss(storm) => at.prefetch_miss(storm, genesis),
        LoadKind::AccountStorm(storm) => at.accounts(storm, genesis),
        LoadKind::BalanceStorm(_) => at.balances(genesis),
        LoadKind::ContractChase(chase) => at.contract_chase(chase, genesis),
        LoadKind::Transfers(_) => Ok(Placed::default()),
        LoadKind::Erc20(erc20) => {
            let holders = genesis.senders[0].addresses(0..erc20.holder_count)?;
            let balance = |(place, holder): (usize, &Address)| {
                (balance_key(holder), TOKEN_BALANCE + U256::from(place))
            };
            let balances = holders.iter().enumerate().map(balance).collect();
            let at = (tag, Contract::Token.name());
            let contract = add_contract(at, Contract::Token, balances, genesis)?;
            Ok(Placed { contract, ..Placed::default() })
        }
        LoadKind::OneSlot(_) => {
            let slot = vec![(U256::ZERO, U256::ONE)];
            let at = (tag, Contract::OneSlot.name());
            let contract = add_contract(at, Contract::OneSlot, slot, genesis)?;
            Ok(Placed { contract, ..Placed::default() })
        }
        LoadKind::Dapps(dapps) => add_dapps(tag, dapps, genesis),
        LoadKind::Chains(chains) => {
            let places = match chains.through {
                Through::Slot => holder_count(scenario),
                Through::Account => 0,
            };
            let slots = filled_places(places);
            let contract =
                add_contract((tag, Contract::Chain.name()), Contract::Chain, slots, genesis)?;
            Ok(Placed { contract, ..Placed::default() })
        }
        LoadKind::NonConflicting(_) => {
            let holders = genesis.senders[0].addresses(0..holder_count(scenario))?;
            let balance = |holder: &Address| (balance_key(holder), TOKEN_BALANCE);
            let mut slots: Vec<_> = holders.iter().map(balance).collect();
            slots.push((SUPPLY_KEY, TOKEN_BALANCE * U256::from(holders.len())));
            let contract =
                add_contract((tag, Contract::Supply.name()), Contract::Supply, slots, genesis)?;
            Ok(Placed { contract, ..Placed::default() })
        }
        LoadKind::Erc721(erc721) => loads::nft::place(erc721.holder_count, tag, genesis),
        LoadKind::NftMint(mint) => loads::nft::place(mint.minter_count, tag, genesis),
        LoadKind::Amm(amm) => loads::amm::place(amm, tag, seed, genesis),
        LoadKind::Airdrop(airdrop) => loads::airdrop::place(airdrop, tag, genesis),
        LoadKind::Deploy(_) => loads::deploy::place(tag, genesis),
        LoadKind::Delegate(delegate) => loads::delegate::place(delegate, tag, seed, genesis),
        LoadKind::Compute(_) => add_stateless(tag, Contract::Compute, genesis),
        LoadKind::Logs(_) => add_stateless(tag, Contract::Logs, genesis),
    }
}

fn add_stateless(
    tag: &str,
    contract: Contract,
    genesis: &mut Genesis,
) -> Result<Placed, GeneratorError> {
    let contract = add_contract((tag, contract.name()), contract, Vec::new(), genesis)?;
    Ok(Placed { contract, ..Placed::default() })
}

/// Adds the account of a contract that the load of `tag` calls `name`, with slots written
/// out.
pub(crate) fn add_contract(
    (tag, name): (&str, &str),
    contract: Contract,
    mut storage: Vec<(U256, U256)>,
    genesis: &mut Genesis,
) -> Result<Address, GeneratorError> {
    storage.sort_unstable_by_key(|(key, _)| *key);
    let address = contract_address(tag, name);
    let code = contract.code()?;
    genesis.accounts.push(GenesisAccount {
        address,
        nonce: 1,
        code,
        storage,
        ..Default::default()
    });
    Ok(address)
}

/// Address of the contract that the load of `tag` calls `name`.
pub(crate) fn contract_address(tag: &str, name: &str) -> Address {
    Address::from_word(keccak256(format!("stress contract load[{tag}]/{name}")))
}

/// Address of one of a load's equal contracts.
pub(crate) fn numbered_contract(tag: &str, contract: Contract, place: u64) -> Address {
    contract_address(tag, &format!("{}/{place}", contract.name()))
}

fn add_dapps(tag: &str, dapps: &Dapps, genesis: &mut Genesis) -> Result<Placed, GeneratorError> {
    let mut storage = filled_places(dapps.resource_count);
    storage.sort_unstable_by_key(|(key, _)| *key);
    let code = Contract::Dapp.code()?;
    genesis.accounts.extend((0..dapps.dapp_count).map(|place| GenesisAccount {
        address: numbered_contract(tag, Contract::Dapp, place),
        nonce: 1,
        code: code.clone(),
        storage: storage.clone(),
        ..GenesisAccount::default()
    }));
    Ok(Placed::default())
}

/// The first `count` places of the mapping at slot 0, none of them zero: each access costs the same.
fn filled_places(count: u64) -> Vec<(U256, U256)> {
    let place = |place| {
        let word = B256::from(U256::from(place));
        (mapping_key(word), U256::from(place + 1))
    };
    (0..count).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_balance_of_a_sender_is_a_million_ether() {
        assert_eq!(SENDER_BALANCE, U256::from(10).pow(U256::from(24)));
    }
}
