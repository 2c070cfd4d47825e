//! Sizes of a load's transactions: their gas limits, for loads whose transactions use up any gas
//! limit. `load.rs` reads them for each load.

use crate::fault::{Fault, Remedy};
use crate::fields::{Fields, Range};
use crate::keys::{Entry, float, quoted};
use crate::names::SizeDistribution;
use crate::quantity::{grouped, underscored};

/// The least gas in which a transaction can do work. Its parts: 21,000 intrinsic gas, a few words
/// of calldata at up to 40 gas a byte (EIP-7623), and one cold storage read.
pub const TX_GAS_MIN: u64 = 30_000;

/// Meaning of a missing size.
pub(crate) const IF_ABSENT: &str = "as block.tx_gas";
/// Meaning of a missing size for loads with transactions of fixed size.
pub(crate) const NEEDED: &str = "the need of a transaction of this kind";

/// The keys of a load's sizes.
const KEYS: [&str; 4] = ["sizes", "tx_gas", "tx_gas_least", "zipf"];
const DEFAULT_EXPONENT: f64 = 1.0;
pub(crate) const EXPONENT_MAX: f64 = 10.0;

/// Gas limits of a load's transactions; the last transaction of a block may have less.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizes {
    /// Distribution of the gas limits.
    pub shape: SizeDistribution,
    /// The smallest gas limit; with fixed sizes equal to the largest.
    pub least_gas: u64,
    /// The largest gas limit.
    pub most_gas: u64,
    /// Zipf's exponent: k times the least gas limit has the weight k to the power of minus the
    /// exponent.
    pub exponent: f64,
}

impl Sizes {
    /// The keys of the sizes with their values as TOML, or with the meaning of leaving them out.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let has_least = self.shape != SizeDistribution::Fixed;
        let is_zipf = self.shape == SizeDistribution::Zipf;
        vec![
            ("sizes", Ok(quoted(self.shape.name()))),
            ("tx_gas", Ok(underscored(self.most_gas))),
            ("tx_gas_least", has_least.then(|| underscored(self.least_gas)).ok_or("tx_gas")),
            ("zipf", is_zipf.then(|| float(self.exponent)).ok_or("none without zipf")),
        ]
    }
}

/// Makes the fault of an exponent outside of its range, of which `least` names the lower end.
pub(crate) fn exponent_fault(fields: &Fields<'_>, key: &str, exponent: f64, least: &str) -> Fault {
    let rule =
        format!("{exponent} is no exponent of Zipf's law here: {least}, at most {EXPONENT_MAX}");
    fields.refusal(key, rule, Remedy::bare("1.0"))
}

/// The load whose sizes are read.
pub(crate) struct SizedLoad {
    /// Name of the load's kind.
    pub(crate) kind: &'static str,
    /// Whether a transaction of the load uses up any gas limit.
    pub(crate) fills_room: bool,
    /// Maximum gas of a transaction of the block.
    pub(crate) block_tx_gas: u64,
}

/// The gas limits that a transaction may have, up to `most`. `above` says where that comes from.
const fn gas_range(most: u64, above: &'static str) -> Range {
    Range { least: TX_GAS_MIN, most, below: "the least gas that one transaction needs", above }
}

/// Reads the sizes of a load's transactions.
pub(crate) fn read(fields: &Fields<'_>, load: &SizedLoad) -> Result<Option<Sizes>, Fault> {
    let shape = fields.named("sizes")?;
    let most_gas =
        fields.count("tx_gas", &gas_range(load.block_tx_gas, "the most by block.tx_gas"))?;
    let ceiling = most_gas.unwrap_or(load.block_tx_gas);
    let least_gas =
        fields.count("tx_gas_least", &gas_range(ceiling, "the load's own most, tx_gas"))?;
    let exponent = fields.number("zipf")?;
    let Some(given) = KEYS.iter().find(|key| fields.get(key).is_some()) else { return Ok(None) };
    if !load.fills_room {
        let rule = format!(
            "transactions of {} have exactly the gas that they need; sizes are for loads that \
             fill any gas that they are given, as sload-storm does",
            load.kind
        );
        return Err(fields.refusal(given, rule, Remedy::advice("leave it out")));
    }
    let shape = shape.unwrap_or(SizeDistribution::Fixed);
    for (key, is_wrong, wanted) in [
        (
            "tx_gas_least",
            shape == SizeDistribution::Fixed && least_gas.is_some(),
            "\"range\" or \"zipf\"",
        ),
        ("zipf", shape != SizeDistribution::Zipf && exponent.is_some(), "\"zipf\""),
    ] {
        if is_wrong {
            let rule = format!("it is of sizes = {wanted}, and these are another");
            let remedy = Remedy::advice(&format!("write sizes = {wanted}, or leave {key} out"));
            return Err(fields.refusal(key, rule, remedy));
        }
    }
    if let Some(exponent) = exponent.filter(|n| !(*n > 0.0 && *n <= EXPONENT_MAX)) {
        return Err(exponent_fault(fields, "zipf", exponent, "above 0"));
    }
    if shape != SizeDistribution::Fixed && least_gas.is_none() {
        let advice = format!("from {} to {}", grouped(TX_GAS_MIN), grouped(ceiling));
        return Err(fields.missing("tx_gas_least", Remedy::text("100k").and(&advice)));
    }
    Ok(Some(Sizes {
        shape,
        least_gas: least_gas.unwrap_or(ceiling),
        most_gas: ceiling,
        exponent: exponent.unwrap_or(DEFAULT_EXPONENT),
    }))
}
