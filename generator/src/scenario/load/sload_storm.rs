//! `sload-storm`: transactions that read one cold storage slot after another until their gas ends.

use super::super::fault::{Fault, Misfit, Remedy};
use super::super::fields::{Fields, Range};
use super::super::names::{KeyOrder, Overlap};
use super::super::quantity::underscored;
use super::super::read::exactly_one;
use super::{Around, Kind, LoadKind};

/// Cold storage reads over one contract or many.
#[derive(Debug, Clone, PartialEq)]
pub struct SloadStorm {
    /// How the next key follows from the last.
    pub keys: KeyOrder,
    /// Contracts that the slots are spread over; 1 to the number of slots.
    pub contract_count: u64,
    /// Which keys its transactions have in common.
    pub overlap: Overlap,
}

/// Contracts are accounts written out in the state's recipe: their number bounds its memory.
const CONTRACTS_MAX: u64 = 1_000_000;

pub(super) const KIND: Kind =
    Kind { name: "sload-storm", keys: &["keys", "contracts", "overlap"], read };

impl SloadStorm {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![
            ("keys", format!("\"{}\"", self.keys)),
            ("contracts", underscored(self.contract_count)),
            ("overlap", format!("\"{}\"", self.overlap)),
        ]
    }
}

fn read(fields: &Fields<'_>, around: &Around<'_, '_>) -> Result<LoadKind, Fault> {
    check_slots(around)?;
    let keys = fields.named("keys")?.unwrap_or(KeyOrder::Keccak);
    let contract_count = contracts(fields, around)?;
    if keys == KeyOrder::Chase {
        check_chain(around)?;
    }
    let overlap = fields.named("overlap")?.unwrap_or(Overlap::Nothing);
    Ok(LoadKind::SloadStorm(SloadStorm { keys, contract_count, overlap }))
}

/// A storm over slots needs some.
pub(super) fn check_slots(around: &Around<'_, '_>) -> Result<(), Fault> {
    if around.state.slot_count == 0 {
        return Err(exactly_one(around.state_fields, ["slots", "size"], "128M"));
    }
    Ok(())
}

/// Contracts that the slots are spread over.
pub(super) fn contracts(fields: &Fields<'_>, around: &Around<'_, '_>) -> Result<u64, Fault> {
    let (most, above) = match around.state.slot_count {
        slot_count if slot_count < CONTRACTS_MAX => {
            (slot_count, "the number of slots: every contract has one")
        }
        _ => (CONTRACTS_MAX, "the most that is supported"),
    };
    let below = "the fewest contracts a storm can read";
    let contracts = Range { least: 1, most, below, above };
    Ok(fields.count("contracts", &contracts)?.unwrap_or(1))
}

/// A chase lives on the values it reads.
fn check_chain(around: &Around<'_, '_>) -> Result<(), Fault> {
    let share = around.state.present_share;
    if share == 1.0 {
        return Ok(());
    }
    let rule = format!(
        "{share} with keys = \"chase\": an absent slot ends the chain, because its value is the \
         next key"
    );
    let remedy = Remedy::bare(1.0).and("or use keys = \"keccak\" or \"weyl\"");
    Err(around.state_fields.fault("present", Misfit::new(rule, remedy)))
}
