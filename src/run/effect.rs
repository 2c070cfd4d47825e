//! Finds settings without an effect, which a run notes, and equal cells, which a sweep leaves out.
//! Two runs are equal if they have the same variants, and their samples use equally opened stores.
//! Equality follows from the values that a run uses, not from a list of keys.

use std::time::Duration;

use spec::{Expect, Override, RunSpec, Scenario};
use variant::CacheMode;

use crate::{
    run::{
        plan::{self, Machine, PlannedCell},
        prepare::{FreshWorks, Request, Source, StoreSettings},
    },
    terminal::Failure,
};

/// A key of a run that some designs ignore.
struct DesignKey {
    key: &'static str,
    /// Two values that make two different runs of a design that takes the key.
    values: [&'static str; 2],
    /// The value that every design follows; empty if there is none.
    neutral: &'static str,
    /// The reason for which one design ignores the key, and the reason for several designs.
    reasons: [&'static str; 2],
}

const DESIGN_KEYS: [DesignKey; 4] = [
    DesignKey {
        key: "run.threads",
        values: ["1", "2"],
        neutral: "1",
        reasons: ["runs on one thread", "run on one thread"],
    },
    DesignKey {
        key: "run.io_threads",
        values: ["1", "2"],
        neutral: "",
        reasons: ["has no I/O threads", "have no I/O threads"],
    },
    DesignKey {
        key: "run.schedule",
        values: ["block-order", "gas-limit"],
        neutral: "block-order",
        reasons: ["follows no schedule", "follow no schedule"],
    },
    DesignKey {
        key: "run.warm_cache",
        values: ["shared", "per-worker"],
        neutral: "",
        reasons: ["warms no cache", "warm no cache"],
    },
];

/// All settings that distinguish runs of one work. Two runs with equal values are one run.
#[derive(Clone, Debug, PartialEq)]
struct Effect {
    /// Number of databases of the same work.
    database_count: u32,
    /// The variants.
    cells: Vec<PlannedCell>,
    /// Whether the samples of each variant have fresh keys.
    are_fresh: Vec<bool>,
    /// The settings of the stores, in the order in which the stores are opened.
    stores: Vec<StoreSettings>,
    /// The cache state; `None` if no store has a device, and no claim depends on it.
    cache: Option<CacheMode>,
    /// Number of samples of each variant.
    sample_count: Option<u32>,
    /// Time for the samples, if their number does not end the run.
    budget: Option<Duration>,
    /// Seed of the run's own draws, if the run makes draws.
    draw_seed: Option<u64>,
    recovers_senders: bool,
    /// Claims that are judged.
    expects: Vec<Expect>,
}

impl Effect {
    fn of(run: &RunSpec, expects: Vec<Expect>, machine: &Machine) -> Self {
        // This pattern names every key of a run, so that a new key is not mistaken for a key
        // without effect. The variants contain these keys:
        let RunSpec {
            designs: _,
            stores,
            thread_counts: _,
            fiber_counts: _,
            shards: _,
            io_thread_counts: _,
            list_duties: _,
            prefetch: _,
            schedules: _,
            warm_cache: _,
            root: _,
            whole: _,
            duties: _,
            execution_alone: _,
            // The settings of the stores contain these keys:
            read: _,
            checksums: _,
            cache_fill: _,
            commit: _,
            trie: _,
            rocksdb: _,
            mdbx: _,
            redis_addresses: _,
            cache,
            // `are_fresh` contains the effect of this key, by variant.
            keys: _,
            draw_seed,
            database_count,
            sample_count,
            budget,
            recover_senders,
        } = run;
        let cells = plan::cells(run, machine);
        let are_fresh: Vec<_> = cells.iter().map(|cell| FreshWorks::are_for(cell, run)).collect();
        let has_device = stores.iter().any(|store| store.has_device());
        let draws = has_device || are_fresh.contains(&true);
        Self {
            database_count: *database_count,
            are_fresh,
            stores: stores.iter().map(|store| StoreSettings::of(*store, run, machine)).collect(),
            cache: Some(*cache).filter(|_| has_device || !expects.is_empty()),
            sample_count: *sample_count,
            budget: Some(*budget).filter(|_| sample_count.is_none()),
            draw_seed: draw_seed.filter(|_| draws),
            recovers_senders: *recover_senders,
            expects,
            cells,
        }
    }
}

/// Returns the digest of the work of `scenario` and of its run on `machine`. Equal work keys make
/// an equal workload, so they make an equal digest.
pub fn digest(scenario: &Scenario, machine: &Machine) -> [u8; 32] {
    let in_force = scenario.skipped_expects().is_none();
    let expects = if in_force { scenario.expects.clone() } else { Vec::new() };
    let effect = Effect::of(&scenario.run, expects, machine);
    *blake3::hash(format!("{} {effect:?}", scenario.work_identity()).as_bytes()).as_bytes()
}

/// Whether both runs take samples of a work alike on `machine`. Number and time of the samples do
/// not matter.
pub fn samples_alike(a: &RunSpec, b: &RunSpec, machine: &Machine) -> bool {
    let [a, b] = [a, b].map(|run| Effect {
        sample_count: None,
        budget: None,
        ..Effect::of(run, Vec::new(), machine)
    });
    a == b
}

/// Returns a note for each override of the user that no variant of the run of `source` takes. The
/// overrides are `run_overrides` and those of the work. Keys that the scenario itself sets are not
/// checked.
pub fn without_effect(
    source: &Source,
    run_overrides: &[Override],
    machine: &Machine,
) -> Vec<String> {
    // The run reports an error of its settings.
    let Ok(run) = Request::run_of(source, run_overrides) else { return Vec::new() };
    let work: &[Override] = match source {
        Source::Scenario { work, .. } => work,
        Source::File(_) => &[],
    };
    let designs: Vec<_> = run.designs.iter().map(|design| design.name()).collect();
    let notes = DESIGN_KEYS.iter().filter_map(|DesignKey { key, values, neutral, reasons }| {
        let mut given = run_overrides.iter().chain(work);
        let given = given.find(|given| given.key == *key && given.value != *neutral)?;
        let [a, b] = values.map(|value| with_value(source, run_overrides, key, value));
        let reason = if designs.len() == 1 { reasons[0] } else { reasons[1] };
        let words =
            format!("note: {} {reason}: {} does not apply", designs.join(", "), given.origin);
        samples_alike(&a.ok()?, &b.ok()?, machine).then_some(words)
    });
    notes.collect()
}

/// Returns the run with another value of a key that the user gave.
fn with_value(
    source: &Source,
    run_overrides: &[Override],
    key: &str,
    value: &str,
) -> Result<RunSpec, Failure> {
    let (mut source, mut run_overrides) = (source.clone(), run_overrides.to_vec());
    let work = match &mut source {
        Source::Scenario { work, .. } => &mut work[..],
        Source::File(_) => &mut [],
    };
    for given in run_overrides.iter_mut().chain(work).filter(|given| given.key == key) {
        value.clone_into(&mut given.value);
    }
    Request::run_of(&source, &run_overrides)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use executor::store::rocksdb::IoUring;

    use super::*;
    use crate::run::prepare::Size;

    fn given(overrides: &[(&str, &str)]) -> Vec<Override> {
        let given = |(key, value): &(&str, &str)| {
            Override::new(*key, *value, format!("--set {key}={value}"))
        };
        overrides.iter().map(given).collect()
    }

    fn scenario(overrides: &[(&str, &str)]) -> Scenario {
        let overrides = given(overrides);
        spec::load("sload-storm", &overrides).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn an_override_that_no_variant_takes_is_noted_and_no_other() {
        let machine =
            Machine { core_count: NonZeroUsize::new(2).unwrap(), io_uring: IoUring::Refused };
        let noted = |work: &[(&str, &str)], run_overrides: &[(&str, &str)]| {
            let (name, work) = ("sload-storm".to_owned(), given(work));
            let source = Source::Scenario { name, work, size: Size::Stated };
            without_effect(&source, &given(run_overrides), &machine)
        };
        let sequential = ("run.designs", "sequential");
        let several = ("run.designs", "sequential,parallel-io");
        let threads =
            "note: sequential runs on one thread: --set run.threads=4 does not apply".to_owned();
        assert_eq!(noted(&[], &[sequential, ("run.threads", "4")]), std::slice::from_ref(&threads));
        assert_eq!(noted(&[("run.threads", "4")], &[sequential]), [threads], "by --set");
        for (run_overrides, words) in [
            ([several, ("run.io_threads", "4")], "sequential, parallel-io have no I/O threads: "),
            ([sequential, ("run.schedule", "gas-limit")], "sequential follows no schedule: "),
            ([several, ("run.warm_cache", "per-worker")], "warm no cache: "),
        ] {
            let notes = noted(&[], &run_overrides);
            assert!(notes.len() == 1 && notes[0].contains(words), "{notes:?}");
        }
        let none: [String; 0] = [];
        for run_overrides in [
            [sequential, ("run.samples", "4")],
            [sequential, ("run.threads", "1")],
            [several, ("run.threads", "4")],
            [several, ("run.schedule", "gas-limit")],
            [("run.designs", "batched-io"), ("run.io_threads", "4")],
            [("run.designs", "prewarm"), ("run.warm_cache", "per-worker")],
            // A fault is the run's.
            [sequential, ("run.threads", "0")],
        ] {
            assert_eq!(noted(&[], &run_overrides), none, "{run_overrides:?}");
        }
        let file = Source::File("no/such.workload".into());
        assert_eq!(
            without_effect(&file, &given(&[sequential, ("run.threads", "4")]), &machine).len(),
            1
        );
    }

    /// Whether two values of a key make one run where `fixed` is set.
    fn is_one(fixed: &[(&str, &str)], key: &str, values: [&str; 2]) -> bool {
        let machine =
            Machine { core_count: NonZeroUsize::new(2).unwrap(), io_uring: IoUring::Refused };
        let [a, b] = values.map(|value| {
            let scenario = scenario(&[fixed, &[(key, value)]].concat());
            digest(&scenario, &machine)
        });
        a == b
    }

    #[test]
    fn a_key_without_effect_makes_equal_runs() {
        let on = |store, design| [("run.stores", store), ("run.designs", design)];
        let memory = on("memory", "batched-io");
        for (fixed, key, values) in [
            (on("rocksdb", "sequential"), "run.threads", ["1", "4"]),
            (on("rocksdb", "parallel-io"), "run.io_threads", ["16", "64"]),
            (on("rocksdb", "parallel-io"), "run.prefetch_chunk", ["8", "64"]),
            (on("rocksdb", "sequential"), "run.warm_cache", ["shared", "per-worker"]),
            (memory, "run.cache", ["cold", "warm"]),
            (memory, "run.rocksdb.block", ["4KiB", "16KiB"]),
            (memory, "run.commit", ["logged", "synced"]),
            (memory, "run.checksums", ["verify", "skip"]),
            (memory, "run.draw_seed", ["1", "2"]),
            (on("redis", "batched-io"), "run.cache", ["cold", "warm"]),
            (on("redis", "batched-io"), "run.commit", ["logged", "synced"]),
            (on("flat", "batched-io"), "run.rocksdb.block_cache", ["1MiB", "2MiB"]),
        ] {
            assert!(is_one(&fixed, key, values), "{fixed:?} {key} {values:?}");
        }
    }

    #[test]
    fn a_key_with_an_effect_never_does() {
        let on = |store, design| [("run.stores", store), ("run.designs", design)];
        let rocksdb = on("rocksdb", "batched-io");
        for (fixed, key, values) in [
            (rocksdb, "run.threads", ["1", "4"]),
            (rocksdb, "run.io_threads", ["16", "64"]),
            (rocksdb, "run.prefetch_chunk", ["8", "64"]),
            (rocksdb, "run.cache", ["cold", "warm"]),
            (rocksdb, "run.rocksdb.block", ["4KiB", "16KiB"]),
            (rocksdb, "run.rocksdb.block_cache", ["1MiB", "2MiB"]),
            (rocksdb, "run.commit", ["logged", "synced"]),
            (rocksdb, "run.checksums", ["verify", "skip"]),
            (rocksdb, "run.draw_seed", ["1", "2"]),
            (rocksdb, "run.read", ["get", "multi-get"]),
            (rocksdb, "run.keys", ["fresh", "same"]),
            (rocksdb, "run.samples", ["6", "7"]),
            (rocksdb, "run.budget", ["10s", "20s"]),
            (rocksdb, "run.databases", ["1", "2"]),
            (rocksdb, "run.recover_senders", ["true", "false"]),
            (rocksdb, "run.trie", ["none", "cut"]),
            (rocksdb, "block.gas", ["64M", "65M"]),
            (rocksdb, "state.slots", ["1M", "2M"]),
            (rocksdb, "seed", ["1", "2"]),
            (on("rocksdb", "sequential"), "run.list", ["none", "build"]),
            (on("rocksdb", "prewarm"), "run.warm_cache", ["shared", "per-worker"]),
            (on("rocksdb", "parallel-io"), "run.schedule", ["block-order", "gas-limit"]),
            (on("memory", "batched-io"), "run.keys", ["fresh", "same"]),
            (on("memory", "batched-io"), "run.trie", ["none", "cut"]),
            (on("mdbx", "batched-io"), "run.mdbx.storage", ["rows", "dupsort"]),
            (on("mdbx", "batched-io"), "run.commit", ["logged", "synced"]),
            (on("redis", "batched-io"), "run.redis_addresses", ["a:7000", "b:7000"]),
            (on("redis", "batched-io"), "run.io_threads", ["1", "2"]),
        ] {
            assert!(!is_one(&fixed, key, values), "{fixed:?} {key} {values:?}");
        }
    }

    #[test]
    fn the_way_of_a_root_has_an_effect() {
        let rooted = [
            ("run.stores", "memory"),
            ("run.designs", "sequential"),
            ("run.trie", "cut"),
            ("run.root", "after"),
        ];
        for (key, values) in [
            ("run.root_shards", ["1", "16"]),
            ("run.root_reads", ["by-level", "at-once"]),
            ("run.root_cache", ["cold", "warm"]),
        ] {
            assert!(!is_one(&rooted, key, values), "{key}");
        }
        assert!(!is_one(&rooted[..3], "run.root", ["after", "pipelined"]));
    }

    #[test]
    fn a_budget_counts_where_no_number_of_samples_ends_the_run() {
        let counted = [("run.samples", "6"), ("run.stores", "memory")];
        assert!(is_one(&counted, "run.budget", ["10s", "20s"]));
        assert!(!is_one(&counted[1..], "run.budget", ["10s", "20s"]));
    }

    #[test]
    fn claims_see_the_cache_also_of_a_store_that_has_none() {
        let memory = scenario(&[("run.stores", "memory")]);
        let machine = Machine::this();
        let with = |cache, expects: &[Expect]| {
            let mut scenario = memory.clone();
            (scenario.run.cache, scenario.expects) = (cache, expects.to_vec());
            digest(&scenario, &machine)
        };
        let text = "schema = 1\nname = \"t\"\ndescription = \"t\"\n[state]\nslots = 1000\n[block]\n\
            gas = \"1M\"\n[[load]]\nkind = \"sload-storm\"\nkeys = \"keccak\"\n[[expect]]\n\
            metric = \"bal_bytes(batched-io)\"\nmin = 1\n";
        let expects = Scenario::parse("t.toml", text, &[]).unwrap().expects;
        assert_eq!(with(CacheMode::Cold, &[]), with(CacheMode::Warm, &[]));
        assert_ne!(with(CacheMode::Cold, &expects), with(CacheMode::Warm, &expects));
    }
}
