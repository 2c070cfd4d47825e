//! `hash-chain`: groups of transactions. Each transaction hashes, then reads and writes a slot of
//! its group, as in the official benchmarks of parallel execution.

use variant::named;

use crate::fault::Remedy;
use crate::fields::Range;
use crate::keys::{Checked, Keyed, Keys, LEFT_OUT};

named! {
    /// Number of transactions that share a block's gas.
    #[derive(Default)]
    pub enum Density: "density of transactions" {
        /// The fewest transactions: each has the maximum gas of a transaction, and the last has the
        /// rest.
        #[default]
        Greedy = "greedy",
        /// Half of the largest number of transactions, all with equal gas.
        Half = "half",
        /// The largest number of transactions: each has the gas of one hash.
        Max = "max",
    }
}

named! {
    /// Time at which the groups' contracts are deployed.
    #[derive(Default)]
    pub enum Deployed: "time of deployment" {
        /// Before the block: the state has the contracts.
        #[default]
        Before = "before",
        /// In the block. Each contract has one caller, and the transaction before the caller
        /// deploys it.
        Pairs = "pairs",
        /// In the block, one contract. The first transaction deploys it, and all others call it.
        First = "first",
    }
}

/// Groups of transactions. Each group has a contract and shares its slot 0.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HashChain {
    /// Number of transactions of a group; incomplete groups are left out. `None`: all transactions
    /// of a block.
    pub group_length: Option<u64>,
    /// Number of transactions that share a block's gas.
    pub density: Density,
    /// Time at which the contracts are deployed.
    pub deployed: Deployed,
    /// Number of contracts that the state has for groups; 1 to 100,000.
    pub contract_count: u64,
}

const GROUP: Range = Range::supported(1, 1_000_000, "the shortest group");
/// Contracts are explicit accounts in the state's recipe: their number bounds the recipe's memory.
const CONTRACTS: Range = Range::supported(1, 100_000, "the fewest");
const DEFAULT_CONTRACT_COUNT: u64 = 10_000;

impl Keyed for HashChain {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        keys.reserve("group");
        keys.named("density", &mut self.density)?;
        keys.named("deployed", &mut self.deployed)?;
        let deployed = self.deployed;
        if deployed != Deployed::Before
            && let Some(fields) = keys.fields()
            && let Some(key) = ["group", "contracts"].into_iter().find(|k| fields.get(k).is_some())
        {
            let rule = format!("deployed = \"{deployed}\" says which transactions have a contract");
            let advice = format!("leave {key} out, or write deployed = \"before\"");
            return Err(fields.refusal(key, rule, Remedy::advice(&advice)));
        }
        keys.any_count("group", &mut self.group_length, &GROUP)?;
        match deployed {
            Deployed::Before => {
                let default = DEFAULT_CONTRACT_COUNT;
                keys.count("contracts", &mut self.contract_count, &CONTRACTS, default)
            }
            Deployed::Pairs | Deployed::First => {
                self.contract_count = DEFAULT_CONTRACT_COUNT;
                keys.write("contracts", Err(LEFT_OUT));
                Ok(())
            }
        }
    }
}
