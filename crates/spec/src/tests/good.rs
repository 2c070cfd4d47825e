//! The meaning of a right scenario: defaults, units, the resolved file, the identity of the work.

use std::time::Duration;

use variant::{
    AccountReads, CacheFill, CacheMode, Checksums, CodeReads, Compaction, Design, Durability,
    FileAccess, FilterKind, IndexShape, ListDuty, ReadMethod, ReadOrder, ReadTime, ReaderShare,
    RootTime, SampleKeys, Schedule, SlotTable, StopRule, StoreKind, TrieForm, WarmCache,
};
use workload::{Fork, Layout};

use super::{MINIMAL_SCENARIO, parsed};
use crate::*;

/// Every key given, none at its default.
const FULL: &str = r#"
schema = 1
name = "full-1"
description = "A \"quoted\" line\nand another, \u001b escaped."
fork = "osaka"
seed = 18446744073709551615

[state]
accounts = 0
size = "1GiB"
layout = "plain"
present = 0.25
seed = 0x10

[block]
transactions = "1k"
blocks = 12
batch = 4
tx_gas = "1.5M"
order = "phases"
seed = 2

[[load]]
kind = "sload-storm"
share = 0.3
keys = "weyl"
contracts = "1k"
name = "many"
sizes = "zipf"
tx_gas = "1M"
tx_gas_least = "100k"
zipf = 1.5
seed = 3

[[load]]
kind = "sload-storm"
share = 0.7

[run]
designs = ["batched-io", "sequential"]
stores = ["memory", "rocksdb", "mdbx"]
threads = [1, 16]
io_threads = [48]
prefetch = ["while", "before"]
prefetch_order = "first-write"
prefetch_accounts = ["mixed"]
prefetch_codes = ["after-state", "on-demand"]
prefetch_stop = "all-read"
prefetch_share = "ranges"
prefetch_chunk = [64, 256]
warm_cache = "per-worker"
schedule = ["known-cost", "block-order"]
read = "multi-get"
checksums = "skip"
cache_fill = "single-reads"
commit = "synced"
cache = "warm"
keys = "same"
draw_seed = 77
databases = 1
samples = 9
budget = "1500ms"
recover_senders = true

[run.mdbx]
storage = "dupsort"

[run.rocksdb]
block = "3900B"
filter = "ribbon"
filter_bits = 16
index = "partitioned"
file = "1TiB"
aged = 0.1
block_cache = "64MiB"
warm_cache = "1GiB"
access = "buffered"
multi_get_keys = 256
open_files = "1k"
compaction = "off"
write_buffer = "8MiB"
options = " compression_opts={level=1;strategy=0}; max_background_jobs=1; "

[[expect]]
metric = "execution( speedup( batched-io , sequential ) )"
min = 1.5
when = { store = "rocksdb", cache = "cold" }

[[expect]]
metric = "bal_bytes(batched-io)"
max = 1_000_000
"#;

/// What a storm is whose file sets none of these keys.
fn least_storm() -> SloadStorm {
    SloadStorm {
        keys: KeyOrder::Keccak,
        contract_count: 1,
        overlap: Overlap::Nothing,
        order: SlotOrder::Index,
        calldata_share: 0.0,
        calldata_byte: CalldataByte::Random,
    }
}

#[test]
fn what_is_left_out_has_its_default() {
    let scenario = parsed(MINIMAL_SCENARIO);
    let expected = Scenario {
        name: "least".into(),
        description: String::new(),
        fork: Fork::Amsterdam,
        seed: 0,
        state: StateSpec {
            account_count: 100_000,
            slot_count: 2_000_000,
            layout: Layout::Hashed,
            present_share: 1.0,
            seed: None,
        },
        block: BlockSpec {
            target: BlockTarget::Gas(64_000_000),
            block_count: 1,
            batch_block_count: 1,
            tx_gas: 16_777_216,
            order: LoadOrder::Interleaved,
            seed: None,
        },
        loads: vec![Load {
            share: 1.0,
            name: None,
            sizes: None,
            seed: None,
            kind: LoadKind::SloadStorm(least_storm()),
        }],
        run: RunSpec {
            designs: vec![Design::Sequential, Design::ParallelIo, Design::BatchedIo],
            stores: vec![StoreKind::Rocksdb],
            thread_counts: vec![],
            fiber_counts: vec![1],
            shards: ShardSpec::default(),
            io_thread_counts: vec![],
            list_duties: vec![],
            prefetch: PrefetchSpec::default(),
            warm_cache: WarmCache::Shared,
            read: None,
            checksums: Checksums::Verified,
            cache_fill: CacheFill::Always,
            schedules: vec![Schedule::BlockOrder],
            commit: Durability::Logged,
            root: RootSpec::default(),
            trie: TrieForm::Nothing,
            whole: WholeSpec { rows: None, root: RootTime::Nothing },
            duties: vec![],
            execution_alone: true,
            cache: CacheMode::Cold,
            keys: None,
            draw_seed: None,
            database_count: 1,
            sample_count: None,
            budget: Duration::from_secs(60),
            mdbx: MdbxSpec { storage: SlotTable::Rows },
            redis_addresses: vec![],
            rocksdb: RocksdbSpec {
                block_bytes: 4_096,
                filter: FilterKind::Bloom,
                filter_bits: 10,
                index: IndexShape::Whole,
                file_bytes: 768 << 20,
                aged_share: 0.0,
                block_cache_bytes: 256 << 20,
                warm_cache_bytes: 4 << 30,
                access: FileAccess::Direct,
                multi_get_key_count: 1_024,
                open_file_count: None,
                compaction: Compaction::Off,
                write_buffer: None,
                options: String::new(),
            },
            recover_senders: false,
        },
        expects: vec![],
        overridden: vec![],
    };
    assert_eq!(scenario, expected);
}

#[test]
fn every_key_is_read() {
    let scenario = parsed(FULL);
    assert_eq!(scenario.description, "A \"quoted\" line\nand another, \u{1b} escaped.");
    assert_eq!(scenario.seed, u64::MAX);
    let state = &scenario.state;
    assert_eq!((state.slot_count, state.seed), ((1 << 30) / 76, Some(16)));
    assert_eq!(scenario.block.target, BlockTarget::Transactions(1_000));
    assert_eq!((scenario.block.batch_block_count, scenario.block.tx_gas), (4, 1_500_000));
    assert_eq!(scenario.block.order, LoadOrder::Phases);
    assert_eq!(scenario.loads.len(), 2);
    assert_eq!(scenario.loads[0].name.as_deref(), Some("many"));
    let zipf = (SizeDistribution::Zipf, 100_000, 1_000_000, 1.5);
    let sizes =
        scenario.loads[0].sizes.map(|of| (of.shape, of.least_gas, of.most_gas, of.exponent));
    assert_eq!(sizes, Some(zipf));
    assert_eq!(scenario.run.budget, Duration::from_millis(1_500));
    let prefetch = PrefetchSpec {
        times: vec![ReadTime::While, ReadTime::Before],
        orders: vec![ReadOrder::FirstWrite],
        accounts: vec![AccountReads::Mixed],
        codes: vec![CodeReads::AfterState, CodeReads::OnDemand],
        stops: vec![StopRule::AllRead],
        shares: vec![ReaderShare::Ranges],
        chunk_key_counts: vec![64, 256],
    };
    assert_eq!(scenario.run.prefetch, prefetch);
    assert_eq!(scenario.run.warm_cache, WarmCache::PerWorker);
    let order = [Schedule::KnownCost, Schedule::BlockOrder];
    assert_eq!(scenario.run.schedules, order);
    assert!(scenario.run.recover_senders);
    let how = (scenario.run.read, scenario.run.commit);
    assert_eq!(how, (Some(ReadMethod::MultiGet), Durability::Synced));
    let how = (scenario.run.checksums, scenario.run.cache_fill);
    assert_eq!(how, (Checksums::Skipped, CacheFill::SingleReads));
    let rocksdb = RocksdbSpec {
        block_bytes: 3_900,
        filter: FilterKind::Ribbon,
        filter_bits: 16,
        index: IndexShape::Partitioned,
        file_bytes: 1 << 40,
        aged_share: 0.1,
        block_cache_bytes: 64 << 20,
        warm_cache_bytes: 1 << 30,
        access: FileAccess::Buffered,
        multi_get_key_count: 256,
        open_file_count: Some(1_000),
        compaction: Compaction::Off,
        write_buffer: Some(8 << 20),
        options: "compression_opts={level=1;strategy=0}; max_background_jobs=1;".to_owned(),
    };
    assert_eq!(scenario.run.rocksdb, rocksdb);
    assert_eq!(scenario.run.rocksdb.write_buffer_bytes(), 8 << 20);
    let unsaid =
        |compaction| RocksdbSpec { compaction, ..RocksdbSpec::default() }.write_buffer_bytes();
    assert_eq!([Compaction::Off, Compaction::On].map(unsaid), [512 << 20, 64 << 20]);
    assert_eq!(scenario.run.mdbx, MdbxSpec { storage: SlotTable::DupSort });
    let metric = Metric::Speedup { of: Design::BatchedIo, over: Design::Sequential };
    let when = When { store: Some(StoreKind::Rocksdb), cache: Some(CacheMode::Cold) };
    let expect = Expect { metric, scope: Scope::Execution, bound: Bound::Min(1.5), when };
    assert_eq!(scenario.expects[0], expect);
    assert!(!scenario.claims_whole_blocks(), "a list is of the work");
    assert_eq!(scenario.skipped_expects(), None);
}

#[test]
fn every_way_to_commit_and_every_time_to_prefetch_is_read_and_written() {
    let runs = |key: &str, name: &str| {
        let scenario = parsed(&format!("{MINIMAL_SCENARIO}[run]\n{key} = \"{name}\"\n"));
        assert_eq!(parsed(&scenario.to_toml()), scenario, "{key} = {name}");
        scenario.run
    };
    for commit in Durability::ALL {
        assert_eq!(runs("commit", commit.name()).commit, *commit);
    }
    for cache in WarmCache::ALL {
        assert_eq!(runs("warm_cache", cache.name()).warm_cache, *cache);
    }
    for duty in ListDuty::ALL {
        assert_eq!(runs("list", duty.name()).list_duties, [*duty]);
    }
    for prefetch in ReadTime::ALL {
        assert_eq!(runs("prefetch", prefetch.name()).prefetch.times, [*prefetch]);
    }
}

#[test]
fn the_resolved_file_reads_back_as_the_same_scenario() {
    for text in shipped::all().iter().map(|(_, text)| *text).chain([MINIMAL_SCENARIO, FULL]) {
        let scenario = parsed(text);
        let resolved = scenario.to_toml();
        assert_eq!(parsed(&resolved), scenario, "{resolved}");
        assert_eq!(parsed(&resolved).to_toml(), resolved);
    }
}

#[test]
fn the_identity_of_the_work_is_that_of_the_work_keys_alone() {
    let identity = |text: &str| parsed(text).work_identity();
    let least = identity(MINIMAL_SCENARIO);
    let other_name = MINIMAL_SCENARIO.replace("\"least\"", "\"other\"\ndescription = \"d\"");
    let run = "[run]\nthreads = [3]\n[[expect]]\nmetric = \"mgas_per_s(sequential)\"\nmin = 1\n";
    assert_eq!(identity(&other_name), least);
    assert_eq!(identity(&format!("{MINIMAL_SCENARIO}{run}")), least);
    assert_eq!(identity(&MINIMAL_SCENARIO.replace("\"2M\"", "2_000_000")), least);
    assert_eq!(
        identity(&MINIMAL_SCENARIO.replace("[block]", "layout = \"hashed\"\n[block]")),
        least
    );
    for (line, instead) in [
        ("[state]", "fork = \"osaka\"\n[state]"),
        ("[state]", "seed = 1\n[state]"),
        ("[block]", "seed = 0\n[block]"),
        ("[block]", "accounts = 1\n[block]"),
        ("[block]", "present = 0.5\n[block]"),
        ("[[load]]", "tx_gas = \"1M\"\n[[load]]"),
        ("gas = \"64M\"", "transactions = 4"),
        ("[[load]]", "order = \"phases\"\n[[load]]"),
        ("kind =", "name = \"own\"\nkind ="),
        ("kind =", "tx_gas = \"1M\"\nkind ="),
        ("kind =", "keys = \"weyl\"\nkind ="),
        ("kind =", "seed = 0\nkind ="),
    ] {
        assert_ne!(identity(&MINIMAL_SCENARIO.replacen(line, instead, 1)), least, "{instead}");
    }
}

#[test]
fn a_shipped_scenario_is_named_as_its_file_and_says_what_it_does() {
    for (name, text) in shipped::all() {
        let scenario = load(name, &[]).unwrap_or_else(|error| panic!("{error}"));
        // A twin keeps its test's name, which has underscores and is no name of a scenario.
        let file_name = name.rsplit('/').next().map(|name| name.replace('_', "-"));
        assert_eq!(Some(scenario.name), file_name);
        assert!(text.starts_with("# "), "{name} opens with a comment");
        assert!(!scenario.description.is_empty(), "{name}");
    }
    for prefix in ["", "official/"] {
        let folder = format!("{}/../../scenarios/{prefix}", env!("CARGO_MANIFEST_DIR"));
        for entry in std::fs::read_dir(folder).expect("a folder of scenarios") {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            if let Some(name) = name.strip_suffix(".toml") {
                assert!(shipped::find(&format!("{prefix}{name}")).is_some(), "{name} is shipped");
            }
        }
    }
}

#[test]
fn each_database_has_a_seed_of_its_own_and_the_first_has_the_scenarios() {
    let scenario = parsed(&format!("seed = 5\n{MINIMAL_SCENARIO}[run]\ndatabases = 4\n"));
    assert_eq!(scenario.for_database(0), scenario);
    let seeds = |of: &Scenario| (0..64).map(|n| of.for_database(n).seed).collect::<Vec<_>>();
    let mut all = seeds(&scenario);
    assert_eq!(all, seeds(&scenario), "they are the same every time");
    // No seed of one database is a seed of another, also under another seed.
    all.extend(seeds(&Scenario { seed: 6, ..scenario.clone() }));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 128);
    // Nothing else differs, and neither does how it is run.
    assert_eq!(Scenario { seed: 5, ..scenario.for_database(3) }, scenario);
    assert_eq!(parsed(&scenario.to_toml()), scenario);
}

#[test]
fn each_sample_has_blocks_of_its_own_over_the_same_state() {
    let scenario =
        parsed(&format!("seed = 5\n{MINIMAL_SCENARIO}[run]\nkeys = \"fresh\"\ndraw_seed = 9\n"));
    assert_eq!((scenario.run.keys, scenario.run.draw_seed), (Some(SampleKeys::Fresh), Some(9)));
    let seeds = |draw_seed, number| {
        let sample = scenario.for_sample(draw_seed, number);
        assert_eq!(sample.state.seed, Some(5), "the state stays the scenario's");
        sample.seed
    };
    assert_eq!(seeds(9, 0), seeds(9, 0), "they are the same every time");
    let mut all = vec![5, seeds(9, 0), seeds(9, 1), seeds(8, 0), seeds(8, 1)];
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 5);
    // A fixed seed is another for each sample, too.
    let fixed = Scenario { block: BlockSpec { seed: Some(1), ..scenario.block }, ..scenario };
    let sample = fixed.for_sample(9, 0);
    assert!(sample.block.seed.is_some_and(|seed| seed != 1), "{sample:?}");
    let on_state = Scenario { state: StateSpec { seed: Some(3), ..fixed.state }, ..fixed };
    assert_eq!(on_state.for_sample(9, 0).state.seed, Some(3));
}
