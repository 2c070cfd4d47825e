//! `hash-chain`: groups of transactions that each hash, and then read and write a slot of their
//! group, as in the official benchmarks of parallel execution.

use variant::named;

use super::kind::{Around, Kind};
use crate::fault::{Fault, Misfit, Remedy};
use crate::fields::{Fields, Range};
use crate::quantity::underscored;

named! {
    /// Among how many transactions a block's gas is divided.
    pub enum Density: "density of transactions" {
        /// As few as can be: each has the most gas that a transaction may have, the last one the rest.
        Greedy = "greedy",
        /// Half of the most that fit, all with equal gas.
        Half = "half",
        /// As many as fit: each has as little as it can.
        Max = "max",
    }
}

named! {
    /// When the contracts of the groups are deployed.
    pub enum Deployed: "time of deployment" {
        /// Before the block: the state has them.
        Before = "before",
        /// In the block, each by the transaction before the only one that calls it.
        Pairs = "pairs",
        /// In the block, one by its first transaction; all others call it.
        First = "first",
    }
}

/// Groups of transactions with a contract each, whose slot 0 they have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct HashChain {
    /// Transactions of a group, of which all but whole ones are left out; `None`: all of a block are one.
    pub group_length: Option<u64>,
    /// Among how many transactions the gas is divided.
    pub density: Density,
    /// When the contracts are deployed.
    pub deployed: Deployed,
    /// Contracts that the state has for groups; 1 to 100,000.
    pub contract_count: u64,
}

const UNUSUAL: &str = "the most that is supported";
const GROUP: Range =
    Range { least: 1, most: 1_000_000, below: "the shortest group", above: UNUSUAL };
/// Contracts are accounts written out in the state's recipe: their number bounds its memory.
const CONTRACTS: Range = Range { least: 1, most: 100_000, below: "the fewest", above: UNUSUAL };
const DEFAULT_CONTRACT_COUNT: u64 = 10_000;

pub(super) const KIND: Kind<HashChain> =
    Kind { name: "hash-chain", keys: &["group", "density", "deployed", "contracts"], read };

impl HashChain {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        let mut entries = vec![
            ("density", format!("\"{}\"", self.density)),
            ("deployed", format!("\"{}\"", self.deployed)),
        ];
        if let Some(length) = self.group_length {
            entries.push(("group", underscored(length)));
        }
        if self.deployed == Deployed::Before {
            entries.push(("contracts", underscored(self.contract_count)));
        }
        entries
    }
}

fn read(fields: &Fields<'_>, _: &Around<'_, '_>) -> Result<HashChain, Fault> {
    let deployed = fields.named("deployed")?.unwrap_or(Deployed::Before);
    for key in ["group", "contracts"] {
        if deployed != Deployed::Before && fields.get(key).is_some() {
            let rule = format!("deployed = \"{deployed}\" says which transactions have a contract");
            let remedy =
                Remedy::advice(&format!("leave {key} out, or write deployed = \"before\""));
            return Err(fields.fault(key, Misfit::new(rule, remedy)));
        }
    }
    Ok(HashChain {
        group_length: fields.count("group", &GROUP)?,
        density: fields.named("density")?.unwrap_or(Density::Greedy),
        deployed,
        contract_count: fields.count("contracts", &CONTRACTS)?.unwrap_or(DEFAULT_CONTRACT_COUNT),
    })
}
