//! `transfers`: plain transfers of ether, one wei each.

use super::kind::{Around, Kind, check_two_accounts};
use crate::fault::Fault;
use crate::fields::Fields;
use crate::names::Pattern;

/// Transfers of ether between accounts.
#[derive(Debug, Clone, PartialEq)]
pub struct Transfers {
    /// Who gives to whom.
    pub pattern: Pattern,
}

pub(super) const KIND: Kind<Transfers> = Kind { name: "transfers", keys: &["pattern"], read };

impl Transfers {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![("pattern", format!("\"{}\"", self.pattern))]
    }
}

fn read(fields: &Fields<'_>, around: &Around<'_, '_>) -> Result<Transfers, Fault> {
    check_two_accounts(around)?;
    let pattern = fields.named("pattern")?.unwrap_or(Pattern::AToB);
    Ok(Transfers { pattern })
}
