//! Imports blocks that others have made: the `blockchain_test` JSON format of
//! execution-spec-tests. Blocks are taken as valid; who checks invalid ones is a client, not
//! this tool.

mod authority;
mod json;

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use workload::{
    Batch, Block, BlockEnv, Fork, Genesis, GenesisAccount, NetChanges, Transaction, TxType,
    Withdrawal, Workload, block::Authorization,
};

/// A test of a file, as a workload with one block a batch, and with what the file says of the
/// blocks. What is expected in the workload's batches is still empty: see
/// [`crate::reference::complete`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Name of the test.
    pub name: String,
    /// Genesis and blocks.
    pub workload: Workload,
    /// Per block, what the file says of it.
    pub blocks: Vec<ImportedBlock>,
    /// The file's state after the last block, by ascending address.
    pub post_state: Vec<GenesisAccount>,
}

/// What a file says of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedBlock {
    /// Gas used in the header's sense.
    pub gas_used: u64,
    /// Keccak-256 of the list's RLP (EIP-7928); `None` before Amsterdam.
    pub list_hash: Option<B256>,
    /// The list's RLP, where the file has it.
    pub list: Option<Bytes>,
}

/// Why a file cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is not JSON of the format.
    #[error("this is no blockchain_test JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Its fork is not among those that workloads have.
    #[error("test {test}: fork {network:?} is not supported; Amsterdam and Osaka are")]
    Fork {
        /// The test.
        test: String,
        /// The fork it names.
        network: String,
    },
    /// A field's value is out of its range, or a transaction lacks one that its type needs.
    #[error("test {test}, block {block}: {field} is {value}, which is not supported")]
    Value {
        /// The test.
        test: String,
        /// Place of the block in the test, 0-based.
        block: usize,
        /// The field.
        field: &'static str,
        /// Its value.
        value: String,
    },
}

/// Reads all tests of a file, by name.
///
/// # Errors
/// [`ImportError`] with the test, the block and the field.
pub fn blockchain_tests(json: &str) -> Result<Vec<Imported>, ImportError> {
    let file: json::TestFile = serde_json::from_str(json)?;
    file.into_iter().map(|(name, test)| import(name, test)).collect()
}

fn import(name: String, test: json::Test) -> Result<Imported, ImportError> {
    let fork = match test.network.as_str() {
        "Amsterdam" => Fork::Amsterdam,
        "Osaka" => Fork::Osaka,
        _ => return Err(ImportError::Fork { test: name, network: test.network }),
    };
    let first_hash_number = test.genesis_block_header.number.to();
    let mut block_hashes = vec![test.genesis_block_header.hash];
    let (mut batches, mut blocks) = (Vec::new(), Vec::new());
    let single_list = test.info.bal_rlp.filter(|_| test.blocks.len() == 1);
    for (place, from) in test.blocks.into_iter().enumerate() {
        let at = At { test: &name, block: place };
        block_hashes.push(from.block_header.hash);
        blocks.push(ImportedBlock {
            gas_used: from.block_header.gas_used.to(),
            list_hash: from.block_header.block_access_list_hash,
            list: single_list.clone(),
        });
        batches.push(Batch { blocks: vec![block(&at, from)?], ..Batch::default() });
    }
    let workload = Workload {
        scenario: name.clone(),
        fork,
        chain_id: test.config.map_or(1, |config| config.chainid.saturating_to()),
        genesis: Genesis { accounts: accounts(test.pre), ..Genesis::default() },
        first_hash_number,
        block_hashes,
        batches,
        ..Workload::default()
    };
    Ok(Imported { workload, blocks, post_state: accounts(test.post_state), name })
}

fn accounts(from: BTreeMap<Address, json::Account>) -> Vec<GenesisAccount> {
    let account = |(address, from): (Address, json::Account)| GenesisAccount {
        address,
        nonce: from.nonce.to(),
        balance: from.balance,
        code: from.code,
        storage: from.storage.into_iter().filter(|(_, value)| !value.is_zero()).collect(),
    };
    from.into_iter().map(account).collect()
}

/// Where in a file something is.
struct At<'a> {
    test: &'a str,
    block: usize,
}

impl At<'_> {
    fn fault(&self, field: &'static str, value: impl ToString) -> ImportError {
        let (test, value) = (self.test.to_owned(), value.to_string());
        ImportError::Value { test, block: self.block, field, value }
    }

    /// A wei amount per gas.
    fn fee(&self, field: &'static str, value: Option<U256>) -> Result<u128, ImportError> {
        let value = value.ok_or_else(|| self.fault(field, "missing"))?;
        u128::try_from(value).map_err(|_| self.fault(field, value))
    }
}

fn block(at: &At<'_>, from: json::TestBlock) -> Result<Block, ImportError> {
    let header = from.block_header;
    let env = BlockEnv {
        number: header.number.to(),
        timestamp: header.timestamp.to(),
        beneficiary: header.coinbase,
        gas_limit: header.gas_limit.to(),
        base_fee: header.base_fee_per_gas.to(),
        prev_randao: header.mix_hash,
        excess_blob_gas: header.excess_blob_gas.to(),
        slot_number: header.slot_number.to(),
        parent_hash: header.parent_hash,
        parent_beacon_root: header.parent_beacon_block_root,
    };
    let transactions = from.transactions.unwrap_or_default();
    let withdrawal = |from: json::TestWithdrawal| Withdrawal {
        address: from.address,
        amount_gwei: from.amount.to(),
    };
    Ok(Block {
        env,
        transactions: transactions
            .into_iter()
            .map(|tx| transaction(at, tx))
            .collect::<Result<_, _>>()?,
        withdrawals: from.withdrawals.unwrap_or_default().into_iter().map(withdrawal).collect(),
    })
}

fn transaction(at: &At<'_>, from: json::Tx) -> Result<Transaction, ImportError> {
    let tx_type = match from.tx_type.to::<u64>() {
        0 => TxType::Legacy,
        1 => TxType::AccessList,
        2 => TxType::DynamicFee,
        3 => TxType::Blob,
        4 => TxType::SetCode,
        other => return Err(at.fault("type", other)),
    };
    let (max_fee_per_gas, max_priority_fee_per_gas) = match tx_type {
        TxType::Legacy | TxType::AccessList => (at.fee("gasPrice", from.gas_price)?, 0),
        TxType::DynamicFee | TxType::Blob | TxType::SetCode => (
            at.fee("maxFeePerGas", from.max_fee_per_gas)?,
            at.fee("maxPriorityFeePerGas", from.max_priority_fee_per_gas)?,
        ),
    };
    let max_fee_per_blob_gas = match tx_type {
        TxType::Blob => at.fee("maxFeePerBlobGas", from.max_fee_per_blob_gas)?,
        _ => 0,
    };
    let to = match from.to.as_deref() {
        None | Some("") => None,
        Some(text) => Some(text.parse().map_err(|_| at.fault("to", text))?),
    };
    let access_list = from.access_list.unwrap_or_default();
    let authorizations = from.authorization_list.unwrap_or_default();
    Ok(Transaction {
        tx_type,
        sender: from.sender,
        nonce: from.nonce.to(),
        gas_limit: from.gas_limit.to(),
        max_fee_per_gas,
        max_priority_fee_per_gas,
        to,
        value: from.value,
        input: from.data,
        access_list: access_list
            .into_iter()
            .map(|item| (item.address, item.storage_keys))
            .collect(),
        blob_hashes: from.blob_versioned_hashes.unwrap_or_default(),
        max_fee_per_blob_gas,
        authorizations: authorizations.iter().map(delegation).collect(),
    })
}

fn delegation(from: &json::Authorization) -> Authorization {
    Authorization {
        chain_id: from.chain_id,
        address: from.address,
        nonce: from.nonce.to(),
        authority: authority::recover(from),
    }
}

/// The state after `changes` on `genesis`, by ascending address. Only for a genesis that writes
/// all its accounts out; families are left as they are.
pub fn state_after(genesis: &Genesis, changes: &[NetChanges]) -> Vec<GenesisAccount> {
    let mut state: BTreeMap<Address, GenesisAccount> =
        genesis.accounts.iter().map(|account| (account.address, account.clone())).collect();
    for changes in changes {
        for (address, account) in &changes.accounts {
            let Some(row) = account else {
                state.remove(address);
                continue;
            };
            let at = state.entry(*address).or_default();
            (at.address, at.nonce, at.balance) = (*address, row.nonce, row.balance);
            if at.state().code_hash != row.code_hash {
                let place = changes.codes.binary_search_by_key(&row.code_hash, |(hash, _)| *hash);
                at.code =
                    place.map_or_else(|_| Bytes::new(), |place| changes.codes[place].1.clone());
                debug_assert_eq!(keccak256(&at.code), row.code_hash);
            }
        }
        for (address, key, value) in &changes.slots {
            let Some(at) = state.get_mut(address) else { continue };
            let place = at.storage.binary_search_by_key(key, |(key, _)| *key);
            match (place, value.is_zero()) {
                (Ok(place), true) => drop(at.storage.remove(place)),
                (Ok(place), false) => at.storage[place].1 = *value,
                (Err(_), true) => {}
                (Err(place), false) => at.storage.insert(place, (*key, *value)),
            }
        }
    }
    state.into_values().collect()
}
