//! The parts of every kind of load: its entry in the list of kinds, the facts that its rules depend
//! on, and the rules that several kinds share.

use workload::Fork;

use crate::fault::{Fault, Misfit, Remedy};
use crate::fields::{Fields, Range};
use crate::state::StateSpec;

/// How the reader finds a kind whose parameters are `T`.
#[derive(Debug)]
pub(crate) struct Kind<T> {
    pub(crate) name: &'static str,
    /// Its keys beside those of every load.
    pub(crate) keys: &'static [&'static str],
    pub(crate) read: fn(&Fields<'_>, &Around<'_, '_>) -> Result<T, Fault>,
}

/// The facts that a load's rules depend on.
pub(crate) struct Around<'fields, 'tree> {
    pub(crate) fork: Fork,
    pub(crate) state: &'fields StateSpec,
    pub(crate) state_fields: &'fields Fields<'tree>,
    /// The most gas of any transaction.
    pub(crate) tx_gas: u64,
}

/// How many of the accounts take part, each with slots written out in the state's recipe: their
/// number bounds its memory.
const PEOPLE_MAX: u64 = 1_000_000;

/// The accounts that take part in a load.
pub(super) struct Crowd {
    /// The key of their count.
    pub(super) key: &'static str,
    /// The fewest that can take part.
    pub(super) least: u64,
    /// Their number where none is given and the state has as many.
    pub(super) usual: u64,
}

/// Reads how many of the accounts take part.
pub(super) fn people(
    fields: &Fields<'_>,
    around: &Around<'_, '_>,
    crowd: &Crowd,
) -> Result<u64, Fault> {
    let least = crowd.least;
    let (most, above) = match around.state.account_count.max(least) {
        count if count < PEOPLE_MAX => (count, "the number of accounts: each of these is one"),
        _ => (PEOPLE_MAX, "the most that is supported"),
    };
    let range = Range { least, most, below: "the fewest that can take part", above };
    Ok(fields.count(crowd.key, &range)?.unwrap_or(crowd.usual.min(most)))
}

/// Checks that a giver and a taker can be two accounts.
pub(super) fn check_two_accounts(around: &Around<'_, '_>) -> Result<(), Fault> {
    if around.state.account_count >= 2 {
        return Ok(());
    }
    let rule = format!("{} is less than a giver and a taker", around.state.account_count);
    Err(around.state_fields.fault("accounts", Misfit::new(rule, Remedy::text("100k"))))
}
