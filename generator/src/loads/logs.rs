//! Plans logs of 0 to 4 topics, as many in a transaction as the scenario sets or the gas allows.

use alloy_primitives::Address;

use super::{
    calls::{Call, Script, Size},
    solidity::{calldata, word},
};
use crate::{artifact::Contract, error::GeneratorError, senders::Senders};
use spec::Logs;

/// Calls of `write(uint256,uint256,uint256)`.
#[derive(Debug)]
pub(crate) struct LogWrites {
    contract: Address,
    logs: Logs,
}

impl LogWrites {
    /// Calls of the contract at `contract`.
    pub(crate) const fn new(logs: Logs, contract: Address) -> Self {
        Self { contract, logs }
    }
}

impl Script for LogWrites {
    type Form = ();

    fn name(&self) -> &'static str {
        Contract::Logs.name()
    }

    fn size(&self) -> Size {
        Size::new("logs", self.logs.log_count)
    }

    fn call(
        &self,
        turn: u64,
        size: u64,
        senders: &mut Senders<'_>,
    ) -> Result<Call<()>, GeneratorError> {
        let words = [word(size), word(self.logs.topic_count), word(self.logs.data_bytes)];
        Ok(Call {
            sender: senders.in_turn(turn),
            to: Some(self.contract),
            input: calldata("write(uint256,uint256,uint256)", &words),
            ..Call::default()
        })
    }
}
