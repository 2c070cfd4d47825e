//! Storms beside plain reads and writes of slots: of accounts, balances, and of keys that a transaction before or
//! a slot before decides.

use super::sload_storm::{check_all_present, check_slots, contracts};
use crate::fault::{Fault, Misfit, Remedy};
use crate::fields::{Fields, Range};
use crate::keys::{Checked, Keyed, Keys, quoted};
use crate::names::{AccountOp, AccountTarget, KeyOrder};
use crate::quantity::{grouped, size};
use variant::named;
use workload::{Fork, accounts};

/// Cold reads of accounts and codes, or calls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AccountStorm {
    /// How an account is looked at.
    pub op: AccountOp,
    /// The accounts at its addresses.
    pub target: AccountTarget,
    /// Accounts that the state holds for it; 1 to 2^32.
    pub account_count: u64,
    /// Bytes of a contract's code, and of a copy; from 10 to the fork's limit.
    pub code_bytes: u32,
    /// Different codes of all contracts; 1 to 2^20.
    pub code_count: u64,
}

const ACCOUNTS: Range = Range {
    least: 1,
    most: 1 << 32,
    below: "the fewest accounts a storm can look at",
    above: "the most that rows can be counted",
};
/// Of code under forks before Amsterdam (EIP-170).
const CODE_BYTES_BEFORE: u32 = 24_576;
const DEFAULT_CODE_BYTES: u32 = 24_576;
/// 246 MB of code.
const DEFAULT_CODE_COUNT: u64 = 10_000;

impl Keyed for AccountStorm {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        keys.named("op", &mut self.op)?;
        keys.named("target", &mut self.target)?;
        keys.count("accounts", &mut self.account_count, &ACCOUNTS, 1_000_000)?;
        match (keys.fields(), keys.around()) {
            (Some(fields), Some(around)) => self.code_bytes = code_bytes(fields, around.fork)?,
            _ => keys.shown("code", Ok(quoted(&size(self.code_bytes.into())))),
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
    let (least, most) = match fork {
        Fork::Amsterdam => (accounts::CODE_BYTES_MIN, accounts::CODE_BYTES_MAX),
        Fork::Osaka | Fork::Bpo1 | Fork::Bpo2 => (accounts::CODE_BYTES_MIN, CODE_BYTES_BEFORE),
    };
    if let Some(bytes) = u32::try_from(bytes).ok().filter(|bytes| (least..=most).contains(bytes)) {
        return Ok(bytes);
    }
    let rule = format!(
        "{} bytes are not from {least} to {}, the most that code may have under {}",
        grouped(bytes),
        grouped(most.into()),
        fork.name()
    );
    Err(fields.fault("code", Misfit::new(rule, Remedy::text("24KiB").and("the default"))))
}

/// Cold balances of an ERC-20 token with very many holders.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BalanceStorm;

impl Keyed for BalanceStorm {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        check_slots(keys)
    }
}

/// Cold storage reads of which each says which contract and which slot is next.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContractChase {
    /// Contracts that the chain goes through in turn; 1 to the number of slots.
    pub contract_count: u64,
}

/// More than a transaction hops through, and a state of a hundred megabytes of rows has a few slots
/// in each.
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

/// Cold storage reads that begin where a slot says, which each transaction moves on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PrefetchMiss {
    /// How the next key follows from the last within a transaction.
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
    /// Use of the slots of a bloated account.
    #[derive(Default)]
    pub enum BloatedOp: "operation on slots" {
        /// Each transaction reads on where the one before it has ended, as slot 0 says.
        #[default]
        Read = "read",
        /// Each reads where the one before it has said in slot 0, and says where the next one reads.
        Jump = "jump",
        /// Each changes slots.
        Write = "write",
    }
}

/// Cold slots of one account, at keys that follow each other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bloated {
    /// Their use.
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
