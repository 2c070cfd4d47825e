//! The store over MDBX: its rows, the undo of samples, and its reaction to damage.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs::{self, File},
    mem,
    os::unix::{fs::FileExt, process::ExitStatusExt},
    path::Path,
    process::{Command, Stdio},
    sync::{Mutex, atomic::AtomicBool},
};

use alloy_primitives::{B256, Bytes, keccak256};
use executor::{
    state::{BuildPhase, BuildProgress, BuiltState, DataDir, NoProgress, StateError, StateSpec},
    store::{
        Store, StoreError,
        mdbx::{MdbxFormat, MdbxSettings, MdbxStore},
    },
};
use variant::{CacheMode, Durability, SlotTable};
use workload::{Genesis, Layout, NetChanges};

use crate::common::{
    self, KECCAK, genesis,
    rows::{assert_committed, assert_holds, changes},
};

/// Layout of the rows and form of the slots.
#[derive(Clone, Copy, Debug)]
struct Form {
    layout: Layout,
    format: MdbxFormat,
}

const HASHED: Form = Form { layout: Layout::Hashed, format: MdbxFormat::ROWS };
const PLAIN: Form = Form { layout: Layout::Plain, format: MdbxFormat::ROWS };
const DUP_SORT: Form = Form { layout: Layout::Hashed, format: MdbxFormat::DUP_SORT };
const PLAIN_DUP_SORT: Form = Form { layout: Layout::Plain, format: MdbxFormat::DUP_SORT };
const FORMS: [Form; 4] = [HASHED, PLAIN, DUP_SORT, PLAIN_DUP_SORT];
const DATA: &str = "state.mdbx";

fn spec<'a>(genesis: &'a Genesis, form: &'a Form) -> StateSpec<'a> {
    let Form { layout, format } = form;
    StateSpec { genesis, layout: *layout, format, scenario: "test", threads: 2 }
}

fn open(data: &Path, genesis: &Genesis, form: &Form) -> Result<BuiltState, StateError> {
    let spec = spec(genesis, form);
    DataDir::open(data)?.open_or_build(&spec, &NoProgress, &AtomicBool::new(false))
}

fn store(data: &Path, genesis: &Genesis, form: &Form) -> MdbxStore {
    MdbxStore::open(open(data, genesis, form).unwrap(), MdbxSettings::default()).unwrap()
}

fn verify(data: &Path, name: &str) -> Result<(), StateError> {
    let data = DataDir::open(data)?;
    data.verify(name, &[&MdbxFormat::default()], &NoProgress, &AtomicBool::new(false)).map(drop)
}

fn contents(dir: &Path) -> Vec<(String, B256)> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), keccak256(fs::read(&path).unwrap())))
        .collect();
    files.sort();
    files
}

#[test]
fn a_built_state_holds_exactly_what_the_recipe_enumerates() {
    let genesis = genesis(30_000);
    for form in &FORMS {
        let data = tempfile::tempdir().unwrap();
        let store = store(data.path(), &genesis, form);
        let rows = store.built_state().unwrap().manifest().rows;
        assert_eq!((rows.accounts, rows.slots, rows.codes), (1_604, 60_004, 5));
        let sample = store.open_sample(CacheMode::Cold).unwrap();
        assert_holds(sample.reader().unwrap().as_mut(), &genesis);
        sample.close().unwrap();
        let name = store.built_state().unwrap().name().to_owned();
        drop(store);
        verify(data.path(), &name).unwrap();
    }
}

#[test]
fn the_content_is_that_of_the_same_recipe_in_rocksdb_whatever_the_threads() {
    let genesis = genesis(5_000);
    for form in &FORMS {
        let data = tempfile::tempdir().unwrap();
        let rocks = common::open(data.path(), &genesis, form.layout).unwrap();
        for threads in [1, 3] {
            let data = tempfile::tempdir().unwrap();
            let spec = StateSpec { threads, ..spec(&genesis, form) };
            let dir = DataDir::open(data.path()).unwrap();
            let built = dir.open_or_build(&spec, &NoProgress, &AtomicBool::new(false)).unwrap();
            assert_eq!(built.manifest().content_digest, rocks.manifest().content_digest);
            assert_eq!(built.manifest().rows, rocks.manifest().rows);
        }
    }
}

#[test]
fn what_a_sample_commits_is_read_there_and_gone_after() {
    let genesis = genesis(3_000);
    for form in &FORMS {
        for durability in [Durability::Synced, Durability::Logged, Durability::Unlogged] {
            let data = tempfile::tempdir().unwrap();
            let state = open(data.path(), &genesis, form).unwrap();
            let store = MdbxStore::open(state, MdbxSettings { durability }).unwrap();
            let before = contents(store.built_state().unwrap().dir());
            for _ in 0..2 {
                assert_committed(&store, &genesis);
                let sample = store.open_sample(CacheMode::Cold).unwrap();
                assert_holds(sample.reader().unwrap().as_mut(), &genesis);
                sample.close().unwrap();
            }
            let (dir, name) = (
                store.built_state().unwrap().dir().to_owned(),
                store.built_state().unwrap().name().to_owned(),
            );
            drop(store);
            verify(data.path(), &name).unwrap();
            // Formerly free pages may hold committed rows; the rest of the file is as it was built.
            let after = contents(&dir);
            for ((path, was), (_, is)) in before.iter().zip(&after) {
                assert!(was == is || path.ends_with(DATA), "{path}");
            }
            let now = open(data.path(), &genesis, form).unwrap();
            assert_eq!(fs::metadata(dir.join(DATA)).unwrap().len(), size_in_manifest(&now));
            assert_eq!(fs::read_dir(data.path().join("samples")).unwrap().count(), 0);
        }
    }
}

fn size_in_manifest(state: &BuiltState) -> u64 {
    state.manifest().files.iter().find(|file| file.name == DATA).unwrap().bytes
}

/// Collects the notes of a build.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl BuildProgress for Notes {
    fn begin(&self, _phase: BuildPhase, _row_count: u64) {}
    fn advance(&self, _rows: u64) {}
    fn note(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

/// Environment variable that names the data directory to the process that aborts.
const DIES_IN: &str = "STRESS_TEST_DIES_IN";

/// Commits in another process, which aborts without closing an environment.
fn die_after_commits(data: &Path) {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "mdbx::a_process_that_died_after_its_commit_is_undone_by_the_next_run"])
        .env(DIES_IN, data)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert_eq!(status.unwrap().signal(), Some(6), "it was to abort");
}

#[test]
fn a_process_that_died_after_its_commit_is_undone_by_the_next_run() {
    let genesis = genesis(3_000);
    if let Some(data) = std::env::var_os(DIES_IN) {
        let store = store(Path::new(&data), &genesis, &DUP_SORT);
        let sample = store.open_sample(CacheMode::Cold).unwrap();
        for _ in 0..3 {
            sample.commit(&changes(&genesis)).unwrap();
        }
        std::process::abort();
    }
    let data = tempfile::tempdir().unwrap();
    die_after_commits(data.path());
    let name = spec(&genesis, &DUP_SORT).name();
    let dir = DataDir::open(data.path()).unwrap();
    // No fault is reported: the next run restores the state.
    assert_eq!(dir.list().unwrap()[0].fault, None);
    let notes = Notes::default();
    let spec = spec(&genesis, &DUP_SORT);
    let state = dir.open_or_build(&spec, &notes, &AtomicBool::new(false)).unwrap();
    let notes = notes.0.into_inner().unwrap();
    assert!(notes.iter().any(|note| note.contains("as it was before a sample")), "{notes:?}");
    let store = MdbxStore::open(state, MdbxSettings::default()).unwrap();
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    assert_holds(sample.reader().unwrap().as_mut(), &genesis);
    sample.close().unwrap();
    drop(store);
    die_after_commits(data.path());
    verify(data.path(), &name).unwrap();
    // Nothing is left to restore.
    let notes = Notes::default();
    drop(dir.open_or_build(&spec, &notes, &AtomicBool::new(false)).unwrap());
    assert!(!notes.0.into_inner().unwrap().iter().any(|note| note.contains("before a sample")));
}

#[test]
fn a_sample_that_a_panic_ended_is_undone_before_the_next_one() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(2_000);
    let store = store(data.path(), &genesis, &PLAIN);
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    sample.commit(&changes(&genesis)).unwrap();
    drop(sample);
    let sample = store.open_sample(CacheMode::Warm).unwrap();
    assert_holds(sample.reader().unwrap().as_mut(), &genesis);
    sample.close().unwrap();
}

#[test]
fn a_cold_sample_fetches_leaves_from_the_device_and_a_warm_one_does_not() {
    for form in [HASHED, DUP_SORT] {
        assert_fetches_leaves_when_cold(&form);
    }
}

fn assert_fetches_leaves_when_cold(form: &Form) {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(20_000);
    let store = store(data.path(), &genesis, form);
    if store.never_cold_reason().is_some() {
        return;
    }
    let faults = |mode| {
        let sample = store.open_sample(mode).unwrap();
        let mut reader = sample.reader().unwrap();
        let keys: Vec<_> = (0..20_000).map(|index| genesis.slots[0].key(index)).collect();
        reader.slots(&KECCAK, &keys, &mut |_, _| {}).unwrap();
        let counters = reader.counters();
        assert_eq!(counters.key_count, 20_000);
        assert_eq!(counters.block_bytes, counters.block_count * 4096);
        drop(reader);
        sample.close().unwrap();
        counters.block_count
    };
    let cold = faults(CacheMode::Cold);
    let leaves = 20_000.0 / store.slots_per_block().unwrap();
    // Every leaf of the account is fetched once; nothing else is.
    assert!(
        (cold as f64) > leaves * 0.95 && (cold as f64) < leaves * 1.05 + 8.0,
        "{cold} {leaves}"
    );
    assert_eq!(faults(CacheMode::Warm), 0);
    assert!(faults(CacheMode::Cold) as f64 > leaves * 0.95);
    let facts = store.facts();
    let fact = |name| &facts.iter().find(|(key, _)| key == name).unwrap().1;
    assert!(fact("page_cache_resident").parse::<f64>().unwrap() <= 0.01);
    let (name, depth) = match form.format.slots {
        SlotTable::Rows => ("storage", "depth 3"),
        SlotTable::DupSort => ("account_trees", "2, depth up to 3"),
    };
    assert!(fact(name).contains(depth), "{}", fact(name));
    assert_eq!(fact("slots"), form.format.slots.name());
}

#[test]
fn every_reader_of_many_threads_has_a_transaction() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(500);
    let store = store(data.path(), &genesis, &HASHED);
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    let readers: Vec<_> = (0..2_200).map(|_| sample.reader()).collect();
    assert!(readers.iter().all(Result::is_ok));
    std::thread::scope(|scope| {
        for reader in readers.into_iter().take(8) {
            let mut reader = reader.unwrap();
            let genesis = &genesis;
            scope.spawn(move || assert_holds(reader.as_mut(), genesis));
        }
    });
    sample.close().unwrap();
}

#[test]
fn a_code_whose_bytes_do_not_have_its_hash_is_damaged() {
    let data = tempfile::tempdir().unwrap();
    let store = store(data.path(), &genesis(10), &HASHED);
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    let bad = B256::repeat_byte(3);
    let codes = vec![(bad, Bytes::from_static(b"bad"))];
    sample.commit(&NetChanges { codes, ..NetChanges::default() }).unwrap();
    let error = sample.reader().unwrap().code(&bad).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    sample.close().unwrap();
}

#[test]
fn a_state_on_a_memory_file_system_is_never_cold() {
    let Ok(data) = tempfile::tempdir_in("/dev/shm") else { return };
    let genesis = genesis(500);
    let store = store(data.path(), &genesis, &PLAIN);
    assert!(store.never_cold_reason().unwrap().contains("memory"));
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    assert_holds(sample.reader().unwrap().as_mut(), &genesis);
    sample.close().unwrap();
}

/// Writes `bytes` at `offset` of a `file` of the state.
fn spoil(data: &Path, name: &str, file: &str, bytes: &[u8], offset: u64) {
    let file = File::options().write(true).open(data.join(name).join(file)).unwrap();
    file.write_all_at(bytes, offset).unwrap();
}

#[test]
fn damaged_meta_pages_are_put_back_and_a_damaged_copy_of_them_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(300);
    let name = open(data.path(), &genesis, &HASHED).unwrap().name().to_owned();
    for offset in [0, 4096, 8192] {
        spoil(data.path(), &name, DATA, &[0xff; 4096], offset);
    }
    let store = store(data.path(), &genesis, &HASHED);
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    assert_holds(sample.reader().unwrap().as_mut(), &genesis);
    sample.close().unwrap();
    drop(store);
    spoil(data.path(), &name, "undo", &[0xff], 100);
    let error = open(data.path(), &genesis, &HASHED).unwrap_err();
    assert!(matches!(error, StateError::Untrusted { .. }), "{error}");
    assert!(
        error.to_string().contains("undo") && error.to_string().contains("state rm"),
        "{error}"
    );
}

#[test]
fn a_file_that_was_cut_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(300);
    let state = open(data.path(), &genesis, &HASHED).unwrap();
    let (dir, bytes) = (state.dir().to_owned(), size_in_manifest(&state));
    drop(state);
    File::options().write(true).open(dir.join(DATA)).unwrap().set_len(bytes - 4096).unwrap();
    let error = open(data.path(), &genesis, &HASHED).unwrap_err();
    assert!(matches!(error, StateError::Untrusted { .. }), "{error}");
    assert!(error.to_string().contains("bytes and should have"), "{error}");
}

/// Offset of the first page of the file that is a leaf of slots.
fn leaf_offset(path: &Path) -> u64 {
    let bytes = fs::read(path).unwrap();
    let is_leaf = |page: &[u8]| page[10..12] == [2, 0] && page[12..14] > [40, 0][..];
    let pages: Vec<_> = bytes.chunks_exact(4096).enumerate().filter(|(_, p)| is_leaf(p)).collect();
    pages[pages.len() / 2].0 as u64 * 4096
}

#[test]
fn a_damaged_page_is_an_error_and_a_changed_value_is_found_by_verify() {
    for form in [HASHED, DUP_SORT] {
        assert_finds_damage(&form);
    }
}

fn assert_finds_damage(form: &Form) {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(3_000);
    let name = open(data.path(), &genesis, form).unwrap().name().to_owned();
    let path = data.path().join(&name).join(DATA);
    let whole = fs::read(&path).unwrap();
    let offset = leaf_offset(&path);
    // The last byte of a page belongs to a value.
    spoil(data.path(), &name, DATA, &[whole[offset as usize + 4095] ^ 1], offset + 4095);
    let error = verify(data.path(), &name).unwrap_err();
    assert!(matches!(error, StateError::Untrusted { .. }), "{error}");
    assert!(error.to_string().contains("rows have digest"), "{error}");
    // A page with the number of another page is noticed when it is read.
    spoil(data.path(), &name, DATA, &[0xee; 4], offset + 16);
    let error = verify(data.path(), &name).unwrap_err();
    assert!(error.to_string().contains(DATA), "{error}");
    let store = store(data.path(), &genesis, form);
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    let mut reader = sample.reader().unwrap();
    let mut damaged = 0;
    for family in &genesis.slots {
        for index in 0..family.count {
            match reader.slot(&family.address, &family.key(index)) {
                Ok(value) => assert_eq!(value, family.value(index)),
                Err(StoreError::Damaged { .. }) => {
                    damaged += 1;
                    // MDBX ends a transaction that found damage.
                    reader = sample.reader().unwrap();
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
    assert!((10..60).contains(&damaged), "{damaged} rows of one leaf");
    drop(reader);
    mem::drop(sample);
}

#[test]
fn a_cancelled_build_leaves_nothing_behind() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(2_000);
    let cancel = AtomicBool::new(true);
    let spec = spec(&genesis, &HASHED);
    let error = DataDir::open(data.path()).unwrap().open_or_build(&spec, &NoProgress, &cancel);
    assert!(matches!(error.unwrap_err(), StateError::Cancelled));
    assert!(!data.path().join(spec.name()).exists());
    open(data.path(), &genesis, &HASHED).unwrap();
}

#[test]
fn a_state_in_use_is_refused_and_removed_when_it_is_free() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(100);
    let store = store(data.path(), &genesis, &HASHED);
    let name = store.built_state().unwrap().name().to_owned();
    assert!(name.starts_with("mdbx-"), "{name}");
    for refused in [open(data.path(), &genesis, &HASHED).map(drop), verify(data.path(), &name)] {
        assert!(matches!(refused.unwrap_err(), StateError::InUse { .. }));
    }
    drop(store);
    DataDir::open(data.path()).unwrap().remove(&name).unwrap();
    assert!(!data.path().join(&name).exists());
}

#[test]
fn states_of_both_forms_have_the_same_content_and_names_of_their_own() {
    let genesis = genesis(30_000);
    let data = tempfile::tempdir().unwrap();
    let rows = open(data.path(), &genesis, &HASHED).unwrap();
    let duplicates = open(data.path(), &genesis, &DUP_SORT).unwrap();
    assert_ne!(rows.name(), duplicates.name());
    assert_eq!(rows.manifest().content_digest, duplicates.manifest().content_digest);
    // An account's key is stored once, and no zeros: 74 bytes a slot in place of 106.
    let (rows, duplicates) = (size_in_manifest(&rows), size_in_manifest(&duplicates));
    assert!(duplicates < rows, "{duplicates} {rows}");
}

#[test]
fn accounts_trees_that_are_damaged_or_gone_are_refused() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(300);
    let state = open(data.path(), &genesis, &DUP_SORT).unwrap();
    let (name, trees) = (state.name().to_owned(), state.dir().join("account-trees"));
    drop(state);
    spoil(data.path(), &name, "account-trees", &[0xff], 3);
    let error = open(data.path(), &genesis, &DUP_SORT).unwrap_err().to_string();
    assert!(error.contains("account-trees is damaged"), "{error}");
    fs::remove_file(trees).unwrap();
    let error = open(data.path(), &genesis, &DUP_SORT).unwrap_err().to_string();
    assert!(error.contains("account-trees is missing"), "{error}");
}
