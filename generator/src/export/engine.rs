//! Writes a chain as calls of the Engine API, one JSON-RPC call a line. Each block and each of its
//! siblings has two calls: a new payload, then an update of the forkchoice.

use std::{io::Write, num::NonZeroU64};

use alloy_primitives::{B256, Bytes};
use alloy_rpc_types_engine::{ExecutionPayloadV3, ExecutionPayloadV4, ForkchoiceState};
use serde::Serialize;
use serde_json::Value;

use super::{block::ChainBlock, chain::Chain, error::ExportError};

/// A payload in the form of its call's version.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Payload {
    /// Before Amsterdam.
    V3(ExecutionPayloadV3),
    /// From Amsterdam on: with list and slot number.
    V4(ExecutionPayloadV4),
}

/// Parameters of `engine_newPayloadV4` and V5: payload, hashes of blobs, beacon root, requests.
pub(super) type NewPayload = (Payload, Vec<B256>, B256, Vec<Bytes>);

/// A JSON-RPC call.
#[derive(Serialize)]
struct Call<P> {
    jsonrpc: &'static str,
    id: u64,
    method: &'static str,
    params: P,
}

/// Versions of the two calls for a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Versions {
    pub(super) new_payload: u8,
    pub(super) forkchoice_updated: u8,
}

impl Versions {
    pub(super) const fn new(block: &ChainBlock) -> Self {
        match block.list {
            Some(_) => Self { new_payload: 5, forkchoice_updated: 4 },
            None => Self { new_payload: 4, forkchoice_updated: 3 },
        }
    }

    const fn methods(self) -> (&'static str, &'static str) {
        match self.new_payload {
            5 => ("engine_newPayloadV5", "engine_forkchoiceUpdatedV4"),
            _ => ("engine_newPayloadV4", "engine_forkchoiceUpdatedV3"),
        }
    }
}

/// The parameters of the call that sends `block` to a client.
pub(super) fn new_payload(block: &ChainBlock) -> NewPayload {
    let payload = match &block.list {
        Some(list) => Payload::V4(ExecutionPayloadV4::from_block_unchecked_with_bal(
            block.hash,
            &block.block,
            list.clone(),
        )),
        None => Payload::V3(ExecutionPayloadV3::from_block_unchecked(block.hash, &block.block)),
    };
    let beacon_root = block.block.header.parent_beacon_block_root.unwrap_or_default();
    (payload, block.blob_hashes(), beacon_root, block.requests.clone())
}

/// Writes the calls. The siblings of a block come before the block itself, so that the head is on
/// the chain when the next block comes. No block is finalized: a client may leave a sibling's
/// branch.
///
/// # Errors
/// Where writing fails.
pub fn payloads(
    chain: &Chain,
    sibling_count: NonZeroU64,
    out: &mut impl Write,
) -> Result<(), ExportError> {
    let mut id = 1;
    for block in &chain.blocks {
        for index in (0..sibling_count.get()).rev() {
            payload(&block.sibling(index), id, out)?;
            id += 2;
        }
    }
    Ok(())
}

/// Writes the two calls that send `block` to a client and make it the head. The first call has this
/// `id`, the second the next one.
///
/// # Errors
/// Where writing fails.
pub fn payload(block: &ChainBlock, id: u64, out: &mut impl Write) -> Result<(), ExportError> {
    let (new, update) = Versions::new(block).methods();
    let state = ForkchoiceState { head_block_hash: block.hash, ..Default::default() };
    line(out, id, new, new_payload(block))?;
    line(out, id + 1, update, (state, Value::Null))
}

/// Writes one call.
fn line(
    out: &mut impl Write,
    id: u64,
    method: &'static str,
    params: impl Serialize,
) -> Result<(), ExportError> {
    serde_json::to_writer(&mut *out, &Call { jsonrpc: "2.0", id, method, params })?;
    Ok(out.write_all(b"\n")?)
}
