//! Computes the root of a batch from its list, on the root thread during the batch's execution. The
//! root is provisional until execution has verified the list; after a rejection it is dropped. Also
//! finds the nodes above a list's changes: a sample counts which of their pages are in memory.

use alloy_primitives::B256;
use trie::{Format, NodeKey, guess_nodes};
use variant::ListForm;
use workload::{
    Genesis,
    list::{FullList, ListBounds, ListError, ListIndex},
};

use super::{
    changes::Changes,
    compute::{Clock, Threads, compute},
    error::RootError,
    plan::Planned,
    read::KnownNodes,
    settings::guess_depth,
    threads::RootedSample,
    work::{RootWork, Rooted},
};
use crate::tries::TrieId;

/// Computes the root of the batch at `batch_index`.
pub(super) fn root(
    sample: &RootedSample<'_>,
    batch_index: usize,
    threads: &Threads<'_>,
    work: &mut RootWork,
    clock: Clock<'_>,
) -> Result<Rooted, RootError> {
    let planned =
        || Planned::new(threads.readers.settings, &changes_of_batch(sample, batch_index)?);
    compute(planned, KnownNodes::default(), threads, work, clock)
}

fn changes_of_batch(
    sample: &RootedSample<'_>,
    batch_index: usize,
) -> Result<Changes<'static>, ListError> {
    let RootedSample { variant, workload, lists, .. } = sample;
    let bounds = ListBounds::new(&workload.batches[batch_index], &workload.rules);
    let list = match variant.list {
        Some(ListForm::Full) => FullList::decode(&lists[batch_index], &bounds)?.into_parts().0,
        _ => ListIndex::decode(&lists[batch_index], &bounds)?,
    };
    Ok(Changes::from_list(&list))
}

/// Returns the nodes that may be above the keys that a list changes, in the tries of a state from
/// `genesis`.
pub(crate) fn nodes_above(
    list: &ListIndex,
    format: Format,
    genesis: &Genesis,
) -> Vec<(TrieId, NodeKey)> {
    let depth = guess_depth(format, genesis);
    let changes = Changes::from_list(list);
    let (accounts, slots) = (changes.account_keys(), changes.slot_keys());
    let of_slots = accounts.iter().zip(&changes.accounts).map(|(account, (_, _, slot_range))| {
        (TrieId::Slots(B256::new(*account)), &slots[slot_range.clone()])
    });
    let tries = of_slots.chain([(TrieId::Accounts, &accounts[..])]);
    let nodes = tries.flat_map(|(trie, keys)| {
        let mut keys: Vec<B256> = keys.iter().map(|key| B256::new(*key)).collect();
        keys.sort_unstable();
        guess_nodes(format, &keys, depth).into_iter().map(move |key| (trie, key))
    });
    nodes.collect()
}
