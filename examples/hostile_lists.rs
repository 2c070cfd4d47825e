//! Cost of wrong lists until they are rejected: time, reads of the store and bytes of its
//! files, for each kind of wrong list and each way to execute with one. Prints a Markdown table.
//!
//! `cargo run --release --example hostile_lists -- [GAS [SLOTS [DIR]]]`: a storm of `GAS` (64M)
//! on a state of `SLOTS` (2M), cold in `RocksDB` under `DIR` (a temporary directory). Under
//! `cargo test` a small one.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a program that prints a table")]

#[path = "../tests/hostile/lists.rs"]
mod hostile;

use std::{num::NonZeroUsize, sync::atomic::AtomicBool, thread};

use alloy_primitives::Bytes;
use executor::{
    engine::{EngineError, Task},
    sample,
    state::{DataDir, NoProgress, StateSpec},
    store::{
        ReadCounters,
        rocksdb::{RocksFormat, RocksSettings, RocksStore},
    },
};
use generator::reference;
use result::stats::{median, median_interval};
use spec::Override;
use variant::{CacheMode, Design, Io, ListForm, Prefetch, ReadTime, Variant};
use workload::Workload;

/// Executions of each list: as many as an interval needs.
const SAMPLE_COUNT: usize = 6;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize| arguments.get(index).map(String::as_str);
    let (gas, slots) = (argument(0).unwrap_or("64M"), argument(1).unwrap_or("2M"));
    let temporary = tempfile::tempdir().unwrap();
    let dir = argument(2).map_or(temporary.path(), std::path::Path::new);
    table(gas, slots, dir);
}

fn table(gas: &str, slots: &str, dir: &std::path::Path) {
    let set = |key: &str, value: &str| Override {
        key: key.to_owned(),
        value: value.to_owned(),
        origin: format!("{key}={value}"),
    };
    let overrides = [set("block.gas", gas), set("state.slots", slots), set("state.accounts", "1k")];
    let scenario = spec::load("sload-storm", &overrides);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let workload = generator::generate(&scenario, |_| ()).unwrap();
    let data = DataDir::open(dir).unwrap();
    let spec = StateSpec {
        genesis: &workload.genesis,
        layout: workload.layout,
        format: &RocksFormat::default(),
        scenario: &workload.scenario,
        threads: thread::available_parallelism().map_or(1, NonZeroUsize::get),
    };
    let built = data.open_or_build(&spec, &NoProgress, &AtomicBool::new(false)).unwrap();
    let store = RocksStore::open(built, RocksSettings::default()).unwrap();
    println!("A storm of {gas} gas on {slots} slots, digest {}.\n", workload.digest());
    println!("| list | way | ms | 95 % | reads | file bytes | rejected because |");
    println!("|---|---|--:|---|--:|--:|---|");
    for form in ListForm::ALL.iter().copied() {
        let full = || reference::full_lists(&workload, || ()).unwrap();
        let right = sample::lists_for(&workload, Some(form), full).unwrap().remove(0);
        let wrong = hostile::lists(&workload, form);
        for variant in variants().into_iter().filter(|variant| variant.list == Some(form)) {
            row("the right list", &store, &workload, &right, variant);
            for list in &wrong {
                row(list.what, &store, &workload, &list.bytes, variant);
            }
        }
    }
}

/// Every way to execute with a list, with a thread for each core and 64 readers.
fn variants() -> Vec<Variant> {
    let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let of = |design: &Design| Variant::of(*design, cores, NonZeroUsize::new(64).unwrap());
    let with_list = Design::ALL.iter().map(of).filter(|variant| variant.list.is_some());
    let ways = |variant: Variant| match variant.io {
        Io::OnDemand | Io::FromList => vec![variant],
        Io::Batched(policy) => {
            let beside = Prefetch { time: ReadTime::While, ..policy };
            vec![
                variant,
                Variant { io: Io::Batched(beside), ..variant },
                Variant { io: Io::OnDemand, io_thread_count: 0, ..variant },
            ]
        }
    };
    with_list.flat_map(ways).collect()
}

fn row(what: &str, store: &RocksStore, workload: &Workload, list: &Bytes, variant: Variant) {
    let mut samples: Vec<_> =
        (0..SAMPLE_COUNT).map(|_| cost(store, workload, list, variant)).collect();
    samples.sort_by(|a, b| a.0.total_cmp(&b.0));
    let times: Vec<f64> = samples.iter().map(|sample| sample.0).collect();
    let (median, [low, high]) = (median(&times).unwrap(), median_interval(&times).unwrap());
    // How far a run comes before a rejection differs with its threads: the counts of the middle.
    let (_, ReadCounters { key_count, block_bytes, .. }, reason) = &samples[SAMPLE_COUNT / 2];
    let ms = format!("{median:.3} | {low:.3}–{high:.3}");
    println!("| {what} | `{variant}` | {ms} | {key_count} | {block_bytes} | {reason} |");
}

/// Milliseconds, what the store counted, and the reason; for a right list that it is right.
fn cost(
    store: &RocksStore,
    workload: &Workload,
    list: &Bytes,
    variant: Variant,
) -> (f64, ReadCounters, String) {
    let cancel = AtomicBool::new(false);
    let task = Task::new(workload, std::slice::from_ref(list), variant, &cancel);
    match sample::take(store, &task, CacheMode::Cold) {
        Ok(taken) => {
            assert_eq!(taken.disagreement, None);
            let executed = taken.executed;
            (executed.wall.as_secs_f64() * 1e3, executed.counters, "not: it is right".to_owned())
        }
        Err(EngineError::List { fault, spent, .. }) => {
            (spent.wall.as_secs_f64() * 1e3, spent.counters, fault.to_string())
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn every_row_of_the_table_can_be_made() {
    table("2M", "20k", tempfile::tempdir().unwrap().path());
}
