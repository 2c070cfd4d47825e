//! A genesis with each load's part of it, and the contracts and amounts that loads add.
//! `genesis.rs` builds it; the files in `loads/` add to it and read it.

use std::ops::Range;

use alloy_primitives::{Address, B256, U256, keccak256};
use workload::{Genesis, GenesisAccount, stream::stream_seed};

use crate::{artifact::Contract, error::GeneratorError};

/// Wei of a sender, 10^24: more than any generated workload spends.
pub(crate) const SENDER_BALANCE: U256 = U256::from_limbs([2_003_764_205_206_896_640, 54_210, 0, 0]);
/// The smallest balance of a token's holder, 10^24 units: more than a holder can give away.
pub(crate) const TOKEN_BALANCE: U256 = SENDER_BALANCE;

/// A genesis, and each load's part of it.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) genesis: Genesis,
    /// The part of each load.
    pub(crate) loads: Vec<LoadGenesis>,
}

/// A load's part of a genesis.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadGenesis {
    /// The load's slot families, as a range of [`Genesis::slots`].
    pub(crate) families: Range<u32>,
    /// The contract that all of the load's transactions call, if there is only one.
    pub(crate) contract: Address,
    /// Index in [`Genesis::senders`] of the load's own sender family, if it has one.
    pub(crate) sender_family: u32,
    /// Index in [`Genesis::account_families`] of the load's account family, if it has one.
    pub(crate) account_family: u32,
}

/// Secret of a family's first account. It is below 2^252, so the following secrets are far below
/// the order of the curve too.
pub(crate) fn first_secret(seed: u64, stream: &str) -> B256 {
    let mut secret = stream_seed(seed, stream);
    secret[0] &= 0x0f;
    secret
}

/// Adds the account of a `contract` at `address`, with the slots `storage`.
pub(crate) fn add_contract(
    address: Address,
    contract: Contract,
    mut storage: Vec<(U256, U256)>,
    genesis: &mut Genesis,
) -> Result<(), GeneratorError> {
    storage.sort_unstable_by_key(|(key, _)| *key);
    let code = contract.code()?;
    genesis.accounts.push(GenesisAccount {
        address,
        nonce: 1,
        code,
        storage,
        ..Default::default()
    });
    Ok(())
}

/// Adds `count` equal accounts of a `contract`, each with the slots `storage`, which are sorted.
pub(crate) fn add_numbered(
    tag: &str,
    contract: Contract,
    count: u64,
    storage: &[(U256, U256)],
    genesis: &mut Genesis,
) -> Result<(), GeneratorError> {
    let code = contract.code()?;
    genesis.accounts.extend((0..count).map(|index| GenesisAccount {
        address: numbered_contract(tag, contract, index),
        nonce: 1,
        code: code.clone(),
        storage: storage.to_vec(),
        ..GenesisAccount::default()
    }));
    Ok(())
}

/// Adds one contract without slots, which is the load's whole part of the genesis.
pub(crate) fn add_bare(
    tag: &str,
    contract: Contract,
    genesis: &mut Genesis,
) -> Result<LoadGenesis, GeneratorError> {
    add_only(tag, contract, Vec::new(), genesis)
}

/// Adds one contract with slots written out, which is the load's whole part of the genesis.
pub(crate) fn add_only(
    tag: &str,
    contract: Contract,
    storage: Vec<(U256, U256)>,
    genesis: &mut Genesis,
) -> Result<LoadGenesis, GeneratorError> {
    let address = contract_address(tag, contract.name());
    add_contract(address, contract, storage, genesis)?;
    Ok(LoadGenesis { contract: address, ..LoadGenesis::default() })
}

/// Address of the contract that the load of `tag` calls `name`.
pub(crate) fn contract_address(tag: &str, name: &str) -> Address {
    Address::from_word(keccak256(format!("stress contract load[{tag}]/{name}")))
}

/// Address of number `index` of a load's equal contracts.
pub(crate) fn numbered_contract(tag: &str, contract: Contract, index: u64) -> Address {
    contract_address(tag, &format!("{}/{index}", contract.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_balance_of_a_sender_is_a_million_ether() {
        assert_eq!(SENDER_BALANCE, U256::from(10).pow(U256::from(24)));
    }
}
