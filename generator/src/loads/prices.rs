//! Prices of a load's transactions. The gas of a transaction depends only on its form: facts that
//! the load knows, and the number of nonzero bytes of calldata. Stock revm runs the first
//! transaction of each form. Also plans loads that always make the same call.

use std::{collections::HashMap, hash::Hash};

use alloy_primitives::{Address, Bytes};
use workload::Fork;

use crate::{
    artifact::Contract,
    error::GeneratorError,
    meter::nonzero_count,
    planner::{PlannedTx, Planner, Room},
    probe::{Cost, Probe},
    senders::Senders,
};

/// The contract that transactions of a load call, and the rules they run under.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callee {
    pub(crate) contract: Address,
    pub(crate) fork: Fork,
}

/// Prices by form. `F` is the load's own part of the form.
#[derive(Debug)]
pub(crate) struct Prices<F> {
    of_form: HashMap<(F, u64), Cost>,
}

impl<F: Copy + Eq + Hash> Prices<F> {
    /// A table without prices.
    pub(crate) fn new() -> Self {
        Self { of_form: HashMap::new() }
    }

    /// The price of a transaction of `form` with `input`. `probe` runs the first such transaction.
    pub(crate) fn price(
        &mut self,
        form: F,
        probe: &Probe,
        input: &Bytes,
    ) -> Result<Cost, GeneratorError> {
        let key = (form, nonzero_count(input));
        if let Some(cost) = self.of_form.get(&key) {
            return Ok(*cost);
        }
        let cost = probe.cost(input)?;
        self.of_form.insert(key, cost);
        Ok(cost)
    }
}

/// Plans the same call again and again. Senders take turns.
#[derive(Debug)]
pub(crate) struct SameCall {
    contract: Address,
    input: Bytes,
    pub(crate) cost: Cost,
}

impl SameCall {
    /// Calls of `callee`, which has the code of `contract`, with `input`.
    pub(crate) fn new(
        contract: Contract,
        callee: Callee,
        input: Bytes,
        senders: &mut Senders<'_>,
    ) -> Result<Self, GeneratorError> {
        let probe = Probe::new(contract, callee.fork, senders.address(0)?, callee.contract)?;
        Ok(Self { contract: callee.contract, cost: probe.cost(&input)?, input })
    }

    /// The call by `sender`; `None` where it does not fit in `room`.
    pub(crate) fn by(&self, sender: u64, room: Room) -> Option<PlannedTx> {
        (self.cost.limit() <= room.gas_limit).then(|| PlannedTx {
            sender,
            to: Some(self.contract),
            input: self.input.clone(),
            ..PlannedTx::priced(self.cost)
        })
    }
}

impl Planner for SameCall {
    fn next(
        &mut self,
        room: Room,
        senders: &mut Senders<'_>,
    ) -> Result<Option<PlannedTx>, GeneratorError> {
        Ok(self.by(senders.in_turn(room.turn), room))
    }

    fn useful_gas(&self) -> u64 {
        self.cost.limit()
    }
}
