//! Exact counters of a sample ([`Counters`]), and those that every correct sample must have. The
//! gate compares them without statistics, as they are equal in all samples of one work.

use alloy_primitives::Keccak256;
use executor::sample::Measurement;
use result::Counters;
use variant::{ListForm, Variant};
use workload::{TxOutcome, TxStatus, Workload};

/// Computes the counters of a sample of `variant` on `workload`. The lists of the workload declare
/// `unique_keys` different keys.
pub fn of(
    workload: &Workload,
    variant: &Variant,
    unique_keys: u64,
    measurement: &Measurement,
) -> Counters {
    let executed = &measurement.executed;
    let (mut receipts, mut changes) = (Keccak256::new(), Keccak256::new());
    let mut gas = 0;
    for outcome in executed.batches.iter().flat_map(|batch| &batch.outcomes) {
        gas += outcome.gas_used;
        add_outcome(&mut receipts, outcome);
    }
    for digest in &executed.digests {
        changes.update(digest);
    }
    Counters {
        gas,
        receipts: receipts.finalize().to_string(),
        net_changes: changes.finalize().to_string(),
        list_bytes: list_bytes(workload, variant.list),
        unique_keys,
        store_reads: variant.engine.runs_steps_once().then_some(executed.counters.key_count),
    }
}

/// Returns the counters that every correct sample of `workload` has, by its expected outcome.
/// Counters that depend on the variant keep their default.
pub fn expected(workload: &Workload) -> Counters {
    let (mut receipts, mut changes) = (Keccak256::new(), Keccak256::new());
    for expected in workload.batches.iter().map(|batch| &batch.expected) {
        expected.transactions.iter().for_each(|outcome| add_outcome(&mut receipts, outcome));
        changes.update(expected.net_changes);
    }
    Counters {
        gas: workload.gas_used(),
        receipts: receipts.finalize().to_string(),
        net_changes: changes.finalize().to_string(),
        ..Counters::default()
    }
}

/// Returns the differences between a sample's outcome and the expected one, in gas and digests.
pub fn wrong(expected: &Counters, sample: &Counters) -> Vec<String> {
    expected.differences(&Counters {
        gas: sample.gas,
        receipts: sample.receipts.clone(),
        net_changes: sample.net_changes.clone(),
        ..Counters::default()
    })
}

/// Adds a transaction's outcome to the digest of the receipts.
fn add_outcome(digest: &mut Keccak256, outcome: &TxOutcome) {
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

fn list_bytes(workload: &Workload, form: Option<ListForm>) -> u64 {
    let sizes = workload.batches.iter().map(|batch| &batch.list_sizes);
    match form {
        None => 0,
        Some(ListForm::ParallelIo) => sizes.map(|sizes| sizes.parallel_io_bytes).sum(),
        Some(ListForm::BatchedIo) => sizes.map(|sizes| sizes.batched_io_bytes).sum(),
        Some(ListForm::Full) => sizes.map(|sizes| sizes.full_bytes).sum(),
    }
}
