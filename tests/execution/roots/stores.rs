//! Roots over every store on disk equal those in memory, for each form, design and axis.

use std::{path::Path, sync::atomic::AtomicBool};

use executor::{
    state::{BuiltState, DataDir, NoProgress, StateFormat, StateSpec},
    store::{
        Store,
        flat::{FlatFormat, FlatSettings, FlatStore},
        mdbx::{MdbxFormat, MdbxSettings, MdbxStore},
        rocksdb::{RocksFormat, RocksSettings, RocksStore},
    },
    tries,
};
use random_blocks::RandomBlocks;
use variant::{Design, ReadMethod, SlotTable, TrieForm, Variant};
use workload::Workload;

use super::{designs, forms, in_memory, meeting, roots_in_memory, roots_over, ways};

/// A kind of store on disk.
#[derive(Clone, Copy, Debug)]
pub(super) enum OnDisk {
    Rocks,
    Mdbx(SlotTable),
    Flat,
}

impl OnDisk {
    pub(super) const ALL: [Self; 4] =
        [Self::Rocks, Self::Mdbx(SlotTable::Rows), Self::Mdbx(SlotTable::DupSort), Self::Flat];
}

/// A workload, and the directory of its states.
#[derive(Clone, Copy)]
pub(super) struct Built<'a> {
    pub(super) dir: &'a Path,
    pub(super) workload: &'a Workload,
}

impl Built<'_> {
    fn state(&self, format: &dyn StateFormat) -> BuiltState {
        let spec = StateSpec {
            genesis: &self.workload.genesis,
            layout: self.workload.layout,
            format,
            scenario: "small",
            threads: 2,
        };
        let data = DataDir::open(self.dir).unwrap();
        data.open_or_build(&spec, &NoProgress, &AtomicBool::new(false)).unwrap()
    }

    pub(super) fn rocks(&self, form: TrieForm) -> RocksStore {
        self.rocks_by(form, ReadMethod::MultiGet)
    }

    fn rocks_by(&self, form: TrieForm, read_method: ReadMethod) -> RocksStore {
        let format = RocksFormat { tries: tries::trie_format(form), ..RocksFormat::default() };
        let settings = RocksSettings { read_method, ..RocksSettings::default() };
        RocksStore::open(self.state(&format), settings).unwrap()
    }

    pub(super) fn mdbx(&self, form: TrieForm, slots: SlotTable) -> MdbxStore {
        let format = MdbxFormat { slots, tries: tries::trie_format(form) };
        MdbxStore::open(self.state(&format), MdbxSettings::default()).unwrap()
    }

    pub(super) fn flat(&self, form: TrieForm) -> FlatStore {
        let format = FlatFormat { tries: tries::trie_format(form) };
        FlatStore::open(self.state(&format), FlatSettings::default()).unwrap()
    }
}

/// Checks the roots of the variants over a store, and the root before all blocks.
fn assert_roots(store: &dyn Store, built: &Built<'_>, form: TrieForm, variants: &[Variant]) {
    let name = format!("{}, {form}", store.kind());
    assert_eq!(store.tries(), in_memory(built.workload, form).tries(), "{name}");
    let expected =
        roots_over(&in_memory(built.workload, form), built.workload, &designs()[..1], &name);
    assert_eq!(roots_over(store, built.workload, variants, &name), expected, "{name}");
}

/// Checks the roots over each store on disk.
fn assert_roots_on_disk(built: &Built<'_>, form: TrieForm, variants: &[Variant]) {
    for kind in OnDisk::ALL {
        match kind {
            OnDisk::Rocks => {
                for read_method in [ReadMethod::Get, ReadMethod::MultiGet] {
                    assert_roots(&built.rocks_by(form, read_method), built, form, variants);
                }
            }
            OnDisk::Mdbx(slots) => assert_roots(&built.mdbx(form, slots), built, form, variants),
            OnDisk::Flat => assert_roots(&built.flat(form), built, form, variants),
        }
    }
}

/// A third of the designs and times of the root: three numbers in a row cover all.
fn every_third(number: usize) -> Vec<Variant> {
    designs().into_iter().skip(number % 3).step_by(3).collect()
}

#[test]
fn roots_over_every_store_are_those_in_memory() {
    let head = "[state]\naccounts = 100\nslots = 3_000\n[block]\ngas = \"600k\"\ntx_gas = \"300k\"\n\
                blocks = 2\n";
    for load in [
        "kind = \"sstore-storm\"\nop = \"create\"",
        "kind = \"sstore-storm\"\nop = \"clear\"\ncontracts = 5",
        "kind = \"sstore-storm\"\nop = \"clear\"\nkeys = \"deep\"",
        "kind = \"transfers\"\npattern = \"fresh\"",
    ] {
        let workload = meeting(head, load);
        roots_in_memory(&workload, &designs()[..1], load);
        let dir = tempfile::tempdir().unwrap();
        let built = Built { dir: dir.path(), workload: &workload };
        for (number, form) in forms().enumerate() {
            assert_roots_on_disk(&built, form, &every_third(number));
        }
    }
}

#[test]
fn all_designs_come_to_one_root_on_random_blocks_over_every_store() {
    for (seed, form) in (200..).zip(forms()) {
        let random = RandomBlocks::draw(seed, 6).build().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let built = Built { dir: dir.path(), workload: &random.workload };
        assert_roots_on_disk(&built, form, &every_third(seed as usize));
    }
}

/// The check's walks read other blocks for each sample's fresh keys. If these were kept, memory
/// would grow with the number of samples.
#[test]
fn the_check_of_a_cold_sample_leaves_no_blocks_behind() {
    let head = "[state]\naccounts = 30\nslots = 4_000\n[block]\ngas = \"1M\"\n";
    let workload = meeting(head, "kind = \"sstore-storm\"\nop = \"clear\"");
    let dir = tempfile::tempdir().unwrap();
    let built = Built { dir: dir.path(), workload: &workload };
    let store = built.rocks(TrieForm::Cut);
    roots_over(&store, &workload, &designs()[..1], "cold");
    assert!(store.warm_blocks().is_none());
}

/// Each way is tried over each store. The way's number chooses form and design.
#[test]
fn every_way_comes_to_one_root_over_every_store() {
    let head = "[state]\naccounts = 30\nslots = 1_500\n[block]\ngas = \"600k\"\ntx_gas = \"300k\"\n\
                blocks = 2\n";
    let workload = meeting(head, "kind = \"sstore-storm\"\nop = \"clear\"\ncontracts = 2");
    let dir = tempfile::tempdir().unwrap();
    let built = Built { dir: dir.path(), workload: &workload };
    let form_count = forms().count();
    for (number, form) in forms().enumerate() {
        let ways = ways::all().into_iter().enumerate();
        let of_form = ways.filter(|(way, _)| way % form_count == number);
        let variants: Vec<_> = of_form
            .filter_map(|(way, root)| {
                let design = Design::ALL[(way / form_count) % Design::ALL.len()];
                ways::variant(design, root).or_else(|| ways::variant(Design::BatchedIo, root))
            })
            .collect();
        assert_eq!(variants.len(), 27);
        assert_roots_on_disk(&built, form, &variants);
    }
}
