//! Laws of the page and the JSON of `stress doctor io`.

use variant::{CacheMode, ReadMethod, StoreKind};

use super::*;
use crate::tests::{fits, keys::explained};
use result::{
    CacheFacts, example,
    io::{IoState, ORDER, SCHEMA},
};

fn latency(p50: u64) -> Percentiles {
    Percentiles {
        p50: Some(p50),
        p90: Some(p50 * 2),
        p99: Some(p50 * 5),
        max: Some(p50 * 40),
        count: 100_000,
        ..Percentiles::default()
    }
}

fn point(threads: u64, keys_per_call: u64, gets_per_s: f64) -> IoPoint {
    IoPoint {
        threads,
        keys_per_call,
        depth: threads * keys_per_call,
        gets: (gets_per_s * 3.0) as u64,
        present_gets: (gets_per_s * 3.0) as u64,
        elapsed_ns: 3_000_000_000,
        gets_per_s,
        blocks_per_s: Some(gets_per_s * 0.98),
        blocks_per_get: Some(0.98),
        bytes_per_block: Some(4_096.0),
        device_bytes_per_get: Some(4_014.0),
        read_syscalls_per_get: Some(0.98),
        cpu_ns_per_get: Some(15_300.0),
        present_latency_ns: latency(1_000_000 / gets_per_s as u64 * 1_000 * threads),
        absent_latency_ns: Percentiles::default(),
        latency_of_calls: keys_per_call > 1,
        ceiling_ratio: Some(gets_per_s * 0.98 / 82_300.0),
        keys_exhausted: false,
        earlier_passes: 0,
        cache: CacheFacts {
            want: Some(CacheMode::Cold),
            proved: Some(true),
            reason: "1.00 of the bytes asked of the files came from a device".to_owned(),
        },
    }
}

fn typical() -> IoResult {
    let of_run = example::typical();
    let sweep = [(1, 15_500.0), (16, 65_000.0), (256, 82_300.0)].map(|(depth, iops)| DevicePoint {
        method: format!("io_uring depth {depth}"),
        depth,
        iops,
        latency_ns: latency(60_000 * depth),
        cpu_ns_per_read: Some(2_400),
    });
    let device = IoDevice {
        ceiling_iops: Some(82_300.0),
        ceiling_method: Some("io_uring depth 256".to_owned()),
        ceiling_start_iops: Some(82_300.0),
        ceiling_end_iops: Some(80_100.0),
        ceiling_drift: Some(80_100.0 / 82_300.0),
        host_cache_ratio: Some(1.02),
        repeated_read_count: 0,
        sweep: sweep.into(),
        reason: None,
    };
    IoResult {
        schema: SCHEMA,
        tool: of_run.tool,
        command: vec!["stress".to_owned(), "io".to_owned()],
        started_unix_s: 1_767_225_600,
        environment: of_run.environment,
        state: IoState {
            rows: 32_000_000,
            key_layout: "hashed".to_owned(),
            key_bytes: 64,
            value_bytes: 32,
            present_share: 1.0,
        },
        read: ReadMethod::Get,
        seed: 0,
        seconds: 3.0,
        order: ORDER.to_owned(),
        stores: vec![IoStore {
            store: StoreKind::Rocksdb,
            facts: of_run.stores[0].facts.clone(),
            device: Some(device),
            points: vec![point(1, 1, 14_500.0), point(16, 1, 49_700.0), point(64, 1, 61_800.0)],
        }],
        interrupted: false,
        warnings: Vec::new(),
    }
}

fn page(result: &IoResult, width: usize) -> String {
    let text = io_table(result, width, Paint::Plain);
    fits(&text, width);
    text
}

#[test]
fn every_line_fits_and_says_what_a_reader_needs() {
    for width in [80, 120] {
        let text = page(&typical(), width);
        let needed = "32M rows; 82.3k reads/s; 82.3k before and; 80.1k after; proved; 14.5k; 61.8k; \
             74 % of the; p50; p99; CPU; 15.3";
        for words in needed.split("; ") {
            assert!(text.contains(words), "{words} is missing:\n{text}");
        }
        assert!(!text.contains("warning"), "{text}");
    }
}

#[test]
fn a_store_without_a_device_has_no_cold_state() {
    let mut result = typical();
    let store = &mut result.stores[0];
    (store.store, store.device) = (StoreKind::Memory, None);
    for point in &mut store.points {
        let reason = "the memory store has no device".to_owned();
        point.cache = CacheFacts { want: None, proved: None, reason };
    }
    let text = page(&result, 80);
    assert!(text.contains("no cold state: the memory store has no device"), "{text}");
    assert!(!text.contains("cold is not proved"), "{text}");
}

#[test]
fn calls_early_ends_repeated_keys_and_a_drift_are_marked() {
    let mut result = typical();
    let store = &mut result.stores[0];
    store.points = vec![point(2, 256, 53_000.0)];
    store.points[0].keys_exhausted = true;
    store.points[0].earlier_passes = 1;
    if let Some(device) = &mut store.device {
        device.ceiling_drift = Some(0.8);
        device.host_cache_ratio = Some(1.5);
    }
    result.interrupted = true;
    let text = page(&result, 80);
    result.stores[0].points[0].cache.proved = Some(false);
    assert!(page(&result, 80).contains("NOT proved"));
    for words in
        ["INTERRUPTED", "2x256", "53.0ker", "host cache seen", "ceiling changed", "b as long"]
    {
        assert!(text.contains(words), "{words} is missing:\n{text}");
    }
}

#[test]
fn what_is_not_known_is_no_figure() {
    let mut result = typical();
    result.stores[0].device = None;
    let point = &mut result.stores[0].points[0];
    (point.ceiling_ratio, point.cpu_ns_per_get) = (None, Some(f64::NAN));
    let text = page(&result, 80);
    assert!(text.contains(units::UNKNOWN) && !text.contains("NaN"), "{text}");
    result.stores[0].points.clear();
    assert!(page(&result, 80).contains("nothing was measured"));
}

#[test]
fn a_result_read_back_is_the_one_that_was_written() {
    let text = crate::json(&typical()).unwrap();
    assert!(text.contains("\"schema\": \"stress.io/2\""));
    assert_eq!(serde_json::from_str::<IoResult>(&text).unwrap(), typical());
    let mut bare = typical();
    bare.stores[0].device = None;
    bare.stores[0].points[0].cpu_ns_per_get = None;
    bare.stores[0].points[0].present_latency_ns = Percentiles::default();
    let read: IoResult = serde_json::from_str(&crate::json(&bare).unwrap()).unwrap();
    assert_eq!(read, bare);
    let other = text.replace("stress.io/2", "stress.io/9");
    let error = serde_json::from_str::<IoResult>(&other).unwrap_err().to_string();
    assert!(error.contains("stress.io/9"), "{error}");
}

#[test]
fn every_key_of_the_json_is_explained_and_every_explained_key_is_there() {
    let page = include_str!("../../../../docs/designs.md");
    let text = page.split("\n## ").find(|part| part.starts_with("Raw reads\n"));
    let text = text.expect("docs/designs.md has a part \"Raw reads\"");
    let value = serde_json::to_value(typical()).unwrap();
    // The environment and the tool are explained in `docs/result.md`.
    let elsewhere = ["facts", "environment", "tool"];
    let key_count = explained("docs/designs.md", text, &value, &elsewhere);
    assert!(key_count > 40, "{key_count}");
}
