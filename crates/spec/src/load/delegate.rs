//! `delegate`: accounts that delegate their code (EIP-7702), and calls of such accounts.

use super::kind::{Around, Kind};
use crate::fault::{Fault, Misfit, Remedy};
use crate::fields::{Fields, Range};
use crate::quantity::underscored;

/// Delegations of code.
#[derive(Debug, Clone, PartialEq)]
pub struct Delegate {
    /// Accounts that delegate; 1 to 1 million.
    pub account_count: u64,
    /// Delegations of a transaction; 1 to 100.
    pub authorization_count: u64,
    /// Later transactions that call the account that delegated first in a transaction.
    pub call_count: u64,
}

const ACCOUNTS: Range =
    Range { least: 1, most: 1_000_000, below: "an account", above: "the most that is supported" };
const AUTHORIZATIONS: Range =
    Range { least: 1, most: 100, below: "a delegation", above: "the most that is supported" };
const CALLS: Range =
    Range { least: 0, most: 10_000, below: "", above: "the most that is supported" };
const DEFAULT_ACCOUNT_COUNT: u64 = 10_000;
const DEFAULT_CALL_COUNT: u64 = 1;

pub(super) const KIND: Kind<Delegate> =
    Kind { name: "delegate", keys: &["authorities", "delegations", "calls"], read };

impl Delegate {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![
            ("authorities", underscored(self.account_count)),
            ("delegations", underscored(self.authorization_count)),
            ("calls", underscored(self.call_count)),
        ]
    }
}

fn read(fields: &Fields<'_>, _: &Around<'_, '_>) -> Result<Delegate, Fault> {
    let account_count = fields.count("authorities", &ACCOUNTS)?.unwrap_or(DEFAULT_ACCOUNT_COUNT);
    let authorization_count = fields.count("delegations", &AUTHORIZATIONS)?.unwrap_or(1);
    if authorization_count > account_count {
        let rule = format!("{authorization_count} is above authorities = {account_count}");
        let remedy = Remedy::bare(account_count).and("or less, or raise authorities");
        return Err(fields.fault("delegations", Misfit::new(rule, remedy)));
    }
    let call_count = fields.count("calls", &CALLS)?.unwrap_or(DEFAULT_CALL_COUNT);
    Ok(Delegate { account_count, authorization_count, call_count })
}
