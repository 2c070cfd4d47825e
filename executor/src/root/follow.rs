//! Reads nodes for the root of a batch while its steps run, on the root thread. These are the nodes
//! above the keys that steps have written so far. Rows are not read, because the needed rows are
//! known only once all keys are known. Execution has read most of the store's blocks that contain
//! them.

use std::collections::BTreeMap;

use alloy_primitives::{
    Address, B256, U256,
    map::{AddressMap, HashSet},
};
use trie::{NodeKey, Plan, Reading as _, guess_nodes};
use variant::{Phase, RootReads};
use workload::Layout;

use super::{
    compute::Clock,
    error::RootError,
    part::{Extent, Part},
    read::{KnownNodes, ReadRequests, Readers},
    settings::RootSettings,
    work::RootWork,
    written::{Keys, WrittenKeys},
};
use crate::tries::TrieId;

/// Reads nodes until the steps have ended.
pub(super) fn read(
    written: &WrittenKeys,
    readers: &Readers<'_>,
    work: &mut RootWork,
    mut clock: Clock<'_>,
) -> Result<KnownNodes, RootError> {
    let (mut seen, mut known) = (SeenKeys::default(), KnownNodes::default());
    while let Some(keys) = written.next() {
        let chunk =
            clock.time(Phase::RootPlan, || Chunk::new(&readers.settings, keys, &mut seen))?;
        clock.time(Phase::RootRead, || chunk.read(&mut known, readers, written, work))?;
    }
    Ok(known)
}

/// Keys that came in earlier chunks.
#[derive(Debug, Default)]
struct SeenKeys {
    /// Accounts, with the hashes of their addresses.
    accounts: AddressMap<B256>,
    slots: HashSet<(Address, U256)>,
}

impl SeenKeys {
    /// Returns the hashes of the new keys, ascending: of accounts, and of slots by account.
    fn new_hashes(&mut self, keys: Keys) -> (Vec<B256>, BTreeMap<B256, Vec<B256>>) {
        let Keys { mut accounts, mut slots } = keys;
        accounts.sort_unstable();
        accounts.dedup();
        accounts.retain(|address| !self.accounts.contains_key(address));
        let mut hashes = vec![[0; 32]; accounts.len()];
        Layout::Hashed.account_key_parts(&accounts, &mut hashes);
        let mut hashed: Vec<_> = hashes.into_iter().map(B256::new).collect();
        self.accounts.extend(accounts.into_iter().zip(hashed.iter().copied()));
        hashed.sort_unstable();
        slots.retain(|slot| self.slots.insert(*slot));
        let keys: Vec<_> = slots.iter().map(|(_, key)| *key).collect();
        let mut hashes = vec![[0; 32]; keys.len()];
        Layout::Hashed.slot_key_parts(&keys, &mut hashes);
        let mut by_account = BTreeMap::<B256, Vec<B256>>::new();
        for ((address, _), hash) in slots.iter().zip(hashes) {
            if let Some(account) = self.accounts.get(address) {
                by_account.entry(*account).or_default().push(B256::new(hash));
            }
        }
        by_account.values_mut().for_each(|keys| keys.sort_unstable());
        (hashed, by_account)
    }
}

/// The keys that steps wrote since the chunk before.
struct Chunk {
    plans: Vec<Part<Plan>>,
    /// Nodes that are read even if the plans do not need them.
    nodes: Vec<(TrieId, NodeKey)>,
}

impl Chunk {
    fn new(settings: &RootSettings, keys: Keys, seen: &mut SeenKeys) -> Result<Self, RootError> {
        let (accounts, slots) = seen.new_hashes(keys);
        let top = settings.top();
        let without_slots = accounts.iter().filter(|account| !slots.contains_key(*account));
        let nodes = without_slots.map(|account| (TrieId::Slots(*account), top)).collect();
        let mut chunk = Self { plans: Vec::new(), nodes };
        for (account, keys) in slots {
            chunk.add_plan(settings, TrieId::Slots(account), keys)?;
        }
        if !accounts.is_empty() {
            chunk.add_plan(settings, TrieId::Accounts, accounts)?;
        }
        Ok(chunk)
    }

    fn add_plan(
        &mut self,
        settings: &RootSettings,
        trie: TrieId,
        keys: Vec<B256>,
    ) -> Result<(), RootError> {
        if settings.reads == RootReads::AtOnce {
            let guessed = guess_nodes(settings.format, &keys, settings.guess_depth).into_iter();
            self.nodes.extend(guessed.map(|key| (trie, key)));
        }
        let stage = Plan::new(settings.format, keys)?;
        self.plans.push(Part { trie, extent: Extent::Whole, stage });
        Ok(())
    }

    /// Reads the nodes that are not known, until the plans need no other node or the steps have
    /// ended.
    fn read(
        self,
        known: &mut KnownNodes,
        readers: &Readers<'_>,
        written: &WrittenKeys,
        work: &mut RootWork,
    ) -> Result<(), RootError> {
        let Self { mut plans, mut nodes } = self;
        nodes.retain(|(trie, key)| !known.has(*trie, *key));
        // Nodes count as used when the plans of the batch use them.
        let mut uncounted = RootWork::default();
        loop {
            let has_guesses = readers.settings.reads == RootReads::AtOnce && !nodes.is_empty();
            // The guessed nodes include the nodes that the plans need first.
            for plan in plans.iter_mut().filter(|_| !has_guesses) {
                plan.descend(known, &mut uncounted)?;
                let wanted = plan.stage.reads().nodes.iter();
                let unknown = wanted.filter(|key| !known.has(plan.trie, **key));
                nodes.extend(unknown.map(|key| (plan.trie, *key)));
            }
            if nodes.is_empty() || written.has_ended() {
                return Ok(());
            }
            let requests = ReadRequests { nodes: nodes.clone(), ..ReadRequests::default() };
            let answers = readers.read(requests, work)?;
            known.add(&nodes, answers);
            nodes.clear();
        }
    }
}
