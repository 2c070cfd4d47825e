//! Checks a block's header against its body, the outcome of its execution (root of receipts, bloom,
//! gas) and the list.

use std::fmt::Display;

use alloy_consensus::{
    Block, EMPTY_OMMER_ROOT_HASH, Header, Receipt, ReceiptEnvelope, Transaction as _,
    constants::MAXIMUM_EXTRA_DATA_SIZE, proofs,
};
use alloy_primitives::{B64, B256, Bloom, U256};
use evm::{BlockGas, TxResult};
use revm::primitives::eip4844::GAS_PER_BLOB;
use workload::{Fork, TxStatus};

use super::bytes::{BlockFault, Envelope};

/// Outcome of the execution of a block, as far as a header contains it.
#[derive(Clone, Debug)]
pub(super) struct BlockOutcome {
    /// Root of the trie of receipts.
    receipts_root: B256,
    /// Bloom of all logs.
    bloom: Bloom,
    /// Gas of the block, by each definition of block gas.
    gas: BlockGas,
}

impl BlockOutcome {
    /// Computes the outcome of a block from its `transactions` and their `results`, one result for
    /// each transaction.
    pub(super) fn new(transactions: &[Envelope], results: &[TxResult]) -> Self {
        let (mut gas, mut bloom) = (BlockGas::default(), Bloom::ZERO);
        let mut receipts = Vec::with_capacity(results.len());
        for (transaction, result) in transactions.iter().zip(results) {
            gas.add(&result.gas);
            let receipt = Receipt {
                status: (result.status == TxStatus::Success).into(),
                cumulative_gas_used: gas.receipt_gas,
                logs: result.logs.clone(),
            };
            let receipt = receipt.with_bloom();
            bloom |= receipt.logs_bloom;
            receipts.push(ReceiptEnvelope::from_typed(transaction.tx_type(), receipt));
        }
        Self { receipts_root: proofs::calculate_receipt_root(&receipts), bloom, gas }
    }
}

/// The values that a header must have.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpectedHeader<'a> {
    /// The block that was executed.
    pub(super) executed: &'a workload::Block,
    /// The outcome of the execution.
    pub(super) outcome: &'a BlockOutcome,
    /// The hash that was sent with the block.
    pub(super) hash: B256,
    /// The hash of the list; `None` if the list is not in the form whose hash a header has.
    pub(super) list_hash: Option<B256>,
}

/// Checks all fields of a header except two. The state root is left to the checks of roots. The
/// hash of requests is not checked, since engines do not keep the requests.
pub(super) fn check(
    block: &Block<Envelope>,
    expected: &ExpectedHeader<'_>,
    fork: Fork,
) -> Result<(), BlockFault> {
    let ExpectedHeader { outcome, hash: given, list_hash, .. } = *expected;
    let header = &block.header;
    check_environment(header, expected, fork)?;
    check_body(block, fork)?;
    check_field("gas used", &header.gas_used, &outcome.gas.header_gas(fork))?;
    check_field("receipts root", &header.receipts_root, &outcome.receipts_root)?;
    check_field("logs bloom", &header.logs_bloom, &outcome.bloom)?;
    if let Some(hash) = list_hash.filter(|_| fork.is_from(Fork::Amsterdam)) {
        let listed = text(header.block_access_list_hash);
        check_field("block access list hash", &listed, &hash.to_string())?;
    }
    let got = header.hash_slow();
    match got == given {
        true => Ok(()),
        false => Err(BlockFault::Hash { got, given }),
    }
}

/// Checks the fields that are input of the execution, and the fields that are constant since the
/// merge.
fn check_environment(
    header: &Header,
    expected: &ExpectedHeader<'_>,
    fork: Fork,
) -> Result<(), BlockFault> {
    let env = &expected.executed.env;
    check_field("parent hash", &header.parent_hash, &env.parent_hash)?;
    check_field("ommers hash", &header.ommers_hash, &EMPTY_OMMER_ROOT_HASH)?;
    check_field("beneficiary", &header.beneficiary, &env.beneficiary)?;
    check_field("difficulty", &header.difficulty, &U256::ZERO)?;
    check_field("number", &header.number, &env.number)?;
    check_field("gas limit", &header.gas_limit, &env.gas_limit)?;
    check_field("timestamp", &header.timestamp, &env.timestamp)?;
    check_field("prev randao", &header.mix_hash, &env.prev_randao)?;
    check_field("nonce", &header.nonce, &B64::ZERO)?;
    check_field("base fee", &text(header.base_fee_per_gas), &env.base_fee.to_string())?;
    let has_blobs = fork.is_from(Fork::Cancun);
    let excess = text(has_blobs.then_some(env.excess_blob_gas));
    check_field("excess blob gas", &text(header.excess_blob_gas), &excess)?;
    let root = text(has_blobs.then_some(env.parent_beacon_root));
    check_field("parent beacon root", &text(header.parent_beacon_block_root), &root)?;
    if let Some(slot) = header.slot_number {
        check_field("slot number", &slot, &env.slot_number)?;
    }
    let length = header.extra_data.len();
    match length > MAXIMUM_EXTRA_DATA_SIZE {
        true => check_field("length of extra data", &length, &MAXIMUM_EXTRA_DATA_SIZE),
        false => Ok(()),
    }
}

/// Checks the roots of transactions and of withdrawals, and the gas of blobs.
fn check_body(block: &Block<Envelope>, fork: Fork) -> Result<(), BlockFault> {
    let (header, body) = (&block.header, &block.body);
    let root = proofs::calculate_transaction_root(&body.transactions);
    check_field("transactions root", &header.transactions_root, &root)?;
    let root = body.withdrawals.as_ref().map(|all| proofs::calculate_withdrawals_root(all));
    check_field("withdrawals root", &text(header.withdrawals_root), &text(root))?;
    let blobs = body.transactions.iter().filter_map(|tx| tx.blob_versioned_hashes());
    let blob_gas = GAS_PER_BLOB * blobs.map(|hashes| hashes.len() as u64).sum::<u64>();
    let blob_gas = text(fork.is_from(Fork::Cancun).then_some(blob_gas));
    check_field("blob gas used", &text(header.blob_gas_used), &blob_gas)
}

/// Returns the text of a field; `none` in a header of an older fork that lacks the field.
fn text(field: Option<impl Display>) -> String {
    field.map_or_else(|| "none".to_owned(), |field| field.to_string())
}

/// Checks that the header's value of `field` is `got`, the value of the block or its execution.
fn check_field<T: PartialEq + Display>(
    field: &'static str,
    header: &T,
    got: &T,
) -> Result<(), BlockFault> {
    match header == got {
        true => Ok(()),
        false => Err(BlockFault::Field { field, header: header.to_string(), got: got.to_string() }),
    }
}
