//! Headers, in the dialects of execution-spec-tests and of nodes: the block's environment, and
//! the outcome in the header. And blocks as both write them, header with body.

use workload::{Block, Fork, block::BlockEnv};

use super::{ImportError, ImportedBlock, node::Node, read};

/// The block of this header, with the transactions and withdrawals that `body` has, and the outcome
/// in its header.
pub(super) fn block(
    header: &Node<'_>,
    body: &Node<'_>,
    fork: Fork,
    chain_id: u64,
) -> Result<(Block, ImportedBlock), ImportError> {
    let mut said = said(header)?;
    let transactions = match body.find(&["transactions"])? {
        Some(transactions) => read::transactions(&transactions, chain_id)?,
        None => read::Transactions::none(),
    };
    let (withdrawals, root) = read::withdrawals(&body.items_at("withdrawals")?)?;
    (said.signed, said.made_withdrawals_root) = (transactions.signed, root);
    let env = env(header, fork)?;
    Ok((Block { env, transactions: transactions.all, withdrawals }, said))
}

/// The environment that code sees in the block with this header.
fn env(header: &Node<'_>, fork: Fork) -> Result<BlockEnv, ImportError> {
    let of = |keys: &[&str]| header.get(keys, "the value that headers of this fork have");
    Ok(BlockEnv {
        number: of(&["number"])?.u64()?,
        timestamp: of(&["timestamp"])?.u64()?,
        beneficiary: of(&["coinbase", "miner"])?.address()?,
        gas_limit: read::gas_limit(&of(&["gasLimit"])?)?,
        base_fee: of(&["baseFeePerGas"])?.u64()?,
        prev_randao: of(&["mixHash"])?.b256()?,
        excess_blob_gas: read::excess_blob_gas(&of(&["excessBlobGas"])?, fork)?,
        slot_number: match fork {
            Fork::Amsterdam => of(&["slotNumber"])?.u64()?,
            Fork::Osaka | Fork::Bpo1 | Fork::Bpo2 => header.u64_or_zero("slotNumber")?,
        },
        parent_hash: of(&["parentHash"])?.b256()?,
        parent_beacon_root: of(&["parentBeaconBlockRoot"])?.b256()?,
    })
}

/// The content of a header.
fn said(header: &Node<'_>) -> Result<ImportedBlock, ImportError> {
    let hash = |keys: &[&str]| header.find(keys)?.map(|hash| hash.b256()).transpose();
    let number = |key| header.find(&[key])?.map(|number| number.u64()).transpose();
    let bloom = header.find(&["bloom", "logsBloom"])?;
    Ok(ImportedBlock {
        gas_used: number("gasUsed")?,
        blob_gas_used: number("blobGasUsed")?,
        receipts_root: hash(&["receiptTrie", "receiptsRoot"])?,
        logs_bloom: bloom.map(|bloom| bloom.bloom()).transpose()?,
        txs_root: hash(&["transactionsTrie", "transactionsRoot"])?,
        withdrawals_root: hash(&["withdrawalsRoot"])?,
        state_root: hash(&["stateRoot"])?,
        list_hash: hash(&["blockAccessListHash"])?,
        ..ImportedBlock::default()
    })
}
