//! Receipts of a block (EIP-658, EIP-2718), for the figures of a header that come from them.

use alloy_primitives::{B256, Bloom, Log, keccak256};
use alloy_rlp::Encodable;
use workload::{TxStatus, TxType};

use super::{rlp::list, roots};

/// The parts of a receipt.
#[derive(Clone, Debug)]
pub(super) struct Receipt {
    pub(super) tx_type: TxType,
    pub(super) status: TxStatus,
    /// Of this transaction alone.
    pub(super) gas_used: u64,
    pub(super) logs: Vec<Log>,
}

/// The receipts of a block, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Receipts(pub(super) Vec<Receipt>);

impl Receipts {
    /// `receiptsRoot` of the header.
    pub(super) fn root(&self) -> B256 {
        let mut gas = 0_u64;
        roots::list_root(self.0.iter().map(|receipt| {
            gas = gas.saturating_add(receipt.gas_used);
            receipt.encode(gas)
        }))
    }

    /// `logsBloom` of the header.
    pub(super) fn bloom(&self) -> Bloom {
        bloom(self.0.iter().flat_map(|receipt| &receipt.logs))
    }

    /// Keccak-256 of the RLP of all logs: `logsHash` of go-ethereum's result files.
    pub(super) fn logs_hash(&self) -> B256 {
        let logs: Vec<&Log> = self.0.iter().flat_map(|receipt| &receipt.logs).collect();
        keccak256(rlp_of(&logs))
    }
}

impl Receipt {
    /// Its encoding; `cumulative_gas` is that of all receipts up to it.
    fn encode(&self, cumulative_gas: u64) -> Vec<u8> {
        let mut payload = alloy_rlp::encode(self.status == TxStatus::Success);
        cumulative_gas.encode(&mut payload);
        bloom(&self.logs).encode(&mut payload);
        let logs: Vec<&Log> = self.logs.iter().collect();
        payload.extend(rlp_of(&logs));
        let number: &[u8] = match self.tx_type {
            TxType::Legacy => &[],
            TxType::AccessList => &[1],
            TxType::DynamicFee => &[2],
            TxType::Blob => &[3],
            TxType::SetCode => &[4],
        };
        [number, &list(payload)].concat()
    }
}

fn bloom<'a>(logs: impl IntoIterator<Item = &'a Log>) -> Bloom {
    let mut bloom = Bloom::default();
    for log in logs {
        bloom.accrue_log(log);
    }
    bloom
}

/// RLP of a list of logs.
fn rlp_of(logs: &[&Log]) -> Vec<u8> {
    let log = |log: &&Log| {
        let mut payload = alloy_rlp::encode(log.address);
        payload.extend(list(log.topics().iter().flat_map(alloy_rlp::encode).collect()));
        log.data.data.encode(&mut payload);
        list(payload)
    };
    list(logs.iter().flat_map(log).collect())
}
