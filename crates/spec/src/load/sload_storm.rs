//! `sload-storm`: transactions that read one cold storage slot after another until their gas ends.

use variant::named;

use crate::fault::{Fault, Remedy};
use crate::fields::Range;
use crate::keys::{Checked, Keyed, Keys, LEFT_OUT, float, quoted};
use crate::names::{KeyOrder, Overlap};
use crate::quantity::grouped;
use crate::state;

named! {
    /// Order of the keys of a transaction.
    #[derive(Default)]
    pub enum SlotOrder: "order of keys" {
        /// Order of the key rule: successive reads are not near each other, and no store keeps its
        /// rows in this order.
        #[default]
        Index = "index",
        /// Order of the rows in a store that sorts them.
        Ascending = "ascending",
        /// Reverse of the order of the rows.
        Descending = "descending",
    }
}

named! {
    /// Content of unused calldata.
    #[derive(Default)]
    pub enum CalldataByte: "byte of calldata" {
        /// Random bytes other than zero, which cannot be compressed.
        #[default]
        Random = "random",
        /// Zeros. They cost less, so more of the gas is left for reads.
        Zero = "zero",
    }
}

/// Cold storage reads over one contract or many.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SloadStorm {
    /// Rule from one key to the next.
    pub keys: KeyOrder,
    /// Number of contracts that the slots are spread over; 1 to 1 million, at most the number of
    /// slots.
    pub contract_count: u64,
    /// Keys that the transactions share.
    pub overlap: Overlap,
    /// Order of the keys of a transaction.
    pub order: SlotOrder,
    /// Unused calldata, as a share of the maximum that a transaction can carry at the standard
    /// price of calldata.
    pub calldata_share: f64,
    /// Content of the unused calldata.
    pub calldata_byte: CalldataByte,
}

/// Largest number of slots of a storm whose calldata has the slots' indices, of 4 bytes each.
pub(super) const PACKED_COUNT_MAX: u64 = 1 << 32;
/// Contracts are explicit accounts in the state's recipe: their number bounds the recipe's memory.
const CONTRACTS_MAX: u64 = 1_000_000;

impl Keyed for SloadStorm {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        check_slots(keys)?;
        keys.named("keys", &mut self.keys)?;
        contracts(keys, &mut self.contract_count, 1)?;
        if self.keys == KeyOrder::Chase {
            check_all_present(
                keys,
                "with keys = \"chase\": an absent slot ends the chain, because its value is the next key",
                "or use keys = \"keccak\" or \"weyl\"",
            )?;
        }
        keys.named("overlap", &mut self.overlap)?;
        keys.named_unless_default("order", &mut self.order)?;
        self.check_order(keys)?;
        match keys.fields() {
            Some(fields) => {
                self.calldata_share = fields.share("calldata")?.unwrap_or(0.0);
                self.calldata_byte = fields.named("calldata_byte")?.unwrap_or_default();
            }
            None if self.calldata_share == 0.0 => {
                keys.write("calldata", Err(LEFT_OUT));
                keys.write("calldata_byte", Err(LEFT_OUT));
            }
            None => {
                keys.write("calldata", Ok(float(self.calldata_share)));
                keys.write("calldata_byte", Ok(quoted(self.calldata_byte.name())));
            }
        }
        self.check_calldata(keys)
    }
}

impl SloadStorm {
    /// Checks the order of keys. Only a contract with the indices in its calldata can vary the
    /// order.
    fn check_order(&self, keys: &Keys<'_>) -> Checked {
        let Self { order, keys: key_order, .. } = *self;
        let (Some(fields), Some(env)) = (keys.fields(), keys.load_env()) else { return Ok(()) };
        if order == SlotOrder::Index {
            return Ok(());
        }
        if key_order != KeyOrder::Keccak {
            let rule = format!(
                "{order} is an order of keys that are hashes, and keys = \"{key_order}\" are none"
            );
            let remedy = Remedy::text("index").and("or use keys = \"keccak\"");
            return Err(fields.refusal("order", rule, remedy));
        }
        if env.state.slot_count > PACKED_COUNT_MAX {
            let rule = format!("{order} is for at most {} slots", grouped(PACKED_COUNT_MAX));
            let remedy = Remedy::text("index").and("or lower state.slots");
            return Err(fields.refusal("order", rule, remedy));
        }
        check_all_present(
            keys,
            &format!("with order = \"{order}\", which is one of rows: an absent slot has none"),
            "or leave load.order out",
        )
    }

    /// Checks that unused calldata goes only beside the cheapest reads. Then list and calldata
    /// together are as large as possible.
    fn check_calldata(&self, keys: &Keys<'_>) -> Checked {
        let Self { calldata_share: share, calldata_byte: byte, keys: key_order, .. } = *self;
        let Some(fields) = keys.fields() else { return Ok(()) };
        if share == 0.0 && fields.get("calldata_byte").is_some() {
            let rule = format!("{byte} bytes of no calldata");
            let remedy = Remedy::advice("leave calldata_byte out, or write calldata = 1.0");
            return Err(fields.refusal("calldata_byte", rule, remedy));
        }
        if share == 0.0 || key_order == KeyOrder::Weyl {
            return Ok(());
        }
        let rule = format!(
            "{share:?} with keys = \"{key_order}\": calldata goes beside the reads that cost \
             least, so that list and calldata together are as large as they can be"
        );
        let remedy = Remedy::bare(0.0).and("or use keys = \"weyl\"");
        Err(fields.refusal("calldata", rule, remedy))
    }
}

/// Checks that a storm over slots has slots.
pub(super) fn check_slots(keys: &Keys<'_>) -> Checked {
    match keys.load_env() {
        Some(env) if env.state.slot_count == 0 => {
            Err(env.state_fields.exactly_one(&["slots", "size"], state::example()))
        }
        _ => Ok(()),
    }
}

/// Reads or writes the number of contracts that the slots are spread over. The default is `usual`,
/// or the number of slots if that is less.
pub(super) fn contracts(
    keys: &mut Keys<'_>,
    contract_count: &mut u64,
    usual: u64,
) -> Result<(), Fault> {
    let (most, above) = match keys.load_env().map_or(0, |env| env.state.slot_count) {
        slot_count if slot_count < CONTRACTS_MAX => {
            (slot_count, "the number of slots: every contract has one")
        }
        _ => (CONTRACTS_MAX, "the most that is supported"),
    };
    let below = "the fewest contracts a storm can read";
    let contracts = Range { least: 1, most, below, above };
    keys.count("contracts", contract_count, &contracts, usual.min(most))
}

/// Checks that all slots exist, for a storm that cannot read absent slots. `why` continues the text
/// of the fault after the share.
pub(super) fn check_all_present(keys: &Keys<'_>, why: &str, or: &str) -> Checked {
    match keys.load_env() {
        Some(env) if env.state.present_share != 1.0 => {
            let rule = format!("{} {why}", env.state.present_share);
            Err(env.state_fields.refusal("present", rule, Remedy::bare(1.0).and(or)))
        }
        _ => Ok(()),
    }
}
