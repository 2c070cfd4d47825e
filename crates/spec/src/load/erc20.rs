//! `erc20`: transfers of a token, one unit each: two balances read and written, and a log.

use super::kind::{Around, Kind, check_two_accounts};
use crate::fault::Fault;
use crate::fields::{Fields, Range};
use crate::names::Pattern;
use crate::quantity::underscored;

/// Transfers of a token between those who hold it.
#[derive(Debug, Clone, PartialEq)]
pub struct Erc20 {
    /// Who gives to whom.
    pub pattern: Pattern,
    /// Accounts that have a balance in the genesis, and give; 2 to the number of accounts.
    pub holder_count: u64,
}

/// Balances are slots written out in the state's recipe: their number bounds its memory.
const HOLDERS_MAX: u64 = 1_000_000;

pub(super) const KIND: Kind<Erc20> = Kind { name: "erc20", keys: &["pattern", "holders"], read };

impl Erc20 {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![
            ("pattern", format!("\"{}\"", self.pattern)),
            ("holders", underscored(self.holder_count)),
        ]
    }
}

fn read(fields: &Fields<'_>, around: &Around<'_, '_>) -> Result<Erc20, Fault> {
    check_two_accounts(around)?;
    let pattern = fields.named("pattern")?.unwrap_or(Pattern::AToB);
    let (most, above) = match around.state.account_count {
        count if count < HOLDERS_MAX => (count, "the number of accounts: every holder is one"),
        _ => (HOLDERS_MAX, "the most that is supported"),
    };
    let holders = Range { least: 2, most, below: "a giver and a taker", above };
    let holder_count = fields.count("holders", &holders)?.unwrap_or(most);
    Ok(Erc20 { pattern, holder_count })
}
