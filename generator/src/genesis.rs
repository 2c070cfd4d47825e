//! Builds the genesis of a scenario: the accounts and slots that `[state]` and the loads need. It
//! is independent of `[block]`, so blocks of any size run on the same state database.

use alloy_primitives::U256;
use evm::system;
use spec::{Load, LoadKind, Scenario};
use workload::{Genesis, GenesisAccount, SenderFamily};

use crate::{
    environment::BENEFICIARY,
    error::GeneratorError,
    loads::{self, LoadSite},
    state::{SENDER_BALANCE, State, first_secret},
};

/// Wei of the beneficiary, 1 ether: not zero, since an empty account would not survive (EIP-161).
const BENEFICIARY_BALANCE: U256 = U256::from_limbs([1_000_000_000_000_000_000, 0, 0, 0]);

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
        let site = LoadSite { scenario, index, seed, slot_count };
        loads.push(loads::place(&site, &mut genesis)?);
    }
    genesis.accounts.sort_unstable_by_key(|account| account.address);
    Ok(State { genesis, loads })
}

/// The share of the state's slots that a load gets: its share among the loads that have slots.
pub(crate) fn slot_share(scenario: &Scenario, load: usize) -> f64 {
    let asking = scenario.loads.iter().filter(|load| asks_slots(load));
    match (asks_slots(&scenario.loads[load]), scenario.loads.iter().all(asks_slots)) {
        (false, _) => 0.0,
        (true, true) => scenario.loads[load].share,
        (true, false) => scenario.loads[load].share / asking.map(|load| load.share).sum::<f64>(),
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
            | LoadKind::Bloated(_)
    )
}

/// Divides the state's slots among the loads by their shares. The last load with slots gets the
/// rest.
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
