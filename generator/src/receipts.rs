//! Receipts of a block (EIP-658, EIP-2718), and the fields of a header that follow from them.
//! Imports compare these fields, and exports write them.

use alloy_consensus::{Receipt, ReceiptEnvelope, proofs};
use alloy_primitives::{B256, Bloom, Log, keccak256};
use workload::{TxOutcome, TxStatus, TxType};

/// The receipts of a block, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receipts {
    all: Vec<ReceiptEnvelope>,
    /// Gas of all transactions so far.
    gas: u64,
}

impl Receipts {
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Adds the receipt of the next transaction.
    pub(crate) fn add(&mut self, tx_type: TxType, outcome: &TxOutcome, logs: &[Log]) {
        self.gas += outcome.gas_used;
        let receipt = Receipt {
            status: (outcome.status == TxStatus::Success).into(),
            cumulative_gas_used: self.gas,
            logs: logs.to_vec(),
        };
        let tx_type = match tx_type {
            TxType::Legacy => alloy_consensus::TxType::Legacy,
            TxType::AccessList => alloy_consensus::TxType::Eip2930,
            TxType::DynamicFee => alloy_consensus::TxType::Eip1559,
            TxType::Blob => alloy_consensus::TxType::Eip4844,
            TxType::SetCode => alloy_consensus::TxType::Eip7702,
        };
        self.all.push(ReceiptEnvelope::from_typed(tx_type, receipt.with_bloom()));
    }

    /// Logs of all transactions.
    pub(crate) fn logs(&self) -> impl Iterator<Item = &Log> {
        self.all.iter().flat_map(ReceiptEnvelope::logs)
    }

    /// `receiptsRoot` of the header.
    pub(crate) fn root(&self) -> B256 {
        proofs::calculate_receipt_root(&self.all)
    }

    /// `logsBloom` of the header.
    pub(crate) fn bloom(&self) -> Bloom {
        self.all.iter().fold(Bloom::ZERO, |all, receipt| all | *receipt.logs_bloom())
    }

    /// Keccak-256 of the RLP of all logs: `logsHash` of go-ethereum's result files.
    pub(crate) fn logs_hash(&self) -> B256 {
        let logs: Vec<&Log> = self.logs().collect();
        keccak256(alloy_rlp::encode(logs))
    }
}
