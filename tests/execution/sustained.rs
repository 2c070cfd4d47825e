//! Runs over many blocks, each with a commit and a root, while RocksDB flushes and compacts. Every
//! design agrees, block times fill the clock, the state is unchanged, and a lost write is found.

use std::{collections::BTreeMap, fs, num::NonZeroUsize, path::Path, sync::atomic::AtomicBool};

use executor::{
    sample::{Disagreement, Measurement},
    span,
    state::{DataDir, NoProgress, StateFormat, StateSpec},
    store::{
        Background, Reader, Sample, Store, StoreError,
        mdbx::{MdbxFormat, MdbxSettings, MdbxStore},
        rocksdb::{RocksFormat, RocksSettings, RocksStore},
    },
    tries::{self, Tries},
};
use spec::Scenario;
use variant::{
    CacheMode, Compaction, Design, Phase, RootTime, RootWay, StoreKind, TrieForm, Variant,
};
use workload::{NetChanges, Workload};

use crate::common::agree;

const BLOCK_COUNT: usize = 40;
/// The block in which a faulty store loses a write.
const FAULTY_BLOCK: usize = 25;

fn workload() -> Workload {
    let text = format!(
        "schema = 1\nname = \"small\"\nseed = 7\n[state]\naccounts = 30\nslots = 20_000\n[block]\n\
         gas = \"2M\"\nblocks = {BLOCK_COUNT}\n[[load]]\nkind = \"sstore-storm\"\nop = \"update\"\n"
    );
    let scenario = Scenario::parse("small.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    generator::generate(&scenario, |_| ()).unwrap_or_else(|e| panic!("{e}"))
}

/// Builds a state in `dir` and opens it. Returns the store and the state's name.
fn built<S>(
    dir: &Path,
    workload: &Workload,
    format: &dyn StateFormat,
    open: impl FnOnce(executor::state::BuiltState) -> S,
) -> (S, String) {
    let (genesis, layout) = (&workload.genesis, workload.layout);
    let spec = StateSpec { genesis, layout, format, scenario: "small", threads: 2 };
    let data = DataDir::open(dir).unwrap();
    let state = data.open_or_build(&spec, &NoProgress, &AtomicBool::new(false)).unwrap();
    let name = state.name().to_owned();
    (open(state), name)
}

fn rocks_format() -> RocksFormat {
    RocksFormat { tries: tries::trie_format(TrieForm::Cut), ..RocksFormat::default() }
}

/// Opens a store with a flush every few blocks.
fn rocks(dir: &Path, workload: &Workload, compaction: Compaction) -> (RocksStore, String) {
    let settings = RocksSettings {
        compaction,
        write_buffer_bytes: 64 << 10,
        options: "level0_file_num_compaction_trigger=2".to_owned(),
        ..RocksSettings::default()
    };
    built(dir, workload, &rocks_format(), |state| RocksStore::open(state, settings).unwrap())
}

/// Hash of each file of a directory, by path.
fn contents(dir: &Path) -> BTreeMap<String, blake3::Hash> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let content = |path: std::path::PathBuf| {
        (path.display().to_string(), blake3::hash(&fs::read(&path).unwrap()))
    };
    entries.map(content).collect()
}

fn variant(design: Design, root: RootTime) -> Variant {
    let two = NonZeroUsize::new(2).unwrap();
    Variant { root: RootWay::at(root), ..Variant::of(design, two, two) }
}

fn take(store: &dyn Store, workload: &Workload, variant: Variant) -> Measurement {
    let lists = agree::lists(workload, variant.list).unwrap();
    let taken = agree::take(store, workload, &lists, variant);
    taken.unwrap_or_else(|error| panic!("{variant}: {error}"))
}

/// Checks that each block has a time, and that these fit within the clock.
fn assert_timed(taken: &Measurement, variant: Variant) {
    assert_eq!(taken.disagreement, None, "{variant}");
    let executed = &taken.executed;
    assert_eq!(executed.batch_times.len(), BLOCK_COUNT, "{variant}");
    let settling = span::total(&executed.spans, Phase::Settle);
    let of_blocks: std::time::Duration = executed.batch_times.iter().sum();
    assert!(
        of_blocks + settling <= executed.wall,
        "{variant}: {of_blocks:?} of {:?}",
        executed.wall
    );
    let commits = span::total(&executed.spans, Phase::Commit);
    assert!(executed.batch_times.iter().all(|time| !time.is_zero()) && commits < of_blocks);
    // Each block writes at least a key and a value for some 160 slots.
    assert!(executed.writes.committed_bytes > BLOCK_COUNT as u64 * 160 * 96, "{variant}");
}

#[test]
fn every_design_agrees_while_rocksdb_compacts_and_the_state_stays_as_it_was() {
    let (dir, workload) = (tempfile::tempdir().unwrap(), workload());
    assert_eq!(workload.batches.len(), BLOCK_COUNT);
    let (store, name) = rocks(dir.path(), &workload, Compaction::On);
    let before = contents(store.built_state().unwrap().dir());
    let mut committed = None;
    for design in Design::ALL {
        let variant = variant(*design, RootTime::After);
        let taken = take(&store, &workload, variant);
        assert_timed(&taken, variant);
        let writes = taken.executed.writes;
        assert_eq!(*committed.get_or_insert(writes.committed_bytes), writes.committed_bytes);
        let counters = writes.background.unwrap().counters;
        assert!(counters.flush_count > 4 && counters.flush_bytes > 0, "{variant}: {counters:?}");
        assert!(counters.compaction_count > 0, "{variant}: {counters:?}");
        assert!(counters.compaction_write_bytes > 0, "{variant}: {counters:?}");
        assert!(counters.log_bytes >= writes.committed_bytes, "{variant}: {writes:?}");
        let space = writes.space.unwrap();
        assert!(space.peak_bytes > space.before_bytes, "a log, and files of flushes: {space:?}");
        let settled = taken.executed.spans.iter().filter(|span| span.phase == Phase::Settle);
        assert_eq!(settled.count(), 1, "{variant}");
        assert_eq!(contents(store.built_state().unwrap().dir()), before, "{variant}");
    }
    drop(store);
    let data = DataDir::open(dir.path()).unwrap();
    data.verify(&name, &[&rocks_format()], &NoProgress, &AtomicBool::new(false)).unwrap();
}

#[test]
fn without_compactions_and_in_mdbx_blocks_are_timed_and_nothing_is_waited_for() {
    let (dir, workload) = (tempfile::tempdir().unwrap(), workload());
    let (rocks, _) = rocks(dir.path(), &workload, Compaction::Off);
    let format = MdbxFormat { tries: tries::trie_format(TrieForm::Cut), ..MdbxFormat::default() };
    let (mdbx, name) = built(dir.path(), &workload, &format, |state| {
        MdbxStore::open(state, MdbxSettings::default()).unwrap()
    });
    for root in [RootTime::After, RootTime::FromList] {
        let variant = variant(Design::BatchedIo, root);
        let taken = [take(&rocks, &workload, variant), take(&mdbx, &workload, variant)];
        for taken in &taken {
            assert_timed(taken, variant);
            assert_eq!(taken.executed.writes.background, None);
            assert!(!taken.executed.spans.iter().any(|span| span.phase == Phase::Settle));
        }
        let [rocks, mdbx] = taken.map(|taken| taken.executed.writes);
        assert_eq!(rocks.committed_bytes, mdbx.committed_bytes);
        let grown = mdbx.space.unwrap();
        assert!(grown.after_bytes > grown.before_bytes, "copies of pages are kept: {grown:?}");
    }
    drop(mdbx);
    let data = DataDir::open(dir.path()).unwrap();
    data.verify(&name, &[&format], &NoProgress, &AtomicBool::new(false)).unwrap();
}

/// A store that loses one slot of one block.
#[derive(Debug)]
struct Forgetful<'s>(&'s RocksStore);

#[derive(Debug)]
struct ForgetfulSample<'s> {
    sample: Box<dyn Sample + 's>,
    committed: std::sync::atomic::AtomicUsize,
}

impl Store for Forgetful<'_> {
    fn kind(&self) -> StoreKind {
        self.0.kind()
    }

    fn open_sample(&self, cache: CacheMode) -> Result<Box<dyn Sample + '_>, StoreError> {
        let sample = self.0.open_sample(cache)?;
        Ok(Box::new(ForgetfulSample { sample, committed: 0.into() }))
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.0.facts()
    }

    fn never_cold_reason(&self) -> Option<&'static str> {
        self.0.never_cold_reason()
    }

    fn slots_per_block(&self) -> Option<f64> {
        self.0.slots_per_block()
    }
}

impl Sample for ForgetfulSample<'_> {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, StoreError> {
        self.sample.reader()
    }

    fn commit(&self, changes: &NetChanges) -> Result<(), StoreError> {
        let block = self.committed.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut changes = changes.clone();
        if block == FAULTY_BLOCK {
            changes.slots.pop();
        }
        self.sample.commit(&changes)
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.sample.sync()
    }

    fn tries(&self) -> Option<Box<dyn Tries + '_>> {
        self.sample.tries()
    }

    fn background(&self) -> Option<&dyn Background> {
        self.sample.background()
    }

    fn file_bytes(&self) -> Option<u64> {
        self.sample.file_bytes()
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        self.sample.close()
    }
}

#[test]
fn a_write_that_is_lost_in_one_of_many_blocks_is_found() {
    let (dir, workload) = (tempfile::tempdir().unwrap(), workload());
    let (store, _) = rocks(dir.path(), &workload, Compaction::On);
    let variant = variant(Design::BatchedIo, RootTime::Nothing);
    let right = take(&store, &workload, variant);
    assert_timed(&right, variant);
    let taken = take(&Forgetful(&store), &workload, variant);
    assert!(taken.executed.writes.background.unwrap().counters.compaction_count > 0);
    let lost = right.executed.batches[FAULTY_BLOCK].net_changes.slots.last().copied().unwrap();
    match taken.disagreement {
        Some(Disagreement::ReadBack { what, .. }) => {
            assert!(what.contains(&format!("{:#x}", lost.1)), "{what}");
        }
        other => panic!("{other:?}"),
    }
}
