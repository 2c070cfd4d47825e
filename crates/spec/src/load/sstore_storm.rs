//! `sstore-storm`: transactions that write one cold storage slot after another until their gas
//! ends.

use variant::named;
use workload::{Layout, deep::DEEP_KEYS};

use super::sload_storm::{PACKED_COUNT_MAX, check_slots, contracts};
use crate::fault::Remedy;
use crate::fields::Range;
use crate::keys::{Checked, Keyed, Keys, LEFT_OUT};
use crate::names::WriteOp;
use crate::quantity::grouped;

named! {
    /// Keys of the written slots, and their number in each contract.
    #[derive(Default)]
    pub enum WriteKeys: "kind of keys" {
        /// Hashes. A transaction writes as many slots of one contract as its gas allows.
        #[default]
        Keccak = "keccak",
        /// Slots 0, 1, 2, … of each contract. One of these slots is written in each contract.
        First = "first",
        /// Mined slots of each contract. Their hashes share nibbles with the hash of the written
        /// slot.
        Deep = "deep",
    }
}

impl WriteKeys {
    /// Whether one slot is written in each of many contracts.
    pub const fn has_one_slot_per_contract(self) -> bool {
        matches!(self, Self::First | Self::Deep)
    }

    /// Minimum number of slots of a contract.
    pub const fn slots_a_contract(self) -> u64 {
        match self {
            Self::Keccak | Self::First => 1,
            Self::Deep => DEEP_KEYS.len() as u64,
        }
    }
}

/// Cold storage writes over one contract or many.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SstoreStorm {
    /// The change of a slot by its write.
    pub op: WriteOp,
    /// Number of contracts that the slots are spread over; 1 to 1 million, at most the number of
    /// slots.
    pub contract_count: u64,
    /// The keys of the slots.
    pub keys: WriteKeys,
    /// First nibble that the hashes of all written slots share, 0 to 15; `None`: any.
    pub nibble: Option<u8>,
}

/// Default number of contracts with one written slot each. A block of a gigagas writes fewer slots.
const USUAL_CONTRACT_COUNT: u64 = 100_000;

const NIBBLE: Range =
    Range { least: 0, most: 15, below: "the first nibble", above: "the last nibble" };

impl Keyed for SstoreStorm {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        check_slots(keys)?;
        keys.named("op", &mut self.op)?;
        // `keys` is written after `contracts`, and read before, since the default of `contracts`
        // depends on it.
        self.keys = match keys.fields() {
            Some(fields) => fields.named("keys")?.unwrap_or_default(),
            None => self.keys,
        };
        self.check_keys(keys)?;
        let each = self.keys.slots_a_contract();
        let slot_count = keys.load_env().map_or(0, |env| env.state.slot_count);
        let usual = match self.keys {
            WriteKeys::Keccak => 1,
            WriteKeys::First | WriteKeys::Deep => {
                USUAL_CONTRACT_COUNT.min(slot_count / each).max(1)
            }
        };
        contracts(keys, &mut self.contract_count, usual)?;
        self.check_contracts(keys)?;
        keys.named_unless_default("keys", &mut self.keys)?;
        match (keys.fields(), self.nibble) {
            (Some(fields), _) => {
                self.nibble = fields.count("nibble", &NIBBLE)?.map(|nibble| nibble as u8);
            }
            (None, nibble) => {
                keys.write("nibble", nibble.map(|nibble| nibble.to_string()).ok_or(LEFT_OUT));
            }
        }
        self.check_nibble(keys)
    }
}

impl SstoreStorm {
    /// Checks that the operation can change slots with these keys.
    fn check_keys(&self, of_load: &Keys<'_>) -> Checked {
        let Self { op, keys, .. } = *self;
        let Some(fields) = of_load.fields() else { return Ok(()) };
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
            return Err(fields.refusal("op", rule, remedy));
        }
        if keys == WriteKeys::Deep { check_hashed(of_load, "keys") } else { Ok(()) }
    }

    /// Checks that each contract has the slots that these keys need.
    fn check_contracts(&self, of_load: &Keys<'_>) -> Checked {
        let (Some(fields), Some(env)) = (of_load.fields(), of_load.load_env()) else {
            return Ok(());
        };
        let (slot_count, each) = (env.state.slot_count, self.keys.slots_a_contract());
        if self.contract_count * each <= slot_count {
            return Ok(());
        }
        let rule = format!(
            "{} contracts with keys = \"{}\" have {each} slots each, and the state has {} slots",
            grouped(self.contract_count),
            self.keys,
            grouped(slot_count)
        );
        let remedy = match slot_count / each {
            0 => Remedy::advice("raise state.slots"),
            fitting => Remedy::bare(fitting).and("or raise state.slots"),
        };
        Err(fields.refusal("contracts", rule, remedy))
    }

    /// Checks that the hashes of all written slots can begin with the nibble, if there is one.
    fn check_nibble(&self, of_load: &Keys<'_>) -> Checked {
        let Self { op, keys, nibble, .. } = *self;
        let (Some(nibble), Some(fields), Some(env)) =
            (nibble, of_load.fields(), of_load.load_env())
        else {
            return Ok(());
        };
        check_hashed(of_load, "nibble")?;
        let (rule, advice) = if keys != WriteKeys::Keccak {
            let rule = format!("{nibble} with keys = \"{keys}\", which decide all written slots");
            (rule, "leave load.keys or load.nibble out")
        } else if !matches!(op, WriteOp::Update | WriteOp::Clear) {
            let rule =
                format!("{nibble} with op = \"{op}\": a nibble is chosen among slots that exist");
            (rule, "write op = \"update\" or \"clear\", or leave load.nibble out")
        } else if env.state.slot_count > PACKED_COUNT_MAX {
            let rule = format!("a nibble is for at most {} slots", grouped(PACKED_COUNT_MAX));
            (rule, "lower state.slots, or leave load.nibble out")
        } else {
            return Ok(());
        };
        Err(fields.refusal("nibble", rule, Remedy::advice(advice)))
    }
}

/// Checks that rows and tries are keyed by hashes, for a choice of slots by their hashes.
fn check_hashed(keys: &Keys<'_>, key: &str) -> Checked {
    match (keys.fields(), keys.load_env()) {
        (Some(fields), Some(env)) if env.state.layout != Layout::Hashed => {
            let rule = "slots are chosen by their hashes, and rows of the plain layout have none";
            let remedy = Remedy::advice("write state.layout = \"hashed\", or leave this key out");
            Err(fields.refusal(key, rule, remedy))
        }
        _ => Ok(()),
    }
}
