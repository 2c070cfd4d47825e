//! `contract-chase`: transactions that follow a chain through contracts until their gas ends.

use super::kind::{Around, Kind};
use super::sload_storm::{check_all_present, check_slots, contracts};
use crate::fault::Fault;
use crate::fields::Fields;
use crate::quantity::underscored;

/// Cold storage reads of which each says which contract and which slot is next.
#[derive(Debug, Clone, PartialEq)]
pub struct ContractChase {
    /// Contracts that the chain goes through in turn; 1 to the number of slots.
    pub contract_count: u64,
}

/// More than a transaction hops through, and a state of a hundred megabytes of rows has a few slots
/// in each.
const DEFAULT_CONTRACT_COUNT: u64 = 100_000;

pub(super) const KIND: Kind<ContractChase> =
    Kind { name: "contract-chase", keys: &["contracts"], read };

impl ContractChase {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![("contracts", underscored(self.contract_count))]
    }
}

fn read(fields: &Fields<'_>, around: &Around<'_, '_>) -> Result<ContractChase, Fault> {
    check_slots(around)?;
    check_all_present(
        around,
        "with a contract-chase load: an absent slot ends the chain, because its value is the next \
         key",
        "or read absent slots in a scenario of their own",
    )?;
    let usual = DEFAULT_CONTRACT_COUNT.min(around.state.slot_count);
    let contract_count = contracts(fields, around)?.unwrap_or(usual);
    Ok(ContractChase { contract_count })
}
