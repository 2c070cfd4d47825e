//! The work of results for tests.

use crate::{BalBytes, Fill, LoadFill, WorkloadFacts};

pub(super) const GAS: u64 = 639_998_214;

pub(super) fn workload() -> WorkloadFacts {
    WorkloadFacts {
        scenario: "sload-storm".to_owned(),
        seed: 0,
        fork: "amsterdam".to_owned(),
        gas: GAS,
        header_gas: GAS,
        block_count: 1,
        batch_count: 1,
        blocks_per_batch: 1,
        tx_count: 39,
        digest: "3f9a1c0277b1e0d54c9b".to_owned(),
        bal: BalBytes {
            parallel_io_bytes: 2_210,
            batched_io_bytes: 9_600_412,
            full_bytes: 19_200_930,
        },
        list_account_count: 43,
        list_slot_count: 290_912,
        state_slot_count: 128_000_000,
        sized_slot_count: Some(128_000_000),
        state_account_count: 100_000,
        layout: "hashed".to_owned(),
        overridden: Vec::new(),
        fill: Some(fill()),
    }
}

fn fill() -> Fill {
    let load =
        LoadFill { kind: "sload-storm".to_owned(), execution_gas: GAS, ..LoadFill::default() };
    Fill { limit_gas: GAS, execution_gas: GAS, loads: vec![load], ..Fill::default() }
}
