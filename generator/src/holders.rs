//! Makes the slots of a load's contract that belong to accounts, such as balances of a token. Loads
//! call this when they add their contracts to the genesis.

use alloy_primitives::{Address, U256};
use rayon::prelude::*;
use spec::Scenario;
use workload::{SenderFamily, senders::SenderError};

/// The most accounts that can have a slot of their own. The state's recipe has each of these slots
/// written out, so this limit bounds its memory.
pub(crate) const HOLDERS_MAX: u64 = 1_000_000;

/// Number of accounts that have a slot of their own in the contracts of `chains` and
/// `non-conflicting`.
pub(crate) fn holder_count(scenario: &Scenario) -> u64 {
    scenario.state.account_count.clamp(1, HOLDERS_MAX)
}

/// Number of accounts whose addresses one task derives. Each after the first costs only a point
/// addition.
const TASK_ACCOUNT_COUNT: u64 = 4_096;

/// The slots of the first `count` accounts of `family`, in order. `slots_of` gives the slots of an
/// account from its index and address.
///
/// # Errors
/// [`SenderError`] when the family has no such accounts.
pub(crate) fn slots_of_holders<const N: usize>(
    family: &SenderFamily,
    count: u64,
    slots_of: impl Fn(u64, &Address) -> [(U256, U256); N] + Sync,
) -> Result<Vec<(U256, U256)>, SenderError> {
    // This check makes the error independent of the task that fails first.
    if let Some(last) = count.checked_sub(1) {
        family.secret(last)?;
    }
    let tasks: Vec<Vec<_>> = (0..count.div_ceil(TASK_ACCOUNT_COUNT))
        .into_par_iter()
        .map(|task| {
            let first = task * TASK_ACCOUNT_COUNT;
            let addresses = family.addresses(first..count.min(first + TASK_ACCOUNT_COUNT))?;
            let slots = (first..).zip(&addresses);
            Ok(slots.flat_map(|(index, holder)| slots_of(index, holder)).collect())
        })
        .collect::<Result<_, SenderError>>()?;
    Ok(tasks.concat())
}
