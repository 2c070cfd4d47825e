//! Plans transactions that all read and write one slot. If the slot comes last, all other work can
//! run in parallel. If it comes first, the work depends on the slot, and nothing can run in
//! parallel.

use alloy_primitives::U256;
use spec::Touch;
use workload::Genesis;

use super::{
    prices::{Callee, SameCall},
    solidity::{calldata, word},
};
use crate::{
    artifact::Contract,
    error::GeneratorError,
    senders::Senders,
    state::{LoadGenesis, add_only},
};

/// Adds the contract with the shared slot.
pub(crate) fn place(tag: &str, genesis: &mut Genesis) -> Result<LoadGenesis, GeneratorError> {
    add_only(tag, Contract::OneSlot, vec![(U256::ZERO, U256::ONE)], genesis)
}

/// Calls of `mix(uint256)` or `mixFirst(uint256)` of `callee`, as `load` says.
pub(crate) fn calls(
    callee: Callee,
    load: &spec::OneSlot,
    senders: &mut Senders<'_>,
) -> Result<SameCall, GeneratorError> {
    let function = match load.touch {
        Touch::First => "mixFirst(uint256)",
        Touch::Last => "mix(uint256)",
    };
    SameCall::new(Contract::OneSlot, callee, calldata(function, &[word(load.work)]), senders)
}
