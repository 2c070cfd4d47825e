//! `[state]`: the state before the first block, by its counts or by the size of its slots.
//! `read.rs` calls it.

use workload::Layout;

use crate::fault::{Fault, Remedy};
use crate::fields::{Fields, Range};
use crate::names::LAYOUTS;
use crate::quantity::grouped;

/// The state before the first block.
#[derive(Debug, Clone, PartialEq)]
pub struct StateSpec {
    /// Number of accounts beside the accounts that the loads need.
    pub account_count: u64,
    /// Number of storage slots of all contracts of the storms together; 0 if no storm reads or
    /// writes slots.
    pub slot_count: u64,
    /// Rule of the rows' keys: hashed or plain.
    pub layout: Layout,
    /// Share of the requested keys that exist, 0 to 1.
    pub present_share: f64,
    /// Seed of the state's stream, in place of the derived seed.
    pub seed: Option<u64>,
}

/// Size in bytes of a slot's row in a store, with key, value and bookkeeping (measured).
pub const ROW_BYTES: u64 = 76;

const DEFAULT_ACCOUNT_COUNT: u64 = 100_000;
const ACCOUNTS: Range = Range::supported(0, 1 << 32, "");
const SLOTS: Range = Range::supported(1, 1 << 40, "the least state to read from");

/// Reads `[state]`.
pub(crate) fn read(fields: &Fields<'_>) -> Result<StateSpec, Fault> {
    let slot_count = match (fields.count("slots", &SLOTS)?, fields.bytes("size")?) {
        (Some(slot_count), None) => slot_count,
        (None, Some(size_bytes)) => slots_of_size(fields, size_bytes)?,
        // A load that reads slots reports the missing keys.
        (None, None) => 0,
        _ => return Err(fields.exactly_one(&["slots", "size"], example())),
    };
    Ok(StateSpec {
        account_count: fields.count("accounts", &ACCOUNTS)?.unwrap_or(DEFAULT_ACCOUNT_COUNT),
        slot_count,
        layout: fields.one_of("layout", "layout", &LAYOUTS)?.unwrap_or(Layout::Hashed),
        present_share: fields.share("present")?.unwrap_or(1.0),
        seed: fields.seed()?,
    })
}

/// A remedy with an example of a state's size.
pub(crate) fn example() -> Remedy {
    Remedy::text("1M").and("76 MB on disk; shipped storms have 128M, 10 GB")
}

/// Returns the number of slots whose rows fill `size_bytes`.
fn slots_of_size(fields: &Fields<'_>, size_bytes: u64) -> Result<u64, Fault> {
    let slot_count = size_bytes / ROW_BYTES;
    if (SLOTS.least..=SLOTS.most).contains(&slot_count) {
        return Ok(slot_count);
    }
    let rule = format!(
        "{} bytes hold {} slots at {ROW_BYTES} bytes a row; from {} to {} are possible",
        grouped(size_bytes),
        grouped(slot_count),
        SLOTS.least,
        grouped(SLOTS.most)
    );
    Err(fields.refusal("size", rule, Remedy::text("10GiB").and("the default size")))
}
