//! `balance-storm`: transactions that ask a token for one holder's balance after another.

use super::super::fault::Fault;
use super::super::fields::Fields;
use super::sload_storm::check_slots;
use super::{Around, Kind, LoadKind};

/// Cold balances of an ERC-20 token with very many holders.
#[derive(Debug, Clone, PartialEq)]
pub struct BalanceStorm;

pub(super) const KIND: Kind = Kind { name: "balance-storm", keys: &[], read };

fn read(_: &Fields<'_>, around: &Around<'_, '_>) -> Result<LoadKind, Fault> {
    check_slots(around)?;
    Ok(LoadKind::BalanceStorm(BalanceStorm))
}
