//! `account-storm`: transactions that look at one cold account after another until their gas ends.

use super::kind::{Around, Kind};
use crate::fault::{Fault, Misfit, Remedy};
use crate::fields::{Fields, Range};
use crate::names::{AccountOp, AccountTarget};
use crate::quantity::{grouped, size, underscored};
use workload::{Fork, accounts};

/// Cold reads of accounts and codes, or calls.
#[derive(Debug, Clone, PartialEq)]
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
const DEFAULT_ACCOUNT_COUNT: u64 = 1_000_000;
/// Of code under forks before Amsterdam (EIP-170).
const CODE_BYTES_BEFORE: u32 = 24_576;
const DEFAULT_CODE_BYTES: u32 = 24_576;
/// 246 MB of code.
const DEFAULT_CODE_COUNT: u64 = 10_000;

pub(super) const KIND: Kind<AccountStorm> =
    Kind { name: "account-storm", keys: &["op", "target", "accounts", "code", "codes"], read };

impl AccountStorm {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![
            ("op", format!("\"{}\"", self.op)),
            ("target", format!("\"{}\"", self.target)),
            ("accounts", underscored(self.account_count)),
            ("code", format!("\"{}\"", size(self.code_bytes.into()))),
            ("codes", underscored(self.code_count)),
        ]
    }
}

fn read(fields: &Fields<'_>, around: &Around<'_, '_>) -> Result<AccountStorm, Fault> {
    let account_count = fields.count("accounts", &ACCOUNTS)?.unwrap_or(DEFAULT_ACCOUNT_COUNT);
    let codes = Range {
        least: 1,
        most: accounts::CODES_MAX.min(account_count),
        below: "the fewest codes that contracts can have",
        above: "the number of accounts, or 2^20, the most that are held",
    };
    let code_count = fields.count("codes", &codes)?;
    Ok(AccountStorm {
        op: fields.named("op")?.unwrap_or(AccountOp::Balance),
        target: fields.named("target")?.unwrap_or(AccountTarget::Plain),
        account_count,
        code_bytes: code_bytes(fields, around.fork)?,
        code_count: code_count.unwrap_or(DEFAULT_CODE_COUNT.min(account_count)),
    })
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
