//! The bytes of commits, as a store is given them: the yardstick for the bytes that it writes.

use workload::{
    Layout,
    layout::{ACCOUNT_VALUE_BYTES, encode_slot},
};

use super::executed::BatchResult;
use crate::tries::NodeChanges;

/// Bytes of the keys and values of the commits of all batches: an overwritten row counts each time, a
/// deleted one with its key.
pub(super) fn committed_bytes(layout: Layout, batches: &[BatchResult]) -> u64 {
    let account_key = match layout {
        Layout::Hashed => 32,
        Layout::Plain => 20,
    };
    let of_batch = |batch: &BatchResult| {
        let changes = &batch.net_changes;
        let accounts = changes
            .accounts
            .iter()
            .map(|(_, account)| account_key + account.as_ref().map_or(0, |_| ACCOUNT_VALUE_BYTES));
        let slots = changes.slots.iter().map(|(_, _, value)| {
            let value_bytes = if value.is_zero() { 0 } else { encode_slot(value).len() };
            layout.slot_key_bytes() + value_bytes
        });
        let codes = changes.codes.iter().map(|(hash, code)| hash.len() + code.len());
        let rooted = batch.rooted.iter().flat_map(|rooted| &rooted.nodes);
        accounts.chain(slots).chain(codes).chain(rooted.map(node_bytes)).sum::<usize>() as u64
    };
    batches.iter().map(of_batch).sum()
}

fn node_bytes(changes: &NodeChanges) -> usize {
    let NodeChanges { trie, put, deleted } = changes;
    let put = put.iter().map(|(key, node)| trie.row_key(key).len() + node.len());
    let deleted = deleted.iter().map(|key| trie.row_key(key).len());
    put.chain(deleted).sum()
}
