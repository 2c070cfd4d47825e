//! Blocks and transactions as JSON.

use alloy_primitives::{Address, B256, Bytes, U256};
use serde::{Serialize, Serializer};

use crate::block::{Authorization, Block, BlockEnv, Transaction, TxType, Withdrawal};

#[derive(Serialize)]
pub(super) struct BlockJson<'a> {
    env: EnvJson<'a>,
    #[serde(serialize_with = "transactions")]
    transactions: &'a [Transaction],
    #[serde(serialize_with = "withdrawals")]
    withdrawals: &'a [Withdrawal],
}

impl<'a> BlockJson<'a> {
    pub(super) fn of(block: &'a Block) -> Self {
        let Block { env, transactions, withdrawals } = block;
        Self { env: EnvJson::of(env), transactions, withdrawals }
    }
}

#[derive(Serialize)]
struct EnvJson<'a> {
    number: u64,
    timestamp: u64,
    beneficiary: &'a Address,
    gas_limit: u64,
    base_fee: u64,
    prev_randao: &'a B256,
    excess_blob_gas: u64,
    slot_number: u64,
    parent_hash: &'a B256,
    parent_beacon_root: &'a B256,
}

impl<'a> EnvJson<'a> {
    const fn of(env: &'a BlockEnv) -> Self {
        Self {
            number: env.number,
            timestamp: env.timestamp,
            beneficiary: &env.beneficiary,
            gas_limit: env.gas_limit,
            base_fee: env.base_fee,
            prev_randao: &env.prev_randao,
            excess_blob_gas: env.excess_blob_gas,
            slot_number: env.slot_number,
            parent_hash: &env.parent_hash,
            parent_beacon_root: &env.parent_beacon_root,
        }
    }
}

fn transactions<S: Serializer>(all: &&[Transaction], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(all.iter().map(TransactionJson::of))
}

fn withdrawals<S: Serializer>(all: &&[Withdrawal], serializer: S) -> Result<S::Ok, S::Error> {
    let of = |withdrawal: &Withdrawal| WithdrawalJson {
        address: withdrawal.address,
        amount_gwei: withdrawal.amount_gwei,
    };
    serializer.collect_seq(all.iter().map(of))
}

#[derive(Serialize)]
struct WithdrawalJson {
    address: Address,
    amount_gwei: u64,
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
    #[serde(serialize_with = "authorizations")]
    authorizations: &'a [Authorization],
}

impl<'a> TransactionJson<'a> {
    fn of(tx: &'a Transaction) -> Self {
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

fn authorizations<S: Serializer>(all: &&[Authorization], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Item<'a> {
        chain_id: U256,
        address: &'a Address,
        nonce: u64,
        authority: Option<&'a Address>,
    }
    fn of(tuple: &Authorization) -> Item<'_> {
        let Authorization { chain_id, address, nonce, authority } = tuple;
        Item { chain_id: *chain_id, address, nonce: *nonce, authority: authority.as_ref() }
    }
    serializer.collect_seq(all.iter().map(of))
}
