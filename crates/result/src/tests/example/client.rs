//! A real client beside the designs.

use variant::CacheMode;

use super::{GAS, sampled};
use crate::{
    clients::{ClientBlock, ClientCell, ClientSample},
    facts::CacheFacts,
    figures::Estimate,
    ratios,
    run::RunResult,
};

/// A client whose cold samples took these milliseconds.
pub fn timed(times_ms: &[u64]) -> ClientCell {
    let sample = |(index, ms): (usize, &u64)| ClientSample {
        wall_ns: ms * 1_000_000,
        gas: GAS,
        cpu_ns: Some(ms * 1_500_000),
        device_read_bytes: Some(1_540_000_000),
        read_syscalls: Some(310_000),
        disk_requests: Some(300_100),
        disk_bytes: Some(1_541_000_000),
        data_bytes: Some(10_400_000_000),
        resident_data_bytes: Some(7_000_000),
        blocks: vec![ClientBlock {
            block_hash: format!("0x{index:064x}"),
            new_payload_ns: ms * 999_000,
            forkchoice_ns: ms * 1_000,
            own_ns: Some((ms - 2) * 1_000_000),
            own_root_ns: Some(ms * 200_000),
        }],
    };
    let mut cell = ClientCell {
        client: "geth".to_owned(),
        version: Some("Geth 1.17.8 c0ffee".to_owned()),
        start: vec!["geth".to_owned(), "--datadir".to_owned(), "/srv/geth".to_owned()],
        time_includes: "from the request to VALID".to_owned(),
        warm_up_sample_count: 0,
        samples: times_ms.iter().enumerate().map(sample).collect(),
        mgas_per_s: Estimate::default(),
        ms_per_batch: Estimate::default(),
        own_ms_per_batch: Estimate::default(),
        in_order_ratio: None,
        cache: CacheFacts {
            want: Some(CacheMode::Cold),
            proved: Some(true),
            reason: "0.1 % of the data directory was in the page cache".to_owned(),
        },
    };
    cell.estimate(1);
    cell
}

/// A run of all designs beside a client.
pub fn beside_designs() -> RunResult {
    let mut result = sampled(8);
    result.clients = vec![timed(&[25_000, 25_100, 24_900, 25_050, 24_950, 25_020, 24_980, 25_010])];
    ratios::fill_clients(&result.cells, &mut result.clients);
    result
}
