//! Every variant must come to what the reference came to: on generated workloads, and, where
//! `STRESS_VECTORS` names them, on blocks that nobody here wrote. And a wrong list must be
//! rejected.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

#[path = "common/agree.rs"]
mod agree;

use std::{num::NonZeroUsize, path::PathBuf, sync::atomic::AtomicBool};

use alloy_primitives::Bytes;
use executor::{
    engine::EngineError,
    state::{DataDir, Quiet, StateSpec},
    store::{
        Store,
        memory::MemoryStore,
        rocksdb::{ReadMethod, RocksFormat, RocksSettings, RocksStore},
    },
    variant::{Design, Io, ListForm, Prefetch, Variant},
};
use generator::{import, reference, scenario::Scenario};
use workload::Workload;

fn assert_all_agree(workload: &Workload, name: &str) {
    assert_all_agree_on(&agree::in_memory(workload), workload, name);
}

fn assert_all_agree_on<S: Store>(store: &S, workload: &Workload, name: &str) {
    assert_eq!(agree::list_difference(store, workload), None, "{name}: its lists");
    for variant in agree::variants() {
        assert_eq!(agree::disagreement(store, workload, variant), None, "{name}");
    }
}

fn scenario(extra: &str, load: &str) -> Scenario {
    let text = format!(
        "schema = 1\nname = \"small\"\ndescription = \"small\"\nseed = 7\n{extra}\n[[load]]\n\
         kind = \"sload-storm\"\n{load}\n"
    );
    Scenario::parse("small.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"))
}

fn generate(extra: &str, load: &str) -> Workload {
    generator::generate(&scenario(extra, load), |_| ()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn all_variants_agree_on_storms_of_every_kind() {
    let state = "[state]\naccounts = 100\nslots = 40_000\n";
    let block = "[block]\ngas = \"6M\"\ntx_gas = \"1M\"\n";
    for load in [
        "keys = \"keccak\"",
        "keys = \"weyl\"",
        "keys = \"chase\"",
        "keys = \"keccak\"\ncontracts = 5",
    ] {
        assert_all_agree(&generate(&format!("{state}{block}"), load), load);
    }
    let absent = "[state]\naccounts = 100\nslots = 40_000\npresent = 0.5\n";
    assert_all_agree(&generate(&format!("{absent}{block}"), "keys = \"weyl\""), "half present");
}

/// The texts of loads that are no storms, in which transactions meet in every way.
const MEETING_LOADS: &[&str] = &[
    "kind = \"transfers\"\npattern = \"a-to-b\"",
    "kind = \"transfers\"\npattern = \"a-to-a\"",
    "kind = \"transfers\"\npattern = \"a-to-many\"",
    "kind = \"transfers\"\npattern = \"many-to-a\"",
    "kind = \"transfers\"\npattern = \"fresh\"",
    "kind = \"erc20\"\npattern = \"a-to-b\"\nholders = 20",
    "kind = \"erc20\"\npattern = \"a-to-a\"",
    "kind = \"erc20\"\npattern = \"a-to-many\"",
    "kind = \"erc20\"\npattern = \"many-to-a\"",
    "kind = \"erc20\"\npattern = \"fresh\"",
    "kind = \"one-slot\"\nwork = 3",
];

fn meeting(extra: &str, loads: &str) -> Workload {
    let text = format!("schema = 1\nname = \"small\"\nseed = 7\n{extra}\n{loads}\n");
    let scenario = Scenario::parse("small.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    generator::generate(&scenario, |_| ()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn all_variants_agree_where_transactions_meet() {
    for fork in ["amsterdam", "osaka"] {
        let head = format!("fork = \"{fork}\"\n[state]\naccounts = 30\n[block]\ngas = \"2M\"\n");
        for load in MEETING_LOADS {
            assert_all_agree(&meeting(&head, &format!("[[load]]\n{load}")), load);
        }
    }
}

#[test]
fn all_variants_agree_on_loads_of_different_kinds_in_one_batch() {
    let loads = "[[load]]\nshare = 0.4\nkind = \"transfers\"\n[[load]]\nshare = 0.2\nkind = \"erc20\"\n\
                 [[load]]\nshare = 0.2\nkind = \"one-slot\"\n[[load]]\nshare = 0.2\nkind = \"sload-storm\"";
    for batch in [1, 3] {
        let head = format!(
            "[state]\naccounts = 50\nslots = 2_000\n[block]\ngas = \"2M\"\ntx_gas = \"200k\"\n\
             blocks = 3\nbatch = {batch}\n"
        );
        let workload = meeting(&head, loads);
        assert_eq!(workload.batches.len(), 3 / batch);
        assert_all_agree(&workload, &format!("mixed, batch {batch}"));
    }
}

#[test]
fn all_variants_agree_on_several_blocks_alone_and_as_one_batch() {
    let state = "[state]\naccounts = 3\nslots = 20_000\n";
    for batch in [1, 2, 4] {
        let block =
            format!("[block]\ngas = \"2M\"\ntx_gas = \"500k\"\nblocks = 4\nbatch = {batch}\n");
        let workload = generate(&format!("{state}{block}"), "keys = \"keccak\"");
        assert_eq!(workload.batches.len(), 4 / batch);
        assert_all_agree(&workload, &format!("batch {batch}"));
    }
}

#[test]
fn all_variants_agree_under_the_earlier_fork() {
    let text =
        "fork = \"osaka\"\n[state]\nslots = 20_000\n[block]\ngas = \"3M\"\ntx_gas = \"1M\"\n";
    assert_all_agree(&generate(text, "keys = \"keccak\""), "osaka");
}

#[test]
fn all_variants_agree_over_rocksdb_however_it_reads() {
    let dir = tempfile::tempdir().unwrap();
    let data = DataDir::open(dir.path()).unwrap();
    let text = "[state]\naccounts = 50\nslots = 40_000\npresent = 0.9\n\
                [block]\ngas = \"4M\"\ntx_gas = \"1M\"\nblocks = 2\n";
    let workload = generate(text, "keys = \"keccak\"");
    for read_method in [ReadMethod::Get, ReadMethod::MultiGet { batch: 100 }] {
        let spec = StateSpec {
            genesis: &workload.genesis,
            layout: workload.layout,
            format: &RocksFormat::default(),
            scenario: "small",
            threads: 2,
        };
        let built = data.open_or_build(&spec, &Quiet, &AtomicBool::new(false)).unwrap();
        let settings = RocksSettings { read_method, ..RocksSettings::default() };
        let store = RocksStore::open(built, settings).unwrap();
        assert_all_agree_on(&store, &workload, &format!("{read_method:?}"));
    }
}

fn vectors() -> Option<PathBuf> {
    let dir = std::env::var_os("STRESS_VECTORS").map(PathBuf::from);
    if dir.is_none() {
        eprintln!("STRESS_VECTORS is not set: blocks that nobody here wrote are NOT tested");
    }
    dir
}

/// Runs all blocks of a file under all variants; returns how many tests it held.
fn assert_file_agrees(path: &std::path::Path) -> usize {
    let json = std::fs::read_to_string(path).unwrap();
    let tests = import::blockchain_tests(&json).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    for test in &tests {
        let mut workload = test.workload.clone();
        reference::complete(&mut workload, || ()).unwrap_or_else(|e| panic!("{}: {e}", test.name));
        for (batch, block) in workload.batches.iter().zip(&test.blocks) {
            assert!(block.list.as_ref().is_none_or(|list| *list == batch.list), "{}", test.name);
        }
        assert_all_agree(&workload, &test.name);
    }
    tests.len()
}

fn json_files(dir: &std::path::Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|p| p.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    files
}

#[test]
fn all_variants_agree_on_the_small_blocks_of_another_client() {
    let Some(dir) = vectors() else { return };
    let files = json_files(&dir.join("eip7928"));
    let blocks = files.iter().filter(|p| !p.ends_with("invalid-of-combined.json"));
    let count: usize = blocks.map(|path| assert_file_agrees(path)).sum();
    assert_eq!(count, 28);
}

#[test]
fn all_variants_agree_on_the_official_test_cases() {
    let Some(dir) = vectors() else { return };
    let unpacked = tempfile::tempdir().unwrap();
    let status = std::process::Command::new("tar")
        .arg("-xJf")
        .arg(dir.join("eip7928-eest.tar.xz"))
        .arg("-C")
        .arg(unpacked.path())
        .status();
    assert!(status.is_ok_and(|status| status.success()), "tar unpacks the vectors");
    let files = json_files(&unpacked.path().join("eest"));
    let count: usize = files.iter().map(|path| assert_file_agrees(path)).sum();
    assert_eq!(count, 272);
}

#[test]
fn every_wrong_list_is_rejected_and_the_right_one_is_not() {
    let Some(dir) = vectors() else { return };
    let json = std::fs::read_to_string(dir.join("eip7928/combined.json")).unwrap();
    let mut workload = import::blockchain_tests(&json).unwrap().remove(0).workload;
    reference::complete(&mut workload, || ()).unwrap();
    let store = agree::in_memory(&workload);
    let json = std::fs::read(dir.join("eip7928/invalid-of-combined.json")).unwrap();
    let lists: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let one = NonZeroUsize::MIN;
    let variant = Design::BatchedIo.variant(NonZeroUsize::new(2).unwrap(), one);
    for io in [Io::Batched(Prefetch::Before), Io::Batched(Prefetch::While), Io::OnDemand] {
        let io_thread_count = usize::from(io != Io::OnDemand);
        let variant = Variant { io, io_thread_count, ..variant };
        assert_eq!(variant.list, ListForm::BatchedIo);
        check_lists(&store, &workload, &lists, variant);
    }
}

fn check_lists(
    store: &MemoryStore,
    workload: &Workload,
    lists: &serde_json::Value,
    variant: Variant,
) {
    let mut reasons = Vec::new();
    for entry in lists["variants"].as_array().unwrap() {
        let name = entry["name"].as_str().unwrap();
        let bytes: Bytes = entry["blockAccessList"].as_str().unwrap().parse().unwrap();
        let taken = agree::take(store, workload, &[bytes], variant);
        if entry["valid"].as_bool().unwrap() {
            let taken = taken.unwrap_or_else(|e| panic!("{name}, {variant}: {e}"));
            assert_eq!(taken.disagreement, None, "{name}, {variant}");
        } else {
            let error = taken.expect_err(name);
            assert!(matches!(error, EngineError::List { .. }), "{name}, {variant}: {error}");
            reasons.push(error.to_string());
        }
    }
    assert_eq!(reasons.len(), 29);
    // Each wrong list names what is wrong with it; a duplicate is an order that is not strict.
    let distinct: std::collections::BTreeSet<_> = reasons.iter().collect();
    assert!(distinct.len() >= 25, "{variant}: {reasons:#?}");
}
