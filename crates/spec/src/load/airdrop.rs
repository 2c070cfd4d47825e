//! `airdrop`: a token given to many in one transaction.

use super::kind::{Around, Crowd, Kind, check_two_accounts, people};
use crate::fault::{Fault, Misfit, Remedy};
use crate::fields::{Fields, Range};
use crate::names::Recipients;
use crate::quantity::underscored;

/// Gifts of a token to many at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Airdrop {
    /// Who receives.
    pub recipients: Recipients,
    /// Recipients of a transaction; 1 to 10,000.
    pub recipient_count: u64,
    /// Accounts that hold the token in the genesis, and give; 2 to the number of accounts.
    pub holder_count: u64,
}

const RECIPIENTS: Range =
    Range { least: 1, most: 10_000, below: "a recipient", above: "the most that is supported" };
const DEFAULT_RECIPIENT_COUNT: u64 = 100;
const DEFAULT_HOLDER_COUNT: u64 = 20_000;

pub(super) const KIND: Kind<Airdrop> =
    Kind { name: "airdrop", keys: &["to", "recipients", "holders"], read };

impl Airdrop {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![
            ("to", format!("\"{}\"", self.recipients)),
            ("recipients", underscored(self.recipient_count)),
            ("holders", underscored(self.holder_count)),
        ]
    }
}

fn read(fields: &Fields<'_>, around: &Around<'_, '_>) -> Result<Airdrop, Fault> {
    check_two_accounts(around)?;
    let recipients = fields.named("to")?.unwrap_or(Recipients::Fresh);
    let given = fields.count("recipients", &RECIPIENTS)?;
    let recipient_count = given.unwrap_or(DEFAULT_RECIPIENT_COUNT);
    let holder_count =
        people(fields, around, &Crowd { key: "holders", least: 2, usual: DEFAULT_HOLDER_COUNT })?;
    if recipients == Recipients::Holders && recipient_count >= holder_count {
        let rule = format!(
            "{recipient_count} recipients are not among holders = {holder_count} beside the giver"
        );
        let remedy = Remedy::bare(underscored(holder_count - 1)).and("or less, or raise holders");
        return Err(fields.fault("recipients", Misfit::new(rule, remedy)));
    }
    Ok(Airdrop { recipients, recipient_count, holder_count })
}
