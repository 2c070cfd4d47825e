//! A batch's block-level access list as JSON: its encoding, and its content.

use alloy_eip7928::{AccountChanges, BlockAccessList, SlotChanges};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_rlp::Decodable;
use serde::{Serialize, Serializer, ser::Error};

use crate::block::{Batch, ListSizes};

/// The list of a batch as JSON.
pub(super) struct ListJson<'a>(pub(super) &'a Batch);

impl Serialize for ListJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let encoded = &self.0.list;
        let mut rest = &encoded[..];
        let decoded = BlockAccessList::decode(&mut rest)
            .map_err(|error| S::Error::custom(format!("the list is not RLP of one: {error}")))?;
        if !rest.is_empty() {
            let error = format!("the list has {} bytes more than its RLP", rest.len());
            return Err(S::Error::custom(error));
        }
        let list = Whole {
            encoded,
            keccak256: keccak256(encoded),
            sizes: self.0.list_sizes,
            accounts: &decoded,
        };
        list.serialize(serializer)
    }
}

#[derive(Serialize)]
struct Whole<'a> {
    encoded: &'a Bytes,
    keccak256: B256,
    sizes: ListSizes,
    #[serde(serialize_with = "accounts")]
    accounts: &'a [AccountChanges],
}

#[derive(Serialize)]
struct AccountJson<'a> {
    address: &'a Address,
    #[serde(serialize_with = "slots")]
    storage_changes: &'a [SlotChanges],
    storage_reads: &'a [U256],
    balance_changes: Vec<Balance>,
    nonce_changes: Vec<Nonce>,
    code_changes: Vec<CodeJson<'a>>,
}

#[derive(Serialize)]
struct SlotJson {
    slot: U256,
    changes: Vec<Value>,
}

#[derive(Serialize)]
struct Value {
    index: u64,
    value: U256,
}

#[derive(Serialize)]
struct Balance {
    index: u64,
    balance: U256,
}

#[derive(Serialize)]
struct Nonce {
    index: u64,
    nonce: u64,
}

#[derive(Serialize)]
struct CodeJson<'a> {
    index: u64,
    code: &'a Bytes,
}

fn accounts<S: Serializer>(all: &&[AccountChanges], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(all.iter().map(account))
}

fn account(account: &AccountChanges) -> AccountJson<'_> {
    let balances = account
        .balance_changes
        .iter()
        .map(|change| Balance { index: change.block_access_index.0, balance: change.post_balance });
    let nonces = account
        .nonce_changes
        .iter()
        .map(|change| Nonce { index: change.block_access_index.0, nonce: change.new_nonce });
    let codes = account
        .code_changes
        .iter()
        .map(|change| CodeJson { index: change.block_access_index.0, code: &change.new_code });
    AccountJson {
        address: &account.address,
        storage_changes: &account.storage_changes,
        storage_reads: &account.storage_reads,
        balance_changes: balances.collect(),
        nonce_changes: nonces.collect(),
        code_changes: codes.collect(),
    }
}

fn slots<S: Serializer>(all: &&[SlotChanges], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(all.iter().map(|slot| {
        SlotJson {
            slot: slot.slot,
            changes: slot
                .changes
                .iter()
                .map(|change| Value { index: change.block_access_index.0, value: change.new_value })
                .collect(),
        }
    }))
}
