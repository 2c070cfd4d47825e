//! Reads a payload of the Engine API: most fields of a header, and transactions as bytes. The rest
//! of the header follows from the other parameters of `engine_newPayload`. The header's hash is
//! compared with the payload's. `payloads.rs` and `blockchain_test.rs` call this.

use std::ops::RangeInclusive;

use alloy_consensus::{EMPTY_OMMER_ROOT_HASH, Header, proofs};
use alloy_eips::eip7685::Requests;
use alloy_primitives::{B64, B256, U256, keccak256};
use workload::{Block, ChainRules, Fork};

use super::{
    ImportError, ImportedBlock,
    header::{self, Body},
    json::Json,
    read,
};

/// Allowed value of a field that every payload has, for errors.
pub(super) const PAYLOAD_VALUE: &str = "the value that every payload has";
/// Names of the parameters of `engine_newPayload` beside the payload.
const HASHES: &str = "expectedBlobVersionedHashes";
const BEACON_ROOT: &str = "parentBeaconBlockRoot";
const REQUESTS: &str = "executionRequests";

/// The parameters of `engine_newPayload` beside the payload; `None` for a parameter that the call
/// does not have.
#[derive(Clone, Debug)]
pub(super) struct PayloadParams<'a> {
    versioned_hashes: Option<Json<'a>>,
    beacon_root: Option<Json<'a>>,
    requests: Option<Json<'a>>,
}

impl<'a> PayloadParams<'a> {
    /// Splits the parameters of `engine_newPayload` into the payload, which is the first, and the
    /// others.
    pub(super) fn from_params(params: &Json<'a>) -> Result<(Json<'a>, Self), ImportError> {
        const ALL: &str = "payload, hashes of blobs, beacon root, requests";
        let mut items = params.items()?;
        if items.is_empty() || items.len() > 4 {
            return Err(params.fault(ALL));
        }
        let payload = items.remove(0);
        let mut items = items.into_iter().map(|node| (!node.is_null()).then_some(node));
        let mut next = || items.next().flatten();
        let payload_params =
            Self { versioned_hashes: next(), beacon_root: next(), requests: next() };
        Ok((payload, payload_params))
    }

    /// Reads the parameters from keys of `node`. The keys are the names that the Engine API gives
    /// to the parameters.
    pub(super) fn from_keys(node: &Json<'a>) -> Result<Self, ImportError> {
        Ok(Self {
            versioned_hashes: node.find(&[HASHES])?,
            beacon_root: node.find(&[BEACON_ROOT])?,
            requests: node.find(&[REQUESTS])?,
        })
    }
}

/// Returns the versions of `engine_newPayload` that take payloads of `fork`.
pub(super) fn versions(fork: Fork) -> RangeInclusive<u64> {
    match fork {
        Fork::Paris => 1..=2,
        Fork::Shanghai => 2..=2,
        Fork::Cancun => 3..=3,
        Fork::Prague | Fork::Osaka | Fork::Bpo1 | Fork::Bpo2 => 4..=4,
        Fork::Amsterdam => 5..=5,
    }
}

/// Reads the block of the payload at `node` on chain `chain_id`, and the outcome that the payload
/// gives.
pub(super) fn block(
    node: &Json<'_>,
    payload_params: &PayloadParams<'_>,
    chain_id: u64,
    rules: &ChainRules,
) -> Result<(Block, ImportedBlock), ImportError> {
    check_fields(node, payload_params, rules.fork)?;
    let transactions = node.get(&["transactions"], "the list that every payload has")?;
    let transactions = read::encoded_transactions(&transactions, chain_id)?;
    let body = Body { transactions, withdrawals: header::withdrawals(node)? };
    let list = node.find(&["blockAccessList"])?.map(|list| list.block_access_list()).transpose()?;
    let header = Header {
        withdrawals_root: node.find(&["withdrawals"])?.and(body.withdrawals.root),
        transactions_root: proofs::ordered_trie_root_encoded(
            body.transactions.signed.as_deref().unwrap_or_default(),
        ),
        parent_beacon_block_root: payload_params
            .beacon_root
            .as_ref()
            .map(Json::b256)
            .transpose()?,
        requests_hash: payload_params.requests.as_ref().map(requests_hash).transpose()?,
        block_access_list_hash: list.as_ref().map(keccak256),
        ..fields(node)?
    };
    let hash = header.hash_slow();
    node.get(&["blockHash"], PAYLOAD_VALUE)?.check_b256(hash, "the hash of this payload")?;
    let (block, mut said) = header::block(node, header, body, rules)?;
    if let Some(hashes) = &payload_params.versioned_hashes {
        check_versioned_hashes(hashes, &block)?;
        said.compared.push("versioned hashes");
    }
    said.hash = Some(hash);
    said.lists.extend(list);
    Ok((block, said))
}

/// Checks that the payload at `node` and its call have exactly the fields and parameters of `fork`.
fn check_fields(
    node: &Json<'_>,
    payload_params: &PayloadParams<'_>,
    fork: Fork,
) -> Result<(), ImportError> {
    let mut missing = Vec::new();
    for (key, since, found) in [
        ("withdrawals", Fork::Shanghai, node.find(&["withdrawals"])?),
        ("blobGasUsed", Fork::Cancun, node.find(&["blobGasUsed"])?),
        ("excessBlobGas", Fork::Cancun, node.find(&["excessBlobGas"])?),
        (HASHES, Fork::Cancun, payload_params.versioned_hashes.clone()),
        (BEACON_ROOT, Fork::Cancun, payload_params.beacon_root.clone()),
        (REQUESTS, Fork::Prague, payload_params.requests.clone()),
        ("blockAccessList", Fork::Amsterdam, node.find(&["blockAccessList"])?),
        ("slotNumber", Fork::Amsterdam, node.find(&["slotNumber"])?),
    ] {
        match (found, fork.is_from(since)) {
            (None, true) => missing.push(key),
            (Some(found), false) => {
                return Err(found.fault(format!("no {key}: payloads of {fork} have none")));
            }
            (Some(_), true) | (None, false) => {}
        }
    }
    match missing.is_empty() {
        true => Ok(()),
        false => {
            let rule = format!("a payload and a call of {fork}, which have {}", missing.join(", "));
            Err(node.missing(missing[0], rule))
        }
    }
}

/// Reads the fields of a header that the payload at `node` has.
fn fields(node: &Json<'_>) -> Result<Header, ImportError> {
    Ok(Header {
        parent_hash: node.get(&["parentHash"], PAYLOAD_VALUE)?.b256()?,
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        beneficiary: node.get(&["feeRecipient"], PAYLOAD_VALUE)?.address()?,
        state_root: node.get(&["stateRoot"], PAYLOAD_VALUE)?.b256()?,
        receipts_root: node.get(&["receiptsRoot"], PAYLOAD_VALUE)?.b256()?,
        logs_bloom: node.get(&["logsBloom"], PAYLOAD_VALUE)?.bloom()?,
        difficulty: U256::ZERO,
        number: node.get(&["blockNumber"], PAYLOAD_VALUE)?.u64()?,
        gas_limit: node.get(&["gasLimit"], PAYLOAD_VALUE)?.u64()?,
        gas_used: node.get(&["gasUsed"], PAYLOAD_VALUE)?.u64()?,
        timestamp: timestamp(node)?,
        extra_data: node.get(&["extraData"], PAYLOAD_VALUE)?.bytes()?,
        mix_hash: node.get(&["prevRandao"], PAYLOAD_VALUE)?.b256()?,
        nonce: B64::ZERO,
        base_fee_per_gas: Some(node.get(&["baseFeePerGas"], PAYLOAD_VALUE)?.u64()?),
        blob_gas_used: node.u64_at("blobGasUsed")?,
        excess_blob_gas: node.u64_at("excessBlobGas")?,
        slot_number: node.u64_at("slotNumber")?,
        ..Header::default()
    })
}

/// Reads the timestamp of the payload at `node`, which decides its fork.
pub(super) fn timestamp(node: &Json<'_>) -> Result<u64, ImportError> {
    node.get(&["timestamp"], PAYLOAD_VALUE)?.u64()
}

/// Computes the hash of the requests at `node` (EIP-7685).
fn requests_hash(node: &Json<'_>) -> Result<B256, ImportError> {
    let requests = node.items()?.iter().map(Json::bytes).collect::<Result<Vec<_>, _>>()?;
    let is_sorted = requests.is_sorted_by(|a, b| a.first() < b.first());
    if !is_sorted || requests.iter().any(|request| request.len() < 2) {
        return Err(node.fault("requests, each its type and data, by ascending type (EIP-7685)"));
    }
    Ok(Requests::new(requests).requests_hash())
}

/// Checks that the hashes at `node` are the blob hashes of the block's transactions.
fn check_versioned_hashes(node: &Json<'_>, block: &Block) -> Result<(), ImportError> {
    let said = node.items()?.iter().map(Json::b256).collect::<Result<Vec<_>, _>>()?;
    let made = block.transactions.iter().flat_map(|tx| tx.blob_hashes.iter());
    match made.clone().eq(&said) {
        true => Ok(()),
        false => {
            let count = made.count();
            Err(node.fault(format!("the {count} versioned hashes of the transactions, in order")))
        }
    }
}
