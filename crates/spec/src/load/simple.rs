//! Loads of few parameters: payments, contracts that are deployed or delegated to, and plain work.

use super::chains::Touch;
use super::tokens::check_two_accounts;
use crate::fault::Remedy;
use crate::fields::Range;
use crate::keys::{Checked, Flag, Keyed, Keys};
use crate::names::{Creation, Pattern, Work};
use workload::Fork;

/// Transfers of ether between accounts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transfers {
    /// Pattern of senders and recipients.
    pub pattern: Pattern,
}

impl Keyed for Transfers {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        check_two_accounts(keys)?;
        keys.named("pattern", &mut self.pattern)
    }
}

/// The worst conflict: one slot that every transaction reads and writes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OneSlot {
    /// Number of hashes that a transaction computes; 0 to 50,000.
    pub work: u64,
    /// When a transaction touches the slot: before or after the hashes.
    pub touch: Touch,
}

const WORK: Range = Range::supported(0, 50_000, "");

impl Keyed for OneSlot {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        keys.count("work", &mut self.work, &WORK, 10)?;
        keys.named("touch", &mut self.touch)
    }
}

/// Transactions of distinct accounts that share nothing, or only a total supply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NonConflicting {
    /// Whether each transaction also changes the token's total supply, which all transactions
    /// share.
    pub changes_supply: bool,
}

impl Keyed for NonConflicting {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        keys.flag("supply", Flag { value: &mut self.changes_supply, default: false })
    }
}

/// Deployments of contracts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Deploy {
    /// Operation that deploys the contracts.
    pub creation: Creation,
    /// Length in bytes of the code that is deployed; from 32 to the fork's limit.
    pub code_bytes: u64,
    /// Number of later transactions that call each deployed contract.
    pub call_count: u64,
}

const CALLS: Range = Range::supported(0, 10_000, "");

impl Keyed for Deploy {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        keys.named("by", &mut self.creation)?;
        let fork = keys.load_env().map_or(Fork::Amsterdam, |env| env.fork);
        let code = Range {
            least: 32,
            most: fork.max_code_bytes().into(),
            below: "the smallest contract that counts its calls",
            above: match fork.is_from(Fork::Amsterdam) {
                true => "the largest code under amsterdam (EIP-7954)",
                false => "the largest code before amsterdam (EIP-170)",
            },
        };
        keys.count("code", &mut self.code_bytes, &code, 4_096)?;
        keys.count("calls", &mut self.call_count, &CALLS, 0)
    }
}

/// Delegations of code.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Delegate {
    /// Number of accounts that delegate; 1 to 1 million.
    pub account_count: u64,
    /// Number of delegations of a transaction; 1 to 100, at most the number of accounts.
    pub authorization_count: u64,
    /// Number of later transactions that call the first account that delegated in a transaction.
    pub call_count: u64,
}

const ACCOUNTS: Range = Range::supported(1, 1_000_000, "an account");
const AUTHORIZATIONS: Range = Range::supported(1, 100, "a delegation");

impl Keyed for Delegate {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        keys.count("authorities", &mut self.account_count, &ACCOUNTS, 10_000)?;
        keys.count("delegations", &mut self.authorization_count, &AUTHORIZATIONS, 1)?;
        keys.count("calls", &mut self.call_count, &CALLS, 1)?;
        let Self { account_count, authorization_count, .. } = *self;
        match keys.fields() {
            Some(fields) if authorization_count > account_count => {
                let rule = format!("{authorization_count} is above authorities = {account_count}");
                let remedy = Remedy::bare(account_count).and("or less, or raise authorities");
                Err(fields.refusal("delegations", rule, remedy))
            }
            _ => Ok(()),
        }
    }
}

/// Work that reads and writes no state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compute {
    /// Kind of work.
    pub work: Work,
    /// Number of rounds of a transaction; `None`: as many as its gas allows.
    pub round_count: Option<u64>,
}

const ROUNDS: Range = Range::supported(1, 1_000_000, "a round");

impl Keyed for Compute {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        keys.named("work", &mut self.work)?;
        keys.any_count("rounds", &mut self.round_count, &ROUNDS)
    }
}

/// Transactions that write logs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Logs {
    /// Number of topics of a log; 0 to 4.
    pub topic_count: u64,
    /// Length in bytes of a log's data; 0 to 100,000.
    pub data_bytes: u64,
    /// Number of logs of a transaction; `None`: as many as its gas allows.
    pub log_count: Option<u64>,
}

const TOPICS: Range =
    Range { least: 0, most: 4, below: "", above: "the most topics, those of LOG4" };
const DATA: Range = Range::supported(0, 100_000, "");
const LOGS: Range = Range::supported(1, 100_000, "a log");

impl Keyed for Logs {
    fn keys(&mut self, keys: &mut Keys<'_>) -> Checked {
        keys.count("topics", &mut self.topic_count, &TOPICS, 3)?;
        keys.count("data", &mut self.data_bytes, &DATA, 32)?;
        keys.any_count("logs", &mut self.log_count, &LOGS)
    }
}
