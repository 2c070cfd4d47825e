//! Makes the blocks of an exported chain, for `chain.rs`, `grow.rs` and `received.rs`. Takes header
//! fields from the parent or the outcome, signs transactions, and checks the block's length.

use std::sync::atomic::{AtomicBool, Ordering};

use alloy_consensus::{
    BlockBody, EMPTY_OMMER_ROOT_HASH, EMPTY_ROOT_HASH, Header, constants::EMPTY_WITHDRAWALS, proofs,
};
use alloy_eips::{
    eip1559::BaseFeeParams,
    eip4844::DATA_GAS_PER_BLOB,
    eip4895::{Withdrawal, Withdrawals},
    eip7685::{EMPTY_REQUESTS_HASH, Requests},
};
use alloy_primitives::{B256, Bytes, U256, keccak256};
use alloy_rlp::{EMPTY_LIST_CODE, Encodable};
use evm::env::blob_params;
use rayon::prelude::*;
use workload::{
    Block, BlockEnv, ChainRules, Fork, TxType,
    rules::MAX_RLP_BLOCK_BYTES,
    signing::{SignError, Signature, Signer, TxSignatures},
};

use super::error::ExportError;
use crate::{
    envelope::{Envelope, envelope},
    environment::BLOCK_SECONDS,
    receipts::Receipts,
    reference::{BatchReference, ReferenceError},
};

/// Upper bound of the length in bytes of a block's header in RLP.
const HEADER_BYTES_MAX: usize = 1_024;
/// Upper bound of the length in bytes of a withdrawal in RLP.
const WITHDRAWAL_BYTES_MAX: usize = 64;

/// A block, and its list and requests, which are sent beside the block.
#[derive(Clone, Debug)]
pub struct ChainBlock {
    /// Header, signed transactions and withdrawals.
    pub block: alloy_consensus::Block<Envelope>,
    /// The header's hash.
    pub hash: B256,
    /// The block-level access list (EIP-7928), from Amsterdam on.
    pub list: Option<Bytes>,
    /// The requests: type ‖ data (EIP-7685).
    pub requests: Vec<Bytes>,
}

impl ChainBlock {
    /// Returns sibling `index` of the block. It has the same parent and does the same work, but its
    /// extra data and so its hash are others. Sibling 0 is the block itself.
    #[must_use]
    pub fn sibling(&self, index: u64) -> Self {
        let mut sibling = self.clone();
        sibling.block.header.extra_data = extra_data(index);
        sibling.hash = self.sibling_hash(index);
        sibling
    }

    /// The hash of sibling `index`.
    pub(super) fn sibling_hash(&self, index: u64) -> B256 {
        let header = self.block.header.clone();
        Header { extra_data: extra_data(index), ..header }.hash_slow()
    }

    /// The versioned hashes of all blobs in the block's transactions (EIP-4844).
    pub(super) fn blob_hashes(&self) -> Vec<B256> {
        self.block.body.blob_versioned_hashes_iter().copied().collect()
    }
}

/// The extra data that distinguishes a sibling.
fn extra_data(index: u64) -> Bytes {
    format!("stress {index}").into_bytes().into()
}

/// Whether blocks of a fork have lists and slot numbers in their headers.
pub(super) const fn has_list(fork: Fork) -> bool {
    fork.is_from(Fork::Amsterdam)
}

/// Makes the header of the empty genesis block, number 0, before a first block with the environment
/// `first`. Its base fee is such that block 1 has the base fee of `first`.
pub(super) fn genesis_header(first: &BlockEnv, fork: Fork, state_root: B256) -> Header {
    Header {
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        state_root,
        transactions_root: EMPTY_ROOT_HASH,
        receipts_root: EMPTY_ROOT_HASH,
        gas_limit: first.gas_limit,
        timestamp: first.timestamp.saturating_sub(BLOCK_SECONDS),
        base_fee_per_gas: Some(fee_before(first.base_fee)),
        withdrawals_root: Some(EMPTY_WITHDRAWALS),
        blob_gas_used: Some(0),
        excess_blob_gas: Some(0),
        parent_beacon_block_root: Some(B256::ZERO),
        requests_hash: Some(EMPTY_REQUESTS_HASH),
        block_access_list_hash: has_list(fork).then(|| keccak256([EMPTY_LIST_CODE])),
        slot_number: has_list(fork).then(|| first.slot_number.saturating_sub(1)),
        ..Header::default()
    }
}

/// The base fee of an empty block whose child has the base fee `base_fee`, which is one eighth less
/// (EIP-1559).
fn fee_before(base_fee: u64) -> u64 {
    // A fee of 8/7 is right, or 1 too low by rounding.
    let about = u128::from(base_fee) * 8 / 7;
    let about = u64::try_from(about).unwrap_or(u64::MAX);
    (about..=about.saturating_add(1)).find(|fee| fee - fee / 8 == base_fee).unwrap_or(about)
}

/// The parent of the next block.
#[derive(Clone, Debug)]
pub(super) struct Parent {
    header: Header,
    pub(super) hash: B256,
    /// Number of withdrawals in all blocks so far.
    withdrawal_count: u64,
}

impl Parent {
    pub(super) fn new(header: Header) -> Self {
        let hash = header.hash_slow();
        Self { header, hash, withdrawal_count: 0 }
    }

    /// A parent of which only the hash is known.
    pub(super) fn of_hash(hash: B256) -> Self {
        Self { header: Header::default(), hash, withdrawal_count: 0 }
    }

    /// Returns `block` with the fields that follow from its parent: hash, base fee, excess blob
    /// gas. Raises each transaction's maximal fee to the base fee plus its priority fee, if it is
    /// lower.
    pub(super) fn next(&self, block: &Block, rules: &ChainRules) -> Block {
        let mut block = block.clone();
        let base_fee = self.header.next_block_base_fee(BaseFeeParams::ethereum());
        let excess = self.header.next_block_excess_blob_gas(blob_params(rules));
        let env = &mut block.env;
        env.parent_hash = self.hash;
        env.base_fee = base_fee.unwrap_or(env.base_fee);
        env.excess_blob_gas = excess.unwrap_or(0);
        for tx in &mut block.transactions {
            let needed_fee = u128::from(env.base_fee).saturating_add(match tx.tx_type {
                TxType::Legacy | TxType::AccessList => 0,
                TxType::DynamicFee | TxType::Blob | TxType::SetCode => tx.max_priority_fee_per_gas,
            });
            tx.max_fee_per_gas = tx.max_fee_per_gas.max(needed_fee);
        }
        block
    }

    /// Seals `block` with its outcome. The sealed block becomes the parent of the next one.
    pub(super) fn seal(
        &mut self,
        block: &Block,
        transactions: Vec<Envelope>,
        outcome: BlockOutcome,
    ) -> ChainBlock {
        let BlockOutcome { fork, made, receipts, state_root } = outcome;
        let withdrawals = fork.is_from(Fork::Shanghai).then(|| self.withdrawals(block));
        let has_blobs = fork.is_from(Fork::Cancun);
        let env = &block.env;
        let requests = made.requests.into_iter().flatten().collect::<Vec<_>>();
        let list = has_list(fork).then_some(made.list);
        let header = Header {
            parent_hash: self.hash,
            ommers_hash: EMPTY_OMMER_ROOT_HASH,
            beneficiary: env.beneficiary,
            state_root,
            transactions_root: proofs::calculate_transaction_root(&transactions),
            receipts_root: receipts.root(),
            logs_bloom: receipts.bloom(),
            number: env.number,
            gas_limit: env.gas_limit,
            gas_used: made.expected.header_gas.iter().sum(),
            timestamp: env.timestamp,
            extra_data: extra_data(0),
            mix_hash: env.prev_randao,
            base_fee_per_gas: Some(env.base_fee),
            withdrawals_root: withdrawals.as_deref().map(proofs::calculate_withdrawals_root),
            blob_gas_used: has_blobs.then(|| DATA_GAS_PER_BLOB * block.blob_count()),
            excess_blob_gas: has_blobs.then_some(env.excess_blob_gas),
            parent_beacon_block_root: has_blobs.then_some(env.parent_beacon_root),
            requests_hash: fork
                .is_from(Fork::Prague)
                .then(|| Requests::new(requests.clone()).requests_hash()),
            block_access_list_hash: list.as_ref().map(keccak256),
            slot_number: has_list(fork).then_some(env.slot_number),
            ..Header::default()
        };
        self.header = header.clone();
        self.hash = header.hash_slow();
        let withdrawals = withdrawals.map(Withdrawals::new);
        let body = BlockBody { transactions, ommers: Vec::new(), withdrawals };
        let block = alloy_consensus::Block { header, body };
        ChainBlock { block, hash: self.hash, list, requests }
    }

    /// The block's withdrawals, whose indices run on through the chain (EIP-4895).
    fn withdrawals(&mut self, block: &Block) -> Vec<Withdrawal> {
        let first = self.withdrawal_count;
        self.withdrawal_count += block.withdrawals.len() as u64;
        (first..)
            .zip(&block.withdrawals)
            .map(|(index, withdrawal)| Withdrawal {
                index,
                validator_index: index,
                address: withdrawal.address,
                amount: withdrawal.amount_gwei,
            })
            .collect()
    }
}

/// The outcome of a block.
#[derive(Debug)]
pub(super) struct BlockOutcome {
    pub(super) fork: Fork,
    pub(super) made: BatchReference,
    pub(super) receipts: Receipts,
    pub(super) state_root: B256,
}

/// Signs the transactions of `block` for the chain `chain_id` on all threads of rayon. Fails once
/// `cancel` is set.
pub(super) fn signed(
    block: &Block,
    chain_id: u64,
    signer: &Signer,
    cancel: &AtomicBool,
) -> Result<Vec<Envelope>, ExportError> {
    let number = block.env.number;
    let transactions = block.transactions.par_iter().enumerate();
    let signed = transactions.map(|(tx_index, tx)| {
        if cancel.load(Ordering::Relaxed) {
            return Err(ReferenceError::Cancelled.into());
        }
        let signatures = signer.sign(tx, chain_id).map_err(|error| match error {
            SignError::UnknownSecret(account) => {
                ExportError::UnknownSecret { block: number, tx_index, account }
            }
            SignError::Invalid(reason) => ExportError::Sign { block: number, tx_index, reason },
        })?;
        Ok(envelope(tx, Some(chain_id), &signatures))
    });
    signed.collect()
}

/// Returns an upper bound of the length of `block` as RLP, in bytes, before it is signed. It is at
/// most about 1 kB too high.
pub fn block_bytes(block: &Block, chain_id: u64) -> usize {
    let longest = Signature { y_parity: 1, r: U256::MAX, s: U256::MAX };
    let transactions = block.transactions.iter().map(|tx| {
        let authorities = vec![longest; tx.authorizations.len()];
        envelope(tx, Some(chain_id), &TxSignatures { sender: longest, authorities }).length()
    });
    let withdrawals_bytes = WITHDRAWAL_BYTES_MAX * block.withdrawals.len();
    transactions.sum::<usize>() + HEADER_BYTES_MAX + withdrawals_bytes
}

/// Refuses a block that is too long for clients (EIP-7934).
pub(super) fn check_length(sealed: &ChainBlock) -> Result<(), ExportError> {
    let (block, bytes) = (sealed.block.header.number, sealed.block.length());
    match bytes > MAX_RLP_BLOCK_BYTES {
        true => Err(ExportError::BlockTooLarge { block, bytes, most_bytes: MAX_RLP_BLOCK_BYTES }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_1_has_the_base_fee_that_it_should() {
        assert_eq!(fee_before(1_000_000_000), 1_142_857_142);
        for base_fee in (7..2_000).chain([1_000_000_000, 123_456_789_012, 7_777_777_777]) {
            let env = BlockEnv { base_fee, gas_limit: 60_000_000, ..BlockEnv::default() };
            let header = genesis_header(&env, Fork::Amsterdam, B256::ZERO);
            let next = header.next_block_base_fee(BaseFeeParams::ethereum());
            assert_eq!(next, Some(base_fee));
        }
    }
}
