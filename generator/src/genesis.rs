//! The genesis of a scenario: what `[state]` and the loads need, independent of `[block]`, so
//! that blocks of any size run on the same state database.

use alloy_primitives::{Address, B256, U256, address, keccak256};
use evm::system;
use workload::{
    Genesis, GenesisAccount, KeyRule, SenderFamily, SlotFamily, ValueRule, stream::stream_seed,
};

use crate::{
    artifact::Contract,
    error::GeneratorError,
    scenario::{KeyOrder, Load, LoadKind, Overlap, Scenario},
};

/// Receives the priority fees of all blocks. It exists, as a block builder's account does.
pub const BENEFICIARY: Address = address!("be9ef1c1a27e00000000000000000000000000be");

/// Wei of a sender, 10^24: more than any generated workload burns.
const SENDER_BALANCE: U256 = U256::from_limbs([2_003_764_205_206_896_640, 54_210, 0, 0]);
/// Wei of the beneficiary, 1 ether: not zero, since an empty account would not survive (EIP-161).
const BENEFICIARY_BALANCE: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);

/// A genesis, and which of its slot families each load has.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) genesis: Genesis,
    /// Per load its families, by their place in [`Genesis::slots`].
    pub(crate) loads: Vec<std::ops::Range<u32>>,
}

/// The contract that a load calls.
pub(crate) const fn contract(load: &Load) -> Contract {
    match &load.kind {
        LoadKind::SloadStorm(storm) => match storm.keys {
            KeyOrder::Keccak => Contract::KeccakStorm,
            KeyOrder::Weyl => Contract::WeylStorm,
            KeyOrder::Chase => Contract::ChaseStorm,
        },
    }
}

/// Which keys the transactions of a load have in common.
pub(crate) const fn overlap(load: &Load) -> Overlap {
    match &load.kind {
        LoadKind::SloadStorm(storm) => storm.overlap,
    }
}

/// Builds the genesis of `scenario`.
pub(crate) fn build(scenario: &Scenario) -> Result<State, GeneratorError> {
    let seed = scenario.state.seed.unwrap_or(scenario.seed);
    let mut genesis = Genesis {
        accounts: system::contracts(scenario.fork),
        senders: vec![SenderFamily {
            first_secret: first_secret(seed),
            // Without a sender there is no transaction.
            count: scenario.state.account_count.max(1),
            balance: SENDER_BALANCE,
        }],
        slots: Vec::new(),
    };
    genesis.accounts.push(GenesisAccount {
        address: BENEFICIARY,
        balance: BENEFICIARY_BALANCE,
        ..GenesisAccount::default()
    });
    let mut loads = Vec::new();
    for (index, slot_count) in slots_of_loads(scenario).into_iter().enumerate() {
        let first = genesis.slots.len() as u32;
        add_load(scenario, seed, index, slot_count, &mut genesis)?;
        loads.push(first..genesis.slots.len() as u32);
    }
    genesis.accounts.sort_unstable_by_key(|account| account.address);
    Ok(State { genesis, loads })
}

/// A secret key k0 with room above it: below 2^252, so below the order of the curve by far.
fn first_secret(seed: u64) -> B256 {
    let mut secret = stream_seed(seed, "state/senders");
    secret[0] &= 0x0f;
    secret
}

/// Each load's slots: the state's by their shares, the rest to the last.
fn slots_of_loads(scenario: &Scenario) -> Vec<u64> {
    let total = scenario.state.slot_count;
    let mut left = total;
    let mut counts: Vec<u64> = Vec::with_capacity(scenario.loads.len());
    for load in &scenario.loads {
        let count = ((total as f64 * load.share) as u64).min(left);
        left -= count;
        counts.push(count);
    }
    if let Some(last) = counts.last_mut() {
        *last += left;
    }
    counts
}

fn add_load(
    scenario: &Scenario,
    seed: u64,
    index: usize,
    slot_count: u64,
    genesis: &mut Genesis,
) -> Result<(), GeneratorError> {
    let load = &scenario.loads[index];
    let LoadKind::SloadStorm(storm) = &load.kind;
    let contract_count = storm.contract_count;
    if slot_count < contract_count {
        let state_slot_count = scenario.state.slot_count;
        return Err(GeneratorError::TooFewSlotsPerContract {
            load: index,
            slot_count,
            state_slot_count,
            contract_count,
        });
    }
    let (keys, values) = match storm.keys {
        KeyOrder::Keccak => (KeyRule::Keccak, ValueRule::Random),
        KeyOrder::Weyl => (KeyRule::Weyl, ValueRule::Random),
        KeyOrder::Chase => (KeyRule::Keccak, ValueRule::NextKey),
    };
    let contract = contract(load);
    let code = contract.code()?;
    for place in 0..contract_count {
        let name = format!("load[{index}]/{}/{place}", contract.name());
        let address = Address::from_word(keccak256(format!("stress contract {name}")));
        let account =
            GenesisAccount { address, nonce: 1, code: code.clone(), ..Default::default() };
        genesis.accounts.push(account);
        let extra = u64::from(place < slot_count % contract_count);
        genesis.slots.push(SlotFamily {
            address,
            count: slot_count / contract_count + extra,
            keys,
            values,
            seed: stream_seed(seed, &format!("state/{name}")),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_balance_of_a_sender_is_a_million_ether() {
        assert_eq!(SENDER_BALANCE, U256::from(10).pow(U256::from(24)));
    }
}
