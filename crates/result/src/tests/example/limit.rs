//! Limits of two loads.

use variant::{Design, StoreKind};

use super::typical;
use crate::limit::{DesignLimit, LimitBlock, LimitCheck, LimitResult, LoadLimits, Place, SCHEMA};

/// A design whose limit lies among those that were tried.
pub fn design(design: Design, limit_gas: u64) -> DesignLimit {
    let block_ns = vec![2_900_000_000, 2_950_000_000, 3_010_000_000];
    let block = LimitBlock { limit_gas, header_gas: limit_gas - 7, block_ns };
    DesignLimit {
        design,
        place: Some(Place::Within),
        limit_gas: Some(limit_gas),
        half_width_gas: Some(3_000_000),
        price_factor: Some(200e6 / limit_gas as f64),
        ns_per_operation: Some(52_000.0),
        ns_per_operation_ci95: Some([51_000.0, 53_000.0]),
        gas_per_us: Some(40.4),
        gas_per_us_ci95: Some([39.6, 41.2]),
        blocks: vec![block],
        check: Some(LimitCheck {
            header_gas: limit_gas - 7,
            median_ns: 2_950_000_000,
            predicted_ns: [2.8e9, 3e9],
        }),
    }
}

/// A load that reads one slot after the other, and one that is faster than was tried.
pub fn example() -> LimitResult {
    let typical = typical();
    let mut batched = design(Design::BatchedIo, 74_000_000);
    batched.half_width_gas = Some(2_000_000);
    batched.check = batched.check.map(|check| LimitCheck { predicted_ns: [1e9, 2e9], ..check });
    let slow = LoadLimits {
        scenario: "pointer-chase".to_owned(),
        operation: "cold SLOAD".to_owned(),
        gas_per_operation: 2_103.0,
        blocks_per_present_key: Some(0.95),
        wanted_slot_count: None,
        ended: None,
        designs: vec![design(Design::Sequential, 71_000_000), batched],
    };
    let fast = |of| DesignLimit {
        place: Some(Place::Above),
        half_width_gas: None,
        ns_per_operation: Some(26_000.0),
        ns_per_operation_ci95: None,
        check: None,
        ..design(of, 640_000_000)
    };
    let fast = LoadLimits {
        scenario: "erc20".to_owned(),
        operation: "transaction".to_owned(),
        blocks_per_present_key: None,
        ended: Some("at 640000000 gas: no client accepts it".to_owned()),
        designs: vec![fast(Design::Sequential), fast(Design::BatchedIo)],
        ..slow.clone()
    };
    LimitResult {
        schema: SCHEMA,
        tool: typical.tool,
        command: vec!["stress".to_owned(), "limit".to_owned()],
        started_unix_s: 1_767_225_600,
        environment: typical.environment,
        deadline_ns: 3_000_000_000,
        target_gas: 200_000_000,
        slot_count: 8_000_000,
        store: StoreKind::Rocksdb,
        tried_gas: vec![20_000_000, 60_000_000, 200_000_000, 640_000_000],
        loads: vec![slow, fast],
        answer: "safe".to_owned(),
    }
}
