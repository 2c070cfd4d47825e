//! Faults that are planted in a store's tries: each fault is found, in every form of tries.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use alloy_primitives::{B256, U256};
use executor::{
    sample::Disagreement,
    store::{Background, Reader, Sample, Store, StoreError},
    tries::{NodeChanges, NodeSink, StateTries, TrieId, TrieReader, Tries},
};
use trie::{Format, NodeKey, RowRange};
use variant::{CacheMode, RootCache, StoreKind, TrieForm, Variant};
use workload::{AccountState, NetChanges, Workload};

use super::{
    agree, forms, in_memory, meeting,
    stores::{Built, OnDisk},
    ways,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The last byte of each stored branch is wrong, in the state itself.
    WrongNodes,
    /// Rows that are read by range have wrong values, in the sample alone.
    WrongRows,
    /// Leaves of slots have wrong values, in the sample alone; in `All` they take the place of
    /// rows.
    WrongLeaves,
    /// The last byte of each branch that is in memory before the clock is wrong.
    WrongKept,
    /// A commit deletes no node.
    LostDeletes,
    /// A commit writes no node.
    LostNodes,
}

/// A store with a fault.
#[derive(Debug)]
struct Faulty<'s> {
    store: &'s dyn Store,
    fault: Option<Fault>,
    /// Cache of the sample's nodes, which are read from a state that is opened before the sample.
    cache: RootCache,
    opened: AtomicUsize,
    /// Number of nodes that the check of the roots requested.
    checked_count: Arc<AtomicUsize>,
}

/// The use for which a state is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// Reads of the nodes that are in memory before the clock.
    Keep,
    /// The sample.
    Run,
    /// The check of its roots.
    Check,
}

impl<'s> Faulty<'s> {
    fn new(store: &'s dyn Store, cache: RootCache, fault: Option<Fault>) -> Self {
        let (opened, checked_count) = (AtomicUsize::new(0), Arc::default());
        Self { store, fault, cache, opened, checked_count }
    }

    fn purpose(&self) -> Purpose {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let purposes = [Purpose::Keep, Purpose::Run, Purpose::Check];
        let first = usize::from(self.cache == RootCache::Cold);
        purposes[first + number]
    }
}

#[derive(Debug)]
struct FaultySample<'s> {
    sample: Box<dyn Sample + 's>,
    fault: Option<Fault>,
    purpose: Purpose,
    checked_count: Arc<AtomicUsize>,
}

struct FaultyTries<'a> {
    tries: Box<dyn Tries + 'a>,
    fault: Option<Fault>,
    purpose: Purpose,
    checked_count: &'a AtomicUsize,
}

struct FaultyReader<'a> {
    reader: Box<dyn TrieReader + 'a>,
    fault: Option<Fault>,
    purpose: Purpose,
    checked_count: &'a AtomicUsize,
}

impl Store for Faulty<'_> {
    fn kind(&self) -> StoreKind {
        self.store.kind()
    }

    fn open_sample(&self, cache: CacheMode) -> Result<Box<dyn Sample + '_>, StoreError> {
        let purpose = self.purpose();
        let (sample, checked_count) = (self.store.open_sample(cache)?, self.checked_count.clone());
        Ok(Box::new(FaultySample { sample, fault: self.fault, purpose, checked_count }))
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.store.facts()
    }

    fn never_cold_reason(&self) -> Option<&'static str> {
        self.store.never_cold_reason()
    }

    fn slots_per_block(&self) -> Option<f64> {
        None
    }

    fn tries(&self) -> Option<StateTries> {
        self.store.tries()
    }
}

impl Sample for FaultySample<'_> {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, StoreError> {
        self.sample.reader()
    }

    fn commit(&self, changes: &NetChanges) -> Result<(), StoreError> {
        self.sample.commit(changes)
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.sample.sync()
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

    fn tries(&self) -> Option<Box<dyn Tries + '_>> {
        let (fault, purpose, checked_count) = (self.fault, self.purpose, &*self.checked_count);
        let tries = self.sample.tries()?;
        Some(Box::new(FaultyTries { tries, fault, purpose, checked_count }))
    }
}

impl Tries for FaultyTries<'_> {
    fn format(&self) -> Format {
        self.tries.format()
    }

    fn reader(&self) -> Result<Box<dyn TrieReader + '_>, StoreError> {
        let Self { fault, purpose, checked_count, .. } = *self;
        let reader = self.tries.reader()?;
        Ok(Box::new(FaultyReader { reader, fault, purpose, checked_count }))
    }

    fn commit(&self, changes: &NetChanges, nodes: &[NodeChanges]) -> Result<(), StoreError> {
        let mut nodes = nodes.to_vec();
        for changes in &mut nodes {
            match self.fault {
                Some(Fault::LostDeletes) => changes.deleted.clear(),
                Some(Fault::LostNodes) => changes.put = trie::Nodes::default(),
                _ => {}
            }
        }
        self.tries.commit(changes, &nodes)
    }
}

impl FaultyReader<'_> {
    /// Wrong bits of rows.
    fn flipped(&self) -> U256 {
        let is_wrong = self.fault == Some(Fault::WrongRows) && self.purpose == Purpose::Run;
        U256::from(u64::from(is_wrong) << 40)
    }
}

impl TrieReader for FaultyReader<'_> {
    fn nodes(
        &mut self,
        keys: &[(TrieId, NodeKey)],
        sink: &mut NodeSink<'_>,
    ) -> Result<(), StoreError> {
        let (fault, purpose) = (self.fault, self.purpose);
        if purpose == Purpose::Check {
            self.checked_count.fetch_add(keys.len(), Ordering::Relaxed);
        }
        self.reader.nodes(keys, &mut |index, node| {
            let mut node = node.map(<[u8]>::to_vec);
            if let Some(node) = &mut node {
                let last = node.len() - 1;
                // A branch in RLP ends in an item that is no child, so the byte before it is
                // changed.
                let at = if node[0] == 0xf9 || node[0] == 0xf8 { last - 1 } else { last };
                let is_slot_leaf =
                    matches!(keys[index].0, TrieId::Slots(_)) && (40..72).contains(&node.len());
                match fault {
                    Some(Fault::WrongNodes) if node.len() > 120 => node[at] ^= 1,
                    Some(Fault::WrongKept) if purpose == Purpose::Keep && node.len() > 120 => {
                        node[at] ^= 1;
                    }
                    Some(Fault::WrongLeaves) if purpose == Purpose::Run && is_slot_leaf => {
                        node[last] ^= 1
                    }
                    _ => {}
                }
            }
            sink(index, node.as_deref());
        })
    }

    fn slot_ranges(
        &mut self,
        ranges: &[(B256, RowRange)],
        sink: &mut dyn FnMut(usize, B256, U256),
    ) -> Result<(), StoreError> {
        let flipped = self.flipped();
        self.reader.slot_ranges(ranges, &mut |index, key, value| sink(index, key, value ^ flipped))
    }

    fn accounts(
        &mut self,
        range: &RowRange,
        sink: &mut dyn FnMut(B256, AccountState),
    ) -> Result<(), StoreError> {
        self.reader.accounts(range, sink)
    }

    fn counters(&self) -> executor::store::ReadCounters {
        self.reader.counters()
    }
}

/// Disagreement or error of a sample of `variant` over a store with a fault.
fn found_by(
    variant: Variant,
    workload: &Workload,
    store: &dyn Store,
    fault: Option<Fault>,
) -> Option<String> {
    let form = store.tries().map(|tries| tries.format);
    let store = Faulty::new(store, variant.root.cache, fault);
    let lists = agree::lists(workload, variant.list).unwrap();
    match agree::take(&store, workload, &lists, variant) {
        Ok(taken) => taken.disagreement.map(|difference| {
            let of_roots = matches!(
                difference,
                Disagreement::Root { .. } | Disagreement::Tries(_) | Disagreement::ReadBack { .. }
            );
            assert!(of_roots, "{form:?}, {fault:?}: {difference}");
            difference.to_string()
        }),
        Err(error) => {
            let is_of_root = matches!(error, executor::engine::EngineError::Root { .. });
            assert!(is_of_root, "{form:?}, {fault:?}: {error}");
            Some(error.to_string())
        }
    }
}

/// A workload that clears a few slots of many: branches collapse, and most subtrees stay untouched.
fn workload() -> Workload {
    let head =
        "[state]\naccounts = 300\nslots = 3_000\n[block]\ngas = \"600k\"\ntx_gas = \"300k\"\n";
    meeting(head, "kind = \"sstore-storm\"\nop = \"clear\"")
}

/// Plants every fault in a store of the workload with tries in `form`, for these variants.
fn assert_faults_found(
    store: &dyn Store,
    workload: &Workload,
    form: TrieForm,
    variants: &[Variant],
) {
    let name = format!("{}, {form}", store.kind());
    // If no row is read, the wrong leaves are found by the read after the commit, before the root
    // is compared.
    let (beside, said) = match form {
        TrieForm::All => (Fault::WrongLeaves, "after the commit"),
        _ => (Fault::WrongRows, "state root"),
    };
    for variant in variants.iter().copied() {
        let text = |fault| found_by(variant, workload, store, fault);
        assert_eq!(text(None), None, "{name}, {variant}");
        for fault in [Fault::WrongNodes, Fault::LostDeletes, Fault::LostNodes] {
            assert!(text(Some(fault)).is_some(), "{name}, {variant}, {fault:?}");
        }
        let found = text(Some(beside)).unwrap_or_default();
        assert!(found.contains(said), "{name}, {variant}, {beside:?}: {found}");
        let kept = text(Some(Fault::WrongKept));
        let keeps = variant.root.cache != RootCache::Cold;
        assert_eq!(kept.is_some(), keeps, "{name}, {variant}: {kept:?}");
    }
}

#[test]
fn every_planted_fault_is_found_in_every_way() {
    let workload = workload();
    for form in forms() {
        let store = in_memory(&workload, form);
        assert_faults_found(&store, &workload, form, &ways::one_of_each_value());
    }
}

/// Each store and form gets the faults in a third of the ways.
#[test]
fn every_planted_fault_is_found_over_every_store() {
    let workload = workload();
    let ways = ways::one_of_each_value();
    let dir = tempfile::tempdir().unwrap();
    let built = Built { dir: dir.path(), workload: &workload };
    for (number, form) in forms().enumerate() {
        for (place, kind) in OnDisk::ALL.iter().enumerate() {
            let some: Vec<_> = ways.iter().skip((number + place) % 3).step_by(3).copied().collect();
            match kind {
                OnDisk::Rocks => assert_faults_found(&built.rocks(form), &workload, form, &some),
                OnDisk::Mdbx(slots) => {
                    assert_faults_found(&built.mdbx(form, *slots), &workload, form, &some);
                }
                OnDisk::Flat => assert_faults_found(&built.flat(form), &workload, form, &some),
            }
        }
    }
}

/// The check walks each batch over the tries after the batches before it.
#[test]
fn the_check_of_roots_grows_with_the_changes_and_not_with_their_square() {
    let of_blocks = |block_count: usize| {
        let head = format!(
            "[state]\naccounts = 30\nslots = 20_000\n[block]\ngas = \"300k\"\ntx_gas = \"300k\"\n\
             blocks = {block_count}\n"
        );
        let workload = meeting(&head, "kind = \"sstore-storm\"");
        let variant = ways::one_of_each_value()[0];
        let below = in_memory(&workload, TrieForm::Branches);
        let store = Faulty::new(&below, RootCache::Cold, None);
        let lists = agree::lists(&workload, variant.list).unwrap();
        let taken = agree::take(&store, &workload, &lists, variant).unwrap();
        assert_eq!(taken.disagreement, None);
        let changes = taken.executed.batches.iter().map(|batch| &batch.net_changes);
        let change_count: usize =
            changes.map(|changes| changes.accounts.len() + changes.slots.len()).sum();
        let node_count = store.checked_count.load(Ordering::Relaxed);
        (node_count, change_count)
    };
    let ((few, few_changes), (many, many_changes)) = (of_blocks(4), of_blocks(64));
    assert!(many_changes > 12 * few_changes, "{many_changes} changes, {few_changes}");
    let per_change = |nodes: usize, changes: usize| nodes as f64 / changes as f64;
    let (few, many) = (per_change(few, few_changes), per_change(many, many_changes));
    assert!(many < 1.5 * few, "{many} nodes a change of 64 batches, {few} of 4");
}
