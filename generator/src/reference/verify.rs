//! Checks the expected outcome of a workload, such as one from a file, against the reference.

use alloy_primitives::keccak256;
use evm::TxGas;
use workload::{Batch, Workload};

use super::{
    error::ReferenceError,
    run::{BatchReference, ReferenceRun, StopAnswer},
};

/// Checks that a workload expects the reference's outcome. Returns the gas of each transaction
/// through all blocks. `on_tx` is called after each transaction and may stop the check.
///
/// # Errors
/// [`ReferenceError::Differs`] at the first difference; [`ReferenceError::Cancelled`]; another
/// error where the workload cannot run.
pub fn verify<A: StopAnswer>(
    workload: &Workload,
    mut on_tx: impl FnMut() -> A,
) -> Result<Vec<TxGas>, ReferenceError> {
    workload.validate()?;
    let mut run = ReferenceRun::new(workload)?;
    let mut gas = Vec::new();
    for (index, batch) in workload.batches.iter().enumerate() {
        let Some(made) = run.next_batch(&mut on_tx) else { break };
        let made = made?;
        made.check_item_count(index, batch, &workload.rules)?;
        if let Some((part, detail)) = difference(batch, &made) {
            return Err(ReferenceError::Differs { batch: index, part, detail });
        }
        gas.extend(made.tx_gas);
    }
    Ok(gas)
}

/// The first part of the expected outcome that differs from `made`: its name, and both values.
fn difference(batch: &Batch, made: &BatchReference) -> Option<(&'static str, String)> {
    let (said, expected) = (&batch.expected, &made.expected);
    if said.transactions != expected.transactions {
        let mut both = said.transactions.iter().zip(&expected.transactions);
        let index = both.position(|(a, b)| a != b);
        let index = index.unwrap_or(said.transactions.len().min(expected.transactions.len()));
        let (a, b) = (said.transactions.get(index), expected.transactions.get(index));
        return Some(("the outcome of a transaction", format!("{index}: {a:?}, {b:?}")));
    }
    if said.header_gas != expected.header_gas {
        let detail = format!("{:?}, {:?}", said.header_gas, expected.header_gas);
        return Some(("the header's gas", detail));
    }
    if batch.list != made.list {
        let detail = format!("hashes {} and {}", keccak256(&batch.list), keccak256(&made.list));
        return Some(("the list", detail));
    }
    if batch.list_sizes != made.list_sizes {
        let detail = format!("{:?}, {:?}", batch.list_sizes, made.list_sizes);
        return Some(("the size of the list", detail));
    }
    if said.net_changes != expected.net_changes {
        let detail = format!("digests {} and {}", said.net_changes, expected.net_changes);
        return Some(("the net changes", detail));
    }
    None
}
