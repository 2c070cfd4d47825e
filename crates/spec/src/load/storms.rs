//! Storms other than plain reads and writes of slots. They touch accounts and balances, or keys
//! that an earlier transaction or slot decides.

use super::sload_storm::{check_all_present, check_slots, contracts};
use crate::fault::{Fault, Remedy};
use crate::fields::{Fields, Range};
use crate::keys::{Checked, Keyed, Keys, quoted};
use crate::names::{AccountOp, AccountTarget, KeyOrder};
use crate::quantity::{grouped, size};
use variant::named;
use workload::{Fork, accounts};

/// Cold reads of accounts and codes, or calls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AccountStorm {
    /// Operation on an account.
    pub op: AccountOp,
    /// The accounts at the storm's addresses.
    pub target: AccountTarget,
    /// Number of accounts that the state has for the storm; 1 to 2^32.
    pub account_count: u64,
    /// Length in bytes of a contract's code, and of a copy of it; from 10 to the fork's limit.
    pub code_bytes: u32,
    /// Number of different codes; 1 to 2^20, at most the number of accounts.
    pub code_count: u64,
}

const ACCOUNTS: Range = Range {
    least: 1,
    most: 1 << 32,
    below: "the fewest accounts a storm can look at",
    above: "the most that rows can be counted",
};
const DEFAULT_CODE_BYTES: u32 = 24_576;
/// At the default length, these are 246 MB of code.
const DEFAULT_CODE_COUNT: u64 = 10_000;

impl Keyed for AccountStorm {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        keys.named("op", &mut self.op)?;
        keys.named("target", &mut self.target)?;
        keys.count("accounts", &mut self.account_count, &ACCOUNTS, 1_000_000)?;
        match (keys.fields(), keys.load_env()) {
            (Some(fields), Some(env)) => self.code_bytes = code_bytes(fields, env.fork)?,
            _ => keys.write("code", Ok(quoted(&size(self.code_bytes.into())))),
        }
        let codes = Range {
            least: 1,
            most: accounts::CODES_MAX.min(self.account_count),
            below: "the fewest codes that contracts can have",
            above: "the number of accounts, or 2^20, the most that are held",
        };
        let usual = DEFAULT_CODE_COUNT.min(self.account_count);
        keys.count("codes", &mut self.code_count, &codes, usual)
    }
}

fn code_bytes(fields: &Fields<'_>, fork: Fork) -> Result<u32, Fault> {
    let Some(bytes) = fields.bytes("code")? else { return Ok(DEFAULT_CODE_BYTES) };
    let (least, most) = (accounts::CODE_BYTES_MIN, fork.max_code_bytes());
    if let Some(bytes) = u32::try_from(bytes).ok().filter(|bytes| (least..=most).contains(bytes)) {
        return Ok(bytes);
    }
    let rule = format!(
        "{} bytes are not from {least} to {}, the most that code may have under {}",
        grouped(bytes),
        grouped(most.into()),
        fork.name()
    );
    Err(fields.refusal("code", rule, Remedy::text("24KiB").and("the default")))
}

/// Cold balances of an ERC-20 token with very many holders.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BalanceStorm;

impl Keyed for BalanceStorm {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        check_slots(keys)
    }
}

/// Cold storage reads in a chain. Each value gives the contract and the slot of the next read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContractChase {
    /// Number of contracts that the chain goes through in turn; 1 to 1 million, at most the number
    /// of slots.
    pub contract_count: u64,
}

/// More contracts than a transaction reads, and few enough that a state of a hundred megabytes of
/// rows has a few slots in each.
const DEFAULT_CONTRACT_COUNT: u64 = 100_000;

impl Keyed for ContractChase {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        check_slots(keys)?;
        check_all_present(
            keys,
            "with a contract-chase load: an absent slot ends the chain, because its value is the next \
             key",
            "or read absent slots in a scenario of their own",
        )?;
        contracts(keys, &mut self.contract_count, DEFAULT_CONTRACT_COUNT)
    }
}

/// Cold storage reads from a start position that a slot holds. Each transaction moves this position
/// for the next transaction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PrefetchMiss {
    /// Rule from one key to the next within a transaction.
    pub keys: KeyOrder,
}

impl Keyed for PrefetchMiss {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        check_slots(keys)?;
        check_all_present(
            keys,
            "with a prefetch-miss load, which reads slots that exist",
            "or read absent slots in a scenario of their own",
        )?;
        keys.named("keys", &mut self.keys)
    }
}

named! {
    /// Use of the slots of a bloated account, which has very many slots.
    #[derive(Default)]
    pub enum BloatedOp: "operation on slots" {
        /// Each transaction continues at the index where the transaction before it ended. Slot 0
        /// has the index.
        #[default]
        Read = "read",
        /// Each transaction reads at the index in slot 0, and writes the index for the next
        /// transaction.
        Jump = "jump",
        /// Each transaction changes slots.
        Write = "write",
    }
}

/// Cold reads or writes of slots of one account with very many slots, at successive keys.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bloated {
    /// Use of the slots.
    pub op: BloatedOp,
}

impl Keyed for Bloated {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        check_slots(keys)?;
        check_all_present(
            keys,
            "with a bloated load, whose slots all exist",
            "or read absent slots in a scenario of their own",
        )?;
        keys.named("op", &mut self.op)
    }
}
