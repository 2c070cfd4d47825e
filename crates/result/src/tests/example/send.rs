//! The result of a load on a live node.

use crate::{
    comparison::Change,
    figures::Bucket,
    load_comparison::{self, LoadComparison, LoadFigure, LoadRow, LoadSide, LoadWork},
    run::Percentiles,
    send::{
        SCHEMA, SendAttempts, SendBlock, SendConfirmations, SendCounts, SendErrors, SendLatency,
        SendNode, SendPool, SendProfile, SendReorgs, SendResult, SendSetup, SendWork,
    },
};

/// A small load of which all is included.
pub fn typical() -> SendResult {
    let run = super::typical();
    let inclusion_ns =
        Percentiles { p50: Some(1_100_000_000), count: 20, ..Percentiles::default() };
    let block = |number: u64, own_tx_count| SendBlock {
        number,
        hash: "0x07".to_owned(),
        timestamp_unix_s: 1_800_000_000 + number,
        seen_ns: number * 1_000_000_000,
        tx_count: own_tx_count,
        own_tx_count,
        gas: own_tx_count * 21_000,
        own_gas: own_tx_count * 21_000,
        limit_gas: 30_000_000,
        base_fee_wei: Some(1_000_000_000),
    };
    SendResult {
        schema: SCHEMA,
        tool: run.tool,
        command: vec!["stress".to_owned(), "send".to_owned()],
        started_unix_s: 1_800_000_000,
        environment: run.environment,
        node: SendNode {
            url: "http://127.0.0.1:8545".to_owned(),
            transport: "http".to_owned(),
            version: Some("Fake/v1".to_owned()),
            chain_id: 1_337,
        },
        work: SendWork {
            scenario: "transfers".to_owned(),
            seed: 1,
            fork: "osaka".to_owned(),
            digest: "0x01".to_owned(),
            sender_count: 2,
            contract_count: 0,
        },
        pace: "rate".to_owned(),
        pace_value: 10.0,
        setup: SendSetup { funded_count: 2, tx_count: 1, ..SendSetup::default() },
        counts: SendCounts {
            planned_count: 20,
            sent_count: 20,
            included_count: 20,
            ..SendCounts::default()
        },
        elapsed_ns: 3_000_000_000,
        sending_ns: 2_000_000_000,
        sent_per_s: Some(10.0),
        included_per_s: Some(7.0),
        gas_per_s: Some(147_000.0),
        latency: SendLatency {
            inclusion_ns,
            inclusion_histogram: vec![
                Bucket { up_to_ns: 800_000_000, count: 0 },
                Bucket { up_to_ns: 1_000_000_000, count: 8 },
                Bucket { up_to_ns: 1_250_000_000, count: 12 },
            ],
            ..SendLatency::default()
        },
        attempts: SendAttempts { call_count: 20, ..SendAttempts::default() },
        errors: Vec::new(),
        read_errors: Vec::new(),
        blocks: vec![block(1, 12), block(2, 8), block(3, 0)],
        pool: vec![SendPool { at_ns: 0, pending_count: 5, queued_count: 1 }],
        reorgs: SendReorgs::default(),
        confirmations: SendConfirmations { wanted_count: 1, seen_count: 1 },
        profile: None,
        interrupted: false,
        warnings: Vec::new(),
    }
}

/// A load in which everything went wrong that can.
pub fn troubled() -> SendResult {
    let counts = SendCounts {
        planned_count: 20,
        unsent_count: 1,
        sent_count: 19,
        included_count: 14,
        reverted_count: 2,
        pending_count: 2,
        failed_count: 1,
    };
    let first = "connection reset".to_owned();
    let errors = vec![SendErrors { kind: "connection".to_owned(), count: 7, first }];
    let profile = SendProfile {
        url: "http://127.0.0.1:6060".to_owned(),
        file: Some("node.pprof".to_owned()),
        size_bytes: Some(7),
        reason: None,
    };
    let whole = typical();
    let latency = SendLatency {
        open_count: 4,
        open_longest_ns: Some(60_000_000_000),
        open_histogram: vec![
            Bucket { up_to_ns: 50_000_000_000, count: 0 },
            Bucket { up_to_ns: 63_000_000_000, count: 4 },
        ],
        ..whole.latency.clone()
    };
    SendResult {
        counts,
        latency,
        read_errors: errors.clone(),
        errors,
        reorgs: SendReorgs { count: 1, removed_block_count: 2, undone_count: 3 },
        attempts: SendAttempts {
            call_count: 27,
            retry_count: 7,
            known_count: 2,
            resent_count: 3,
            ..SendAttempts::default()
        },
        profile: Some(profile),
        warnings: vec!["a doubt".to_owned()],
        ..whole
    }
}

/// Two loads side by side.
pub fn compared() -> LoadComparison {
    let load = typical();
    let side = |label: &str| LoadSide {
        label: label.to_owned(),
        path: "send.json".to_owned(),
        load_count: 7,
        planned_count: 140,
        included_count: 140,
        warning_count: 0,
    };
    let ends = Some([6.0, 8.0]);
    let figure = LoadFigure { median: 7.0, ci95: ends, ratio: Some(1.0), ratio_ci95: ends };
    LoadComparison {
        schema: load_comparison::SCHEMA,
        work: LoadWork {
            scenario: load.work.scenario,
            digest: load.work.digest,
            pace: load.pace,
            pace_value: load.pace_value,
        },
        sides: vec![side("A"), side("B")],
        changes: vec![Change {
            key: "node.version".to_owned(),
            values: vec!["a".into(), "b".into()],
        }],
        rows: vec![LoadRow { key: "included_per_s".to_owned(), figures: vec![Some(figure), None] }],
    }
}
