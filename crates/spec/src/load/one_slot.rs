//! `one-slot`: transactions that work, and read and write one slot in common before it or after it.

use super::{
    chains::Touch,
    kind::{Around, Kind},
};
use crate::fault::Fault;
use crate::fields::{Fields, Range};
use crate::quantity::underscored;

/// The worst conflict: one slot that every transaction reads and writes.
#[derive(Debug, Clone, PartialEq)]
pub struct OneSlot {
    /// Hashes that a transaction computes; 0 to 50,000.
    pub work: u64,
    /// Time of the touch: before or after them.
    pub touch: Touch,
}

const WORK: Range =
    Range { least: 0, most: 50_000, below: "", above: "the most that is supported" };
const DEFAULT_WORK: u64 = 10;

pub(super) const KIND: Kind<OneSlot> = Kind { name: "one-slot", keys: &["work", "touch"], read };

impl OneSlot {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![("work", underscored(self.work)), ("touch", format!("\"{}\"", self.touch))]
    }
}

fn read(fields: &Fields<'_>, _: &Around<'_, '_>) -> Result<OneSlot, Fault> {
    let work = fields.count("work", &WORK)?.unwrap_or(DEFAULT_WORK);
    let touch = fields.named("touch")?.unwrap_or(Touch::Last);
    Ok(OneSlot { work, touch })
}
