//! Transactions that all read and write one slot. If they touch it last, after some work of their
//! own, nothing of the slot can be done in parallel, and all of the work can; if they touch it
//! first, the work depends on the slot, and nothing can.

use alloy_primitives::{Address, Bytes, U256};
use spec::Touch;
use workload::Genesis;

use super::{
    prices::Callee,
    solidity::{calldata, word},
};
use crate::{
    artifact::Contract,
    error::GeneratorError,
    people::People,
    planner::{PlannedTx, Planner, Room},
    probe::{Cost, Probe},
    state::{Placed, add_only},
};

/// Adds the contract with the slot in common.
pub(crate) fn place(tag: &str, genesis: &mut Genesis) -> Result<Placed, GeneratorError> {
    add_only(tag, Contract::OneSlot, vec![(U256::ZERO, U256::ONE)], genesis)
}

/// Plans calls of `mix(uint256)` or `mixFirst(uint256)`.
#[derive(Debug)]
pub(crate) struct OneSlot {
    contract: Address,
    input: Bytes,
    cost: Cost,
}

impl OneSlot {
    /// Calls of `contract`, as `load` says.
    pub(crate) fn new(
        Callee { contract, fork }: Callee,
        load: &spec::OneSlot,
        people: &mut People<'_>,
    ) -> Result<Self, GeneratorError> {
        let function = match load.touch {
            Touch::First => "mixFirst(uint256)",
            Touch::Last => "mix(uint256)",
        };
        let input = calldata(function, &[word(load.work)]);
        let probe = Probe::new(Contract::OneSlot, fork, people.address(0)?, contract)?;
        Ok(Self { contract, cost: probe.cost(&input)?, input })
    }
}

impl Planner for OneSlot {
    fn next(
        &mut self,
        room: Room,
        people: &mut People<'_>,
    ) -> Result<Option<PlannedTx>, GeneratorError> {
        let Cost { gas, refund } = self.cost;
        if gas + refund > room.gas_limit {
            return Ok(None);
        }
        Ok(Some(PlannedTx {
            gas_limit: gas + refund,
            gas,
            refund,
            sender: people.in_turn(room.turn),
            to: Some(self.contract),
            input: self.input.clone(),
            ..PlannedTx::default()
        }))
    }

    fn useful_gas(&self) -> u64 {
        self.cost.gas + self.cost.refund
    }
}
