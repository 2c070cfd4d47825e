//! `erc721`: transfers of tokens that are one of a kind.

use super::kind::{Around, Crowd, Kind, check_two_accounts, people};
use crate::fault::Fault;
use crate::fields::Fields;
use crate::quantity::underscored;

/// Transfers of tokens of an ERC-721 contract, between pairs that share no account.
#[derive(Debug, Clone, PartialEq)]
pub struct Erc721 {
    /// Accounts that have a token each in the genesis, and give; 2 to the number of accounts.
    pub holder_count: u64,
}

const DEFAULT_HOLDER_COUNT: u64 = 100_000;

pub(super) const KIND: Kind<Erc721> = Kind { name: "erc721", keys: &["holders"], read };

impl Erc721 {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![("holders", underscored(self.holder_count))]
    }
}

fn read(fields: &Fields<'_>, around: &Around<'_, '_>) -> Result<Erc721, Fault> {
    check_two_accounts(around)?;
    let holder_count =
        people(fields, around, &Crowd { key: "holders", least: 2, usual: DEFAULT_HOLDER_COUNT })?;
    Ok(Erc721 { holder_count })
}
