//! What a sample did, exactly: figures that do not depend on how long anything took. They are
//! the same in every sample of a variant on one workload, so two builds whose counters differ do
//! different work, and their times say nothing about each other.

use alloy_primitives::Keccak256;
use executor::sample::Measurement;
use serde::{Deserialize, Serialize};
use variant::{Engine, ListForm, Variant};
use workload::{TxOutcome, TxStatus, Workload};

/// Exact figures of a sample.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Gas used: the sum of all receipts.
    pub gas: u64,
    /// Digest of what all transactions came to: status, gas, logs, what they returned.
    pub receipts: String,
    /// Digest of the net changes of all batches.
    pub net_changes: String,
    /// Encoded length of the lists in the form that the variant takes.
    pub list_bytes: u64,
    /// Accounts and slots that the lists name.
    pub unique_keys: u64,
    /// Reads that the store was asked for; `null` for an engine whose reads depend on which
    /// thread came first.
    pub store_reads: Option<u64>,
}

impl Counters {
    /// Of a sample of `variant` on `workload`, whose lists name `unique_keys`.
    pub fn of(
        workload: &Workload,
        variant: &Variant,
        unique_keys: u64,
        measurement: &Measurement,
    ) -> Self {
        let executed = &measurement.executed;
        let (mut receipts, mut changes) = (Keccak256::new(), Keccak256::new());
        let mut gas = 0;
        for outcome in executed.batches.iter().flat_map(|batch| &batch.outcomes) {
            gas += outcome.gas_used;
            add(&mut receipts, outcome);
        }
        for digest in &executed.digests {
            changes.update(digest);
        }
        Self {
            gas,
            receipts: receipts.finalize().to_string(),
            net_changes: changes.finalize().to_string(),
            list_bytes: list_bytes(workload, variant.list),
            unique_keys,
            store_reads: reads_are_exact(variant).then_some(executed.counters.key_count),
        }
    }

    /// The figures that are not the same in `other`, as `store_reads: 5 → 6`.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let number = |value: Option<u64>| value.map_or("unknown".to_owned(), |n| n.to_string());
        let figures = |of: &Self| {
            [
                ("gas", of.gas.to_string()),
                ("receipts", of.receipts.clone()),
                ("net_changes", of.net_changes.clone()),
                ("list_bytes", of.list_bytes.to_string()),
                ("unique_keys", of.unique_keys.to_string()),
                ("store_reads", number(of.store_reads)),
            ]
        };
        let pairs = figures(self).into_iter().zip(figures(other));
        let differing = pairs.filter(|((_, before), (_, after))| before != after);
        differing
            .map(|((name, before), (_, after))| format!("{name}: {before} → {after}"))
            .collect()
    }

    /// What of both is the same: where the number of reads is not, it is unknown.
    #[must_use]
    pub fn in_common(self, other: &Self) -> Self {
        let store_reads = self.store_reads.filter(|reads| other.store_reads == Some(*reads));
        Self { store_reads, ..self }
    }
}

fn add(digest: &mut Keccak256, outcome: &TxOutcome) {
    let status = match outcome.status {
        TxStatus::Success => 0_u8,
        TxStatus::Revert => 1,
        TxStatus::Halt => 2,
    };
    digest.update([status]);
    digest.update(outcome.gas_used.to_be_bytes());
    digest.update(outcome.logs);
    digest.update(outcome.output);
}

/// Whether how often a variant asks its store depends on the work alone. Optimistic execution and
/// a speculative pass read again what another thread has not yet brought.
fn reads_are_exact(variant: &Variant) -> bool {
    matches!(variant.engine, Engine::Sequential | Engine::Bal)
}

fn list_bytes(workload: &Workload, form: Option<ListForm>) -> u64 {
    let sizes = workload.batches.iter().map(|batch| &batch.list_sizes);
    match form {
        None => 0,
        Some(ListForm::ParallelIo) => sizes.map(|sizes| sizes.parallel_io_bytes).sum(),
        Some(ListForm::BatchedIo) => sizes.map(|sizes| sizes.batched_io_bytes).sum(),
        Some(ListForm::Full) => sizes.map(|sizes| sizes.full_bytes).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_read_more_is_a_difference_and_is_named_with_both_values() {
        let before = Counters { gas: 7, store_reads: Some(1_000), ..Counters::default() };
        let after = Counters { store_reads: Some(1_001), ..before.clone() };
        assert_eq!(before.differences(&after), ["store_reads: 1000 → 1001"]);
        assert_eq!(before.differences(&before), Vec::<String>::new());
    }

    #[test]
    fn reads_that_vary_are_unknown_and_unknown_reads_are_equal() {
        let some = Counters { store_reads: Some(5), ..Counters::default() };
        let other = Counters { store_reads: Some(6), ..Counters::default() };
        let varying = some.in_common(&other);
        assert_eq!(varying.store_reads, None);
        assert_eq!(varying.differences(&Counters::default()), Vec::<String>::new());
    }
}
