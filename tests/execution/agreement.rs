//! Every variant must equal the reference on generated workloads. If `STRESS_VECTORS` names foreign
//! blocks, it must equal the reference on them, too. A wrong list must be rejected.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use alloy_primitives::Bytes;
use executor::{
    engine::{EngineError, SpeculativePassCounts},
    sample::Measurement,
    state::StateFormat,
    store::{
        Store,
        flat::{FlatFormat, FlatSettings, FlatStore},
        formats::format_of,
        mdbx::{MdbxFormat, MdbxSettings, MdbxStore},
        memory::MemoryStore,
        rocksdb::{RocksFormat, RocksSettings, RocksStore},
    },
};
use generator::{
    import::{self, NamedText, TransitionInput},
    reference,
};
use spec::Scenario;
use variant::{Design, Io, ListForm, Phase, ReadMethod, StoreKind, Variant};
use workload::{
    Fork, Workload,
    list::{ListBounds, ListIndex},
};

use crate::common::{
    agree,
    loads::{MEETING_LOADS, OTHER_STORMS, SHAPED_LOADS},
    policies::policies,
    redis,
    vectors::{json_files, unpack, vectors},
};

/// Every variant, and batched reads under every policy. Thread counts are an axis of their own.
pub(crate) fn variants() -> Vec<Variant> {
    let two = NonZeroUsize::new(2).unwrap();
    let batched = Variant::of(Design::BatchedIo, two, NonZeroUsize::new(3).unwrap());
    let with = |policy| Variant { io: Io::Batched(policy), ..batched };
    agree::variants().into_iter().chain(policies().into_iter().map(with)).collect()
}

fn assert_all_agree(workload: &Workload, name: &str) {
    assert_agree_on(&agree::in_memory(workload), workload, &variants(), name);
}

fn assert_agree_on(store: &dyn Store, workload: &Workload, variants: &[Variant], name: &str) {
    assert_eq!(agree::list_difference(store, workload), None, "{name}: its lists");
    let full = agree::lists(workload, Some(ListForm::Full)).unwrap();
    let keys = declared_key_count(workload);
    for variant in variants.iter().copied() {
        let lists = match variant.list {
            Some(ListForm::Full) => full.clone(),
            form => agree::lists(workload, form).unwrap(),
        };
        let taken = agree::take(store, workload, &lists, variant);
        let taken = taken.unwrap_or_else(|e| panic!("{name}, {variant}: {e}"));
        assert_eq!(taken.disagreement, None, "{name}, {variant}");
        if variant.list == Some(ListForm::Full) {
            assert_eq!(taken.executed.prefetched.read_count, keys, "{name}, {variant}");
            // Only codes are read from the store: the list has their hashes.
            let read_count = taken.executed.on_demand.read_count;
            assert!(read_count <= code_count(workload), "{name}, {variant}: {read_count}");
        }
        if let Some(pass) = taken.executed.speculative_pass {
            check_speculative_pass(&taken, pass, &format!("{name}, {variant}"));
        }
    }
}

/// Number of codes below the batches, once for each batch.
fn code_count(workload: &Workload) -> u64 {
    let explicit = workload.genesis.accounts.iter().filter(|account| !account.code.is_empty());
    let made = workload.genesis.account_families.iter().map(|family| family.code_count());
    (explicit.count() as u64 + made.sum::<u64>()) * workload.batches.len() as u64
}

/// Number of accounts and slots that the lists name.
fn declared_key_count(workload: &Workload) -> u64 {
    let count = |batch: &workload::Batch| {
        let bounds = ListBounds::new(batch, &workload.rules);
        let list = ListIndex::decode(&batch.list, &bounds).unwrap();
        u64::from(list.account_count()) + u64::from(list.slot_count())
    };
    workload.batches.iter().map(count).sum()
}

/// Checks that each key of the run in order is either found (ready or in flight) or read by the run
/// itself, never both.
fn check_speculative_pass(taken: &Measurement, pass: SpeculativePassCounts, name: &str) {
    let in_order = &taken.executed.on_demand;
    let found_count = in_order.ready_count + in_order.waited_count;
    assert_eq!(pass.requested_count, found_count + in_order.read_count, "{name}");
    if found_count > 0 {
        assert_eq!(pass.found_count, found_count, "{name}");
    }
    assert!(pass.found_count + pass.unused_count <= pass.read_count, "{name}");
    assert!(pass.pass_wait < taken.executed.wall, "{name}");
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
fn all_variants_agree_on_dependencies_of_every_shape() {
    for fork in ["amsterdam", "osaka"] {
        let head = format!("fork = \"{fork}\"\n[state]\naccounts = 200\n[block]\ngas = \"2M\"\n");
        for load in SHAPED_LOADS {
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
        assert_committed_once_a_batch(&workload);
    }
}

#[test]
fn all_variants_agree_on_storms_that_do_more_than_read_slots() {
    for (fork, batch) in [("amsterdam", 1), ("amsterdam", 2), ("osaka", 2)] {
        let head = format!(
            "fork = \"{fork}\"\n[state]\naccounts = 30\nslots = 60_000\n\
             [block]\ngas = \"1M\"\ntx_gas = \"250k\"\nblocks = 2\nbatch = {batch}\n"
        );
        for load in OTHER_STORMS {
            assert_all_agree(&meeting(&head, &format!("[[load]]\n{load}")), load);
        }
    }
}

fn assert_committed_once_a_batch(workload: &Workload) {
    let store = agree::in_memory(workload);
    for variant in agree::variants() {
        let lists = agree::lists(workload, variant.list).unwrap();
        let taken = agree::take(&store, workload, &lists, variant).unwrap();
        let spans = taken.executed.spans.iter();
        let commits = spans.filter(|span| span.phase == Phase::Commit).count();
        assert_eq!(commits, workload.batches.len(), "{variant}");
        assert_eq!(taken.executed.batches.len(), workload.batches.len(), "{variant}");
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

/// Checks some variants over the store `kind`, whose state is built.
fn assert_agree_over(kind: StoreKind, workload: &Workload, variants: &[Variant], name: &str) {
    let name = format!("{kind}, {name}");
    let dir = tempfile::tempdir().unwrap();
    let built = |format: &dyn StateFormat| agree::built(dir.path(), workload, format);
    let agree_on = |store: &dyn Store, name: &str| assert_agree_on(store, workload, variants, name);
    match kind {
        StoreKind::Rocksdb => {
            let format = RocksFormat::default();
            let store = RocksStore::open(built(&format), RocksSettings::default()).unwrap();
            agree_on(&store, &name);
        }
        StoreKind::Mdbx => {
            for format in [MdbxFormat::ROWS, MdbxFormat::DUP_SORT] {
                let store = MdbxStore::open(built(&format), MdbxSettings::default()).unwrap();
                agree_on(&store, &format!("{name}, {}", format.slots));
            }
        }
        StoreKind::Flat => {
            let store = FlatStore::open(built(&FlatFormat::ROWS), FlatSettings::default()).unwrap();
            agree_on(&store, &name);
        }
        StoreKind::Redis if !redis::is_here() => {}
        StoreKind::Redis => {
            let store = redis::open(workload, dir.path(), &[]).unwrap();
            agree_on(&store, &name);
        }
        StoreKind::Memory => agree_on(&agree::in_memory(workload), &name),
    }
}

fn assert_all_agree_over_every_store(workload: &Workload, name: &str) {
    for kind in StoreKind::ALL.iter().copied() {
        assert_agree_over(kind, workload, &variants(), name);
    }
}

#[test]
fn all_variants_agree_over_every_store() {
    let state = "[state]\naccounts = 50\nslots = 40_000\npresent = 0.9\n";
    for (batch, load) in [(1, "keys = \"keccak\""), (2, "keys = \"weyl\"\ncontracts = 5")] {
        let block =
            format!("[block]\ngas = \"1M\"\ntx_gas = \"250k\"\nblocks = 2\nbatch = {batch}\n");
        let workload = generate(&format!("{state}{block}"), load);
        assert_all_agree_over_every_store(&workload, load);
    }
}

#[test]
fn all_variants_agree_on_made_accounts_and_codes_over_every_store() {
    let head = "[state]\naccounts = 50\n[block]\ngas = \"600k\"\ntx_gas = \"300k\"\n";
    let load = "kind = \"account-storm\"\naccounts = 3_000\ntarget = \"contracts\"\ncodes = 300";
    for (op, code) in [("code-copy", "64KiB"), ("call", "24KiB"), ("code-size", "10B")] {
        let load = format!("[[load]]\n{load}\nop = \"{op}\"\ncode = \"{code}\"");
        let workload = meeting(head, &load);
        assert_all_agree_over_every_store(&workload, op);
    }
}

#[test]
fn all_variants_agree_over_rocksdb_however_it_reads() {
    let dir = tempfile::tempdir().unwrap();
    let text = "[state]\naccounts = 50\nslots = 40_000\npresent = 0.9\n\
                [block]\ngas = \"1M\"\ntx_gas = \"250k\"\nblocks = 2\n";
    let workload = generate(text, "keys = \"keccak\"");
    for read_method in [ReadMethod::Get, ReadMethod::MultiGet] {
        let built = agree::built(dir.path(), &workload, &RocksFormat::default());
        let settings =
            RocksSettings { read_method, multi_get_key_count: 100, ..RocksSettings::default() };
        let store = RocksStore::open(built, settings).unwrap();
        assert_agree_on(&store, &workload, &variants(), &format!("{read_method}"));
    }
}

/// Runs all blocks of a file under all variants. Returns the number of its tests.
fn assert_file_agrees(path: &Path) -> usize {
    let json = std::fs::read_to_string(path).unwrap();
    let tests =
        import::blockchain_tests("vector", &json).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    for test in &tests {
        let mut workload = test.workload.clone();
        reference::complete(&mut workload, || ()).unwrap_or_else(|e| panic!("{}: {e}", test.name));
        for (batch, block) in workload.batches.iter().zip(&test.blocks) {
            assert!(block.lists.iter().all(|list| *list == batch.list), "{}", test.name);
        }
        assert_all_agree(&workload, &test.name);
    }
    tests.len()
}

#[test]
fn all_variants_agree_on_the_small_blocks_of_another_client() {
    let Some(dir) = vectors() else { return };
    let files = json_files(&dir.join("eip7928"));
    let blocks = files.iter().filter(|p| !p.ends_with("invalid-of-combined.json"));
    let count: usize = blocks.map(|path| assert_file_agrees(path)).sum();
    assert_eq!(count, 28);
}

/// Each block runs every third variant, in turn: three blocks in a row cover all variants.
#[test]
fn those_blocks_come_to_the_same_over_every_store_with_files() {
    let Some(vectors) = vectors() else { return };
    let files = json_files(&vectors.join("eip7928"));
    let files = files.iter().filter(|path| !path.ends_with("invalid-of-combined.json"));
    for (turn, path) in files.enumerate() {
        let json = std::fs::read_to_string(path).unwrap();
        let variants: Vec<_> = variants().into_iter().skip(turn % 3).step_by(3).collect();
        for test in import::blockchain_tests("vector", &json).unwrap() {
            let mut workload = test.workload;
            reference::complete(&mut workload, || ()).unwrap();
            // Accounts and codes are made, changed and removed; each sample begins at the same
            // state.
            for kind in StoreKind::ALL.iter().copied().filter(|kind| format_of(*kind).is_some()) {
                assert_agree_over(kind, &workload, &variants, &test.name);
            }
        }
    }
}

#[test]
fn all_variants_agree_on_the_official_test_cases() {
    let Some(dir) = vectors() else { return };
    let unpacked = unpack(&dir.join("eip7928-eest.tar.xz"));
    let files = json_files(&unpacked.path().join("eest"));
    let count: usize = files.iter().map(|path| assert_file_agrees(path)).sum();
    assert_eq!(count, 272);
}

/// Repeats the block of `imported` `count` times, each on the state after the one before, with the
/// senders' next nonces. `None` if the block can only run once.
fn in_sequence(imported: &Workload, count: u64) -> Option<Workload> {
    let mut workload = imported.clone();
    for place in 1..count {
        let changes: Vec<_> =
            reference::run(&workload, || ()).ok()?.into_iter().map(|made| made.changes).collect();
        let state = import::state_after(&workload.genesis, &changes);
        let mut batch = imported.batches[0].clone();
        let block = &mut batch.blocks[0];
        block.env.number += place;
        block.env.timestamp += 12 * place;
        block.env.slot_number += place;
        block.env.parent_hash = *workload.block_hashes.last()?;
        let mut sent = std::collections::HashMap::new();
        for tx in &mut block.transactions {
            let account = state.iter().find(|account| account.address == tx.sender);
            let sent = sent.entry(tx.sender).or_insert(0);
            tx.nonce = account.map_or(0, |account| account.nonce) + *sent;
            *sent += 1;
        }
        workload.block_hashes.push(alloy_primitives::keccak256(block.env.number.to_be_bytes()));
        workload.batches.push(batch);
    }
    reference::complete(&mut workload, || ()).ok()?;
    Some(workload)
}

/// Runs the blocks of these files in sequence, as one batch. Returns the number of sequences.
fn sequences_agree(files: &[PathBuf], count: u64) -> usize {
    let mut sequence_count = 0;
    for path in files.iter().filter(|path| !path.ends_with("invalid-of-combined.json")) {
        let json = std::fs::read_to_string(path).unwrap();
        for test in import::blockchain_tests("vector", &json).unwrap() {
            let Some(alone) = in_sequence(&test.workload, count) else { continue };
            let mut joined = alone.clone();
            import::in_batches(&mut joined, NonZeroUsize::new(8).unwrap(), || ()).unwrap();
            assert_eq!((alone.batches.len() as u64, joined.batches.len()), (count, 1));
            let outcomes = alone.batches.iter().flat_map(|batch| &batch.expected.transactions);
            let joined_outcomes = &joined.batches[0].expected.transactions;
            assert!(outcomes.eq(joined_outcomes), "{}", test.name);
            assert_all_agree(&joined, &test.name);
            sequence_count += 1;
        }
    }
    eprintln!("{sequence_count} sequences of {count} blocks agree as one batch");
    sequence_count
}

#[test]
fn all_variants_agree_on_imported_blocks_in_sequence_as_one_batch() {
    let Some(dir) = vectors() else { return };
    assert_eq!(sequences_agree(&json_files(&dir.join("eip7928")), 3), 28);
}

/// Imports the block of transition-tool files in `folder`, and compares it with their result.
fn transition_block(folder: &std::path::Path, result: &str) -> Workload {
    let names = ["alloc.json", "env.json", "txs.json", result];
    let texts = names.map(|name| std::fs::read_to_string(folder.join(name)).unwrap());
    let [alloc, env, txs, result] =
        [0, 1, 2, 3].map(|at| NamedText { name: names[at], text: &texts[at] });
    let files = TransitionInput::Files { alloc, env, txs };
    let block = import::transition(files, Some(result), Fork::Bpo2, 1);
    let mut block = block.unwrap_or_else(|e| panic!("{e}"));
    // The state root of the mainnet block's file belongs to other accounts.
    block.blocks[0].state_root = None;
    let compared = import::complete(&mut block, || ()).unwrap_or_else(|e| panic!("{e}"));
    assert!(compared.contains(&"receipts root") && compared.contains(&"gas used"));
    block.workload
}

#[test]
fn all_variants_agree_on_a_block_with_transactions_of_every_type() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/t8n");
    assert_all_agree(&transition_block(&folder, "result.json"), "fixtures/t8n");
}

#[test]
fn all_variants_agree_on_a_mainnet_block() {
    let Some(dir) = vectors() else { return };
    let unpacked = unpack(&dir.join("mainnet-24476005.tar.xz"));
    let folder = unpacked.path().join("mainnet-24476005");
    let workload = transition_block(&folder, "result.BPO2.json");
    assert_eq!((workload.tx_count(), workload.gas_used()), (109, 0x7b_790b));
    assert_all_agree(&workload, "mainnet block 24476005");
}

#[test]
fn every_wrong_list_is_rejected_and_the_right_one_is_not() {
    let Some(dir) = vectors() else { return };
    let json = std::fs::read_to_string(dir.join("eip7928/combined.json")).unwrap();
    let mut workload = import::blockchain_tests("combined.json", &json).unwrap().remove(0).workload;
    reference::complete(&mut workload, || ()).unwrap();
    let store = agree::in_memory(&workload);
    let json = std::fs::read(dir.join("eip7928/invalid-of-combined.json")).unwrap();
    let lists: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let one = NonZeroUsize::MIN;
    let variant = Variant::of(Design::BatchedIo, NonZeroUsize::new(2).unwrap(), one);
    let policies = policies().into_iter().map(Io::Batched);
    let mut variant_count = 0;
    for io in policies.chain([Io::OnDemand]) {
        let io_thread_count = usize::from(io != Io::OnDemand);
        let variant = Variant { io, io_thread_count, ..variant };
        assert_eq!(variant.list, Some(ListForm::BatchedIo));
        check_lists(&store, &workload, &lists, variant);
        variant_count += 1;
    }
    eprintln!("29 wrong lists are rejected by {variant_count} ways to use one");
    for entry in lists["variants"].as_array().unwrap() {
        let mut said = workload.clone();
        said.batches[0].list = entry["blockAccessList"].as_str().unwrap().parse().unwrap();
        // Engines without a list check one by rebuilding it.
        let is_right = agree::list_difference(&store, &said).is_none();
        assert_eq!(is_right, entry["valid"].as_bool().unwrap(), "{}", entry["name"]);
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
    // Each wrong list is rejected with its own reason; a duplicate is an order that is not strict.
    let distinct: std::collections::BTreeSet<_> = reasons.iter().collect();
    assert!(distinct.len() >= 25, "{variant}: {reasons:#?}");
}
