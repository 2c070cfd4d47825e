//! State roots. All engines, list forms and formats of tries give the same root: that of a walk
//! over the state, and of the blocks' headers. A wrong node, a wrong row beside a delete, and a
//! lost change or delete of a node are found.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{num::NonZeroUsize, path::Path, sync::atomic::AtomicBool};

use alloy_primitives::B256;
use executor::{
    engine::{EngineError, Task},
    sample::{self, Measurement},
    store::{Store, memory::MemoryStore},
    trace::Trace,
    tries,
};
use generator::{import, reference};
use random_blocks::RandomBlocks;
use spec::Scenario;
use variant::{CacheMode, Design, RootTime, RootWay, TrieForm, Variant};
use workload::Workload;

use crate::common::{
    agree,
    loads::{MEETING_LOADS, OTHER_STORMS},
    vectors::{json_files, unpack, vectors},
};

mod ahead;
mod faults;
mod stores;
mod ways;

const LIMIT_BYTES: u64 = 1 << 30;

/// Every form of tries.
fn forms() -> impl Iterator<Item = TrieForm> {
    TrieForm::ALL.iter().copied().filter(|form| *form != TrieForm::Nothing)
}

fn in_memory(workload: &Workload, form: TrieForm) -> MemoryStore {
    let format = tries::trie_format(form).unwrap();
    MemoryStore::build(&workload.genesis, Some(format), LIMIT_BYTES).unwrap()
}

fn rooted(variant: Variant) -> Variant {
    Variant { root: RootWay::at(RootTime::After), ..variant }
}

/// Variants of each design with the root after execution, and with nodes that are read while steps
/// run. Designs with a list also have the root from the list.
fn designs() -> Vec<Variant> {
    let two = NonZeroUsize::new(2).unwrap();
    let variants: Vec<_> =
        Design::ALL.iter().map(|design| rooted(Variant::of(*design, two, two))).collect();
    let (pipelined, listed) = (pipelined(&variants), listed(&variants));
    variants.into_iter().chain(pipelined).chain(listed).collect()
}

/// Variants whose nodes are read while steps run.
fn pipelined(variants: &[Variant]) -> Vec<Variant> {
    let root = RootWay::at(RootTime::Pipelined);
    variants.iter().map(|variant| Variant { root, ..*variant }).collect()
}

/// Variants with the root from the list, of those that take a list.
fn listed(variants: &[Variant]) -> Vec<Variant> {
    let takes_list = variants.iter().filter(|variant| variant.list.is_some());
    let root = RootWay::at(RootTime::FromList);
    takes_list.map(|variant| Variant { root, ..*variant }).collect()
}

fn meeting(head: &str, loads: &str) -> Workload {
    let text = format!("schema = 1\nname = \"small\"\nseed = 7\n{head}\n[[load]]\n{loads}\n");
    let scenario = Scenario::parse("small.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    generator::generate(&scenario, |_| ()).unwrap_or_else(|e| panic!("{e}"))
}

/// Takes a sample, which must agree.
fn take(store: &dyn Store, workload: &Workload, variant: Variant, name: &str) -> Measurement {
    let lists = agree::lists(workload, variant.list).unwrap();
    let taken = agree::take(store, workload, &lists, variant);
    let taken = taken.unwrap_or_else(|error| panic!("{name}, {variant}: {error}"));
    assert_eq!(taken.disagreement, None, "{name}, {variant}");
    taken
}

fn roots(taken: &Measurement) -> Vec<B256> {
    taken.executed.batches.iter().map(|batch| batch.rooted.as_ref().unwrap().root).collect()
}

/// Roots over a store, which must be the same for all variants.
fn roots_over(
    store: &dyn Store,
    workload: &Workload,
    variants: &[Variant],
    name: &str,
) -> Vec<B256> {
    let all: Vec<_> =
        variants.iter().map(|variant| roots(&take(store, workload, *variant, name))).collect();
    assert_eq!(all[0].len(), workload.batches.len(), "{name}");
    for (roots, variant) in all.iter().zip(variants) {
        assert_eq!(*roots, all[0], "{name}, {variant}");
    }
    all[0].clone()
}

/// Roots over memory, which must be the same in every format.
fn roots_in_memory(workload: &Workload, variants: &[Variant], name: &str) -> Vec<B256> {
    let of_form = |form| {
        roots_over(&in_memory(workload, form), workload, variants, &format!("{name}, {form}"))
    };
    let all: Vec<_> = forms().map(of_form).collect();
    assert!(all.iter().all(|roots| *roots == all[0]), "{name}: {all:?}");
    all[0].clone()
}

#[test]
fn all_variants_and_formats_come_to_one_root() {
    let head = "[state]\naccounts = 30\nslots = 1_500\n[block]\ngas = \"600k\"\ntx_gas = \"300k\"\n\
                blocks = 2\n";
    let mut all: Vec<_> = agree::variants().into_iter().map(rooted).collect();
    let (pipelined, listed) = (pipelined(&all), listed(&all));
    all.extend(pipelined.into_iter().chain(listed));
    for load in ["kind = \"sstore-storm\"\nop = \"clear\"", "kind = \"erc20\"\npattern = \"fresh\""]
    {
        roots_in_memory(&meeting(head, load), &all, load);
    }
}

#[test]
fn all_designs_and_formats_come_to_one_root_on_every_load() {
    let head = |gas| {
        format!(
            "[state]\naccounts = 30\nslots = 3_000\n[block]\ngas = {gas}\ntx_gas = {}\nblocks = 3\n",
            gas / 2
        )
    };
    let storms = OTHER_STORMS.iter().map(|load| (500_000, load));
    for (gas, load) in storms.chain(MEETING_LOADS.iter().map(|load| (1_000_000, load))) {
        roots_in_memory(&meeting(&head(gas), load), &designs(), load);
    }
}

#[test]
fn blocks_alone_and_as_one_batch_come_to_one_root() {
    let of_batch = |batch: u64| {
        let head = format!(
            "[state]\naccounts = 30\nslots = 4_000\n[block]\ngas = \"1M\"\ntx_gas = \"500k\"\n\
             blocks = 4\nbatch = {batch}\n"
        );
        let workload = meeting(&head, "kind = \"sstore-storm\"\nop = \"clear\"\ncontracts = 3");
        roots_in_memory(&workload, &designs(), &format!("batch {batch}"))
    };
    let (alone, pairs, one) = (of_batch(1), of_batch(2), of_batch(4));
    assert_eq!((alone.len(), pairs.len(), one.len()), (4, 2, 1));
    assert_eq!([alone[1], alone[3]], pairs[..]);
    assert_eq!(one[0], alone[3]);
}

#[test]
fn all_designs_come_to_one_root_on_random_blocks() {
    for seed in 1..=12 {
        let built = RandomBlocks::draw(seed, 6).build().unwrap();
        roots_in_memory(&built.workload, &designs(), &format!("random blocks of seed {seed}"));
    }
}

/// Compares the roots of all blocks of a file with their headers. Returns the number of blocks.
fn compare_headers(path: &Path) -> usize {
    let json = std::fs::read_to_string(path).unwrap();
    let tests =
        import::blockchain_tests("vector", &json).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    let mut count = 0;
    for test in tests {
        let mut workload = test.workload.clone();
        reference::complete(&mut workload, || ()).unwrap_or_else(|e| panic!("{}: {e}", test.name));
        let roots = roots_in_memory(&workload, &designs(), &test.name);
        assert_eq!(roots.len(), test.blocks.len(), "{}", test.name);
        for (root, block) in roots.iter().zip(&test.blocks) {
            let header = block.state_root.unwrap_or_else(|| panic!("{}: no root", test.name));
            assert_eq!(*root, header, "{}", test.name);
            count += 1;
        }
    }
    count
}

#[test]
fn roots_are_those_in_the_headers_of_other_clients() {
    let Some(dir) = vectors() else { return };
    let files = json_files(&dir.join("eip7928"));
    let small = files.iter().filter(|path| !path.ends_with("invalid-of-combined.json"));
    assert_eq!(small.map(|path| compare_headers(path)).sum::<usize>(), 28);
    let unpacked = unpack(&dir.join("eip7928-eest.tar.xz"));
    let files = json_files(&unpacked.path().join("eest"));
    let count: usize = files.iter().map(|path| compare_headers(path)).sum();
    assert!(count >= 272, "{count} blocks");
}

#[test]
fn writes_change_as_many_tries_as_contracts_and_deep_paths_have_ten_branches() {
    let head = "[state]\naccounts = 30\nslots = 22_000\n[block]\ngas = \"2M\"\n";
    let variant = designs()[0];
    let of_load = |keys: &str, form| {
        let workload = meeting(head, &format!("kind = \"sstore-storm\"\n{keys}"));
        let taken = take(&in_memory(&workload, form), &workload, variant, keys);
        let mut contracts: Vec<u32> =
            workload.batches[0].plan.slots.iter().map(|range| range.family).collect();
        contracts.dedup();
        (contracts.len() as u64, taken.executed.root_work.unwrap())
    };
    for form in [TrieForm::Branches, TrieForm::All] {
        let (one, nibble) = of_load("nibble = 3", form);
        let (first_count, first) = of_load("keys = \"first\"\ncontracts = 2_000", form);
        let (deep_count, deep) = of_load("keys = \"deep\"", form);
        assert!(one == 1 && first_count > 100, "{first_count} contracts");
        assert_eq!(deep_count, first_count);
        // Each load changes the account trie, and those of system contracts.
        assert_eq!(first.trie_count, nibble.trie_count - 1 + first_count, "{form}");
        assert_eq!(deep.trie_count, first.trie_count, "{form}");
        // The number of slots per contract is the same, but the path has ten branches in place of
        // one or two.
        let more = deep.written_node_count - first.written_node_count;
        assert!(more > 7 * deep_count && deep.written_node_count > 10 * deep_count, "{more}");
    }
}

#[test]
fn a_state_without_tries_has_no_root() {
    let workload =
        meeting("[state]\naccounts = 9\n[block]\ngas = \"100k\"\n", "kind = \"transfers\"");
    let store = agree::in_memory(&workload);
    let variant = designs()[0];
    let error = agree::take(&store, &workload, &agree::lists(&workload, None).unwrap(), variant);
    let error = error.unwrap_err();
    assert!(matches!(error, EngineError::Root { batch: 0, .. }), "{error}");
    assert!(error.to_string().contains("run.trie"), "{error}");
}

/// Tries in the state do not change a sample without a root.
#[test]
fn tries_alone_change_nothing_that_is_counted() {
    let head = "[state]\naccounts = 30\nslots = 4_000\n[block]\ngas = \"1M\"\ntx_gas = \"500k\"\n";
    let workload = meeting(head, "kind = \"sstore-storm\"");
    let without = agree::in_memory(&workload);
    for form in forms() {
        let with = in_memory(&workload, form);
        let variant = Variant::of(Design::Sequential, NonZeroUsize::MIN, NonZeroUsize::MIN);
        let plain = take(&without, &workload, variant, "without tries").executed;
        let tried = take(&with, &workload, variant, "with tries").executed;
        assert_eq!(plain.counters, tried.counters);
        assert_eq!(plain.digests, tried.digests);
        assert!(tried.root_work.is_none() && tried.batches[0].rooted.is_none());
        let rooted = take(&with, &workload, rooted(variant), "with roots").executed;
        assert_eq!(plain.counters, rooted.counters, "reads for roots are counted apart");
        let work = rooted.root_work.unwrap();
        assert!(work.counters.key_count > 0 && work.written_node_count > 0 && work.hash_count > 0);
    }
}

/// A root from a list is provisional until execution has checked the list. After a rejected list,
/// the thread that follows the steps ends, too.
#[test]
fn a_wrong_list_is_rejected_whatever_root_it_has() {
    let head = "[state]\naccounts = 30\nslots = 4_000\n[block]\ngas = \"1M\"\ntx_gas = \"500k\"\n";
    let workload = meeting(head, "kind = \"sstore-storm\"");
    let other = meeting(&head.replace("500k", "400k"), "kind = \"sstore-storm\"");
    let store = in_memory(&workload, TrieForm::Cut);
    for variant in designs().into_iter().filter(|variant| variant.list.is_some()) {
        let wrong = agree::lists(&other, variant.list).unwrap();
        let error = agree::take(&store, &workload, &wrong, variant).unwrap_err();
        assert!(matches!(error, EngineError::List { .. }), "{variant}: {error}");
        take(&store, &workload, variant, "the right list");
    }
}

/// A trace shows the phases of a root from a list on their own track.
#[test]
fn a_root_from_a_list_has_a_track() {
    let head = "[state]\naccounts = 30\nslots = 4_000\n[block]\ngas = \"1M\"\n";
    let workload = meeting(head, "kind = \"sstore-storm\"");
    let store = in_memory(&workload, TrieForm::Cut);
    let variant = listed(&designs())[0];
    let lists = agree::lists(&workload, variant.list).unwrap();
    let (cancel, trace) = (AtomicBool::new(false), Trace::default());
    let task = Task { trace: Some(&trace), ..Task::new(&workload, &lists, variant, &cancel) };
    let taken = sample::take(&store, &task, CacheMode::Cold).unwrap();
    assert_eq!(taken.disagreement, None);
    let mut text = Vec::new();
    trace.write(&mut text, "a process", &[]).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let events = json["traceEvents"].as_array().unwrap();
    let track =
        events.iter().find(|event| event["args"]["name"] == "root").expect("a track of roots");
    let folds: Vec<_> = events.iter().filter(|event| event["name"] == "root-fold").collect();
    assert!(!folds.is_empty() && folds.iter().all(|fold| fold["tid"] == track["tid"]), "{folds:?}");
}
