//! Blocks and transactions as JSON.

use alloy_primitives::{Address, B256, Bytes, U256};
use serde::{Serialize, Serializer};

use crate::block::{Authorization, Block, BlockEnv, Transaction, TxType, Withdrawal};

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
    #[derive(Serialize)]
    struct Item<'a>(#[serde(with = "TransactionJson")] &'a Transaction);
    serializer.collect_seq(all.iter().map(Item))
}

#[derive(Serialize)]
#[serde(remote = "Transaction")]
struct TransactionJson {
    #[serde(rename = "type", serialize_with = "number")]
    tx_type: TxType,
    sender: Address,
    nonce: u64,
    gas_limit: u64,
    #[serde(serialize_with = "wide")]
    max_fee_per_gas: u128,
    #[serde(serialize_with = "wide")]
    max_priority_fee_per_gas: u128,
    to: Option<Address>,
    value: U256,
    input: Bytes,
    #[serde(serialize_with = "access_list")]
    access_list: Vec<(Address, Vec<B256>)>,
    blob_hashes: Vec<B256>,
    #[serde(serialize_with = "wide")]
    max_fee_per_blob_gas: u128,
    authorizations: Vec<Authorization>,
}

fn number<S: Serializer>(tx_type: &TxType, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u8(*tx_type as u8)
}

fn wide<S: Serializer>(fee: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    U256::from(*fee).serialize(serializer)
}

fn access_list<S: Serializer>(
    list: &[(Address, Vec<B256>)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Item<'a> {
        address: &'a Address,
        slots: &'a [B256],
    }
    serializer.collect_seq(list.iter().map(|(address, slots)| Item { address, slots }))
}
