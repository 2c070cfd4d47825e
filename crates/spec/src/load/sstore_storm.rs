//! `sstore-storm`: transactions that write one cold storage slot after another until their gas ends.

use variant::named;
use workload::{Layout, deep::DEEP_KEYS};

use super::kind::{Around, Kind};
use super::sload_storm::{PACKED_COUNT_MAX, check_slots, contracts};
use crate::fault::{Fault, Misfit, Remedy};
use crate::fields::{Fields, Range};
use crate::names::WriteOp;
use crate::quantity::{grouped, underscored};

named! {
    /// The keys of the slots that a storm writes, and how many of a contract.
    pub enum WriteKeys: "kind of keys" {
        /// Hashes: as many slots of one contract as a transaction can write.
        Keccak = "keccak",
        /// Slots 0, 1, 2, … of each contract, of which one is written.
        First = "first",
        /// Mined slots of each contract, whose hashes share nibbles with that of the one that is
        /// written.
        Deep = "deep",
    }
}

impl WriteKeys {
    /// Whether one slot is written in each of many contracts.
    pub const fn is_one_a_contract(self) -> bool {
        matches!(self, Self::First | Self::Deep)
    }

    /// The fewest slots that a contract has.
    pub const fn slots_a_contract(self) -> u64 {
        match self {
            Self::Keccak | Self::First => 1,
            Self::Deep => DEEP_KEYS.len() as u64,
        }
    }
}

/// Cold storage writes over one contract or many.
#[derive(Debug, Clone, PartialEq)]
pub struct SstoreStorm {
    /// The change of a slot by its write.
    pub op: WriteOp,
    /// Contracts that the slots are spread over; 1 to the number of slots.
    pub contract_count: u64,
    /// The keys of the slots.
    pub keys: WriteKeys,
    /// The first nibble of the hashes of all written slots, 0 to 15, if they have one in common.
    pub nibble: Option<u8>,
}

/// Contracts with one written slot each: more than a block of a gigagas writes.
const USUAL_CONTRACT_COUNT: u64 = 100_000;

const NIBBLE: Range =
    Range { least: 0, most: 15, below: "the first nibble", above: "the last nibble" };

pub(super) const KIND: Kind<SstoreStorm> =
    Kind { name: "sstore-storm", keys: &["op", "contracts", "keys", "nibble"], read };

impl SstoreStorm {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        let mut entries = vec![
            ("op", format!("\"{}\"", self.op)),
            ("contracts", underscored(self.contract_count)),
        ];
        // Left out where they are the default: the work is the same as before there were these
        // keys.
        if self.keys != WriteKeys::Keccak {
            entries.push(("keys", format!("\"{}\"", self.keys)));
        }
        if let Some(nibble) = self.nibble {
            entries.push(("nibble", nibble.to_string()));
        }
        entries
    }
}

fn read(fields: &Fields<'_>, around: &Around<'_, '_>) -> Result<SstoreStorm, Fault> {
    check_slots(around)?;
    let op = fields.named("op")?.unwrap_or(WriteOp::Update);
    let keys = fields.named("keys")?.unwrap_or(WriteKeys::Keccak);
    check_keys(fields, around, op, keys)?;
    let slot_count = around.state.slot_count;
    let usual = match keys {
        WriteKeys::Keccak => 1,
        WriteKeys::First | WriteKeys::Deep => {
            USUAL_CONTRACT_COUNT.min(slot_count / keys.slots_a_contract()).max(1)
        }
    };
    let contract_count = contracts(fields, around)?.unwrap_or(usual);
    let least = contract_count * keys.slots_a_contract();
    if least > slot_count {
        let (slots, each) = (grouped(slot_count), keys.slots_a_contract());
        let contracts = grouped(contract_count);
        let rule = format!(
            "{contracts} contracts with keys = \"{keys}\" have {each} slots each, and the state \
             has {slots} slots"
        );
        let remedy = match slot_count / each {
            0 => Remedy::advice("raise state.slots"),
            fitting => Remedy::bare(fitting).and("or raise state.slots"),
        };
        return Err(fields.fault("contracts", Misfit::new(rule, remedy)));
    }
    let nibble = nibble(fields, around, op, keys)?;
    Ok(SstoreStorm { op, contract_count, keys, nibble })
}

/// Checks that slots with these keys can be changed so.
fn check_keys(
    fields: &Fields<'_>,
    around: &Around<'_, '_>,
    op: WriteOp,
    keys: WriteKeys,
) -> Result<(), Fault> {
    let refused = match (keys, op) {
        (WriteKeys::First | WriteKeys::Deep, WriteOp::Nothing) => {
            Some("a no-op changes no trie, and these keys are about tries")
        }
        (WriteKeys::Deep, WriteOp::Create) => Some("all mined slots exist"),
        _ => None,
    };
    if let Some(reason) = refused {
        let rule = format!("{op} with keys = \"{keys}\": {reason}");
        let remedy = Remedy::text("update").and("or leave load.keys out");
        return Err(fields.fault("op", Misfit::new(rule, remedy)));
    }
    if keys == WriteKeys::Deep {
        check_hashed(fields, around, "keys")?;
    }
    Ok(())
}

/// The nibble below which all written slots lie, where one is given.
fn nibble(
    fields: &Fields<'_>,
    around: &Around<'_, '_>,
    op: WriteOp,
    keys: WriteKeys,
) -> Result<Option<u8>, Fault> {
    let Some(nibble) = fields.count("nibble", &NIBBLE)? else { return Ok(None) };
    check_hashed(fields, around, "nibble")?;
    let (rule, advice) = if keys != WriteKeys::Keccak {
        let rule = format!("{nibble} with keys = \"{keys}\", which decide all written slots");
        (rule, "leave load.keys or load.nibble out")
    } else if !matches!(op, WriteOp::Update | WriteOp::Clear) {
        let rule =
            format!("{nibble} with op = \"{op}\": a nibble is chosen among slots that exist");
        (rule, "write op = \"update\" or \"clear\", or leave load.nibble out")
    } else if around.state.slot_count > PACKED_COUNT_MAX {
        let rule = format!("a nibble is for at most {} slots", grouped(PACKED_COUNT_MAX));
        (rule, "lower state.slots, or leave load.nibble out")
    } else {
        return Ok(Some(nibble as u8));
    };
    Err(fields.fault("nibble", Misfit::new(rule, Remedy::advice(advice))))
}

/// A choice of slots by their hashes needs rows, and tries, by hashes.
fn check_hashed(fields: &Fields<'_>, around: &Around<'_, '_>, key: &str) -> Result<(), Fault> {
    if around.state.layout == Layout::Hashed {
        return Ok(());
    }
    let rule = "slots are chosen by their hashes, and rows of the plain layout have none";
    let remedy = Remedy::advice("write state.layout = \"hashed\", or leave this key out");
    Err(fields.fault(key, Misfit::new(rule, remedy)))
}
