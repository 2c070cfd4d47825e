//! Writes a chain as a test of execution-spec-tests, in one of two formats. `blockchain_test` has
//! the blocks as RLP and decoded; `blockchain_test_engine` has them as parameters of
//! `engine_newPayload`. Names of fields are those of the fixture models there.

use std::io::Write;

use alloy_consensus::{Block, BlockBody, Header};
use alloy_primitives::{B64, B256, hex};
use evm::env::blob_params;
use serde_json::{Map, Value, json};
use workload::{ChainRules, Fork, MAINNET_DEPOSIT_CONTRACT};

use crate::envelope::Envelope;

use super::{
    block::ChainBlock,
    chain::Chain,
    engine::{Versions, new_payload},
    error::ExportError,
    genesis,
    rlp::{Lists, encoded},
};

/// A format of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestFormat {
    /// `blockchain_test`.
    Blocks,
    /// `blockchain_test_engine`.
    Engine,
}

impl TestFormat {
    const fn name(self) -> &'static str {
        match self {
            Self::Blocks => "blockchain_test",
            Self::Engine => "blockchain_test_engine",
        }
    }
}

/// Writes the chain as the only test of a file. The test has no siblings.
///
/// # Errors
/// [`ExportError::StateTooLarge`], as for a genesis; [`ExportError::Io`] where writing fails.
pub fn eest(chain: &Chain, format: TestFormat, out: &mut impl Write) -> Result<(), ExportError> {
    genesis::check_size(&chain.genesis)?;
    let network = network(chain.rules.fork);
    let name = format!("stress/{}[fork_{network}-{}]", chain.scenario, format.name());
    let last = chain.blocks.last();
    let mut test = json!({
        "network": network,
        "lastblockhash": last.map_or(chain.genesis_hash, |block| block.hash),
        "config": config(chain),
        "genesisBlockHeader": header(&chain.genesis_header, chain.genesis_hash),
        "postStateHash": last.map(|block| block.block.header.state_root),
        "_info": {"comment": "made by stress export", "fixture-format": format.name()},
    });
    match format {
        TestFormat::Blocks => {
            test["sealEngine"] = "NoProof".into();
            test["genesisRLP"] = genesis_rlp(chain).into();
            test["blocks"] = chain.blocks.iter().map(block).collect();
        }
        TestFormat::Engine => {
            test["engineNewPayloads"] = chain.blocks.iter().map(payload).collect();
        }
    }
    writeln!(out, "{{{}: {{", Value::from(name))?;
    for (key, value) in test.as_object().into_iter().flatten() {
        writeln!(out, "{}: {value},", Value::from(key.as_str()))?;
    }
    out.write_all(b"\"pre\": ")?;
    genesis::accounts(chain, out)?;
    Ok(out.write_all(b"\n}}\n")?)
}

/// The name of a fork.
const fn network(fork: Fork) -> &'static str {
    match fork {
        Fork::Paris => "Paris",
        Fork::Shanghai => "Shanghai",
        Fork::Cancun => "Cancun",
        Fork::Prague => "Prague",
        Fork::Osaka => "Osaka",
        Fork::Bpo1 => "BPO1",
        Fork::Bpo2 => "BPO2",
        Fork::Amsterdam => "Amsterdam",
    }
}

/// Formats a number as hexadecimal of whole bytes, as tests have it.
fn padded(number: u64) -> String {
    let digits = format!("{number:x}");
    format!("0x{}{digits}", if digits.len() % 2 == 1 { "0" } else { "" })
}

fn config(chain: &Chain) -> Value {
    let ChainRules { fork, deposit_contract, .. } = chain.rules;
    let earlier = Fork::ALL.into_iter().filter(|known| known.is_from(Fork::Cancun));
    let earlier = earlier.take_while(|known| *known != fork).map(ChainRules::from);
    let schedule = earlier.chain([chain.rules]).map(|rules| {
        let (name, params) = (network(rules.fork), blob_params(&rules));
        let blobs = json!({
            "target": padded(params.target_blob_count),
            "max": padded(params.max_blob_count),
            "baseFeeUpdateFraction": padded(params.update_fraction as u64),
        });
        (name.to_owned(), blobs)
    });
    let mut config = json!({
        "network": network(chain.rules.fork),
        "chainid": padded(chain.chain_id),
        "blobSchedule": schedule.collect::<Map<_, _>>(),
    });
    if deposit_contract != MAINNET_DEPOSIT_CONTRACT {
        config["depositContractAddress"] = json!(deposit_contract);
    }
    config
}

fn header(header: &Header, hash: B256) -> Value {
    let mut out = json!({
        "parentHash": header.parent_hash,
        "uncleHash": header.ommers_hash,
        "coinbase": hex::encode_prefixed(header.beneficiary),
        "stateRoot": header.state_root,
        "transactionsTrie": header.transactions_root,
        "receiptTrie": header.receipts_root,
        "bloom": header.logs_bloom,
        "difficulty": "0x00",
        "number": padded(header.number),
        "gasLimit": padded(header.gas_limit),
        "gasUsed": padded(header.gas_used),
        "timestamp": padded(header.timestamp),
        "extraData": header.extra_data,
        "mixHash": header.mix_hash,
        "nonce": B64::ZERO,
        "baseFeePerGas": header.base_fee_per_gas.map(padded),
        "withdrawalsRoot": header.withdrawals_root,
        "blobGasUsed": header.blob_gas_used.map(padded),
        "excessBlobGas": header.excess_blob_gas.map(padded),
        "parentBeaconBlockRoot": header.parent_beacon_block_root,
        "requestsHash": header.requests_hash,
        "hash": hash,
    });
    if let (Some(list), Some(slot)) = (header.block_access_list_hash, header.slot_number) {
        out["blockAccessListHash"] = json!(list);
        out["slotNumber"] = padded(slot).into();
    }
    out
}

fn genesis_rlp(chain: &Chain) -> String {
    let body =
        BlockBody::<Envelope> { withdrawals: Some(Default::default()), ..Default::default() };
    let block = Block { header: chain.genesis_header.clone(), body };
    hex::encode_prefixed(alloy_rlp::encode(block))
}

fn block(block: &ChainBlock) -> Value {
    let body = &block.block.body;
    let withdrawals = body.withdrawals.iter().flatten().map(|withdrawal| {
        json!({
            "index": padded(withdrawal.index),
            "validatorIndex": padded(withdrawal.validator_index),
            "address": hex::encode_prefixed(withdrawal.address),
            "amount": padded(withdrawal.amount),
        })
    });
    json!({
        "blocknumber": block.block.header.number.to_string(),
        "blockHeader": header(&block.block.header, block.hash),
        "transactions": body.transactions.iter().map(transaction).collect::<Value>(),
        "uncleHeaders": [],
        "withdrawals": withdrawals.collect::<Value>(),
        "rlp": hex::encode_prefixed(encoded(block, Lists::Without)),
    })
}

/// The fields of a transaction. They are those of JSON-RPC without the hash; gas and calldata have
/// other names.
fn transaction(tx: &Envelope) -> Value {
    let mut out = serde_json::to_value(tx).unwrap_or_default();
    if let Value::Object(fields) = &mut out {
        for (theirs, ours) in [("gasLimit", "gas"), ("data", "input")] {
            if let Some(value) = fields.remove(ours) {
                fields.insert(theirs.to_owned(), value);
            }
        }
        fields.remove("hash");
    }
    out
}

fn payload(block: &ChainBlock) -> Value {
    let versions = Versions::new(block);
    json!({
        "params": new_payload(block),
        "newPayloadVersion": versions.new_payload.to_string(),
        "forkchoiceUpdatedVersion": versions.forkchoice_updated.to_string(),
    })
}
