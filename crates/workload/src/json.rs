//! Writes a workload as JSON (`docs/contributing.md`), for executors of other projects. The writer
//! does not copy the workload, and holds at most one batch's decoded list at a time. This module
//! has its own types only where the format's keys or values differ from the workload's types.
//!
//! Keys stand in the order of the fields. Hashes, addresses and bytes are `0x` and two hexadecimal
//! digits for each byte. Integers above 64 bits are `0x` without leading zeros; the others are
//! numbers. `src/run/prepare/work.rs` calls it.

mod block;
mod genesis;
mod list;
mod state;

use alloy_primitives::{Address, B256, Bytes};
use serde::{Serialize, Serializer};

use crate::{
    block::{Batch, BatchOutcome, Plan, Workload},
    file::FORMAT_VERSION,
    fork::{ChainRules, ForkChange},
};

/// Schema of the JSON form. New keys do not change it; a new meaning of a key does.
pub const SCHEMA: &str = "stress.workload/1";

/// A workload that serialises as its JSON form, key by key, without being copied.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadJson<'a>(&'a Workload);

impl<'a> WorkloadJson<'a> {
    /// The JSON form of `workload`. Serialising fails where a plan does not fit the genesis, or
    /// where a list cannot be decoded.
    pub const fn new(workload: &'a Workload) -> Self {
        Self(workload)
    }
}

impl Serialize for WorkloadJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let workload = self.0;
        let whole = Whole {
            schema: SCHEMA,
            format_version: FORMAT_VERSION,
            digest: workload.digest(),
            scenario: &workload.scenario,
            work: &workload.work,
            seed: workload.seed,
            generator_version: workload.generator_version,
            fork: workload.rules.first.fork.name(),
            rules: workload.rules.first.into(),
            changes: workload.rules.changes.iter().copied().map(Change::from).collect(),
            chain_id: workload.chain_id,
            layout: workload.layout.name(),
            genesis: genesis::Recipe::new(&workload.genesis),
            first_hash_number: workload.first_hash_number,
            block_hashes: &workload.block_hashes,
            signed_transactions: &workload.signed_transactions,
            batches: workload,
        };
        whole.serialize(serializer)
    }
}

#[derive(Serialize)]
struct Whole<'a> {
    schema: &'static str,
    format_version: u32,
    digest: B256,
    scenario: &'a str,
    work: &'a str,
    seed: u64,
    generator_version: u32,
    fork: &'static str,
    rules: Rules,
    changes: Vec<Change>,
    chain_id: u64,
    layout: &'static str,
    genesis: genesis::Recipe<'a>,
    first_hash_number: u64,
    block_hashes: &'a [B256],
    signed_transactions: &'a [Bytes],
    #[serde(serialize_with = "batches")]
    batches: &'a Workload,
}

/// The rules of blocks from `timestamp` on.
#[derive(Serialize)]
struct Change {
    timestamp: u64,
    fork: &'static str,
    rules: Rules,
}

impl From<ForkChange> for Change {
    fn from(ForkChange { timestamp, rules }: ForkChange) -> Self {
        Self { timestamp, fork: rules.fork.name(), rules: rules.into() }
    }
}

/// Parameters of the rules that are not fields of a block.
#[derive(Serialize)]
struct Rules {
    tx_gas_cap: u64,
    blob_fee_update_fraction: u64,
    target_blob_count: u64,
    max_blob_count: u64,
    deposit_contract: Address,
}

impl From<ChainRules> for Rules {
    fn from(rules: ChainRules) -> Self {
        Self {
            tx_gas_cap: rules.fork.tx_gas_cap(),
            blob_fee_update_fraction: rules.blobs.base_fee_update_fraction,
            target_blob_count: rules.blobs.target,
            max_blob_count: rules.blobs.max,
            deposit_contract: rules.deposit_contract,
        }
    }
}

fn batches<S: Serializer>(workload: &&Workload, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(workload.batches.iter().map(|batch| BatchJson {
        state: state::Planned::new(&workload.genesis, batch),
        plan: &batch.plan,
        list: list::ListJson(batch),
        blocks: Blocks(batch),
        expected: &batch.expected,
    }))
}

#[derive(Serialize)]
struct BatchJson<'a> {
    state: state::Planned<'a>,
    plan: &'a Plan,
    list: list::ListJson<'a>,
    blocks: Blocks<'a>,
    expected: &'a BatchOutcome,
}

/// The blocks of a batch as JSON.
struct Blocks<'a>(&'a Batch);

impl Serialize for Blocks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.blocks.iter().map(block::BlockJson::new))
    }
}
