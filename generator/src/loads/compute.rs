//! Plans work without state: hashes, powers, pairings or plain arithmetic, as many rounds as the
//! scenario sets or the gas allows.

use alloy_primitives::Address;

use super::{
    calls::{Call, Script, Size},
    solidity::{calldata, word},
};
use crate::{artifact::Contract, error::GeneratorError, planner::Touched, senders::Senders};
use spec::{Compute, Work};

/// Calls of one of the functions of `Compute`.
#[derive(Debug)]
pub(crate) struct Computations {
    contract: Address,
    signature: &'static str,
    /// Precompiles that the function calls: accounts that do not exist.
    precompiles: &'static [u8],
    size: Size,
}

impl Computations {
    /// Calls of the contract at `contract`.
    pub(crate) fn new(compute: &Compute, contract: Address) -> Self {
        let (signature, precompiles) = match compute.work {
            Work::Keccak => ("hash(uint256)", &[][..]),
            Work::Modexp => ("modexp(uint256)", &[5][..]),
            Work::Pairing => ("pairing(uint256)", &[6, 7, 8][..]),
            Work::Loop => ("loop(uint256)", &[][..]),
        };
        let size = Size::new("rounds", compute.round_count);
        Self { contract, signature, precompiles, size }
    }
}

impl Script for Computations {
    type Form = ();

    fn name(&self) -> &'static str {
        Contract::Compute.name()
    }

    fn size(&self) -> Size {
        self.size
    }

    fn call(
        &self,
        turn: u64,
        size: u64,
        senders: &mut Senders<'_>,
    ) -> Result<Call<()>, GeneratorError> {
        let absent =
            self.precompiles.iter().map(|number| Address::with_last_byte(*number)).collect();
        Ok(Call {
            sender: senders.in_turn(turn),
            to: Some(self.contract),
            input: calldata(self.signature, &[word(size)]),
            touched: Touched { absent, ..Touched::default() },
            ..Call::default()
        })
    }
}
