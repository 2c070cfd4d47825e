//! `nft-mint`: mints that all take the next id from one counter.

use super::kind::{Around, Crowd, Kind, people};
use crate::fault::Fault;
use crate::fields::Fields;
use crate::quantity::underscored;

/// Mints of an ERC-721 token.
#[derive(Debug, Clone, PartialEq)]
pub struct NftMint {
    /// Accounts that mint, in turn; 1 to the number of accounts.
    pub minter_count: u64,
}

const DEFAULT_MINTER_COUNT: u64 = 100_000;

pub(super) const KIND: Kind<NftMint> = Kind { name: "nft-mint", keys: &["minters"], read };

impl NftMint {
    pub(super) fn entries(&self) -> Vec<(&'static str, String)> {
        vec![("minters", underscored(self.minter_count))]
    }
}

fn read(fields: &Fields<'_>, around: &Around<'_, '_>) -> Result<NftMint, Fault> {
    let minter_count =
        people(fields, around, &Crowd { key: "minters", least: 1, usual: DEFAULT_MINTER_COUNT })?;
    Ok(NftMint { minter_count })
}
