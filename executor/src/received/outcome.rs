//! The outcome of a block in the words of its header: root of the receipts, bloom, gas.

use alloy_consensus::{Receipt, ReceiptEnvelope, proofs};
use alloy_primitives::{B256, Bloom};
use evm::{BlockGas, TxResult};
use workload::TxStatus;

use super::bytes::Envelope;

/// The outcome of one block.
#[derive(Clone, Debug)]
pub(super) struct BlockOutcome {
    /// Root of the trie of receipts.
    pub(super) receipts_root: B256,
    /// Bloom of all logs.
    pub(super) bloom: Bloom,
    /// Gas in all senses.
    pub(super) gas: BlockGas,
}

impl BlockOutcome {
    /// That of `transactions`, of which each has a result.
    pub(super) fn of(transactions: &[Envelope], results: &[TxResult]) -> Self {
        let (mut gas, mut bloom) = (BlockGas::default(), Bloom::ZERO);
        let mut receipts = Vec::with_capacity(results.len());
        for (transaction, result) in transactions.iter().zip(results) {
            gas.add(&result.gas());
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
