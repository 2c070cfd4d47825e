//! What the suites of generated blocks share: scenarios from text, and what every block must be.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as it does")]

use alloy_eip7928::AccountChanges;
use alloy_rlp::Decodable;
use generator::scenario::{Override, Scenario};
use workload::{
    Batch, TxStatus, Workload,
    list::{ListBounds, ListIndex},
};

pub(crate) fn parse(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<Override> = overrides
        .iter()
        .map(|(key, value)| Override {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            origin: format!("{key} {value}"),
        })
        .collect();
    Scenario::parse("test", text, &overrides).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn list(batch: &Batch) -> Vec<AccountChanges> {
    Vec::decode(&mut &batch.list[..]).unwrap()
}

/// Gas of the receipts of each block.
pub(crate) fn receipt_gas(batch: &Batch) -> Vec<u64> {
    let mut outcomes = batch.expected.transactions.iter();
    let of_block = |block: &workload::Block| {
        let of_block = outcomes.by_ref().take(block.transactions.len());
        of_block.map(|outcome| outcome.gas_used).sum()
    };
    batch.blocks.iter().map(of_block).collect()
}

pub(crate) fn assert_full(workload: &Workload, gas: u64) {
    for batch in &workload.batches {
        let index = ListIndex::decode(&batch.list, &ListBounds::of(batch, workload.fork)).unwrap();
        assert_eq!(index.encode(), batch.list);
        assert!(batch.expected.transactions.iter().all(|tx| tx.status == TxStatus::Success));
        for used in receipt_gas(batch) {
            assert!(used <= gas && used * 100 >= gas * 99, "{used} of {gas}");
        }
    }
}
