//! Nodes that `pipelined` reads while steps run. At its last read of a slot, the execution waits
//! for the thread that follows the steps. That thread then knows all keys but those of the last
//! transaction.

use std::{
    collections::HashMap,
    num::NonZeroUsize,
    sync::{Condvar, Mutex},
    time::Duration,
};

use alloy_primitives::{Address, B256, Bytes, U256};
use executor::{
    root::RootWork,
    store::{Background, ReadCounters, Reader, Sample, Store, StoreError, memory::MemoryStore},
    tries::{NodeChanges, NodeSink, StateTries, TrieId, TrieReader, Tries},
};
use trie::{Format, NodeKey, RowRange};
use variant::{CacheMode, Design, RootReads, RootTime, RootWay, StoreKind, Variant};
use workload::{AccountState, NetChanges};

use super::{forms, in_memory, meeting, take};

/// Maximal wait, so that a failing test ends; a correct execution never waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
struct State {
    slot_read_count: usize,
    asked: Vec<(TrieId, NodeKey)>,
    /// Number of slot reads when the batch was committed; later reads do not count.
    committed_at: Option<usize>,
}

/// Records all reads of a sample, and delays one.
#[derive(Debug)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
    /// Number of the delayed read.
    held_read: usize,
    /// Number of nodes that must be requested before that read continues.
    node_count: usize,
}

impl Gate {
    fn new(held_read: usize, node_count: usize) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Self { state, changed, held_read, node_count }
    }

    fn read_slot(&self) {
        let mut state = self.state.lock().unwrap();
        state.slot_read_count += 1;
        if state.slot_read_count == self.held_read {
            let is_early = |state: &mut State| state.asked.len() < self.node_count;
            drop(self.changed.wait_timeout_while(state, PATIENCE, is_early).unwrap());
        }
    }

    fn ask(&self, keys: &[(TrieId, NodeKey)]) {
        let mut state = self.state.lock().unwrap();
        if state.committed_at.is_none() {
            state.asked.extend_from_slice(keys);
            self.changed.notify_all();
        }
    }

    fn commit(&self) {
        let mut state = self.state.lock().unwrap();
        state.committed_at = Some(state.slot_read_count);
    }
}

#[derive(Debug)]
struct Gated<'g> {
    store: &'g MemoryStore,
    gate: &'g Gate,
}

#[derive(Debug)]
struct GatedSample<'g> {
    sample: Box<dyn Sample + 'g>,
    gate: &'g Gate,
}

#[derive(Debug)]
struct GatedReader<'a> {
    reader: Box<dyn Reader + 'a>,
    gate: &'a Gate,
}

struct GatedTries<'a> {
    tries: Box<dyn Tries + 'a>,
    gate: &'a Gate,
}

struct GatedTrieReader<'a> {
    reader: Box<dyn TrieReader + 'a>,
    gate: &'a Gate,
}

impl Store for Gated<'_> {
    fn kind(&self) -> StoreKind {
        self.store.kind()
    }

    fn open_sample(&self, cache: CacheMode) -> Result<Box<dyn Sample + '_>, StoreError> {
        Ok(Box::new(GatedSample { sample: self.store.open_sample(cache)?, gate: self.gate }))
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

impl Sample for GatedSample<'_> {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, StoreError> {
        Ok(Box::new(GatedReader { reader: self.sample.reader()?, gate: self.gate }))
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
        Some(Box::new(GatedTries { tries: self.sample.tries()?, gate: self.gate }))
    }
}

impl Reader for GatedReader<'_> {
    fn is_timed(&self) -> bool {
        false
    }

    fn account(&mut self, address: &Address) -> Result<Option<AccountState>, StoreError> {
        self.reader.account(address)
    }

    fn slot(&mut self, address: &Address, key: &U256) -> Result<U256, StoreError> {
        self.gate.read_slot();
        self.reader.slot(address, key)
    }

    fn code(&mut self, hash: &B256) -> Result<Option<Bytes>, StoreError> {
        self.reader.code(hash)
    }

    fn counters(&self) -> ReadCounters {
        self.reader.counters()
    }
}

impl Tries for GatedTries<'_> {
    fn format(&self) -> Format {
        self.tries.format()
    }

    fn reader(&self) -> Result<Box<dyn TrieReader + '_>, StoreError> {
        Ok(Box::new(GatedTrieReader { reader: self.tries.reader()?, gate: self.gate }))
    }

    fn commit(&self, changes: &NetChanges, nodes: &[NodeChanges]) -> Result<(), StoreError> {
        self.gate.commit();
        self.tries.commit(changes, nodes)
    }
}

impl TrieReader for GatedTrieReader<'_> {
    fn nodes(
        &mut self,
        keys: &[(TrieId, NodeKey)],
        sink: &mut NodeSink<'_>,
    ) -> Result<(), StoreError> {
        self.gate.ask(keys);
        self.reader.nodes(keys, sink)
    }

    fn slot_ranges(
        &mut self,
        ranges: &[(B256, RowRange)],
        sink: &mut dyn FnMut(usize, B256, U256),
    ) -> Result<(), StoreError> {
        self.reader.slot_ranges(ranges, sink)
    }

    fn accounts(
        &mut self,
        range: &RowRange,
        sink: &mut dyn FnMut(B256, AccountState),
    ) -> Result<(), StoreError> {
        self.reader.accounts(range, sink)
    }

    fn counters(&self) -> ReadCounters {
        self.reader.counters()
    }
}

/// Number of requests of each node.
fn times(asked: &[(TrieId, NodeKey)]) -> HashMap<(TrieId, NodeKey), usize> {
    let mut times = HashMap::new();
    asked.iter().for_each(|node| *times.entry(*node).or_default() += 1);
    times
}

/// Requested nodes of a sample, its reads of slots, and its work.
struct Taken {
    asked: Vec<(TrieId, NodeKey)>,
    slot_read_count: usize,
    work: RootWork,
}

/// Before the last transaction has ended, nearly all keys are written, and half of the root's nodes
/// have been requested. Afterwards only the other nodes are requested, as in a sample without reads
/// ahead.
#[test]
fn nodes_above_written_keys_are_read_before_the_last_transaction_ends_and_none_twice() {
    let head =
        "[state]\naccounts = 300\nslots = 20_000\n[block]\ngas = \"4M\"\ntx_gas = \"200k\"\n";
    let workload = meeting(head, "kind = \"sstore-storm\"");
    assert!(workload.batches.len() == 1 && workload.batches[0].expected.transactions.len() > 10);
    let one = NonZeroUsize::MIN;
    for form in forms() {
        let store = in_memory(&workload, form);
        for reads in [RootReads::OnDemand, RootReads::ByLevel] {
            let sample = |time, gate: Gate| {
                let root = RootWay { reads, ..RootWay::at(time) };
                let variant = Variant { root, ..Variant::of(Design::Sequential, one, one) };
                let gated = Gated { store: &store, gate: &gate };
                let work = take(&gated, &workload, variant, "gated").executed.root_work.unwrap();
                let state = gate.state.into_inner().unwrap();
                let slot_read_count = state.committed_at.unwrap();
                Taken { asked: state.asked, slot_read_count, work }
            };
            let name = format!("{form}, {reads}");
            let after = sample(RootTime::After, Gate::new(usize::MAX, 0));
            assert_eq!(after.work.ahead_node_count, 0, "{name}");
            let half = after.asked.len() / 2;
            let ahead = sample(RootTime::Pipelined, Gate::new(after.slot_read_count, half));
            let RootWork { ahead_node_count, node_count, .. } = ahead.work;
            assert!(ahead_node_count >= half as u64, "{name}: {ahead_node_count} of {half}");
            assert_eq!(node_count, ahead.asked.len() as u64, "{name}");
            let (before, now) = (times(&after.asked), times(&ahead.asked));
            assert!(before.keys().all(|node| now.contains_key(node)), "{name}");
            // Rows of accounts request the roots of their slots, even if these were read before.
            let most = |node: &(TrieId, NodeKey)| before.get(node).copied().unwrap_or(1);
            let again = now.iter().find(|(node, count)| **count > most(node));
            assert_eq!(again, None, "{name}: a node was read again");
            assert_eq!(ahead.work.used_node_count, after.work.used_node_count, "{name}");
        }
    }
}
