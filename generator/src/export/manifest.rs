//! `export.json`: the contents of an exported directory, for programs.

use std::num::NonZeroU64;

use alloy_primitives::B256;
use serde::Serialize;

use super::{block::ChainBlock, chain::Chain, grown::GrownFacts};

/// Name and version of the schema. A change that programs must know raises the version.
const SCHEMA: &str = "stress-export/1";

/// The contents of an export.
#[derive(Debug, Serialize)]
pub struct Manifest {
    schema: &'static str,
    scenario: String,
    /// Digest of the workload.
    workload: B256,
    fork: &'static str,
    chain_id: u64,
    genesis_hash: B256,
    /// Root of the state in the genesis block.
    state_root: B256,
    /// Number of accounts in the genesis block.
    account_count: u64,
    /// Number of slots in the genesis block.
    slot_count: u64,
    /// Blocks that grow the state, between the genesis block and `blocks`; `null` where no block
    /// does.
    grown: Option<GrownFacts>,
    sibling_count: u64,
    /// Number of transactions with another outcome than in the workload.
    differing_tx_count: u64,
    blocks: Vec<BlockEntry>,
    files: Vec<String>,
}

/// A block of the chain.
#[derive(Debug, Serialize)]
struct BlockEntry {
    number: u64,
    hash: B256,
    /// Root of the state after the block.
    state_root: B256,
    tx_count: usize,
    gas_used: u64,
    base_fee: u64,
    /// Length of the list in bytes; `null` before Amsterdam.
    list_bytes: Option<usize>,
    /// Hashes of the block's siblings, in the order of `payloads.txt`. The block itself is the
    /// last.
    sibling_hashes: Vec<B256>,
}

impl BlockEntry {
    fn new(block: &ChainBlock, sibling_count: NonZeroU64) -> Self {
        let header = &block.block.header;
        let siblings = (0..sibling_count.get()).rev();
        Self {
            number: header.number,
            hash: block.hash,
            state_root: header.state_root,
            tx_count: block.block.body.transactions.len(),
            gas_used: header.gas_used,
            base_fee: header.base_fee_per_gas.unwrap_or(0),
            list_bytes: block.list.as_ref().map(|list| list.len()),
            sibling_hashes: siblings.map(|index| block.sibling_hash(index)).collect(),
        }
    }
}

/// The manifest of `chain`, exported with `sibling_count` siblings of each block into `files`.
pub fn manifest(chain: &Chain, sibling_count: NonZeroU64, files: Vec<String>) -> Manifest {
    Manifest {
        schema: SCHEMA,
        scenario: chain.scenario.clone(),
        workload: chain.workload,
        fork: chain.rules.fork.name(),
        chain_id: chain.chain_id,
        genesis_hash: chain.genesis_hash,
        state_root: chain.genesis_header.state_root,
        account_count: chain.genesis.account_count(),
        slot_count: chain.genesis.slot_count(),
        grown: chain.grown,
        sibling_count: sibling_count.get(),
        differing_tx_count: chain.differing_tx_count,
        blocks: chain.blocks.iter().map(|block| BlockEntry::new(block, sibling_count)).collect(),
        files,
    }
}
