//! `prefetch-miss`: storms whose keys the transaction before has decided.

use super::kind::{Around, Kind};
use super::sload_storm::{check_all_present, check_slots};
use crate::fault::Fault;
use crate::fields::Fields;
use crate::names::KeyOrder;

/// Cold storage reads that begin where a slot says, which each transaction moves on.
#[derive(Debug, Clone, PartialEq)]
pub struct PrefetchMiss {
    /// How the next key follows from the last within a transaction.
    pub keys: KeyOrder,
}

pub(super) const KIND: Kind<PrefetchMiss> = Kind { name: "prefetch-miss", keys: &["keys"], read };

impl PrefetchMiss {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![("keys", format!("\"{}\"", self.keys))]
    }
}

fn read(fields: &Fields<'_>, around: &Around<'_, '_>) -> Result<PrefetchMiss, Fault> {
    check_slots(around)?;
    check_all_present(
        around,
        "with a prefetch-miss load, which reads slots that exist",
        "or read absent slots in a scenario of their own",
    )?;
    let keys = fields.named("keys")?.unwrap_or(KeyOrder::Keccak);
    Ok(PrefetchMiss { keys })
}
