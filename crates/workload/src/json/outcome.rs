//! The expected outcome of a batch as JSON.

use alloy_primitives::B256;
use serde::{Serialize, Serializer};

use crate::{
    block::BatchOutcome,
    outcome::{TxOutcome, TxStatus},
};

#[derive(Serialize)]
pub(super) struct Expected<'a> {
    #[serde(serialize_with = "transactions")]
    transactions: &'a [TxOutcome],
    net_changes: &'a B256,
    header_gas: &'a [u64],
}

impl<'a> Expected<'a> {
    pub(super) fn of(expected: &'a BatchOutcome) -> Self {
        let BatchOutcome { transactions, net_changes, header_gas } = expected;
        Self { transactions, net_changes, header_gas }
    }
}

#[derive(Serialize)]
struct OutcomeJson {
    status: &'static str,
    gas_used: u64,
    logs: B256,
    output: B256,
}

fn transactions<S: Serializer>(all: &&[TxOutcome], serializer: S) -> Result<S::Ok, S::Error> {
    let of = |outcome: &TxOutcome| OutcomeJson {
        status: match outcome.status {
            TxStatus::Success => "success",
            TxStatus::Revert => "revert",
            TxStatus::Halt => "halt",
        },
        gas_used: outcome.gas_used,
        logs: outcome.logs,
        output: outcome.output,
    };
    serializer.collect_seq(all.iter().map(of))
}
