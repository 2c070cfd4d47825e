//! `one-slot`: transactions that work on their own, then read and write one slot in common.

use super::kind::{Around, Kind};
use crate::fault::Fault;
use crate::fields::{Fields, Range};
use crate::quantity::underscored;

/// The worst conflict: one slot that every transaction reads and writes.
#[derive(Debug, Clone, PartialEq)]
pub struct OneSlot {
    /// Hashes that a transaction computes before it reads the slot; 0 to 50,000.
    pub work: u64,
}

const WORK: Range =
    Range { least: 0, most: 50_000, below: "", above: "the most that is supported" };
const DEFAULT_WORK: u64 = 10;

pub(super) const KIND: Kind<OneSlot> = Kind { name: "one-slot", keys: &["work"], read };

impl OneSlot {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![("work", underscored(self.work))]
    }
}

fn read(fields: &Fields<'_>, _: &Around<'_, '_>) -> Result<OneSlot, Fault> {
    let work = fields.count("work", &WORK)?.unwrap_or(DEFAULT_WORK);
    Ok(OneSlot { work })
}
