//! The lines of a page on the work, the state, the coldness of the cells, the device and the
//! stores.

use std::time::Duration;

use serde_json::{Map, Value};

use result::{Fill, RunResult, SharedDevice, WorkloadFacts};

use super::{
    facts::{self, Reading},
    page::{Page, Tone},
    units,
};

pub(super) fn work(page: &mut Page, result: &RunResult) {
    work_and_state(page, &result.workload, |_| ());
    let prepare = result.prepare.iter().map(|command| format!("before each sample: {command}"));
    page.each(Tone::Plain, "prepare", prepare);
}

/// Writes a workload: its size, its lists, its state.
pub(super) fn workload(page: &mut Page, workload: &WorkloadFacts) {
    work_and_state(page, workload, |page| list(page, workload));
}

/// Writes the lines on the work, then calls `between`, then writes the line on the state.
fn work_and_state(page: &mut Page, workload: &WorkloadFacts, between: impl FnOnce(&mut Page)) {
    let mut size = format!(
        "{} gas, {}, {}",
        units::count(workload.gas),
        units::things(workload.tx_count, "tx"),
        units::things(workload.block_count, "block"),
    );
    if workload.batch_count != workload.block_count {
        let of = units::count(workload.blocks_per_batch);
        size.push_str(&format!(" in {} of {of}", units::things(workload.batch_count, "batch")));
    }
    if workload.header_gas != workload.gas {
        size.push_str(&format!(", header gas {}", units::count(workload.header_gas)));
    }
    let (scenario, fork, seed) = (&workload.scenario, &workload.fork, workload.seed);
    let text = format!("{scenario} on {fork}: {size}; seed {seed}");
    page.labelled(Tone::Plain, "work", &text);
    page.each(Tone::Plain, "fill", workload.fill.as_ref().and_then(fill_words));
    let overridden = units::any_joined(workload.overridden.iter().map(String::as_str), ", ");
    page.each(Tone::Plain, "", overridden.map(|keys| format!("overridden: {keys}")));
    between(page);
    let digest = units::digest(&workload.digest);
    let text = format!(
        "{}, {}, {} rows; workload {digest}",
        slots(workload),
        units::things(workload.state_account_count, "account"),
        workload.layout,
    );
    page.labelled(Tone::Plain, "state", &text);
}

/// Writes the sizes of the lists in bytes, and their number of keys.
fn list(page: &mut Page, workload: &WorkloadFacts) {
    let bal = &workload.bal;
    let keys = workload.list_slot_count.saturating_add(workload.list_account_count);
    let text = format!(
        "batched-io {}, parallel-io {}, full {}; {} + {} = {}",
        units::bytes(bal.batched_io_bytes),
        units::bytes(bal.parallel_io_bytes),
        units::bytes(bal.full_bytes),
        units::things(workload.list_slot_count, "slot"),
        units::things(workload.list_account_count, "account"),
        units::things(keys, "key"),
    );
    page.labelled(Tone::Plain, "list", &text);
}

/// Shares of the block gas limit that the blocks use, as execution gas and as state gas. Each load
/// has its share of the kind of gas that bounds it. `None` where the scenario gives no limit.
fn fill_words(fill: &Fill) -> Option<String> {
    let limit = units::count(fill.block_limit_gas?);
    let share = |gas: u64| units::percent(gas as f64 / fill.limit_gas.max(1) as f64);
    let mut words =
        format!("limit {limit} a block: {} % of execution gas", share(fill.execution_gas));
    if fill.state_gas > 0 {
        words.push_str(&format!(", {} % of state gas", share(fill.state_gas)));
    }
    let loads = fill.loads.iter().map(|load| {
        let name = load.name.as_ref().unwrap_or(&load.kind);
        match load.is_bound_by_state() {
            true => format!("{name} {} % of state", share(load.state_gas)),
            false => format!("{name} {} % of execution", share(load.execution_gas)),
        }
    });
    let loads = units::any_joined(loads, ", ").map(|loads| format!("; {loads}"));
    Some(words + &loads.unwrap_or_default())
}

/// Number of slots of the state. The text says why where the scenario asks for another number.
fn slots(workload: &WorkloadFacts) -> String {
    let all = workload.state_slot_count;
    let words = units::things(all, "slot");
    match workload.sized_slot_count {
        Some(0) if all > 0 => format!("{words} (as many as the work needs)"),
        Some(sized) if units::count(sized) != units::count(all) => {
            let needed = units::count(all.saturating_sub(sized));
            let sized = units::count(sized);
            format!("{words} ({sized} asked for, {needed} that the work needs beside them)")
        }
        _ => words,
    }
}

/// Writes the coldness of the cells, and the device's rates.
pub(super) fn device(page: &mut Page, reading: &Reading<'_>) {
    let result = reading.result;
    let stores = reading.stores.iter();
    let caches = stores.filter_map(|of| Some((of.store, facts::cache_words(result, &of.cells)?)));
    for (stores, words) in facts::by_words(caches) {
        let of = if result.stores.len() > 1 { format!("{stores}: ") } else { String::new() };
        page.labelled(Tone::Plain, "cache", &format!("{of}{words}"));
    }
    let Some(device) = &result.device else { return };
    let mut parts = Vec::new();
    let iops = device.ceiling_iops.filter(|iops| iops.is_finite());
    parts.extend(iops.map(|iops| ceiling_words(iops, None)));
    let alone = device.depth1_p50_ns.map(units::ns);
    parts.extend(alone.map(|time| format!("{time} one alone")));
    let shared = device.shared.as_ref().filter(|_| iops.is_some());
    parts.extend(shared.map(|shared| shared_words(shared, result.started_unix_s)));
    parts.extend(device.reason.clone());
    page.each(Tone::Plain, "disk", units::any_joined(parts, ", "));
}

/// The device's ceiling: `185k reads/s of 4 KiB at most (io_uring depth 256)`.
pub(super) fn ceiling_words(iops: f64, method: Option<&String>) -> String {
    let how = method.map(|method| format!(" ({method})")).unwrap_or_default();
    format!("{} reads/s of 4 KiB at most{how}", units::number(iops))
}

/// Age of the device's rates, which a sweep measured once for all of its cells.
fn shared_words(shared: &SharedDevice, started_unix_s: u64) -> String {
    match started_unix_s.saturating_sub(shared.measured_unix_s) {
        0 => "measured once for the sweep".to_owned(),
        age_s => {
            let age = units::time(Duration::from_secs(age_s));
            format!("measured once for the sweep, {age} before this cell")
        }
    }
}

/// The settings and sizes of a store that matter for a figure; all are in the JSON.
pub(super) fn store_words(store: &str, facts: &Map<String, Value>) -> String {
    let text = |key: &str| units::json_text(facts.get(key)?);
    let size = |key: &str| text(key)?.parse().ok().map(units::bytes);
    let parts = [
        text(store),
        size("file_bytes"),
        size("server_memory_bytes").map(|bytes| format!("{bytes} of its servers' memory")),
        text("filled").map(|filled| format!("filled: {filled}")),
        text("rows"),
        text("reads"),
        size("block_cache_bytes").map(|bytes| format!("block cache {bytes}")),
        text("commit").map(|commit| format!("commit {commit}")),
    ];
    units::joined(parts.into_iter().flatten(), ", ")
}
