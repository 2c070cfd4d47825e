//! Prices of transactions by their form, which is all that their gas depends on: the first of each
//! form is run on stock revm, the others cost the same.

use std::{collections::HashMap, hash::Hash};

use alloy_primitives::{Address, Bytes};
use workload::Fork;

use crate::{
    error::GeneratorError,
    probe::{Cost, Probe},
};

/// The contract that transactions of a load call, and the rules they run under.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callee {
    pub(crate) contract: Address,
    pub(crate) fork: Fork,
}

/// Prices by form: the load's own part of it, and the bytes of calldata that are not zero.
#[derive(Debug)]
pub(crate) struct Prices<F> {
    of_form: HashMap<(F, usize), Cost>,
}

impl<F: Copy + Eq + Hash> Prices<F> {
    /// No price yet.
    pub(crate) fn new() -> Self {
        Self { of_form: HashMap::new() }
    }

    /// The price of a transaction of `form` with `input`; `probe` runs it if it is the first.
    pub(crate) fn price(
        &mut self,
        form: F,
        probe: &Probe,
        input: &Bytes,
    ) -> Result<Cost, GeneratorError> {
        let form = (form, input.iter().filter(|byte| **byte != 0).count());
        if let Some(cost) = self.of_form.get(&form) {
            return Ok(*cost);
        }
        let cost = probe.cost(input)?;
        self.of_form.insert(form, cost);
        Ok(cost)
    }
}
