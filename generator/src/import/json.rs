//! The `blockchain_test` JSON format of execution-spec-tests, as far as it is read. Private:
//! the file format does not shape the workload.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, U64, U256};
use serde::Deserialize;

/// A file: tests by name.
pub(super) type TestFile = BTreeMap<String, Test>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Test {
    #[serde(rename = "_info", default)]
    pub(super) info: Info,
    pub(super) network: String,
    pub(super) config: Option<Config>,
    pub(super) genesis_block_header: Header,
    pub(super) pre: BTreeMap<Address, Account>,
    pub(super) post_state: BTreeMap<Address, Account>,
    pub(super) blocks: Vec<TestBlock>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Info {
    pub(super) bal_rlp: Option<Bytes>,
}

#[derive(Deserialize)]
pub(super) struct Config {
    pub(super) chainid: U256,
}

#[derive(Deserialize)]
pub(super) struct Account {
    pub(super) nonce: U64,
    pub(super) balance: U256,
    pub(super) code: Bytes,
    pub(super) storage: BTreeMap<U256, U256>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TestBlock {
    pub(super) block_header: Header,
    /// `null` where there are none.
    #[serde(default)]
    pub(super) transactions: Option<Vec<Tx>>,
    #[serde(default)]
    pub(super) withdrawals: Option<Vec<TestWithdrawal>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header {
    pub(super) number: U64,
    pub(super) timestamp: U64,
    pub(super) coinbase: Address,
    pub(super) gas_limit: U64,
    pub(super) gas_used: U64,
    pub(super) base_fee_per_gas: U64,
    pub(super) mix_hash: B256,
    #[serde(default)]
    pub(super) excess_blob_gas: U64,
    #[serde(default)]
    pub(super) slot_number: U64,
    pub(super) hash: B256,
    pub(super) parent_hash: B256,
    #[serde(default)]
    pub(super) parent_beacon_block_root: B256,
    pub(super) block_access_list_hash: Option<B256>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tx {
    #[serde(rename = "type", default)]
    pub(super) tx_type: U64,
    pub(super) sender: Address,
    pub(super) nonce: U64,
    pub(super) gas_limit: U64,
    pub(super) gas_price: Option<U256>,
    pub(super) max_fee_per_gas: Option<U256>,
    pub(super) max_priority_fee_per_gas: Option<U256>,
    /// Empty, or left out, to create a contract.
    #[serde(default)]
    pub(super) to: Option<String>,
    pub(super) value: U256,
    pub(super) data: Bytes,
    #[serde(default)]
    pub(super) access_list: Option<Vec<AccessItem>>,
    #[serde(default)]
    pub(super) blob_versioned_hashes: Option<Vec<B256>>,
    pub(super) max_fee_per_blob_gas: Option<U256>,
    #[serde(default)]
    pub(super) authorization_list: Option<Vec<Authorization>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AccessItem {
    pub(super) address: Address,
    pub(super) storage_keys: Vec<B256>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Authorization {
    pub(super) chain_id: U256,
    pub(super) address: Address,
    pub(super) nonce: U64,
    #[serde(alias = "v")]
    pub(super) y_parity: U256,
    pub(super) r: U256,
    pub(super) s: U256,
}

#[derive(Deserialize)]
pub(super) struct TestWithdrawal {
    pub(super) address: Address,
    pub(super) amount: U64,
}
