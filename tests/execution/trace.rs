//! A trace says the same as the sample's tallies, thread by thread. Its JSON is parsed, its events
//! nest, and their sums equal the measurement's.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, num::NonZeroUsize, sync::atomic::AtomicBool};

use alloy_primitives::Bytes;
use executor::{
    engine::Task,
    sample::{self, Measurement},
    state::{DataDir, NoProgress, StateSpec},
    store::{
        Store,
        memory::MemoryStore,
        rocksdb::{RocksFormat, RocksSettings, RocksStore},
    },
    trace::Trace,
};
use serde_json::Value;
use spec::Scenario;
use variant::{CacheMode, Design, ReadMethod, Schedule, Variant};
use workload::Workload;

use crate::common::agree;

fn workload() -> Workload {
    let text = "schema = 1\nname = \"small\"\nseed = 7\n[state]\naccounts = 100\nslots = 20_000\n\
                [block]\ngas = \"2M\"\ntx_gas = \"400k\"\nblocks = 4\nbatch = 2\n\
                [[load]]\nkind = \"sload-storm\"\n";
    let scenario = Scenario::parse("small.toml", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    generator::generate(&scenario, |_| ()).unwrap()
}

fn full_lists(workload: &Workload) -> Vec<Bytes> {
    generator::reference::full_lists(workload, || ()).unwrap()
}

/// Takes a sample of `variant` and its trace, as JSON.
fn traced(
    store: &dyn Store,
    workload: &Workload,
    variant: Variant,
    trace: Trace,
) -> (Measurement, Value) {
    let cancel = AtomicBool::new(false);
    let lists = sample::lists_for(workload, variant.list, || full_lists(workload)).unwrap();
    let task = Task::new(workload, &lists, variant, &cancel);
    let task = Task { trace: Some(&trace), ..task };
    let taken = sample::take(store, &task, CacheMode::Cold).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(taken.disagreement, None, "{variant}");
    let mut json = Vec::new();
    let facts = [("variant", variant.to_string()), ("workload_digest", "a \"b\"".to_owned())];
    trace.write(&mut json, "a \"process\"", &facts).unwrap();
    let json = serde_json::from_slice(&json).unwrap_or_else(|e| panic!("{variant}: {e}"));
    (taken, json)
}

/// A complete event, in nanoseconds.
#[derive(Debug)]
struct Event {
    thread: u64,
    start: u64,
    lasted: u64,
    cat: String,
    name: String,
    args: Value,
}

fn ns(micros: &Value) -> u64 {
    // The file has three decimals. A double is exact enough to round a day's nanoseconds.
    (micros.as_f64().unwrap() * 1e3).round() as u64
}

fn events(json: &Value) -> Vec<Event> {
    let all = json["traceEvents"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    all.filter(|event| event["ph"] == "X")
        .map(|event| Event {
            thread: event["tid"].as_u64().unwrap(),
            start: ns(&event["ts"]),
            lasted: ns(&event["dur"]),
            cat: text(&event["cat"]),
            name: text(&event["name"]),
            args: event["args"].clone(),
        })
        .collect()
}

/// Checks that each event lies within the last open event of its thread, and that events are
/// ordered by their start.
fn assert_nested(events: &[Event], wall: u64, name: &str) {
    let mut open = BTreeMap::<u64, Vec<u64>>::new();
    let mut last = BTreeMap::<u64, u64>::new();
    for event in events {
        let (start, end) = (event.start, event.start + event.lasted);
        let before = last.insert(event.thread, start).unwrap_or(0);
        assert!(before <= start, "{name}: {event:?} begins before {before}");
        let open = open.entry(event.thread).or_default();
        while open.last().is_some_and(|end| *end <= start) {
            open.pop();
        }
        assert!(open.last().is_none_or(|outer| end <= *outer), "{name}: {event:?} in {open:?}");
        assert!(end <= wall, "{name}: {event:?} ends after the clock, {wall}");
        open.push(end);
    }
}

fn sum(events: &[Event], is_it: impl Fn(&Event) -> bool) -> u64 {
    events.iter().filter(|event| is_it(event)).map(|event| event.lasted).sum()
}

fn variants() -> Vec<Variant> {
    let count = |n| NonZeroUsize::new(n).unwrap();
    let of = |design: Design, threads| Variant::of(design, count(threads), count(3));
    let others = [
        of(Design::Prewarm, 3),
        of(Design::ParallelIo, 1),
        Variant { schedule: Schedule::ListEntries, ..of(Design::ParallelIo, 8) },
        Variant { schedule: Schedule::GasLimit, ..of(Design::BatchedIo, 2) },
    ];
    let ways = Design::ALL.iter().flat_map(|design| agree::ways(*design, 2, 3));
    ways.chain(others).collect()
}

/// Events of steps sum up to the tallies; runs before their turn come on top.
fn assert_sum(variant: Variant, events: u64, told: u64) {
    if variant.engine.runs_steps_once() {
        assert_eq!(events, told, "{variant}");
    } else {
        assert!(events >= told, "{variant}: {events}");
    }
}

fn assert_true(store: &dyn Store, workload: &Workload, variant: Variant) {
    let name = variant.to_string();
    let (taken, json) = traced(store, workload, variant, Trace::default());
    let (executed, events) = (&taken.executed, events(&json));
    let nanos = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap();
    assert_nested(&events, nanos(executed.wall), &name);

    let transactions =
        sum(&events, |event| event.cat == "step" && event.args["kind"] == "transaction");
    assert_sum(variant, transactions, nanos(executed.tx_latencies.total()));
    let reads = [&executed.on_demand, &executed.prefetched].map(|tally| tally.latencies.total());
    if reads.iter().any(|time| !time.is_zero()) {
        assert_eq!(sum(&events, |event| event.cat == "read"), nanos(reads.iter().sum()), "{name}");
        let waited = |event: &Event| event.cat == "wait" && event.args.is_null();
        let of_keys =
            |event: &Event| !event.name.ends_with("threads") && !event.name.ends_with("prefetch");
        let waits = sum(&events, |event| waited(event) && of_keys(event));
        assert_eq!(waits, nanos(executed.on_demand.wait), "{name}");
    }
    let keys: u64 = events.iter().filter_map(|event| event.args["keys"].as_u64()).sum();
    assert!(keys >= executed.on_demand.read_count + executed.prefetched.read_count, "{name}");
    assert!(keys > 0, "{name}");
    let gas: u64 = events.iter().filter_map(|event| event.args["gas"].as_u64()).sum();
    assert_sum(variant, gas, workload.gas_used());
    let steps = events.iter().filter(|event| event.cat == "step").count() as u64;
    assert_sum(variant, steps, workload.tx_count() + 2 * workload.blocks().count() as u64);
    for span in &executed.spans {
        let found = events.iter().any(|event| {
            let is_it =
                (event.start, event.lasted) == (nanos(span.start), nanos(span.end - span.start));
            is_it && event.cat == "phase" && event.name == span.phase.name()
        });
        assert!(found, "{name}: no event of {span:?}");
    }
    assert_eq!(json["otherData"]["variant"], name);
    assert_eq!(json["otherData"]["workload_digest"], "a \"b\"");
    for track in json["otherData"]["tracks"].as_array().unwrap() {
        let of_track = events.iter().filter(|event| event.thread == track["tid"]).count();
        assert_eq!(track["event_count"], of_track, "{name}: {track}");
        assert_eq!(track["dropped_count"], 0, "{name}: {track}");
    }
}

#[test]
fn events_nest_and_sum_up_to_the_tallies_of_every_kind_of_variant() {
    let workload = workload();
    let memory = MemoryStore::build(&workload.genesis, None, 1 << 30).unwrap();
    for variant in variants() {
        assert_true(&memory, &workload, variant);
    }
    let dir = tempfile::tempdir().unwrap();
    let data = DataDir::open(dir.path()).unwrap();
    for read_method in [ReadMethod::Get, ReadMethod::MultiGet] {
        let spec = StateSpec {
            genesis: &workload.genesis,
            layout: workload.layout,
            format: &RocksFormat::default(),
            scenario: "small",
            threads: 2,
        };
        let built = data.open_or_build(&spec, &NoProgress, &AtomicBool::new(false)).unwrap();
        let settings =
            RocksSettings { read_method, multi_get_key_count: 100, ..RocksSettings::default() };
        let rocks = RocksStore::open(built, settings).unwrap();
        for variant in variants() {
            assert_true(&rocks, &workload, variant);
        }
    }
}

#[test]
fn what_has_no_room_is_counted_with_its_time_and_no_step_is_lost() {
    let workload = workload();
    let memory = MemoryStore::build(&workload.genesis, None, 1 << 30).unwrap();
    let variant = Variant::of(Design::ParallelIo, NonZeroUsize::new(2).unwrap(), NonZeroUsize::MIN);
    let (_, whole) = traced(&memory, &workload, variant, Trace::default());
    let (_, cut) = traced(&memory, &workload, variant, Trace::keeping(10));
    let count = |json: &Value, cat: &str| {
        events(json).iter().filter(|event| event.cat == cat).count() as u64
    };
    assert_eq!(count(&cut, "step"), count(&whole, "step"));
    assert!(count(&cut, "read") <= 20, "ten a thread at most");
    let tracks = cut["otherData"]["tracks"].as_array().unwrap();
    let total = |key: &str| tracks.iter().map(|track| track[key].as_u64().unwrap()).sum::<u64>();
    // Waits vary from run to run; reads do not.
    assert!(count(&cut, "read") + total("dropped_count") >= count(&whole, "read"));
    assert!(total("dropped_ns") > 0);
}
