//! State directories: complete or absent, locked, and checked before use.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    io::{self, ErrorKind, Write},
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use executor::{
    state::{
        BuildInput, BuildOutput, BuildPhase, BuildProgress, BuiltState, DataDir, NoProgress,
        ScanInput, StateError, StateFormat, StateInfo, StateSpec, Watch,
    },
    store::{
        Store, StoreError,
        rocksdb::{RocksSettings, RocksStore},
    },
};
use variant::CacheMode;
use workload::{Genesis, KeyRule, Layout, SlotFamily, ValueRule};

use crate::{
    common::{self, FORMAT, genesis, open, spec},
    leftovers::marked,
};

/// Names in a directory, without locks.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !name.ends_with(".lock"));
    names.sort();
    names
}

pub(crate) fn verify(data: &Path, name: &str) -> Result<(), StateError> {
    let data = DataDir::open(data)?;
    data.verify(name, &[&FORMAT], &NoProgress, &AtomicBool::new(false)).map(drop)
}

#[test]
fn building_twice_gives_the_same_content_whatever_the_threads() {
    let genesis = genesis(5_000);
    for layout in [Layout::Hashed, Layout::Plain] {
        let build = |threads| {
            let data = tempfile::tempdir().unwrap();
            let spec = StateSpec { threads, ..spec(&genesis, layout) };
            let dir = DataDir::open(data.path()).unwrap();
            let state = dir.open_or_build(&spec, &NoProgress, &AtomicBool::new(false)).unwrap();
            let (name, manifest) = (state.name().to_owned(), state.manifest().clone());
            drop(state);
            verify(data.path(), &name).unwrap();
            let tables = manifest.files.iter().filter(|file| file.name.ends_with(".sst"));
            (name, manifest.content_digest, manifest.rows, tables.count())
        };
        assert_eq!(build(1), build(3));
    }
}

#[test]
fn a_state_is_named_by_recipe_layout_and_settings() {
    let (one, other) = (genesis(10), genesis(11));
    let name = spec(&one, Layout::Hashed).name();
    assert!(name.starts_with("rocksdb-") && name.len() == 24, "{name}");
    assert_ne!(name, spec(&other, Layout::Hashed).name());
    assert_ne!(name, spec(&one, Layout::Plain).name());
    let format = executor::store::rocksdb::RocksFormat {
        file_bytes: 1,
        ..executor::store::rocksdb::RocksFormat::DEFAULT
    };
    assert_ne!(name, StateSpec { format: &format, ..spec(&one, Layout::Hashed) }.name());
    assert_eq!(name, StateSpec { scenario: "else", ..spec(&one, Layout::Hashed) }.name());
}

/// Cancels in a phase, and collects the notes.
#[derive(Default)]
pub(crate) struct Listener {
    pub(crate) cancel: AtomicBool,
    cancel_in: Option<BuildPhase>,
    pub(crate) notes: Mutex<Vec<String>>,
}

impl BuildProgress for Listener {
    fn begin(&self, phase: BuildPhase, _row_count: u64) {
        if self.cancel_in == Some(phase) {
            self.cancel.store(true, Ordering::Relaxed);
        }
    }
    fn advance(&self, _rows: u64) {}
    fn note(&self, text: &str) {
        self.notes.lock().unwrap().push(text.to_owned());
    }
}

#[test]
fn a_cancelled_build_leaves_nothing_behind() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(2_000);
    let listener = Listener { cancel_in: Some(BuildPhase::Writing), ..Listener::default() };
    let spec = spec(&genesis, Layout::Hashed);
    let dir = DataDir::open(data.path()).unwrap();
    let error = dir.open_or_build(&spec, &listener, &listener.cancel).unwrap_err();
    assert!(matches!(error, StateError::Cancelled), "{error}");
    assert_eq!(names(data.path()), ["samples"]);
    open(data.path(), &genesis, Layout::Hashed).unwrap();
}

#[test]
fn what_a_killed_process_left_is_removed_by_the_next_run_and_said_so() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(100);
    let spec = spec(&genesis, Layout::Hashed);
    let name = spec.name();
    let dir = DataDir::open(data.path()).unwrap();
    for left in [format!("{name}.building-1"), format!("samples/{name}.3")] {
        marked(&data.path().join(&left));
        fs::write(data.path().join(&left).join("000009.sst"), "half").unwrap();
    }
    for number in [0, 7] {
        marked(&data.path().join(format!("samples/rocksdb-0123456789abcdef.{number}")));
    }
    marked(&data.path().join("samples/not-a-state.0"));
    let alive = open(data.path(), &genesis, Layout::Plain).unwrap();
    let alive_sample = alive.new_sample_dir().unwrap();
    // The opening of the other state has removed these already.
    assert_eq!(
        names(&data.path().join("samples")),
        ["not-a-state.0", alive_sample.path().file_name().unwrap().to_str().unwrap()]
    );
    for left in [format!("{name}.building-1"), format!("samples/{name}.3")] {
        marked(&data.path().join(&left));
    }
    let listener = Listener::default();
    let state = dir.open_or_build(&spec, &listener, &listener.cancel).unwrap();
    let mut expected = [name.as_str(), alive.name(), "samples"];
    expected.sort_unstable();
    assert_eq!(names(data.path()), expected);
    assert!(alive_sample.path().is_dir() && data.path().join("samples/not-a-state.0").is_dir());
    assert_eq!(listener.notes.lock().unwrap().len(), 2);
    assert!(!data.path().join("rocksdb-0123456789abcdef.lock").exists());
    state.verify_untouched().unwrap();
}

#[test]
fn removing_a_state_removes_the_links_that_killed_runs_left() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(100);
    let state = open(data.path(), &genesis, Layout::Hashed).unwrap();
    let (name, tables) = (state.name().to_owned(), state.table_files());
    let state_bytes = DataDir::open(data.path()).unwrap().list().unwrap()[0].byte_count;
    drop(state);
    let leave = |own_bytes: &[u8]| {
        for number in ["3", "11", "verify"] {
            let left = data.path().join(format!("samples/{name}.{number}"));
            marked(&left);
            for table in tables.iter().filter(|table| table.exists()) {
                fs::hard_link(table, left.join(table.file_name().unwrap())).unwrap();
            }
            fs::write(left.join("CURRENT"), own_bytes).unwrap();
        }
    };
    leave(b"12345");
    let dir = DataDir::open(data.path()).unwrap();
    assert_eq!(dir.list().unwrap()[0].byte_count, state_bytes + 15, "links count once");
    dir.remove(&name).unwrap();
    assert_eq!(names(&data.path().join("samples")), [""; 0]);
    assert_eq!(dir.list().unwrap(), []);
    // Leftovers of a removed state are listed and can be removed.
    leave(b"1234567");
    let list = dir.list().unwrap();
    assert_eq!((list[0].name.as_str(), list[0].byte_count), (name.as_str(), 21));
    assert!(list[0].manifest.is_none() && list[0].fault.as_ref().unwrap().contains("samples"));
    dir.remove(&name).unwrap();
    assert_eq!(names(&data.path().join("samples")), [""; 0]);
    assert!(matches!(dir.remove(&name), Err(StateError::NotFound { .. })));
    assert_eq!(fs::read_dir(data.path()).unwrap().count(), 1, "the lock is gone too");
}

#[test]
fn a_state_in_use_is_refused_to_others_with_the_holder_named() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(100);
    let state = open(data.path(), &genesis, Layout::Hashed).unwrap();
    let dir = DataDir::open(data.path()).unwrap();
    let holder = format!("process {} (measuring for", std::process::id());
    for refused in [
        open(data.path(), &genesis, Layout::Hashed).map(drop),
        dir.remove(state.name()),
        verify(data.path(), state.name()),
    ] {
        let error = refused.unwrap_err();
        assert!(matches!(error, StateError::InUse { .. }), "{error}");
        assert!(error.to_string().contains(&holder), "{error}");
    }
    assert!(dir.list().unwrap()[0].holder.as_ref().unwrap().contains(&holder));
    // Another state of the same directory is not locked.
    open(data.path(), &genesis, Layout::Plain).unwrap();
    let name = state.name().to_owned();
    drop(state);
    dir.remove(&name).unwrap();
    assert!(!names(data.path()).contains(&name));
    let error = dir.remove(&name).unwrap_err();
    assert!(matches!(error, StateError::NotFound { .. }), "{error}");
}

#[test]
fn a_list_tells_whole_states_from_damaged_and_half_built_ones() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(100);
    let whole = open(data.path(), &genesis, Layout::Hashed).unwrap().name().to_owned();
    let damaged = open(data.path(), &genesis, Layout::Plain).unwrap().name().to_owned();
    fs::write(data.path().join(&damaged).join("CURRENT"), "").unwrap();
    let half = format!("{whole}.building-1");
    marked(&data.path().join(&half));
    let dir = DataDir::open(data.path()).unwrap();
    let list = dir.list().unwrap();
    assert_eq!(list.len(), 3);
    for info in list {
        assert_eq!(info.manifest.is_some(), info.name == whole, "{info:?}");
        assert_eq!(info.fault.is_none(), info.name == whole, "{info:?}");
        if let Some(state) = info.manifest {
            assert_eq!((state.scenario.as_str(), state.rows.accounts), ("test", 1_604));
            assert!(info.byte_count > 10_000 && info.last_used_unix_s.is_some());
        }
    }
    for name in [whole, damaged, half] {
        dir.remove(&name).unwrap();
    }
    assert_eq!(names(data.path()), ["samples"]);
    assert!(dir.remove("samples").is_err());
}

#[test]
fn a_whole_state_is_opened_by_its_name_and_is_locked_as_by_a_run() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(300);
    let built = open(data.path(), &genesis, Layout::Hashed).unwrap();
    let (name, files) = (built.name().to_owned(), built.table_files());
    let dir = DataDir::open(data.path()).unwrap();
    let error = dir.open_complete(&name, &[&FORMAT]).unwrap_err();
    assert!(matches!(error, StateError::InUse { .. }), "{error}");
    drop(built);
    let whole = dir.open_complete(&name, &[&FORMAT]).unwrap();
    assert_eq!((whole.name(), whole.table_files()), (name.as_str(), files));
    let error = open(data.path(), &genesis, Layout::Hashed).unwrap_err();
    assert!(matches!(error, StateError::InUse { .. }), "{error}");
    drop(whole);
    let error = dir.open_complete(&name, &[]).unwrap_err();
    assert!(error.to_string().contains("no store called rocksdb"), "{error}");
    let error = dir.open_complete("rocksdb-0123456789abcdef", &[&FORMAT]).unwrap_err();
    assert!(matches!(error, StateError::NotFound { .. }), "{error}");
}

#[test]
fn a_state_is_dated_by_its_last_use_and_without_a_record_by_its_creation() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(100);
    let name = open(data.path(), &genesis, Layout::Hashed).unwrap().name().to_owned();
    let dir = DataDir::open(data.path()).unwrap();
    let info = || dir.list().unwrap().remove(0);
    let created = info().created_unix_s;
    assert!(created.is_some() && info().last_used_unix_s >= created);
    // Like a state that was copied without its lock, or that never had a record.
    fs::remove_file(data.path().join(format!("{name}.lock"))).unwrap();
    assert_eq!((info().last_used_unix_s, info().last_needed_unix_s()), (None, created));
    verify(data.path(), &name).unwrap();
    assert_eq!(info().last_used_unix_s, None, "nobody measured on it");
    assert_eq!(open(data.path(), &genesis, Layout::Hashed).unwrap().name(), name);
    assert!(info().last_used_unix_s >= created);
}

#[test]
fn a_directory_of_others_is_told_from_a_state_and_from_a_half_built_one() {
    let data = tempfile::tempdir().unwrap();
    let name = open(data.path(), &genesis(100), Layout::Hashed).unwrap().name().to_owned();
    let make = |name: &str, manifest: Option<&str>| {
        fs::create_dir(data.path().join(name)).unwrap();
        let write = |text| fs::write(data.path().join(name).join("manifest.json"), text).unwrap();
        manifest.into_iter().for_each(write);
    };
    make("backup-0123456789abcdef", None);
    make("plugin-0123456789abcdef", Some(r#"{"name": "of a browser", "manifest_version": 3}"#));
    let whole = data.path().join(&name);
    std::os::unix::fs::symlink(&whole, data.path().join("rocksdb-0123456789abcdef")).unwrap();
    make("rocksdb-0123456789abcdef.building-1", None);
    marked(&data.path().join("mdbx-0123456789abcdef.building-1"));
    let later = r#"{"format_version": 99, "store": "flat", "recipe_digest": "0x", "more": 1}"#;
    make("flat-0123456789abcdef", Some(later));
    let list = DataDir::open(data.path()).unwrap().list().unwrap();
    let of = |is: fn(&StateInfo) -> bool| {
        list.iter().filter(|info| is(info)).map(|info| info.name.as_str()).collect::<Vec<_>>()
    };
    let mut ours = ["flat-0123456789abcdef", "mdbx-0123456789abcdef.building-1", name.as_str()];
    ours.sort_unstable();
    assert_eq!(of(|info| info.is_ours), ours);
    let unfinished = ["mdbx-0123456789abcdef.building-1", "rocksdb-0123456789abcdef.building-1"];
    assert_eq!(of(|info| info.is_unfinished), unfinished);
    assert!(list.iter().all(|info| info.last_needed_unix_s().is_some()), "{list:?}");
}

#[test]
fn a_damaged_byte_is_found_by_verify_with_the_file_named() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(3_000);
    let state = open(data.path(), &genesis, Layout::Hashed).unwrap();
    let (name, manifest) = (state.name().to_owned(), state.manifest().clone());
    drop(state);
    let file = common::damage_a_block(&data.path().join(&name), &manifest);
    // Sizes are unchanged, and opening does not read all rows.
    drop(open(data.path(), &genesis, Layout::Hashed).unwrap());
    let error = verify(data.path(), &name).unwrap_err();
    assert!(matches!(error, StateError::Untrusted { .. }), "{error}");
    assert!(error.to_string().contains(&file), "{error}");
    assert!(error.to_string().contains(&format!("stress state rm {name}")), "{error}");
}

#[test]
fn other_rows_than_the_recipe_says_are_found_by_verify() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(300);
    let name = open(data.path(), &genesis, Layout::Hashed).unwrap().name().to_owned();
    edit_manifest(&data.path().join(&name), |manifest| {
        let digest = manifest["content_digest"].as_str().unwrap().to_owned();
        manifest["content_digest"] = digest.replace('1', "2").replace('3', "4").into();
    });
    let error = verify(data.path(), &name).unwrap_err();
    assert!(error.to_string().contains("rows have digest"), "{error}");
}

fn edit_manifest(dir: &Path, edit: impl FnOnce(&mut serde_json::Value)) {
    let path = dir.join("manifest.json");
    let mut manifest = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    edit(&mut manifest);
    fs::write(&path, serde_json::to_vec(&manifest).unwrap()).unwrap();
}

#[test]
fn what_does_not_fit_its_manifest_is_not_opened() {
    let genesis = genesis(300);
    type Spoil = fn(&Path);
    let cases: [(&str, Spoil); 6] = [
        ("bytes and should have", |dir| {
            let file = names(dir).into_iter().find(|name| name.ends_with(".sst")).unwrap();
            let file = fs::File::options().write(true).open(dir.join(file)).unwrap();
            file.set_len(file.metadata().unwrap().len() - 1).unwrap();
        }),
        ("is missing", |dir| fs::remove_file(dir.join("CURRENT")).unwrap()),
        ("does not belong", |dir| fs::write(dir.join("000099.sst"), "more").unwrap()),
        ("version 99", |dir| edit_manifest(dir, |m| m["format_version"] = 99.into())),
        ("recipe and digest disagree", |dir| {
            edit_manifest(dir, |m| m["recipe"]["slots"][0]["count"] = 301.into());
        }),
        ("cannot be read", |dir| fs::remove_file(dir.join("manifest.json")).unwrap()),
    ];
    for (reason, spoil) in cases {
        let data = tempfile::tempdir().unwrap();
        let name = open(data.path(), &genesis, Layout::Plain).unwrap().name().to_owned();
        spoil(&data.path().join(&name));
        let error = open(data.path(), &genesis, Layout::Plain).unwrap_err();
        assert!(matches!(error, StateError::Untrusted { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{reason}: {error}");
        assert!(error.to_string().contains("stress state rm"), "{error}");
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_named_with_its_option() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for path in [file.path().join("data"), "/proc/stress".into()] {
        let error = DataDir::open(&path).unwrap_err();
        assert!(matches!(error, StateError::DataDirNotWritable { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(path.to_str().unwrap()) && text.contains("--data-dir"), "{text}");
    }
}

#[test]
fn too_little_space_is_found_before_anything_is_written() {
    let data = tempfile::tempdir().unwrap();
    let family = SlotFamily {
        address: common::WEYL,
        count: 1 << 50,
        keys: KeyRule::Weyl,
        values: ValueRule::Random,
        seed: Default::default(),
    };
    let genesis = Genesis { slots: vec![family], ..genesis(1) };
    let error = open(data.path(), &genesis, Layout::Hashed).unwrap_err();
    let StateError::NoSpace { need_bytes, free_bytes, .. } = error else { panic!("{error}") };
    assert!(need_bytes > 1 << 50 && free_bytes < need_bytes);
    assert_eq!(names(data.path()), ["samples"]);
}

/// Writes half a state, then fails like a full device.
struct FullDevice;

impl StateFormat for FullDevice {
    fn store(&self) -> &'static str {
        "full"
    }
    fn row_extension(&self) -> &'static str {
        "rows"
    }
    fn store_version(&self) -> String {
        String::new()
    }
    fn shape(&self) -> String {
        String::new()
    }
    fn byte_estimate(&self, _genesis: &Genesis, _layout: Layout) -> u64 {
        0
    }
    fn build(&self, input: &BuildInput<'_>, _watch: &Watch<'_>) -> Result<BuildOutput, StateError> {
        let path = input.dir.join("half");
        fs::write(&path, "half").unwrap();
        let source = io::Error::from(ErrorKind::StorageFull);
        Err(StateError::Io { action: "write", path, source })
    }
    fn scan(&self, _input: &ScanInput<'_>, _watch: &Watch<'_>) -> Result<BuildOutput, StateError> {
        Err(StateError::Cancelled)
    }
}

#[test]
fn a_device_that_runs_full_is_said_and_the_half_built_state_is_removed() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(1);
    let spec = StateSpec { format: &FullDevice, ..spec(&genesis, Layout::Hashed) };
    let dir = DataDir::open(data.path()).unwrap();
    let error = dir.open_or_build(&spec, &NoProgress, &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, StateError::Full { .. }), "{error}");
    assert_eq!(names(data.path()), ["samples"]);
}

#[test]
fn a_base_that_somebody_wrote_is_noticed() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(100);
    let state = open(data.path(), &genesis, Layout::Hashed).unwrap();
    let store = RocksStore::open(state, Default::default()).unwrap();
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    sample.close().unwrap();
    store.built_state().unwrap().verify_untouched().unwrap();
    fs::write(store.built_state().unwrap().dir().join("000099.log"), "x").unwrap();
    assert!(store.built_state().unwrap().verify_untouched().is_err());
}

#[test]
fn a_byte_written_into_the_base_through_a_link_is_noticed_when_the_sample_closes() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(100);
    let age = |state: &BuiltState| {
        for path in state.table_files() {
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
        }
    };
    // So old that the clock's resolution cannot hide the write.
    age(&open(data.path(), &genesis, Layout::Hashed).unwrap());
    let state = open(data.path(), &genesis, Layout::Hashed).unwrap();
    let tables = state.table_files();
    assert!(!tables.is_empty() && tables.iter().all(|path| path.is_file()));
    let store = RocksStore::open(state, RocksSettings::default()).unwrap();
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    sample.close().unwrap();
    let sample = store.open_sample(CacheMode::Cold).unwrap();
    let samples = data.path().join("samples");
    let link = samples.join(&names(&samples)[0]).join(tables[0].file_name().unwrap());
    let byte = fs::read(&link).unwrap()[0];
    // Even the same byte: the write alone counts.
    fs::File::options().write(true).open(&link).unwrap().write_all(&[byte]).unwrap();
    let error = sample.close().unwrap_err();
    assert!(matches!(error, StoreError::NotRestored { .. }), "{error}");
    let file = tables[0].file_name().unwrap().to_str().unwrap();
    assert!(error.to_string().contains(file), "{error}");
    assert_eq!(names(&samples), [""; 0]);
}
