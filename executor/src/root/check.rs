//! The check of a sample's roots, outside any clock: by a walk over the state below the sample, and by
//! reading back the nodes that the sample wrote.

use std::collections::BTreeMap;

use alloy_primitives::{B256, U256, keccak256};
use trie::{Format, NodeKey, SlotValue};
use workload::{AccountState, NetChanges};

use super::{
    walk::{Leaves, Moment, Walk, WalkError},
    work::Rooted,
};
use crate::{
    error::StoreError,
    leaves,
    tries::{NodeChanges, StateTries, TrieId, TrieReader, Tries},
};

/// Nodes that are read back together.
const NODES_PER_CALL: usize = 256;

/// A fault of a root, or of the nodes of tries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A batch's root is wrong.
    Root { batch: usize, expected: B256, got: B256 },
    /// The nodes of the state below do not make its root.
    State(String),
    /// The store holds another node than was committed.
    Node { what: String, expected: String, got: String },
}

enum CheckError {
    Store(StoreError),
    Fault(Fault),
}

impl From<StoreError> for CheckError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

fn name(trie: &TrieId) -> String {
    match trie {
        TrieId::Accounts => "the trie of accounts".to_owned(),
        TrieId::Slots(account) => format!("the trie of the slots of {account}"),
    }
}

/// All changes since the state below, by hashed keys.
#[derive(Default)]
struct Changes {
    accounts: BTreeMap<B256, Option<AccountState>>,
    slots: BTreeMap<B256, BTreeMap<B256, U256>>,
}

impl Changes {
    fn add(&mut self, changes: &NetChanges) {
        let accounts = changes.accounts.iter();
        self.accounts.extend(accounts.map(|(address, state)| (keccak256(address), *state)));
        for slots in changes.slots.chunk_by(|a, b| a.0 == b.0) {
            let of_account = self.slots.entry(keccak256(slots[0].0)).or_default();
            let hashed = |key: &U256| keccak256(key.to_be_bytes::<32>());
            of_account.extend(slots.iter().map(|(_, key, value)| (hashed(key), *value)));
        }
    }
}

/// The tries of the state below a sample.
struct Base<'a> {
    reader: &'a mut dyn TrieReader,
    format: Format,
}

impl Base<'_> {
    fn walk(&mut self, trie: TrieId, leaves: &Leaves, moment: Moment) -> Result<B256, CheckError> {
        let walk = Walk::new(&mut *self.reader, self.format, trie, leaves, moment);
        walk.root().map_err(|error| match error {
            WalkError::Store(error) => CheckError::Store(error),
            WalkError::Node { key, reason } => {
                let text = format!("{}, the node at {}: {reason}", name(&trie), key.path());
                CheckError::Fault(Fault::State(text))
            }
        })
    }

    /// The state root at a moment.
    fn root(&mut self, changes: &Changes, moment: Moment) -> Result<B256, CheckError> {
        let keys: std::collections::BTreeSet<B256> =
            changes.accounts.keys().chain(changes.slots.keys()).copied().collect();
        let keys: Vec<B256> = keys.into_iter().collect();
        let stored = leaves::storage_roots(&mut *self.reader, self.format, &keys)?;
        let (mut leaves, mut leaf) = (Leaves::new(), Vec::new());
        for (key, stored) in keys.into_iter().zip(stored) {
            let root = match changes.slots.get(&key) {
                None => stored,
                Some(slots) => self.slots_root(key, slots, moment, stored)?,
            };
            let state = match changes.accounts.get(&key) {
                Some(state) => *state,
                None => self.reader.account(&key)?,
            };
            leaf.clear();
            if let Some(state) = &state {
                leaves::account(state, root, &mut leaf);
            }
            leaves.push((key, leaf.clone()));
        }
        self.walk(TrieId::Accounts, &leaves, moment)
    }

    fn slots_root(
        &mut self,
        account: B256,
        slots: &BTreeMap<B256, U256>,
        moment: Moment,
        stored: B256,
    ) -> Result<B256, CheckError> {
        let trie = TrieId::Slots(account);
        let leaf = |(key, value): (&B256, &U256)| {
            let value = SlotValue::new(value);
            (*key, value.map_or_else(Vec::new, |value| value.as_slice().to_vec()))
        };
        let leaves: Leaves = slots.iter().map(leaf).collect();
        let root = self.walk(trie, &leaves, moment)?;
        if moment == Moment::Before && root != stored {
            let text = format!("{}: nodes and rows make {root}, its top {stored}", name(&trie));
            return Err(CheckError::Fault(Fault::State(text)));
        }
        Ok(root)
    }
}

/// Compares the roots of a sample with those of walks over `base`, the tries of the state below it,
/// which no batch has changed; `known` is what that state says of itself.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn check(
    base: &dyn Tries,
    known: &StateTries,
    batches: &[(&NetChanges, B256)],
) -> Result<Option<Fault>, StoreError> {
    let mut reader = base.reader()?;
    let mut base = Base { reader: reader.as_mut(), format: base.format() };
    match check_by(&mut base, known, batches) {
        Ok(()) => Ok(None),
        Err(CheckError::Fault(fault)) => Ok(Some(fault)),
        Err(CheckError::Store(error)) => Err(error),
    }
}

fn check_by(
    base: &mut Base<'_>,
    known: &StateTries,
    batches: &[(&NetChanges, B256)],
) -> Result<(), CheckError> {
    let mut all = Changes::default();
    batches.iter().for_each(|(changes, _)| all.add(changes));
    if all.accounts.is_empty() && all.slots.is_empty() {
        return batches.iter().enumerate().try_for_each(|(batch, (_, got))| {
            compare(batch, known.root, *got).map_err(CheckError::Fault)
        });
    }
    let before = base.root(&all, Moment::Before)?;
    if before != known.root {
        let text = format!("nodes and rows make the root {before}, and it is {}", known.root);
        return Err(CheckError::Fault(Fault::State(text)));
    }
    let mut changes = Changes::default();
    for (batch, (made, got)) in batches.iter().enumerate() {
        changes.add(made);
        let nothing = changes.accounts.is_empty() && changes.slots.is_empty();
        let expected = if nothing { known.root } else { base.root(&changes, Moment::After)? };
        compare(batch, expected, *got).map_err(CheckError::Fault)?;
    }
    Ok(())
}

fn compare(batch: usize, expected: B256, got: B256) -> Result<(), Fault> {
    if expected == got { Ok(()) } else { Err(Fault::Root { batch, expected, got }) }
}

/// Reads back every node that the batches of a sample wrote or deleted.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn read_back<'r>(
    tries: &dyn Tries,
    batches: impl Iterator<Item = &'r Rooted>,
) -> Result<Option<Fault>, StoreError> {
    let mut expected = BTreeMap::<(TrieId, NodeKey), Option<&[u8]>>::new();
    for NodeChanges { trie, put, deleted } in batches.flat_map(|rooted| &rooted.nodes) {
        expected.extend(deleted.iter().map(|key| ((*trie, *key), None)));
        expected.extend(put.iter().map(|(key, node)| ((*trie, *key), Some(node))));
    }
    let mut reader = tries.reader()?;
    let keys: Vec<_> = expected.keys().copied().collect();
    for keys in keys.chunks(NODES_PER_CALL) {
        let mut fault = None;
        reader.nodes(keys, &mut |index, got| {
            let (trie, key) = &keys[index];
            let expected = expected.get(&keys[index]).copied().flatten();
            if expected != got {
                fault.get_or_insert_with(|| Fault::Node {
                    what: format!("{}, the node at {}", name(trie), key.path()),
                    expected: shown(expected),
                    got: shown(got),
                });
            }
        })?;
        if fault.is_some() {
            return Ok(fault);
        }
    }
    Ok(None)
}

fn shown(node: Option<&[u8]>) -> String {
    node.map_or_else(|| "absent".to_owned(), alloy_primitives::hex::encode_prefixed)
}
