//! `sstore-storm`: transactions that write one cold storage slot after another until their gas ends.

use super::kind::{Around, Kind};
use super::sload_storm::{check_slots, contracts};
use crate::fault::Fault;
use crate::fields::Fields;
use crate::names::WriteOp;
use crate::quantity::underscored;

/// Cold storage writes over one contract or many.
#[derive(Debug, Clone, PartialEq)]
pub struct SstoreStorm {
    /// The change of a slot by its write.
    pub op: WriteOp,
    /// Contracts that the slots are spread over; 1 to the number of slots.
    pub contract_count: u64,
}

pub(super) const KIND: Kind<SstoreStorm> =
    Kind { name: "sstore-storm", keys: &["op", "contracts"], read };

impl SstoreStorm {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![("op", format!("\"{}\"", self.op)), ("contracts", underscored(self.contract_count))]
    }
}

fn read(fields: &Fields<'_>, around: &Around<'_, '_>) -> Result<SstoreStorm, Fault> {
    check_slots(around)?;
    let op = fields.named("op")?.unwrap_or(WriteOp::Update);
    let contract_count = contracts(fields, around)?.unwrap_or(1);
    Ok(SstoreStorm { op, contract_count })
}
