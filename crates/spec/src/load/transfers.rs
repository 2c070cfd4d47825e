//! `transfers`: plain transfers of ether, one wei each.

use super::super::fault::Fault;
use super::super::fields::Fields;
use super::super::names::Pattern;
use super::{Around, Kind, LoadKind, check_two_accounts};

/// Transfers of ether between accounts.
#[derive(Debug, Clone, PartialEq)]
pub struct Transfers {
    /// Who gives to whom.
    pub pattern: Pattern,
}

pub(super) const KIND: Kind = Kind { name: "transfers", keys: &["pattern"], read };

impl Transfers {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![("pattern", format!("\"{}\"", self.pattern))]
    }
}

fn read(fields: &Fields<'_>, around: &Around<'_, '_>) -> Result<LoadKind, Fault> {
    check_two_accounts(around)?;
    let pattern = fields.named("pattern")?.unwrap_or(Pattern::AToB);
    Ok(LoadKind::Transfers(Transfers { pattern }))
}
