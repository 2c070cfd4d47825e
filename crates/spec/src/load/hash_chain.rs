//! `hash-chain`: groups of transactions that each hash, and then read and write a slot of their
//! group, as in the official benchmarks of parallel execution.

use variant::named;

use crate::fault::{Misfit, Remedy};
use crate::fields::Range;
use crate::keys::{Checked, Keyed, Keys, LEFT_OUT};

named! {
    /// Among how many transactions a block's gas is divided.
    #[derive(Default)]
    pub enum Density: "density of transactions" {
        /// As few as can be: each has the most gas that a transaction may have, the last one the rest.
        #[default]
        Greedy = "greedy",
        /// Half of the most that fit, all with equal gas.
        Half = "half",
        /// As many as fit: each has as little as it can.
        Max = "max",
    }
}

named! {
    /// When the contracts of the groups are deployed.
    #[derive(Default)]
    pub enum Deployed: "time of deployment" {
        /// Before the block: the state has them.
        #[default]
        Before = "before",
        /// In the block, each by the transaction before the only one that calls it.
        Pairs = "pairs",
        /// In the block, one by its first transaction; all others call it.
        First = "first",
    }
}

/// Groups of transactions with a contract each, whose slot 0 they have in common.
#[derive(Debug, Clone, Default, PartialEq)]
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

const GROUP: Range = Range::supported(1, 1_000_000, "the shortest group");
/// Contracts are accounts written out in the state's recipe: their number bounds its memory.
const CONTRACTS: Range = Range::supported(1, 100_000, "the fewest");
const DEFAULT_CONTRACT_COUNT: u64 = 10_000;

impl Keyed for HashChain {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        keys.listed("group");
        keys.named("density", &mut self.density)?;
        keys.named("deployed", &mut self.deployed)?;
        let deployed = self.deployed;
        let in_block = keys.fields().filter(|_| deployed != Deployed::Before);
        for (fields, key) in in_block.into_iter().flat_map(|of| [(of, "group"), (of, "contracts")])
        {
            if fields.get(key).is_some() {
                let rule =
                    format!("deployed = \"{deployed}\" says which transactions have a contract");
                let remedy =
                    Remedy::advice(&format!("leave {key} out, or write deployed = \"before\""));
                return Err(fields.fault(key, Misfit::new(rule, remedy)));
            }
        }
        keys.any_count("group", &mut self.group_length, &GROUP)?;
        match deployed {
            Deployed::Before => {
                let usual = DEFAULT_CONTRACT_COUNT;
                keys.count("contracts", &mut self.contract_count, &CONTRACTS, usual)?;
            }
            Deployed::Pairs | Deployed::First => {
                self.contract_count = DEFAULT_CONTRACT_COUNT;
                keys.shown("contracts", Err(LEFT_OUT));
            }
        }
        Ok(())
    }
}
