//! Files of go-ethereum's transition tool (`evm t8n`): pre-state (`alloc`), environment (`env`),
//! transactions (`txs`) and, where there is one, the tool's `result`. The tool derives some
//! values from the parent; here the block's own are wanted.

use std::collections::BTreeMap;

use alloy_consensus::Header;
use alloy_primitives::{B256, U256};
use serde_json::Value;
use workload::{Batch, Block, BlockEnv, Fork, Genesis, Workload};

use super::{
    ImportError, Imported, ImportedBlock, Source,
    node::{self, Node},
    read, rules, signed_transactions,
};

/// A file's text, and the name that errors use.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// Name, such as its path.
    pub name: &'a str,
    /// Its content.
    pub text: &'a str,
}

impl Text<'_> {
    pub(super) fn json(self) -> Result<Value, ImportError> {
        node::parse(self.name, self.text)
    }
}

/// The files of a block.
#[derive(Clone, Copy, Debug)]
pub struct TransitionFiles<'a> {
    /// The state before the block.
    pub alloc: Text<'a>,
    /// Its environment.
    pub env: Text<'a>,
    /// Its transactions: a JSON array, or a JSON text with their RLP in hex.
    pub txs: Text<'a>,
    /// The tool's result.
    pub result: Option<Text<'a>>,
}

/// Reads a block under `fork` on chain `chain_id`. The expected outcome in the workload's batch is
/// still empty: see [`super::complete`].
///
/// # Errors
/// [`ImportError`] with file, key, value and the allowed values.
pub fn transition(
    files: TransitionFiles<'_>,
    fork: Fork,
    chain_id: u64,
) -> Result<Imported, ImportError> {
    let (alloc, env, txs) = (files.alloc.json()?, files.env.json()?, files.txs.json()?);
    let accounts = read::accounts(&Node::root(files.alloc.name, &alloc))?;
    let account_count = accounts.len();
    let accounts: Vec<_> = accounts.into_iter().filter(read::is_there).collect();
    let left_out_count = account_count - accounts.len();
    if let Some(missing) = read::missing_system_contracts(&accounts, fork) {
        return Err(ImportError::State { file: files.alloc.name.to_owned(), missing });
    }
    let env = Node::root(files.env.name, &env);
    let number = env.get(&["currentNumber"], "the block's number")?;
    let (first_hash_number, block_hashes) = block_hashes(&env, &number)?;
    let number = number.u64()?;
    let parent_hash = block_hashes[block_hashes.len() - 1];
    let transactions = read::transactions(&Node::root(files.txs.name, &txs), chain_id)?;
    let withdrawals = read::withdrawals(&env.items_at("withdrawals")?)?;
    let block = Block {
        env: block_env(&env, number, parent_hash, fork)?,
        transactions: transactions.all,
        withdrawals: withdrawals.all,
    };
    check_parent(&env, &block.env, fork)?;
    let mut said = match files.result {
        Some(file) => said(&Node::root(file.name, &file.json()?), &block.env)?,
        None => ImportedBlock::default(),
    };
    (said.signed, said.made_withdrawals_root) = (transactions.signed, withdrawals.root);
    for (what, is_stated, is_computed) in [
        ("state root", said.state_root.is_some(), left_out_count == 0),
        ("transactions root", said.txs_root.is_some(), said.signed.is_some()),
        ("withdrawals root", said.withdrawals_root.is_some(), withdrawals.root.is_some()),
    ] {
        if is_stated && !is_computed {
            said.not_compared.push(what);
        }
    }
    // The tool's root is that of all accounts of the file.
    said.state_root = said.state_root.filter(|_| left_out_count == 0);
    let blocks = vec![said];
    let name = format!("block-{number}");
    let workload = Workload {
        scenario: name.clone(),
        rules: fork.into(),
        chain_id,
        genesis: Genesis { accounts, ..Genesis::default() },
        first_hash_number,
        block_hashes,
        signed_transactions: signed_transactions(&blocks),
        batches: vec![Batch { blocks: vec![block], ..Batch::default() }],
        ..Workload::default()
    };
    Ok(Imported {
        name,
        workload,
        blocks,
        post_state: None,
        source: Source::Files,
        invalid: Vec::new(),
        notes: Vec::new(),
        compared: Vec::new(),
    })
}

fn block_env(
    env: &Node<'_>,
    number: u64,
    parent_hash: B256,
    fork: Fork,
) -> Result<BlockEnv, ImportError> {
    const DERIVED: &str =
        "the block's own value; where the transition tool derived it, its result file has it";
    const FIELD: &str = "the value that blocks of this fork have";
    if let Some(difficulty) = env.find(&["currentDifficulty"])?
        && difficulty.u256()? != U256::ZERO
    {
        return Err(difficulty.fault("0x0: blocks since the Merge have no difficulty"));
    }
    if !env.items_at("ommers")?.is_empty() {
        return Err(env.fault("no ommers: blocks since the Merge have none"));
    }
    if let Some(said) = env.find(&["parentHash"])?
        && said.b256()? != parent_hash
    {
        return Err(said.fault(format!("{parent_hash}, as in blockHashes")));
    }
    let (mut excess_blob_gas, mut parent_beacon_root) = (0, B256::ZERO);
    if fork.is_from(Fork::Cancun) {
        let excess = env.get(&["currentExcessBlobGas"], DERIVED)?.u64()?;
        excess_blob_gas = read::excess_blob_gas(env, excess, fork.blob_schedule())?;
        parent_beacon_root = env.get(&["parentBeaconBlockRoot"], FIELD)?.b256()?;
    }
    let slot_number = match fork.is_from(Fork::Amsterdam) {
        true => env.get(&["slotNumber"], FIELD)?.u64()?,
        false => env.u64_at("slotNumber")?.unwrap_or_default(),
    };
    if !fork.is_from(Fork::Shanghai)
        && let Some(withdrawals) = env.find(&["withdrawals"])?
    {
        return Err(withdrawals.fault(format!("no withdrawals: blocks of {fork} have none")));
    }
    Ok(BlockEnv {
        number,
        timestamp: env.get(&["currentTimestamp"], FIELD)?.u64()?,
        beneficiary: env.get(&["currentCoinbase"], FIELD)?.address()?,
        gas_limit: read::gas_limit(env, env.get(&["currentGasLimit"], FIELD)?.u64()?, fork)?,
        base_fee: env.get(&["currentBaseFee"], DERIVED)?.u64()?,
        prev_randao: B256::from(env.get(&["currentRandom"], FIELD)?.u256()?),
        excess_blob_gas,
        slot_number,
        parent_hash,
        parent_beacon_root,
    })
}

/// Checks `block` against its parent, as far as the environment says what that was.
fn check_parent(env: &Node<'_>, block: &BlockEnv, fork: Fork) -> Result<(), ImportError> {
    let header = Header {
        timestamp: block.timestamp,
        gas_limit: block.gas_limit,
        base_fee_per_gas: Some(block.base_fee),
        excess_blob_gas: Some(block.excess_blob_gas),
        ..Header::default()
    };
    let timestamp = env.u64_at("parentTimestamp")?;
    let (gas_limit, gas_used) = (env.u64_at("parentGasLimit")?, env.u64_at("parentGasUsed")?);
    let base_fee_per_gas = env.u64_at("parentBaseFee")?;
    let parent = Header {
        timestamp: timestamp.unwrap_or(0),
        gas_limit: gas_limit.unwrap_or(0),
        gas_used: gas_used.unwrap_or(0),
        base_fee_per_gas,
        excess_blob_gas: env.u64_at("parentExcessBlobGas")?,
        blob_gas_used: env.u64_at("parentBlobGasUsed")?,
        ..Header::default()
    };
    let has_gas = gas_limit.and(gas_used).and(base_fee_per_gas).is_some();
    let has_blobs = parent.excess_blob_gas.and(parent.blob_gas_used).and(base_fee_per_gas);
    let known = [
        timestamp.map(|_| rules::check_timestamp(&header, &parent)),
        gas_limit.map(|_| rules::check_gas_limit(&header, &parent)),
        has_gas.then(|| rules::check_base_fee(&header, &parent)),
        has_blobs.map(|_| rules::check_excess_blob_gas(&header, &parent, &fork.into())),
    ];
    let checked: Result<(), _> = known.into_iter().flatten().collect();
    checked.map_err(|fault| fault.of_block(block.number))
}

/// Number of the first hash that is given, and the hashes from there to the parent's.
fn block_hashes(env: &Node<'_>, number: &Node<'_>) -> Result<(u64, Vec<B256>), ImportError> {
    let current = number.u64()?;
    let Some(parent) = current.checked_sub(1) else {
        return Err(number.fault("1 or more: the genesis block is not run"));
    };
    let given = env.get(&["blockHashes"], "the hashes of the parent and of those before it")?;
    let mut hashes = BTreeMap::new();
    for (key, hash) in given.entries()? {
        let number = hash.u256_of_key(key)?;
        let number = u64::try_from(number).ok().filter(|number| *number <= parent);
        let number =
            number.ok_or_else(|| hash.fault(format!("the hash of a block before {current:#x}")))?;
        hashes.insert(number, hash.b256()?);
    }
    if !hashes.contains_key(&parent) {
        return Err(
            given.missing(&format!("{parent:#x}"), "the parent's hash (EIP-2935 stores it)")
        );
    }
    let mut next = None;
    for number in hashes.keys().copied() {
        if let Some(next) = next.filter(|next| *next != number) {
            let wanted = "consecutive hashes up to the parent's: add this one, or take out those \
                          before it where no code asks for them";
            return Err(given.missing(&format!("{next:#x}"), wanted));
        }
        next = Some(number + 1);
    }
    let first = hashes.keys().next().copied().unwrap_or(parent);
    Ok((first, hashes.into_values().collect()))
}

/// The content of a result file.
fn said(result: &Node<'_>, env: &BlockEnv) -> Result<ImportedBlock, ImportError> {
    if !result.items_at("rejected")?.is_empty() {
        let rejected = result.get(&["rejected"], "")?;
        return Err(rejected.fault(
            "no rejected transactions: take them out of the transactions and run the tool again",
        ));
    }
    if let Some(exception) = result.find(&["blockException"])? {
        return Err(exception.fault("no exception: only a valid block is imported"));
    }
    for (key, of_env) in
        [("currentBaseFee", env.base_fee), ("currentExcessBlobGas", env.excess_blob_gas)]
    {
        if let Some(said) = result.find(&[key])?
            && said.u64()? != of_env
        {
            return Err(said.fault(format!("{of_env:#x}, as in the environment")));
        }
    }
    let list = result.find(&["blockAccessList"])?.map(|list| list.block_access_list());
    let receipts = result.find(&["receipts"])?;
    let bloom = result.find(&["logsBloom"])?;
    let bloom = bloom.map(|bloom| bloom.bloom()).transpose()?;
    Ok(ImportedBlock {
        gas_used: result.u64_at("gasUsed")?,
        blob_gas_used: result.u64_at("blobGasUsed")?,
        receipts: receipts.as_ref().map(read::receipts).transpose()?,
        receipts_root: result.b256_at("receiptsRoot")?,
        logs_bloom: bloom,
        logs_hash: result.b256_at("logsHash")?,
        txs_root: result.b256_at("txRoot")?,
        withdrawals_root: result.b256_at("withdrawalsRoot")?,
        state_root: result.b256_at("stateRoot")?,
        requests_hash: result.b256_at("requestsHash")?,
        list_hash: result.b256_at("blockAccessListHash")?,
        lists: list.transpose()?.into_iter().collect(),
        ..ImportedBlock::default()
    })
}
