//! `bloated`: slots 1, 2, 3, … of one account that delegates its code, as in the official
//! benchmarks of bloated accounts.

use variant::named;

use super::kind::{Around, Kind};
use super::sload_storm::{check_all_present, check_slots};
use crate::fault::Fault;
use crate::fields::Fields;

named! {
    /// Use of the slots of a bloated account.
    pub enum BloatedOp: "operation on slots" {
        /// Each transaction reads on where the one before it has ended, as slot 0 says.
        Read = "read",
        /// Each reads where the one before it has said in slot 0, and says where the next one reads.
        Jump = "jump",
        /// Each changes slots.
        Write = "write",
    }
}

/// Cold slots of one account, at keys that follow each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Bloated {
    /// Their use.
    pub op: BloatedOp,
}

pub(super) const KIND: Kind<Bloated> = Kind { name: "bloated", keys: &["op"], read };

impl Bloated {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![("op", format!("\"{}\"", self.op))]
    }
}

fn read(fields: &Fields<'_>, around: &Around<'_, '_>) -> Result<Bloated, Fault> {
    check_slots(around)?;
    check_all_present(
        around,
        "with a bloated load, whose slots all exist",
        "or read absent slots in a scenario of their own",
    )?;
    Ok(Bloated { op: fields.named("op")?.unwrap_or(BloatedOp::Read) })
}
