//! Finds faults of a shard's messages that the checks of execution do not find. A faulty shard may
//! send any message, at any time, any number of times. Each accepted message brings the batch
//! nearer to its end, so no shard can delay a batch for ever.

use std::time::Duration;

use alloy_primitives::{B256, keccak256, map::HashSet};
use workload::{Transaction, list::ListIndex};

use crate::{
    engine::{bal::bitset::Bitset, message},
    shards::{KeyRequest, Report, ShardStep, StateValues},
};

/// Returns the fault of a message that comes before the shard is ready, is a second `Ready`, or is
/// empty. `ready` is the time of the first `Ready`.
pub(super) fn untimely(report: &Report, ready: Option<Duration>) -> Option<&'static str> {
    match report {
        Report::Ready => ready.map(|_| "it says twice that it is ready"),
        Report::Failed { .. } => None,
        Report::Done(_) if ready.is_none() => {
            Some("it says that all is done, and never that it was ready")
        }
        Report::Request { .. } | Report::Steps(_) if ready.is_none() => {
            Some("it says more before it says that it is ready")
        }
        Report::Request { keys, .. } if *keys == KeyRequest::default() => Some("it wants no key"),
        Report::Steps(steps) if steps.is_empty() => Some("it sent no step as results"),
        Report::Request { .. } | Report::Steps(_) | Report::Done(_) => None,
    }
}

/// The keys that a shard has requested, and the codes that it may request.
pub(super) struct RequestHistory {
    accounts: Bitset,
    account_count: u32,
    slots: Bitset,
    slot_count: u32,
    codes: HashSet<B256>,
    /// Code hashes of the accounts whose values the shard has received.
    known_codes: HashSet<B256>,
}

impl RequestHistory {
    /// Makes an empty set of the keys of `list`.
    pub(super) fn new(list: &ListIndex) -> Self {
        let (account_count, slot_count) = (list.account_count(), list.slot_count());
        Self {
            accounts: Bitset::new(account_count as usize),
            account_count,
            slots: Bitset::new(slot_count as usize),
            slot_count,
            codes: HashSet::default(),
            known_codes: HashSet::default(),
        }
    }

    /// Adds the keys of a request. Returns the request's fault, if any: a key outside the list, a
    /// key or code requested before, or a code of no received account.
    pub(super) fn add(&mut self, keys: &KeyRequest) -> Option<String> {
        for (what, ids, set, count) in [
            ("account", &keys.accounts, &mut self.accounts, self.account_count),
            ("slot", &keys.slots, &mut self.slots, self.slot_count),
        ] {
            for id in ids {
                if *id >= count {
                    return Some(format!("it wants {what} {id}, and the list has {count}"));
                }
                if !set.insert(*id as usize) {
                    return Some(format!("it wants {what} {id} of the list again"));
                }
            }
        }
        for hash in &keys.codes {
            if !self.known_codes.contains(hash) {
                return Some(format!(
                    "it wants code {hash}, which no account has that it was given"
                ));
            }
            if !self.codes.insert(*hash) {
                return Some(format!("it wants code {hash} again"));
            }
        }
        None
    }

    /// Adds the codes of the accounts in `values` to the codes that the shard may request.
    pub(super) fn answered(&mut self, values: &StateValues) {
        self.known_codes.extend(values.accounts.iter().flatten().map(|account| account.code_hash));
    }
}

/// Returns the fault of a step's result, if any. `tx` is the step's transaction; `None` for a step
/// that is no transaction.
pub(super) fn fault(step: &ShardStep, tx: Option<&Transaction>) -> Option<String> {
    let ShardStep { index, result, writes, .. } = step;
    let accounts = writes.accounts.iter().map(|write| write.address);
    if let Some(fault) = message::repeated_write(*index, accounts, &writes.slots) {
        return Some(fault);
    }
    for write in &writes.accounts {
        if let Some((hash, code)) = &write.code
            && keccak256(code) != *hash
        {
            return Some(format!(
                "the code of {} in step {index} has not the hash {hash}",
                write.address
            ));
        }
    }
    message::excess_gas(*index, result.as_ref(), tx)
}
