//! `balance-storm`: transactions that ask a token for one holder's balance after another.

use super::kind::{Around, Kind};
use super::sload_storm::check_slots;
use crate::fault::Fault;
use crate::fields::Fields;

/// Cold balances of an ERC-20 token with very many holders.
#[derive(Debug, Clone, PartialEq)]
pub struct BalanceStorm;

pub(super) const KIND: Kind<BalanceStorm> = Kind { name: "balance-storm", keys: &[], read };

impl BalanceStorm {
    #[expect(clippy::unused_self, reason = "every kind of load writes its keys; this one has none")]
    pub(super) const fn entries(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

fn read(_: &Fields<'_>, around: &Around<'_, '_>) -> Result<BalanceStorm, Fault> {
    check_slots(around)?;
    Ok(BalanceStorm)
}
