//! The common part of the suites of generated blocks: scenarios from text, and laws of every block.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as it does")]

use alloy_eip7928::AccountChanges;
use alloy_rlp::Decodable;
use spec::{Override, Scenario};
use workload::{
    Batch, TxStatus, Workload,
    list::{ListBounds, ListIndex},
};

use crate::receipts::receipt_gas;

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

pub(crate) fn assert_full(workload: &Workload, gas: u64) {
    for batch in &workload.batches {
        let index =
            ListIndex::decode(&batch.list, &ListBounds::new(batch, &workload.rules)).unwrap();
        assert_eq!(index.encode(), batch.list);
        assert!(batch.expected.transactions.iter().all(|tx| tx.status == TxStatus::Success));
        for used in receipt_gas(batch) {
            assert!(used <= gas && used * 100 >= gas * 99, "{used} of {gas}");
        }
    }
}
