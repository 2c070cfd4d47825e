//! Tries in RocksDB: built from the rows, and verified by another implementation. Every wrong, lost
//! or foreign node is found.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::Path, sync::atomic::AtomicBool};

use alloy_primitives::{Address, B256, U256, keccak256};
use executor::{
    state::{DataDir, FileEntry, Manifest, NoProgress, StateError, StateFormat, StateSpec},
    store::{Store, memory::MemoryStore, rocksdb::RocksFormat},
    tries::{self, TrieId},
};
use rocksdb::{ColumnFamilyDescriptor, DB, IteratorMode, Options};
use trie::{Format, NodeKey, Path as TriePath};
use variant::TrieForm;
use workload::{Genesis, GenesisAccount, Layout};

use crate::common::{FORMAT, KECCAK, genesis};

fn formats() -> impl Iterator<Item = Format> {
    TrieForm::ALL.iter().filter_map(|form| tries::trie_format(*form))
}

/// Builds a state. Returns its name and its manifest.
fn build(data: &Path, genesis: &Genesis, tries: Option<Format>) -> (String, Manifest) {
    let format = RocksFormat { tries, ..FORMAT };
    let (layout, format) = (Layout::Hashed, &format);
    let spec = StateSpec { genesis, layout, format, scenario: "test", threads: 2 };
    let dir = DataDir::open(data).unwrap();
    let state = dir.open_or_build(&spec, &NoProgress, &AtomicBool::new(false)).unwrap();
    (state.name().to_owned(), state.manifest().clone())
}

fn verify(data: &Path, name: &str) -> Result<Manifest, StateError> {
    let dir = DataDir::open(data)?;
    Ok(dir.verify(name, &[&FORMAT], &NoProgress, &AtomicBool::new(false))?.manifest)
}

#[test]
fn every_form_of_tries_has_the_same_rows_and_the_same_root() {
    let data = tempfile::tempdir().unwrap();
    let genesis = genesis(5_000);
    let (plain_name, plain) = build(data.path(), &genesis, None);
    assert_eq!(plain.state_root, None);
    let mut names = vec![plain_name];
    for format in formats() {
        let (name, manifest) = build(data.path(), &genesis, Some(format));
        let in_memory = MemoryStore::build(&genesis, Some(format), 1 << 30).unwrap();
        assert_eq!(manifest.state_root, in_memory.tries().map(|tries| tries.root), "{format:?}");
        assert_eq!((manifest.content_digest, manifest.rows), (plain.content_digest, plain.rows));
        assert_eq!(verify(data.path(), &name).unwrap(), manifest);
        assert!(manifest.byte_count() > plain.byte_count(), "{format:?}");
        names.push(name);
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 5);
}

/// Tries of a million slots are hashed in parts, which several threads join.
#[test]
fn a_large_trie_is_hashed_in_parts_and_verified_whole() {
    let data = tempfile::tempdir().unwrap();
    let mut genesis = genesis(3_000);
    genesis.slots[0].count = (1 << 20) + 5;
    let format = tries::trie_format(TrieForm::Cut);
    let (name, manifest) = build(data.path(), &genesis, format);
    assert_eq!(verify(data.path(), &name).unwrap(), manifest);
}

/// Contracts with `slot_count` slots each.
fn many_tries(trie_count: u32, slot_count: u64) -> Genesis {
    let account = |index: u32| GenesisAccount {
        address: Address::from_word(keccak256(index.to_be_bytes())),
        nonce: 1,
        storage: (0..slot_count).map(|slot| (U256::from(slot), U256::MAX)).collect(),
        ..GenesisAccount::default()
    };
    let mut accounts: Vec<_> = (0..trie_count).map(account).collect();
    accounts.sort_by_key(|account| account.address);
    Genesis { accounts, ..Genesis::default() }
}

/// A wrong estimate would fill the disk in the middle of a build.
#[test]
fn nodes_of_many_small_tries_stay_below_the_estimate() {
    for (trie_count, slot_count) in [(20_000, 1), (20_000, 2), (3_000, 17), (1_000, 100)] {
        let genesis = many_tries(trie_count, slot_count);
        let data = tempfile::tempdir().unwrap();
        let figures = |tries| {
            let format = RocksFormat { tries, ..RocksFormat::DEFAULT };
            let (layout, format) = (Layout::Hashed, &format);
            let spec =
                StateSpec { genesis: &genesis, layout, format, scenario: "test", threads: 2 };
            let dir = DataDir::open(data.path()).unwrap();
            let state = dir.open_or_build(&spec, &NoProgress, &AtomicBool::new(false)).unwrap();
            [format.byte_estimate(&genesis, layout), state.manifest().byte_count()]
        };
        let [plain_estimate, plain_bytes] = figures(None);
        for tries in formats() {
            let [estimate, bytes] = figures(Some(tries));
            // Without the rows: nodes must not use up the room in the rows' estimate.
            let (estimate, bytes) = (estimate - plain_estimate, bytes - plain_bytes);
            let of = format!("{trie_count} tries of {slot_count} rows, {tries:?}");
            assert!(bytes <= estimate, "{of}: {bytes} bytes, {estimate} expected");
            assert!(estimate < 4 * bytes, "{of}: {bytes} bytes, {estimate} expected");
        }
    }
}

/// Changes the nodes of the state's tries, and makes the manifest fit.
fn change(data: &Path, name: &str, change: impl FnOnce(&DB, &rocksdb::ColumnFamily)) {
    let dir = data.join(name);
    let families = ["default", "accounts", "storage", "code", "tries"];
    let families = families.map(|name| ColumnFamilyDescriptor::new(name, Options::default()));
    let db = DB::open_cf_descriptors(&Options::default(), &dir, families).unwrap();
    let family = db.cf_handle("tries").unwrap();
    change(&db, family);
    db.flush_cf(family).unwrap();
    drop(db);
    let path = dir.join("manifest.json");
    let mut manifest: Manifest = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest.files.clear();
    for entry in fs::read_dir(&dir).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name != "manifest.json" {
            let bytes = entry.metadata().unwrap().len();
            manifest.files.push(FileEntry { name, bytes, hash: None });
        }
    }
    manifest.files.sort_by(|a, b| a.name.cmp(&b.name));
    fs::write(&path, serde_json::to_vec(&manifest).unwrap()).unwrap();
}

/// Row of a node in the middle of the state's largest trie.
fn some_node(db: &DB, family: &rocksdb::ColumnFamily) -> (Vec<u8>, Vec<u8>) {
    let first = TrieId::Slots(keccak256(KECCAK))
        .row_key(&NodeKey::Node(TriePath::of_nibbles([7]).unwrap()));
    let mode = IteratorMode::From(&first, rocksdb::Direction::Reverse);
    let (key, node) = db.iterator_cf(family, mode).next().unwrap().unwrap();
    (key.to_vec(), node.to_vec())
}

#[test]
fn a_wrong_a_lost_and_a_foreign_node_are_found() {
    let genesis = genesis(4_000);
    for format in formats() {
        let fault = |what: &str, make: &dyn Fn(&DB, &rocksdb::ColumnFamily)| {
            let data = tempfile::tempdir().unwrap();
            let (name, _) = build(data.path(), &genesis, Some(format));
            change(data.path(), &name, |_, _| ());
            verify(data.path(), &name).unwrap();
            change(data.path(), &name, make);
            let error = verify(data.path(), &name).unwrap_err();
            let is_untrusted = matches!(error, StateError::Untrusted { .. });
            assert!(is_untrusted && error.to_string().contains(what), "{format:?}: {error}");
        };
        fault("it is stored otherwise", &|db, family| {
            let (key, mut node) = some_node(db, family);
            *node.last_mut().unwrap() ^= 1;
            db.put_cf(family, key, node).unwrap();
        });
        fault("it is not stored", &|db, family| {
            db.delete_cf(family, some_node(db, family).0).unwrap();
        });
        fault("it is not stored", &|db, family| {
            let (mut key, node) = some_node(db, family);
            // Deeper than any two rows of this state share a path.
            key.splice(34..34, [0; 20]);
            db.put_cf(family, key, node).unwrap();
        });
        fault("that is stored as row 0x01ffff", &|db, family| {
            let key = TrieId::Slots(B256::repeat_byte(0xff)).row_key(&NodeKey::top(format));
            db.put_cf(family, key, [1, 2, 3]).unwrap();
        });
    }
}
