//! Every shipped scenario at three sizes of block, each on a large enough state: the receipts' gas
//! as a share of `block.gas`. Prints the rows behind the sentence on filled blocks in
//! `docs/workloads.md`. Takes minutes and runs only by name; `generate.rs` and others hold each
//! kind to it at 30M.

use std::io::{self, Write};

use generator::{GeneratorError, generate};
use spec::{Override, Scenario, shipped};
use workload::{TxStatus, Workload};

use crate::receipts::receipt_gas;

const SIZES: [(&str, u64); 3] =
    [("30M", 30_000_000), ("640M", 640_000_000), ("2.2G", 2_200_000_000)];

/// Kinds in forms that no shipped scenario has: a scenario, and its other keys.
const FORMS: &[(&str, &[(&str, &str)])] = &[
    ("sload-storm", &[("load.keys", "chase")]),
    ("sload-storm", &[("load.contracts", "1k")]),
    ("sload-storm", &[("load.overlap", "all")]),
    ("sstore-storm", &[("load.op", "create")]),
    ("sstore-storm", &[("load.op", "clear")]),
    ("sstore-storm", &[("load.op", "no-op")]),
    ("sstore-storm", &[("load.nibble", "0"), ("load.op", "clear")]),
    ("sstore-storm", &[("load.keys", "first"), ("load.op", "create")]),
    ("sstore-storm", &[("load.keys", "deep"), ("load.op", "clear")]),
    ("account-storm", &[("load.op", "code-hash"), ("load.target", "absent")]),
    ("account-storm", &[("load.op", "code-copy"), ("load.target", "contracts")]),
    ("account-storm", &[("load.op", "call"), ("load.target", "contracts")]),
    ("transfers", &[("load.pattern", "fresh")]),
    ("transfers", &[("load.pattern", "many-to-a")]),
    ("erc20", &[("load.pattern", "fresh")]),
    ("amm", &[("load.pairs", "1")]),
    ("airdrop", &[("load.to", "holders")]),
    ("deploy", &[("load.by", "create2")]),
    ("delegate", &[("load.delegations", "7")]),
    ("compute", &[("load.work", "modexp")]),
    ("compute", &[("load.work", "pairing")]),
    ("compute", &[("load.work", "loop")]),
    ("logs", &[("load.topics", "0"), ("load.data", "1024")]),
    ("dapps", &[("load.per_user", "published")]),
    ("chains", &[("load.hotspots", "3"), ("load.through", "account")]),
    ("non-conflicting", &[("load.supply", "true")]),
];

/// The workload of a shipped scenario with these overrides on a state raised as the errors say, and
/// what was raised.
fn made(name: &str, overrides: &[(&str, &str)]) -> (Workload, Vec<String>) {
    let text = shipped::find(name).unwrap_or_else(|| panic!("{name} is not shipped"));
    let given = |key: &str, value: &str| Override {
        key: key.to_owned(),
        value: value.to_owned(),
        origin: format!("--set {key}={value}"),
    };
    let mut raised: Vec<(String, u64)> = Vec::new();
    loop {
        let raises = raised.iter().map(|(key, count)| given(key, &count.to_string()));
        let all: Vec<Override> =
            overrides.iter().map(|(key, value)| given(key, value)).chain(raises).collect();
        let fail =
            |error: &dyn std::fmt::Display| -> ! { panic!("{name}, {overrides:?}: {error}") };
        let scenario = Scenario::parse(name, text, &all).unwrap_or_else(|error| fail(&error));
        let error = match generate(&scenario, |_| {}) {
            Ok(made) => {
                let words = raised.iter().map(|(key, count)| format!("`{key}={count}`"));
                return (made, words.collect());
            }
            Err(error) => error,
        };
        let remedy = match error {
            GeneratorError::TooFewSlots { enough_count, .. }
            | GeneratorError::TooFewSlotsBelow { enough_count, .. } => {
                ("state.slots".to_owned(), enough_count)
            }
            GeneratorError::TooFewTries { load, enough_count, .. } => {
                (format!("load[{load}].contracts"), enough_count)
            }
            GeneratorError::TooFewAccounts { load, enough_count, .. } => {
                (format!("load[{load}].accounts"), enough_count)
            }
            GeneratorError::TooFewSenders { needed_count, .. } => {
                ("state.accounts".to_owned(), needed_count)
            }
            error => fail(&error),
        };
        assert!(!raised.contains(&remedy), "{name}: {remedy:?} is not enough");
        raised.retain(|(key, _)| *key != remedy.0);
        raised.push(remedy);
    }
}

/// Prints a row for each of `works`, a scenario with overrides. Fails at its end if a block misses
/// its gas by more than a hundredth, and by more than a transaction.
fn fill(
    works: impl Iterator<Item = (&'static str, &'static [(&'static str, &'static str)])>,
) -> io::Result<()> {
    let mut out = io::stdout();
    let mut missed = Vec::new();
    for (name, form) in works {
        let (mut cells, mut all_raised) = (Vec::new(), Vec::new());
        for (size, gas) in SIZES {
            let (made, raised) = made(name, &[&[("block.gas", size)], form].concat());
            let mut outcomes = made.batches.iter().flat_map(|batch| &batch.expected.transactions);
            assert!(outcomes.all(|tx| tx.status == TxStatus::Success), "{name} at {size}");
            let filled =
                made.batches.iter().flat_map(receipt_gas).map(|used| used as f64 / gas as f64);
            let least = filled.fold(f64::INFINITY, f64::min);
            cells.push(format!("{:.3}", 100.0 * least));
            all_raised.extend(raised.iter().map(|words| format!("{size}: {words}")));
            // The rest may be less than a transaction of fixed size.
            let outcomes = made.batches.iter().flat_map(|batch| &batch.expected.transactions);
            let largest = outcomes.map(|tx| tx.gas_used).max().unwrap_or(0) as f64 / gas as f64;
            if !(0.99_f64.min(1.0 - largest)..=1.0).contains(&least) {
                missed.push(format!("{name} {form:?} at {size}: {least}"));
            }
        }
        let form: Vec<String> =
            form.iter().map(|(key, value)| format!(" `{key}={value}`")).collect();
        let (form, cells, raised) = (form.concat(), cells.join(" | "), all_raised.join(", "));
        writeln!(out, "| `{name}`{form} | {cells} | {raised} |")?;
    }
    assert!(missed.is_empty(), "{missed:#?}");
    Ok(())
}

#[test]
#[ignore = "takes minutes and a few GiB: cargo test --release --workspace --test workloads fill -- --ignored \
            --nocapture --test-threads 1"]
fn every_shipped_scenario_fills_its_blocks_within_a_hundredth_at_three_sizes() -> io::Result<()> {
    fill(shipped::all().iter().map(|(name, _)| (*name, &[][..])))
}

#[test]
#[ignore = "takes minutes and a few GiB: cargo test --release --workspace --test workloads fill -- --ignored \
            --nocapture --test-threads 1"]
fn every_form_of_a_kind_fills_its_blocks_within_a_hundredth_at_three_sizes() -> io::Result<()> {
    fill(FORMS.iter().copied())
}
