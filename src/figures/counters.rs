//! Exact counters of a sample ([`Counters`]), and those that every correct sample must have. The
//! gate compares them without statistics, as they are equal in all samples of one work.

use alloy_primitives::{B256, Keccak256};
use executor::sample::Measurement;
use result::Counters;
use variant::Variant;
use workload::{TxOutcome, TxStatus, Workload};

use super::facts;

/// Computes the counters of a sample of `variant` on `workload`. The lists of the workload declare
/// `unique_keys` different keys.
pub fn of(
    workload: &Workload,
    variant: &Variant,
    unique_keys: u64,
    measurement: &Measurement,
) -> Counters {
    let executed = &measurement.executed;
    let outcomes = executed.batches.iter().flat_map(|batch| &batch.outcomes);
    Counters {
        list_bytes: variant.list.map_or(0, |form| facts::bal_bytes(workload).of(form)),
        unique_keys,
        store_reads: variant.engine.runs_steps_once().then_some(executed.counters.key_count),
        ..of_outcome(outcomes, executed.digests.iter())
    }
}

/// Returns the counters that every correct sample of `workload` has, by its expected outcome.
pub fn expected(workload: &Workload) -> Counters {
    let batches = workload.batches.iter().map(|batch| &batch.expected);
    let outcomes = batches.clone().flat_map(|expected| &expected.transactions);
    of_outcome(outcomes, batches.map(|expected| &expected.net_changes))
}

/// Computes the counters of the transactions' outcomes and the batches' net changes. Counters that
/// depend on the variant keep their default.
fn of_outcome<'a>(
    outcomes: impl Iterator<Item = &'a TxOutcome>,
    net_changes: impl Iterator<Item = &'a B256>,
) -> Counters {
    let (mut receipts, mut changes) = (Keccak256::new(), Keccak256::new());
    let mut gas = 0;
    for outcome in outcomes {
        gas += outcome.gas_used;
        let status = match outcome.status {
            TxStatus::Success => 0_u8,
            TxStatus::Revert => 1,
            TxStatus::Halt => 2,
        };
        receipts.update([status]);
        receipts.update(outcome.gas_used.to_be_bytes());
        receipts.update(outcome.logs);
        receipts.update(outcome.output);
    }
    net_changes.for_each(|digest| changes.update(digest));
    Counters {
        gas,
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
