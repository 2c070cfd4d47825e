//! Tries in MDBX and in flat files: built from the rows, verified by another implementation, read, and
//! undone with a sample.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    path::Path,
    sync::{Mutex, atomic::AtomicBool},
};

use alloy_primitives::{Address, B256, U256, keccak256};
use executor::{
    state::{
        BuildPhase, BuildProgress, BuiltState, DataDir, FileEntry, Manifest, NoProgress,
        StateError, StateFormat, StateSpec,
    },
    store::{
        Sample, Store,
        flat::{FlatFormat, FlatSettings, FlatStore},
        mdbx::{MdbxFormat, MdbxSettings, MdbxStore},
        memory::MemoryStore,
        rocksdb::RocksFormat,
    },
    tries::{self, NodeChanges, TrieId},
};
use trie::{Format, NodeKey, NodeSink, Nodes, Path as TriePath, RowRange};
use variant::{CacheMode, SlotTable, TrieForm};
use workload::{AccountState, Genesis, Layout, NetChanges};

use crate::common::{FORMAT, KECCAK, genesis};

fn formats() -> impl Iterator<Item = Option<Format>> {
    TrieForm::ALL.iter().map(|form| tries::trie_format(*form)).filter(Option::is_some)
}

/// All formats of files with tries.
fn ways(tries: Option<Format>) -> [Box<dyn StateFormat>; 3] {
    [
        Box::new(MdbxFormat { slots: SlotTable::Rows, tries }),
        Box::new(MdbxFormat { slots: SlotTable::DupSort, tries }),
        Box::new(FlatFormat { tries }),
    ]
}

fn build(data: &Path, genesis: &Genesis, format: &dyn StateFormat) -> BuiltState {
    let spec = StateSpec { genesis, layout: Layout::Hashed, format, scenario: "test", threads: 2 };
    DataDir::open(data).unwrap().open_or_build(&spec, &NoProgress, &AtomicBool::new(false)).unwrap()
}

fn verify(data: &Path, name: &str) -> Result<Manifest, StateError> {
    let formats: [&dyn StateFormat; 2] = [&MdbxFormat::default(), &FlatFormat::ROWS];
    let dir = DataDir::open(data)?;
    Ok(dir.verify(name, &formats, &NoProgress, &AtomicBool::new(false))?.manifest)
}

#[test]
fn every_form_of_tries_has_the_same_rows_and_the_root_of_memory() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(5_000);
    let mut names = Vec::new();
    for (way, plain) in ways(None).iter().enumerate() {
        let plain = build(data.path(), &genesis, plain.as_ref());
        assert_eq!((plain.manifest().state_root, plain.manifest().nodes), (None, None));
        names.push(plain.name().to_owned());
        for tries in formats() {
            let built = build(data.path(), &genesis, ways(tries)[way].as_ref());
            let (name, manifest) = (built.name().to_owned(), built.manifest().clone());
            drop(built);
            let memory = MemoryStore::build(&genesis, tries, 1 << 30).unwrap();
            assert_eq!(manifest.state_root, memory.tries().map(|tries| tries.root), "{name}");
            let rows = (manifest.content_digest, manifest.rows);
            assert_eq!(rows, (plain.manifest().content_digest, plain.manifest().rows));
            assert!(manifest.byte_count() > plain.manifest().byte_count(), "{name}");
            let nodes = manifest.nodes.unwrap();
            assert!(nodes.count > 0 && nodes.bytes > 30 * nodes.count, "{nodes:?}");
            assert_eq!(verify(data.path(), &name).unwrap(), manifest);
            names.push(name);
        }
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 15);
}

/// Collects the phases of a build.
#[derive(Default)]
struct Phases(Mutex<Vec<BuildPhase>>);

impl BuildProgress for Phases {
    fn begin(&self, phase: BuildPhase, _row_count: u64) {
        self.0.lock().unwrap().push(phase);
    }
    fn advance(&self, _rows: u64) {}
    fn note(&self, _text: &str) {}
}

#[test]
fn rows_that_are_hashed_while_they_are_written_have_a_phase_of_their_own() {
    let genesis = genesis(500);
    for tries in [None, tries::trie_format(TrieForm::Cut)] {
        let rocks: Box<dyn StateFormat> = Box::new(RocksFormat { tries, ..FORMAT });
        for format in ways(tries).into_iter().chain([rocks]) {
            let data = tempfile::tempdir().unwrap();
            let (layout, format) = (Layout::Hashed, format.as_ref());
            let spec =
                StateSpec { genesis: &genesis, layout, format, scenario: "test", threads: 2 };
            let phases = Phases::default();
            let dir = DataDir::open(data.path()).unwrap();
            drop(dir.open_or_build(&spec, &phases, &AtomicBool::new(false)).unwrap());
            let hashes = phases.0.lock().unwrap().contains(&BuildPhase::WritingAndHashing);
            assert_eq!(hashes, tries.is_some(), "{}", format.shape());
        }
    }
}

#[test]
fn files_and_scratch_stay_below_the_estimate() {
    let genesis = genesis(40_000);
    for tries in formats() {
        for format in ways(tries) {
            let data = tempfile::tempdir().unwrap();
            let built = build(data.path(), &genesis, format.as_ref());
            let estimate = format.byte_estimate(&genesis, Layout::Hashed);
            let bytes = built.manifest().byte_count();
            assert!(bytes < estimate, "{}: {bytes} bytes, {estimate}", format.shape());
        }
    }
}

/// The bytes of a stored node deep in the state's largest trie.
fn some_node(store: &dyn Store) -> Vec<u8> {
    let sample = store.open_sample(CacheMode::Warm).unwrap();
    let tries = sample.tries().unwrap();
    let trie = TrieId::Slots(keccak256(KECCAK));
    let key = (trie, NodeKey::Node(TriePath::of_nibbles([7]).unwrap()));
    let mut found = None;
    let mut reader = tries.reader().unwrap();
    reader.nodes(&[key], &mut |_, node| found = node.map(<[u8]>::to_vec)).unwrap();
    drop(reader);
    drop(tries);
    sample.close().unwrap();
    found.unwrap()
}

#[test]
fn a_changed_byte_that_a_reader_can_meet_is_found_by_verify_wherever_it_is() {
    let genesis = genesis(1_000);
    let tries = formats().last().flatten();
    let [rows, duplicates, flat] = ways(tries);
    let rocksdb = Box::new(RocksFormat { tries, ..RocksFormat::default() });
    let mut of_mdbx = 0;
    for format in [rows, duplicates, flat, rocksdb] {
        let data = tempfile::tempdir().unwrap();
        let state = build(data.path(), &genesis, format.as_ref());
        let (name, manifest) = (state.name().to_owned(), state.manifest().clone());
        let dir = state.dir().to_owned();
        drop(state);
        let verify = || {
            let dir = DataDir::open(data.path()).unwrap();
            dir.verify(&name, &[format.as_ref()], &NoProgress, &AtomicBool::new(false)).map(drop)
        };
        verify().unwrap();
        for file in manifest.files {
            assert!(file.hash.is_some());
            let path = dir.join(&file.name);
            // Free pages belong to no reader; every search reads index pages.
            let offsets: Vec<usize> = if file.name == "state.mdbx" {
                let numbers = fs::read(dir.join("branches")).unwrap();
                let numbers = numbers[..numbers.len() - 32].chunks_exact(4);
                let pages = numbers.map(|n| u32::from_le_bytes(n.try_into().unwrap()) as usize);
                pages.flat_map(|page| [20, 2_000, 4_095].map(|at| page * 4_096 + at)).collect()
            } else {
                (0..6).map(|part| (file.bytes as usize * part + 3) / 6).collect()
            };
            of_mdbx += usize::from(file.name == "state.mdbx") * offsets.len();
            let whole = fs::read(&path).unwrap();
            for offset in offsets.into_iter().filter(|offset| *offset < whole.len()) {
                let mut bytes = whole.clone();
                bytes[offset] ^= 1;
                fs::write(&path, &bytes).unwrap();
                assert!(verify().is_err(), "{name}: byte {offset} of {}", file.name);
            }
            fs::write(&path, &whole).unwrap();
        }
        verify().unwrap();
    }
    assert!(of_mdbx > 6, "{of_mdbx}");
}

#[test]
fn a_changed_node_of_mdbx_is_found() {
    let genesis = genesis(4_000);
    for tries in formats() {
        for slots in SlotTable::ALL.iter().copied() {
            let data = tempfile::tempdir().unwrap();
            let state = build(data.path(), &genesis, &MdbxFormat { slots, tries });
            let name = state.name().to_owned();
            let node = some_node(&MdbxStore::open(state, MdbxSettings::default()).unwrap());
            verify(data.path(), &name).unwrap();
            let path = data.path().join(&name).join("state.mdbx");
            let mut bytes = fs::read(&path).unwrap();
            let places = bytes.windows(node.len()).enumerate().filter(|(_, part)| *part == node);
            let places: Vec<_> = places.map(|(place, _)| place).collect();
            let [place] = places[..] else { panic!("{} places", places.len()) };
            bytes[place + node.len() - 1] ^= 1;
            fs::write(&path, &bytes).unwrap();
            let error = verify(data.path(), &name).unwrap_err();
            let is_untrusted = matches!(error, StateError::Untrusted { .. });
            assert!(is_untrusted && error.to_string().contains("stored otherwise"), "{error}");
            bytes[place + node.len() - 1] ^= 1;
            fs::write(&path, bytes).unwrap();
            verify(data.path(), &name).unwrap();
        }
    }
}

/// Updates the manifest to the sizes of the files.
fn fit_manifest(dir: &Path) {
    let path = dir.join("manifest.json");
    let mut manifest: Manifest = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for FileEntry { name, bytes, hash } in &mut manifest.files {
        *bytes = fs::metadata(dir.join(name)).unwrap().len();
        *hash = None;
    }
    fs::write(&path, serde_json::to_vec(&manifest).unwrap()).unwrap();
}

#[test]
fn changed_blocks_and_nodes_of_another_state_are_found_in_flat_files() {
    let genesis = genesis(4_000);
    let mut other = genesis.clone();
    other.slots[0].seed = B256::repeat_byte(77);
    for tries in formats() {
        let data = tempfile::tempdir().unwrap();
        let name = build(data.path(), &genesis, &FlatFormat { tries }).name().to_owned();
        let others = build(data.path(), &other, &FlatFormat { tries }).name().to_owned();
        let path = |name: &str, file: &str| data.path().join(name).join(file);
        let nodes = fs::read(path(&name, "tries.flat")).unwrap();
        let mut damaged = nodes.clone();
        damaged[nodes.len() / 2] ^= 1;
        fs::write(path(&name, "tries.flat"), damaged).unwrap();
        let error = verify(data.path(), &name).unwrap_err().to_string();
        assert!(error.contains("does not have its checksum"), "{error}");
        fs::write(path(&name, "tries.flat"), nodes).unwrap();
        verify(data.path(), &name).unwrap();
        for file in ["tries.flat", "tries.index"] {
            fs::copy(path(&others, file), path(&name, file)).unwrap();
        }
        fit_manifest(&data.path().join(&name));
        let error = verify(data.path(), &name).unwrap_err();
        let is_untrusted = matches!(error, StateError::Untrusted { .. });
        assert!(is_untrusted && error.to_string().contains("stored"), "{error}");
    }
}

/// All accounts, and the slots of one account, read by range in a sample.
type Rows = (Vec<(B256, AccountState)>, Vec<(B256, U256)>);

fn all_rows(sample: &dyn Sample) -> Rows {
    let tries = sample.tries().unwrap();
    let mut reader = tries.reader().unwrap();
    let all = RowRange { first: B256::ZERO, last: B256::repeat_byte(0xff) };
    let (mut accounts, mut slots) = (Vec::new(), Vec::new());
    reader.accounts(&all, &mut |key, state| accounts.push((key, state))).unwrap();
    let of = keccak256(KECCAK);
    reader.slots(&of, &all, &mut |key, value| slots.push((key, value))).unwrap();
    // Parts of the range, and an account without slots between them.
    let middle = slots[slots.len() / 2].0;
    let [low, high] = [(B256::ZERO, middle), (middle, all.last)];
    let [low, high] = [low, high].map(|(first, last)| RowRange { first, last });
    let one = RowRange { first: middle, last: middle };
    let ranges = [(of, high), (B256::repeat_byte(1), all), (of, one), (of, low)];
    let mut parts = Vec::new();
    reader.slot_ranges(&ranges, &mut |index, key, value| parts.push((index, key, value))).unwrap();
    assert!(parts.is_sorted_by_key(|(index, key, _)| (*index, *key)));
    let place = slots.len() / 2;
    let expected = slots[place..].iter().map(|(key, value)| (0, *key, *value));
    let expected = expected.chain([(2, slots[place].0, slots[place].1)]);
    let expected = expected.chain(slots[..=place].iter().map(|(key, value)| (3, *key, *value)));
    assert_eq!(parts, expected.collect::<Vec<_>>());
    (accounts, slots)
}

fn node_of(sample: &dyn Sample, trie: TrieId, key: NodeKey) -> Option<Vec<u8>> {
    let tries = sample.tries().unwrap();
    let mut found = None;
    let mut reader = tries.reader().unwrap();
    reader.nodes(&[(trie, key)], &mut |_, node| found = node.map(<[u8]>::to_vec)).unwrap();
    found
}

/// Commits rows and nodes, reads them, ends the sample, and checks that the commit is undone.
fn assert_undone(store: &dyn Store, memory: &MemoryStore) {
    let base = memory.open_sample(CacheMode::Warm).unwrap();
    let (accounts, slots) = all_rows(base.as_ref());
    let trie = TrieId::Slots(keccak256(KECCAK));
    let [changed, gone] = [[7], [9]].map(|path| NodeKey::Node(TriePath::of_nibbles(path).unwrap()));
    let new = NodeKey::Node(TriePath::of_nibbles([1; 60]).unwrap());
    for _ in 0..2 {
        let sample = store.open_sample(CacheMode::Cold).unwrap();
        assert!(all_rows(sample.as_ref()) == (accounts.clone(), slots.clone()), "{}", store.kind());
        for key in [changed, gone, new, NodeKey::top(store.tries().unwrap().format)] {
            assert_eq!(node_of(sample.as_ref(), trie, key), node_of(base.as_ref(), trie, key));
        }
        let state = AccountState { nonce: 77, ..AccountState::default() };
        let address = Address::repeat_byte(0x22);
        let changes = NetChanges {
            accounts: vec![(address, Some(state))],
            slots: vec![(address, U256::from(5), U256::from(6))],
            ..NetChanges::default()
        };
        let mut put = Nodes::default();
        put.put(&new, b"a new node").unwrap();
        put.put(&changed, b"another node").unwrap();
        let nodes = [NodeChanges { trie, put, deleted: vec![gone] }];
        sample.tries().unwrap().commit(&changes, &nodes).unwrap();
        let (accounts_after, slots_after) = all_rows(sample.as_ref());
        let find = |key: B256| accounts_after.iter().find(|(of, _)| *of == key);
        assert_eq!(find(keccak256(address)).unwrap().1, state);
        assert_eq!((accounts_after.len(), slots_after.len()), (accounts.len(), slots.len() + 1));
        assert_eq!(node_of(sample.as_ref(), trie, new).as_deref(), Some(&b"a new node"[..]));
        assert_eq!(node_of(sample.as_ref(), trie, changed).as_deref(), Some(&b"another node"[..]));
        assert_eq!(node_of(sample.as_ref(), trie, gone), None);
        sample.close().unwrap();
    }
}

#[test]
fn nodes_and_rows_of_a_commit_are_read_there_and_gone_after() {
    let genesis = genesis(5_000);
    for tries in formats() {
        let memory = MemoryStore::build(&genesis, tries, 1 << 30).unwrap();
        let data = tempfile::tempdir().unwrap();
        for slots in SlotTable::ALL.iter().copied() {
            let state = build(data.path(), &genesis, &MdbxFormat { slots, tries });
            assert_undone(&MdbxStore::open(state, MdbxSettings::default()).unwrap(), &memory);
        }
        for depth in [1, 256] {
            let state = build(data.path(), &genesis, &FlatFormat { tries });
            let settings = FlatSettings { depth, ..FlatSettings::default() };
            assert_undone(&FlatStore::open(state, settings).unwrap(), &memory);
        }
    }
}

#[test]
fn a_page_of_nodes_that_was_read_before_a_cold_mdbx_sample_is_found() {
    let genesis = genesis(40_000);
    for tries in formats() {
        let data = tempfile::tempdir().unwrap();
        let state = build(data.path(), &genesis, &MdbxFormat { slots: SlotTable::Rows, tries });
        let store = MdbxStore::open(state, MdbxSettings::default()).unwrap();
        if store.never_cold_reason().is_some() {
            return;
        }
        let trie = TrieId::Slots(keccak256(KECCAK));
        let paths = (0..=255_u8).map(|byte| TriePath::of_bytes(&[byte]).unwrap());
        let nodes: Vec<_> = paths.map(|path| (trie, NodeKey::Node(path))).collect();
        let sample = store.open_sample(CacheMode::Cold).unwrap();
        let cold = store.row_pages(&[], &nodes).unwrap().unwrap();
        assert_eq!((cold.page_count, cold.resident_count, cold.resident_node_count), (0, 0, 0));
        assert!(cold.node_page_count > 3, "{cold:?}");
        let tries = sample.tries().unwrap();
        let mut reader = tries.reader().unwrap();
        reader.nodes(&nodes, &mut |_, _| ()).unwrap();
        let pages_read = reader.counters().block_count;
        let warmed = store.row_pages(&[], &nodes).unwrap().unwrap();
        assert_eq!(warmed.resident_node_count, cold.node_page_count);
        assert!((1..=cold.node_page_count).contains(&pages_read), "{pages_read} of {cold:?}");
        drop(reader);
        drop(tries);
        sample.close().unwrap();
    }
}
