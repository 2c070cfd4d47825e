//! Reads headers as JSON of execution-spec-tests and of nodes, and blocks as RLP. From a header and
//! a body it makes the block to run, and the outcome that the header states. Tests, chains, nodes
//! and witnesses are imported through it. The RLP of a block has its header, transactions, ommers
//! and withdrawals. A block-level access list may follow, as in go-ethereum's exports.

use alloy_consensus::Header;
use alloy_primitives::Bytes;
use alloy_rlp::{Decodable, EMPTY_LIST_CODE, Encodable, Error};
use workload::{Block, ChainRules, Fork, block::BlockEnv, rules::MAX_RLP_BLOCK_BYTES};

use super::{
    ImportError, ImportedBlock,
    json::Json,
    read::{self, field_or_block},
};

/// Transactions and withdrawals of a block.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub(super) transactions: read::Transactions,
    pub(super) withdrawals: read::Withdrawals,
}

impl Body {
    /// Reads the body whose transactions and withdrawals are keys of `node`.
    pub(super) fn new(node: &Json<'_>, chain_id: u64) -> Result<Self, ImportError> {
        let transactions = match node.find(&["transactions"])? {
            Some(transactions) => read::signed_transactions(&transactions, chain_id)?,
            None => read::Transactions { all: Vec::new(), signed: Some(Vec::new()) },
        };
        Ok(Self { transactions, withdrawals: withdrawals(node)? })
    }
}

/// Reads the withdrawals of the block at `node`. Each withdrawal must have all its fields.
pub(super) fn withdrawals(node: &Json<'_>) -> Result<read::Withdrawals, ImportError> {
    let nodes = node.items_at("withdrawals")?;
    for withdrawal in &nodes {
        withdrawal.get(&["index"], WITHDRAWAL)?;
        withdrawal.get(&["validatorIndex"], WITHDRAWAL)?;
    }
    read::withdrawals(&nodes)
}

/// Allowed value of a field that every withdrawal has, for errors.
const WITHDRAWAL: &str = "a number, which the root of withdrawals is made of (EIP-4895)";
/// Allowed value of a field that every header has, for errors.
const HEADER_VALUE: &str = "the value that every header has";

/// Reads the header at `node`.
pub(super) fn header(node: &Json<'_>) -> Result<Header, ImportError> {
    Ok(Header {
        parent_hash: node.get(&["parentHash"], HEADER_VALUE)?.b256()?,
        ommers_hash: node.get(&["uncleHash", "sha3Uncles"], HEADER_VALUE)?.b256()?,
        beneficiary: node.get(&["coinbase", "miner"], HEADER_VALUE)?.address()?,
        state_root: node.get(&["stateRoot"], HEADER_VALUE)?.b256()?,
        transactions_root: node
            .get(&["transactionsTrie", "transactionsRoot"], HEADER_VALUE)?
            .b256()?,
        receipts_root: node.get(&["receiptTrie", "receiptsRoot"], HEADER_VALUE)?.b256()?,
        logs_bloom: node.get(&["bloom", "logsBloom"], HEADER_VALUE)?.bloom()?,
        difficulty: node.get(&["difficulty"], HEADER_VALUE)?.u256()?,
        number: node.get(&["number"], HEADER_VALUE)?.u64()?,
        gas_limit: node.get(&["gasLimit"], HEADER_VALUE)?.u64()?,
        gas_used: node.get(&["gasUsed"], HEADER_VALUE)?.u64()?,
        timestamp: node.get(&["timestamp"], HEADER_VALUE)?.u64()?,
        extra_data: node.get(&["extraData"], HEADER_VALUE)?.bytes()?,
        mix_hash: node.get(&["mixHash"], HEADER_VALUE)?.b256()?,
        nonce: node.get(&["nonce"], HEADER_VALUE)?.b64()?,
        base_fee_per_gas: node.u64_at("baseFeePerGas")?,
        withdrawals_root: node.b256_at("withdrawalsRoot")?,
        blob_gas_used: node.u64_at("blobGasUsed")?,
        excess_blob_gas: node.u64_at("excessBlobGas")?,
        parent_beacon_block_root: node.b256_at("parentBeaconBlockRoot")?,
        requests_hash: node.b256_at("requestsHash")?,
        block_access_list_hash: node.b256_at("blockAccessListHash")?,
        slot_number: node.u64_at("slotNumber")?,
    })
}

/// Returns the first fork whose headers have the same fields as `header`.
pub(super) const fn first_fork(header: &Header) -> Fork {
    match header {
        Header { block_access_list_hash: Some(_), .. } => Fork::Amsterdam,
        Header { requests_hash: Some(_), .. } => Fork::Prague,
        Header { parent_beacon_block_root: Some(_), .. } => Fork::Cancun,
        Header { withdrawals_root: Some(_), .. } => Fork::Shanghai,
        _ => Fork::Paris,
    }
}

/// Checks that the block at `node` lists no ommers.
pub(super) fn check_no_ommers(node: &Json<'_>) -> Result<(), ImportError> {
    match node.find(&["uncleHeaders", "uncles"])? {
        Some(ommers) if !ommers.items()?.is_empty() => {
            Err(ommers.fault("no ommers: blocks since the Merge have none"))
        }
        _ => Ok(()),
    }
}

/// Makes the block of `header` and `body`, and the outcome that the header gives. Errors name
/// fields of `node`.
pub(super) fn block(
    node: &Json<'_>,
    header: Header,
    body: Body,
    rules: &ChainRules,
) -> Result<(Block, ImportedBlock), ImportError> {
    let env = env(node, &header, rules)?;
    let bytes = rlp_bytes(&header, &body).filter(|_| rules.fork.is_from(Fork::Osaka));
    if let Some(bytes) = bytes.filter(|bytes| *bytes > MAX_RLP_BLOCK_BYTES) {
        let reason =
            format!("its RLP has {bytes} bytes; {MAX_RLP_BLOCK_BYTES} are allowed (EIP-7934)");
        return Err(ImportError::Block { block: header.number, reason });
    }
    let said = ImportedBlock {
        gas_used: Some(header.gas_used),
        blob_gas_used: header.blob_gas_used,
        receipts_root: Some(header.receipts_root),
        logs_bloom: Some(header.logs_bloom),
        txs_root: Some(header.transactions_root),
        withdrawals_root: header.withdrawals_root,
        state_root: Some(header.state_root),
        requests_hash: header.requests_hash,
        list_hash: header.block_access_list_hash,
        signed: body.transactions.signed,
        computed_withdrawals_root: body.withdrawals.root,
        header: Some(header),
        ..ImportedBlock::default()
    };
    let (transactions, withdrawals) = (body.transactions.all, body.withdrawals.all);
    Ok((Block { env, transactions, withdrawals }, said))
}

/// Returns the length of a block's RLP in bytes; `None` if a transaction is not signed, or a
/// withdrawal lacks a field.
fn rlp_bytes(header: &Header, body: &Body) -> Option<usize> {
    let transactions = body.transactions.signed.as_ref()?.iter().map(|tx| match tx.first() {
        // A transaction of type 0 is an RLP list; others are in a byte string.
        Some(first) if *first >= EMPTY_LIST_CODE => tx.len(),
        _ => tx.length(),
    });
    let withdrawals = body.withdrawals.root.map(|_| body.withdrawals.rlp_bytes)?;
    let ommers = Vec::<Header>::new().length();
    let parts = [header.length(), list_bytes(transactions.sum()), ommers, withdrawals];
    Some(list_bytes(parts.into_iter().sum()))
}

/// Returns the length in bytes of an RLP list whose items have `payload_length` bytes together.
fn list_bytes(payload_length: usize) -> usize {
    alloy_rlp::Header { list: true, payload_length }.length_with_payload()
}

/// Checks that `header` has exactly the fields of its fork. Returns the environment that code sees
/// in the block.
fn env(node: &Json<'_>, header: &Header, rules: &ChainRules) -> Result<BlockEnv, ImportError> {
    let fork = rules.fork;
    let allowed = format!("the value that headers of {fork} have");
    for (key, since, is_there) in [
        ("withdrawalsRoot", Fork::Shanghai, header.withdrawals_root.is_some()),
        ("blobGasUsed", Fork::Cancun, header.blob_gas_used.is_some()),
        ("excessBlobGas", Fork::Cancun, header.excess_blob_gas.is_some()),
        ("parentBeaconBlockRoot", Fork::Cancun, header.parent_beacon_block_root.is_some()),
        ("requestsHash", Fork::Prague, header.requests_hash.is_some()),
        ("blockAccessListHash", Fork::Amsterdam, header.block_access_list_hash.is_some()),
        ("slotNumber", Fork::Amsterdam, header.slot_number.is_some()),
    ] {
        match (is_there, fork.is_from(since)) {
            (true, false) => {
                let rule = format!("no {key}: headers of {fork} have none");
                return Err(field_or_block(node, &[key])?.fault(rule));
            }
            (false, true) => return Err(node.missing(key, allowed)),
            (true, true) | (false, false) => {}
        }
    }
    Ok(BlockEnv {
        number: header.number,
        timestamp: header.timestamp,
        beneficiary: header.beneficiary,
        gas_limit: read::gas_limit(node, header.gas_limit, fork)?,
        base_fee: header
            .base_fee_per_gas
            .ok_or_else(|| node.missing("baseFeePerGas", &*allowed))?,
        prev_randao: header.mix_hash,
        excess_blob_gas: read::excess_blob_gas(
            node,
            header.excess_blob_gas.unwrap_or_default(),
            rules.blobs,
        )?,
        slot_number: header.slot_number.unwrap_or_default(),
        parent_hash: header.parent_hash,
        parent_beacon_root: header.parent_beacon_block_root.unwrap_or_default(),
    })
}

/// The decoded parts of a block in RLP.
pub(super) struct RlpBlock {
    pub(super) header: Header,
    pub(super) body: Body,
    /// Headers of the block's ommers, which only blocks before the Merge have.
    pub(super) ommers: Vec<Header>,
    /// The block-level access list behind the other parts, if there is one.
    pub(super) list: Option<Bytes>,
}

impl RlpBlock {
    /// Makes the block to run under `rules`, and the outcome that the header gives. Errors name
    /// `node`.
    pub(super) fn under(
        self,
        node: &Json<'_>,
        rules: &ChainRules,
    ) -> Result<(Block, ImportedBlock), ImportError> {
        let Self { header, body, ommers, list } = self;
        if !ommers.is_empty() {
            return Err(fault(
                node,
                "its ommers",
                Error::Custom("blocks since the Merge have none"),
            ));
        }
        let (block, mut said) = block(node, header, body, rules)?;
        if list.is_some() && !rules.fork.is_from(Fork::Amsterdam) {
            let (fork, has_withdrawals) = (rules.fork, rules.fork.is_from(Fork::Shanghai));
            let last = if has_withdrawals { "withdrawals" } else { "ommers" };
            return Err(
                node.fault(format!("the RLP of a block of {fork}, which ends with its {last}"))
            );
        }
        said.lists.extend(list);
        Ok((block, said))
    }
}

/// Decodes the block whose RLP is the text at `node`, on chain `chain_id`.
pub(super) fn decode_block(node: &Json<'_>, chain_id: u64) -> Result<RlpBlock, ImportError> {
    decode_bytes(node, &node.bytes()?, chain_id)
}

/// Decodes the block of this RLP, on chain `chain_id`. Errors name `node`.
pub(super) fn decode_bytes(
    node: &Json<'_>,
    mut rest: &[u8],
    chain_id: u64,
) -> Result<RlpBlock, ImportError> {
    let mut items = list_items(&mut rest).map_err(|e| fault(node, "the block", e))?;
    if !rest.is_empty() {
        return Err(fault(node, "the block", Error::Custom("bytes follow it")));
    }
    let header = Header::decode(&mut items).map_err(|e| fault(node, "its header", e))?;
    let transactions = list_items(&mut items).map_err(|e| fault(node, "its transactions", e))?;
    let transactions = read::decoded_transactions(node, transactions, chain_id)?;
    let ommers = Vec::decode(&mut items).map_err(|e| fault(node, "its ommers", e))?;
    // Blocks before Shanghai have no list of withdrawals (EIP-4895).
    let withdrawals = match header.withdrawals_root {
        None => read::Withdrawals::default(),
        Some(_) => {
            let all = Vec::decode(&mut items).map_err(|e| fault(node, "its withdrawals", e))?;
            read::Withdrawals::new(&all)
        }
    };
    let list = (!items.is_empty()).then(|| Bytes::copy_from_slice(items));
    Ok(RlpBlock { header, body: Body { transactions, withdrawals }, ommers, list })
}

/// Makes the error for a fault in the part `what` of the block whose RLP is at `node`.
fn fault(node: &Json<'_>, what: &str, error: Error) -> ImportError {
    node.fault(format!(
        "the RLP of a block: header, transactions, ommers, withdrawals; {what}: {error}"
    ))
}

/// Reads the next RLP list, and returns its items.
fn list_items<'a>(from: &mut &'a [u8]) -> alloy_rlp::Result<&'a [u8]> {
    alloy_rlp::Header::decode_bytes(from, true)
}
