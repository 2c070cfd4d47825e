//! `non-conflicting`: one account a transaction, which changes slots of its own and logs that.

use super::kind::{Around, Kind};
use crate::fault::Fault;
use crate::fields::Fields;

/// Transactions of distinct accounts that have nothing in common, or a total supply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NonConflicting {
    /// Whether each also changes the total supply of the token, which all have in common.
    pub changes_supply: bool,
}

pub(super) const KIND: Kind<NonConflicting> =
    Kind { name: "non-conflicting", keys: &["supply"], read };

impl NonConflicting {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![("supply", self.changes_supply.to_string())]
    }
}

fn read(fields: &Fields<'_>, _: &Around<'_, '_>) -> Result<NonConflicting, Fault> {
    let changes_supply = fields.flag("supply")?.unwrap_or(false);
    Ok(NonConflicting { changes_supply })
}
