//! `sload-storm`: transactions that read one cold storage slot after another until their gas ends.

use variant::named;

use super::kind::{Around, Kind};
use crate::fault::{Fault, Misfit, Remedy};
use crate::fields::{Fields, Range};
use crate::names::{KeyOrder, Overlap};
use crate::quantity::{grouped, underscored};
use crate::state;

named! {
    /// In which order a transaction asks for its keys.
    pub enum SlotOrder: "order of keys" {
        /// As the rule of the keys has them: near nothing, in no order of the store's.
        Index = "index",
        /// As the rows lie in a store that sorts them.
        Ascending = "ascending",
        /// Against that.
        Descending = "descending",
    }
}

named! {
    /// Content of calldata that nobody reads.
    pub enum CalldataByte: "byte of calldata" {
        /// Random bytes that are not zero, which nobody can compress.
        Random = "random",
        /// Zeros: they cost less, so that more of the gas is left for reads.
        Zero = "zero",
    }
}

/// Cold storage reads over one contract or many.
#[derive(Debug, Clone, PartialEq)]
pub struct SloadStorm {
    /// How the next key follows from the last.
    pub keys: KeyOrder,
    /// Contracts that the slots are spread over; 1 to the number of slots.
    pub contract_count: u64,
    /// Which keys its transactions have in common.
    pub overlap: Overlap,
    /// In which order each of them asks for its keys.
    pub order: SlotOrder,
    /// Calldata that nobody reads, as a share of the most that a transaction can carry at its low
    /// price.
    pub calldata_share: f64,
    /// Its content.
    pub calldata_byte: CalldataByte,
}

/// Number of indices of 4 bytes.
pub(super) const PACKED_COUNT_MAX: u64 = 1 << 32;
/// Contracts are accounts written out in the state's recipe: their number bounds its memory.
const CONTRACTS_MAX: u64 = 1_000_000;

pub(super) const KIND: Kind<SloadStorm> = Kind {
    name: "sload-storm",
    keys: &["keys", "contracts", "overlap", "order", "calldata", "calldata_byte"],
    read,
};

impl SloadStorm {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        let mut entries = vec![
            ("keys", format!("\"{}\"", self.keys)),
            ("contracts", underscored(self.contract_count)),
            ("overlap", format!("\"{}\"", self.overlap)),
        ];
        // Left out where they are the default: the work is the same as before there were these
        // keys.
        if self.order != SlotOrder::Index {
            entries.push(("order", format!("\"{}\"", self.order)));
        }
        if self.calldata_share > 0.0 {
            entries.push(("calldata", format!("{:?}", self.calldata_share)));
            entries.push(("calldata_byte", format!("\"{}\"", self.calldata_byte)));
        }
        entries
    }
}

fn read(fields: &Fields<'_>, around: &Around<'_, '_>) -> Result<SloadStorm, Fault> {
    check_slots(around)?;
    let keys = fields.named("keys")?.unwrap_or(KeyOrder::Keccak);
    let contract_count = contracts(fields, around)?.unwrap_or(1);
    if keys == KeyOrder::Chase {
        check_all_present(
            around,
            "with keys = \"chase\": an absent slot ends the chain, because its value is the next key",
            "or use keys = \"keccak\" or \"weyl\"",
        )?;
    }
    let overlap = fields.named("overlap")?.unwrap_or(Overlap::Nothing);
    let order = order(fields, around, keys)?;
    let (calldata_share, calldata_byte) = calldata(fields, keys)?;
    Ok(SloadStorm { keys, contract_count, overlap, order, calldata_share, calldata_byte })
}

/// In which order keys are asked for. Only a contract with the indices in its calldata can vary it.
fn order(fields: &Fields<'_>, around: &Around<'_, '_>, keys: KeyOrder) -> Result<SlotOrder, Fault> {
    let order = fields.named("order")?.unwrap_or(SlotOrder::Index);
    if order == SlotOrder::Index {
        return Ok(order);
    }
    if keys != KeyOrder::Keccak {
        let rule =
            format!("{order} is an order of keys that are hashes, and keys = \"{keys}\" are none");
        let remedy = Remedy::text("index").and("or use keys = \"keccak\"");
        return Err(fields.fault("order", Misfit::new(rule, remedy)));
    }
    if around.state.slot_count > PACKED_COUNT_MAX {
        let rule = format!("{order} is for at most {} slots", grouped(PACKED_COUNT_MAX));
        let remedy = Remedy::text("index").and("or lower state.slots");
        return Err(fields.fault("order", Misfit::new(rule, remedy)));
    }
    check_all_present(
        around,
        &format!("with order = \"{order}\", which is one of rows: an absent slot has none"),
        "or leave load.order out",
    )?;
    Ok(order)
}

/// The share of the calldata that costs no more than its standard price, and its content.
fn calldata(fields: &Fields<'_>, keys: KeyOrder) -> Result<(f64, CalldataByte), Fault> {
    let share = fields.share("calldata")?.unwrap_or(0.0);
    let byte = fields.named("calldata_byte")?;
    if let Some(byte) = byte.filter(|_| share == 0.0) {
        let rule = format!("{byte} bytes of no calldata");
        let remedy = Remedy::advice("leave calldata_byte out, or write calldata = 1.0");
        return Err(fields.fault("calldata_byte", Misfit::new(rule, remedy)));
    }
    if share > 0.0 && keys != KeyOrder::Weyl {
        let rule = format!(
            "{share:?} with keys = \"{keys}\": calldata goes beside the reads that cost least, so \
             that list and calldata together are as large as they can be"
        );
        let remedy = Remedy::bare(0.0).and("or use keys = \"weyl\"");
        return Err(fields.fault("calldata", Misfit::new(rule, remedy)));
    }
    Ok((share, byte.unwrap_or(CalldataByte::Random)))
}

/// A storm over slots needs some.
pub(super) fn check_slots(around: &Around<'_, '_>) -> Result<(), Fault> {
    if around.state.slot_count == 0 {
        return Err(around.state_fields.exactly_one(["slots", "size"], state::example()));
    }
    Ok(())
}

/// Contracts that the slots are spread over, where that is said.
pub(super) fn contracts(
    fields: &Fields<'_>,
    around: &Around<'_, '_>,
) -> Result<Option<u64>, Fault> {
    let (most, above) = match around.state.slot_count {
        slot_count if slot_count < CONTRACTS_MAX => {
            (slot_count, "the number of slots: every contract has one")
        }
        _ => (CONTRACTS_MAX, "the most that is supported"),
    };
    let below = "the fewest contracts a storm can read";
    let contracts = Range { least: 1, most, below, above };
    fields.count("contracts", &contracts)
}

/// A storm whose keys are values that it reads needs all of them: `why` goes on after the share.
pub(super) fn check_all_present(around: &Around<'_, '_>, why: &str, or: &str) -> Result<(), Fault> {
    let share = around.state.present_share;
    if share == 1.0 {
        return Ok(());
    }
    let misfit = Misfit::new(format!("{share} {why}"), Remedy::bare(1.0).and(or));
    Err(around.state_fields.fault("present", misfit))
}
