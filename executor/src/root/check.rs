//! The check of a sample's roots, outside any clock. It computes the roots again from the state
//! before the sample, and reads back the nodes that the sample wrote.

use std::collections::BTreeMap;

use alloy_primitives::{B256, U256, keccak256};
use rayon::ThreadPool;
use trie::{Format, RowRange, SlotValue};
use workload::NetChanges;

use super::{
    overlaid::{HashedChanges, Overlaid},
    walk::{CheckError, Leaves, Roots, Walk, name},
    work::Rooted,
};
use crate::{
    disagreement::Disagreement,
    error::StoreError,
    leaves,
    tries::{StateTries, TrieId, TrieReader, Tries},
};

/// Number of nodes or slots that one call reads.
const KEYS_PER_CALL: usize = 256;

/// The tries of a state, with the changes of the batches that were checked.
struct Checked<'a> {
    reader: Overlaid<'a>,
    format: Format,
}

impl Checked<'_> {
    fn walk(&mut self, trie: TrieId, leaves: &Leaves) -> Result<Roots, CheckError> {
        Walk::new(&mut self.reader, self.format, trie, leaves).roots()
    }

    /// Returns the state roots before and after `changes`.
    fn roots(&mut self, changes: &HashedChanges) -> Result<Roots, CheckError> {
        let keys: std::collections::BTreeSet<B256> =
            changes.accounts.keys().chain(changes.slots.keys()).copied().collect();
        let keys: Vec<B256> = keys.into_iter().collect();
        let stored = leaves::storage_roots(&mut self.reader, self.format, &keys)?;
        let (mut leaves, mut leaf) = (Leaves::new(), Vec::new());
        for (key, stored) in keys.into_iter().zip(stored) {
            let root = match changes.slots.get(&key) {
                None => stored,
                Some(slots) => self.slots_root(key, slots, stored)?,
            };
            let state = match changes.accounts.get(&key) {
                Some(state) => *state,
                None => self.reader.account(&key)?,
            };
            leaf.clear();
            if let Some(state) = &state {
                leaves::encode_account(state, root, &mut leaf);
            }
            leaves.push((key, leaf.clone()));
        }
        self.walk(TrieId::Accounts, &leaves)
    }

    fn slots_root(
        &mut self,
        account: B256,
        slots: &BTreeMap<B256, U256>,
        stored: B256,
    ) -> Result<B256, CheckError> {
        let trie = TrieId::Slots(account);
        let leaves = slots.iter().map(|(key, value)| {
            let value = SlotValue::new(value);
            (*key, value.map_or_else(Vec::new, |value| value.as_slice().to_vec()))
        });
        let leaves: Leaves = leaves.collect();
        let Roots { before, after } = self.walk(trie, &leaves)?;
        if before != stored {
            let text = format!("{}: nodes and rows make {before}, its top {stored}", name(&trie));
            return Err(CheckError::Fault(Box::new(Disagreement::Tries(text))));
        }
        Ok(after)
    }
}

/// Compares the roots of a sample with roots from a walk over `base`, the tries of the state before
/// the sample. `base_facts` has the root that the store recorded for `base`.
///
/// Each batch with changes has a walk over the tries that earlier batches left, along the paths of
/// the batch's changes alone. The root without the changes must be the root before the batch:
/// `base_facts`'s root, or that of the batch before. The root with the changes is the one that the
/// sample must have.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn check(
    base: &dyn Tries,
    base_facts: &StateTries,
    batches: &[(&NetChanges, &Rooted)],
    pool: Option<&ThreadPool>,
) -> Result<Option<Disagreement>, StoreError> {
    if let Some(pool) = pool {
        // The walk reads the same again, so an error here is left for the walk to find.
        pool.broadcast(|at| read_ahead(base, batches, at.index(), at.num_threads()).ok());
    }
    let mut reader = base.reader()?;
    let reader = Overlaid::new(reader.as_mut());
    let mut checked = Checked { reader, format: base.format() };
    match check_by(&mut checked, base_facts.root, batches) {
        Ok(()) => Ok(None),
        Err(CheckError::Fault(fault)) => Ok(Some(*fault)),
        Err(CheckError::Store(error)) => Err(error),
    }
}

/// Reads every `thread_count`th part of the base's rows and nodes that the batches change, from the
/// part of `thread` on. Their blocks are then in the store's caches, so the walk does not wait for
/// one after the other.
fn read_ahead(
    base: &dyn Tries,
    batches: &[(&NetChanges, &Rooted)],
    thread: usize,
    thread_count: usize,
) -> Result<(), StoreError> {
    let mut reader = base.reader()?;
    for (net_changes, rooted) in batches {
        for slots in net_changes.slots.chunks(KEYS_PER_CALL).skip(thread).step_by(thread_count) {
            let rows = slots.iter().map(|(address, key, _)| {
                let first = keccak256(key.to_be_bytes::<32>());
                (keccak256(address), RowRange { first, last: first })
            });
            reader.slot_ranges(&rows.collect::<Vec<_>>(), &mut |_, _, _| ())?;
        }
        for (address, _) in net_changes.accounts.iter().skip(thread).step_by(thread_count) {
            reader.account(&keccak256(address))?;
        }
        let nodes = rooted.changes().enumerate();
        let own = nodes.filter(|(index, _)| index / KEYS_PER_CALL % thread_count == thread);
        let own: Vec<_> = own.map(|(_, (key, _))| key).collect();
        for keys in own.chunks(KEYS_PER_CALL) {
            reader.nodes(keys, &mut |_, _| ())?;
        }
    }
    Ok(())
}

fn check_by(
    checked: &mut Checked<'_>,
    mut root: B256,
    batches: &[(&NetChanges, &Rooted)],
) -> Result<(), CheckError> {
    for (batch, (net_changes, rooted)) in batches.iter().enumerate() {
        let changes = HashedChanges::new(net_changes);
        if !changes.is_empty() {
            let Roots { before, after } = checked.roots(&changes)?;
            if before != root {
                let text = format!("before batch {batch} they make the root {before}, not {root}");
                return Err(CheckError::Fault(Box::new(Disagreement::Tries(text))));
            }
            root = after;
        }
        if root != rooted.root {
            let wrong = Disagreement::Root { batch, expected: root, got: rooted.root };
            return Err(CheckError::Fault(Box::new(wrong)));
        }
        checked.reader.add(changes, rooted);
    }
    Ok(())
}

/// Reads back every node that the batches of a sample wrote or deleted.
///
/// # Errors
/// [`StoreError`].
pub(crate) fn read_back<'r>(
    tries: &dyn Tries,
    batches: impl Iterator<Item = &'r Rooted>,
) -> Result<Option<Disagreement>, StoreError> {
    // Of two batches that change a node, the later one counts.
    let mut expected = BTreeMap::new();
    expected.extend(batches.flat_map(Rooted::changes));
    let mut reader = tries.reader()?;
    let keys: Vec<_> = expected.keys().copied().collect();
    for keys in keys.chunks(KEYS_PER_CALL) {
        let mut fault = None;
        reader.nodes(keys, &mut |index, got| {
            let (trie, key) = &keys[index];
            let expected = expected.get(&keys[index]).copied().flatten();
            if expected != got {
                fault.get_or_insert_with(|| Disagreement::ReadBack {
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
