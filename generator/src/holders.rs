//! Accounts that have a slot of their own in a contract of a load.

use spec::Scenario;

/// Accounts that can have a slot of their own. These are written out in the state's recipe: their
/// number bounds its memory.
pub(crate) const HOLDERS_MAX: u64 = 1_000_000;

/// Accounts that have a slot of their own in the contracts of `chains` and `non-conflicting`.
pub(crate) fn holder_count(scenario: &Scenario) -> u64 {
    scenario.state.account_count.clamp(1, HOLDERS_MAX)
}
