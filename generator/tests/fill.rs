//! Every shipped scenario at three sizes of block, each on a state that is large enough: how near the
//! gas of the receipts comes to what was asked for. Prints the table of `docs/workloads.md`.

#[path = "common/receipts.rs"]
mod receipts;

use std::io::Write;

use generator::{
    GeneratorError, generate,
    scenario::{Override, Scenario, shipped},
};
use workload::{TxStatus, Workload};

use receipts::receipt_gas;

const SIZES: [(&str, u64); 3] =
    [("30M", 30_000_000), ("640M", 640_000_000), ("2.2G", 2_200_000_000)];

/// The workload of a shipped scenario with blocks of this gas, on a state raised as the errors say,
/// and what was raised.
fn made(name: &str, text: &str, gas: &str) -> (Workload, Vec<String>) {
    let mut raised: Vec<(String, u64)> = Vec::new();
    loop {
        let given = |key: &str, value: String| Override {
            key: key.to_owned(),
            origin: format!("--set {key}={value}"),
            value,
        };
        let raises = raised.iter().map(|(key, count)| given(key, count.to_string()));
        let overrides: Vec<Override> =
            [given("block.gas", gas.to_owned())].into_iter().chain(raises).collect();
        let scenario = Scenario::parse(name, text, &overrides);
        let scenario = scenario.unwrap_or_else(|error| panic!("{name} at {gas}: {error}"));
        let error = match generate(&scenario, |_| {}) {
            Ok(made) => {
                let words = raised.iter().map(|(key, count)| format!("`{key}={count}`"));
                return (made, words.collect());
            }
            Err(error) => error,
        };
        let remedy = match error {
            GeneratorError::TooFewSlots { enough_count, .. } => {
                ("state.slots".to_owned(), enough_count)
            }
            GeneratorError::TooFewAccounts { load, enough_count, .. } => {
                (format!("load[{load}].accounts"), enough_count)
            }
            GeneratorError::TooFewSenders { needed_count, .. } => {
                ("state.accounts".to_owned(), needed_count)
            }
            error => panic!("{name} at {gas}: {error}"),
        };
        assert!(!raised.contains(&remedy), "{name} at {gas}: {remedy:?} is not enough");
        raised.retain(|(key, _)| *key != remedy.0);
        raised.push(remedy);
    }
}

#[test]
#[ignore = "takes minutes and a few GiB: cargo test --release --workspace --test fill -- --ignored \
            --nocapture"]
fn every_shipped_scenario_fills_its_blocks_within_a_hundredth_at_three_sizes() {
    let mut out = std::io::stdout();
    writeln!(out, "| scenario | 30M | 640M | 2.2G | what was raised |\n|---|---|---|---|---|")
        .unwrap();
    let mut missed = Vec::new();
    for (name, text) in shipped::all() {
        let mut cells = Vec::new();
        let mut all_raised = Vec::new();
        for (size, gas) in SIZES {
            let (made, raised) = made(name, text, size);
            let outcomes = made.batches.iter().flat_map(|batch| &batch.expected.transactions);
            let is_success = |status: TxStatus| status == TxStatus::Success;
            assert!(outcomes.into_iter().all(|tx| is_success(tx.status)), "{name} at {size}");
            let filled =
                made.batches.iter().flat_map(receipt_gas).map(|used| used as f64 / gas as f64);
            let least = filled.fold(f64::INFINITY, f64::min);
            cells.push(format!("{:.3}", 100.0 * least));
            all_raised.extend(raised.iter().map(|words| format!("{size}: {words}")));
            if !(0.99..=1.0).contains(&least) {
                missed.push(format!("{name} at {size}: {least}"));
            }
        }
        let (cells, raised) = (cells.join(" | "), all_raised.join(", "));
        writeln!(out, "| `{name}` | {cells} | {raised} |").unwrap();
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
