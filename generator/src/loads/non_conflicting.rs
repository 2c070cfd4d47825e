//! Plans transactions from distinct senders. Each destroys a unit of its sender's tokens and logs
//! that. On request it also lowers the total supply, which all transactions share.

use alloy_primitives::U256;
use workload::Genesis;

use super::{
    prices::{Callee, SameCall},
    solidity::{calldata, of_account, word},
};
use crate::{
    artifact::Contract,
    error::GeneratorError,
    holders::{holder_count, slots_of_holders},
    planner::{PlannedTx, Planner, Room, fitting_count},
    senders::{Members, Senders},
    state::{LoadGenesis, TOKEN_BALANCE, add_only},
};
use spec::{BlockTarget, NonConflicting as Spec, Scenario};

/// Storage slot of the mapping of balances in `Supply`.
const BALANCES: u64 = 0;
/// Slot of the total supply in `Supply`.
const SUPPLY_KEY: U256 = U256::ONE;

/// Adds the token, with a balance for each account that can have a slot.
pub(crate) fn place(
    scenario: &Scenario,
    tag: &str,
    genesis: &mut Genesis,
) -> Result<LoadGenesis, GeneratorError> {
    let holder_count = holder_count(scenario);
    let mut slots = slots_of_holders(&genesis.senders[0], holder_count, |_, holder| {
        [(of_account(holder, BALANCES), TOKEN_BALANCE)]
    })?;
    slots.push((SUPPLY_KEY, TOKEN_BALANCE * U256::from(holder_count)));
    add_only(tag, Contract::Supply, slots, genesis)
}

/// Plans calls of `spend(uint256)`, or of `burn(uint256)`.
#[derive(Debug)]
pub(crate) struct NonConflicting {
    call: SameCall,
    members: Members,
    /// Number of transactions so far.
    tx_count: u64,
}

impl NonConflicting {
    /// Calls of `callee` by `members`, who all hold its token.
    pub(crate) fn new(
        spec: &Spec,
        members: Members,
        callee: Callee,
        senders: &mut Senders<'_>,
    ) -> Result<Self, GeneratorError> {
        let function = if spec.changes_supply { "burn(uint256)" } else { "spend(uint256)" };
        let input = calldata(function, &[word(1)]);
        let call = SameCall::new(Contract::Supply, callee, input, senders)?;
        Ok(Self { call, members, tx_count: 0 })
    }
}

impl Planner for NonConflicting {
    fn begin(&mut self, budget: BlockTarget) -> Result<(), GeneratorError> {
        self.members.check(fitting_count(budget, self.call.cost))
    }

    fn next(
        &mut self,
        room: Room,
        _: &mut Senders<'_>,
    ) -> Result<Option<PlannedTx>, GeneratorError> {
        let tx = self.call.by(self.members.at(self.tx_count), room);
        self.tx_count += u64::from(tx.is_some());
        Ok(tx)
    }

    fn useful_gas(&self) -> u64 {
        self.call.useful_gas()
    }
}
