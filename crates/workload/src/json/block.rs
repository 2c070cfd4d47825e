//! Blocks, transactions and expected outcomes as JSON.

use alloy_primitives::{Address, B256, Bytes, U256};
use serde::{Serialize, Serializer};

use crate::{
    block::{Authorization, BatchOutcome, Block, BlockEnv, Transaction, TxType, Withdrawal},
    outcome::{TxOutcome, TxStatus},
};

#[derive(Serialize)]
pub(super) struct BlockJson<'a> {
    env: &'a BlockEnv,
    #[serde(serialize_with = "transactions")]
    transactions: &'a [Transaction],
    withdrawals: &'a [Withdrawal],
}

impl<'a> BlockJson<'a> {
    pub(super) fn new(block: &'a Block) -> Self {
        let Block { env, transactions, withdrawals } = block;
        Self { env, transactions, withdrawals }
    }
}

fn transactions<S: Serializer>(all: &&[Transaction], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(all.iter().map(TransactionJson::new))
}

#[derive(Serialize)]
struct TransactionJson<'a> {
    r#type: u8,
    sender: &'a Address,
    nonce: u64,
    gas_limit: u64,
    max_fee_per_gas: U256,
    max_priority_fee_per_gas: U256,
    to: Option<&'a Address>,
    value: U256,
    input: &'a Bytes,
    #[serde(serialize_with = "access_list")]
    access_list: &'a [(Address, Vec<B256>)],
    blob_hashes: &'a [B256],
    max_fee_per_blob_gas: U256,
    authorizations: &'a [Authorization],
}

impl<'a> TransactionJson<'a> {
    fn new(tx: &'a Transaction) -> Self {
        Self {
            r#type: match tx.tx_type {
                TxType::Legacy => 0,
                TxType::AccessList => 1,
                TxType::DynamicFee => 2,
                TxType::Blob => 3,
                TxType::SetCode => 4,
            },
            sender: &tx.sender,
            nonce: tx.nonce,
            gas_limit: tx.gas_limit,
            max_fee_per_gas: U256::from(tx.max_fee_per_gas),
            max_priority_fee_per_gas: U256::from(tx.max_priority_fee_per_gas),
            to: tx.to.as_ref(),
            value: tx.value,
            input: &tx.input,
            access_list: &tx.access_list,
            blob_hashes: &tx.blob_hashes,
            max_fee_per_blob_gas: U256::from(tx.max_fee_per_blob_gas),
            authorizations: &tx.authorizations,
        }
    }
}

fn access_list<S: Serializer>(
    list: &&[(Address, Vec<B256>)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Item<'a> {
        address: &'a Address,
        slots: &'a [B256],
    }
    serializer.collect_seq(list.iter().map(|(address, slots)| Item { address, slots }))
}

#[derive(Serialize)]
pub(super) struct Expected<'a> {
    #[serde(serialize_with = "outcomes")]
    transactions: &'a [TxOutcome],
    net_changes: &'a B256,
    header_gas: &'a [u64],
}

impl<'a> Expected<'a> {
    pub(super) fn new(expected: &'a BatchOutcome) -> Self {
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

fn outcomes<S: Serializer>(all: &&[TxOutcome], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(all.iter().map(|outcome| OutcomeJson {
        status: match outcome.status {
            TxStatus::Success => "success",
            TxStatus::Revert => "revert",
            TxStatus::Halt => "halt",
        },
        gas_used: outcome.gas_used,
        logs: outcome.logs,
        output: outcome.output,
    }))
}
