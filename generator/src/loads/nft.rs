//! Plans transactions of non-fungible tokens (ERC-721): transfers between distant holders, and
//! mints, which all take the next id from one counter.

use std::collections::HashMap;

use alloy_primitives::{Address, U256};
use workload::Genesis;

use super::{
    calls::{Call, PlacedCall, Script},
    solidity::{calldata, mapped, of_account, value_of, word},
};
use crate::{
    artifact::Contract,
    error::GeneratorError,
    holders::slots_of_holders,
    planner::PlannedTx,
    senders::Senders,
    state::{LoadGenesis, add_only},
};

/// Storage slots of `Nft`: two mappings, and the counter of ids.
const OWNERS: u64 = 2;
const BALANCES: u64 = 3;
const COUNTER: u64 = 6;

/// Id of the first holder's token. The next holders have the next ids.
const FIRST_ID: u64 = 1_000_000;
/// Value of the counter of ids in the genesis.
const MINTED_COUNT: u64 = 10_000_000;
/// Balance of a holder, which is larger than the number of its tokens: no balance becomes 0.
const BALANCE: u64 = 1_000;

/// Adds the contract, with one token for each of `holder_count` holders.
pub(crate) fn place(
    holder_count: u64,
    tag: &str,
    genesis: &mut Genesis,
) -> Result<LoadGenesis, GeneratorError> {
    let mut slots = slots_of_holders(&genesis.senders[0], holder_count, |index, holder| {
        let owner = mapped(word(FIRST_ID + index), U256::from(OWNERS));
        [(owner, value_of(holder)), (of_account(holder, BALANCES), U256::from(BALANCE))]
    })?;
    slots.push((U256::from(COUNTER), U256::from(MINTED_COUNT)));
    add_only(tag, Contract::Nft, slots, genesis)
}

/// Transfers between holders who are as far apart as possible.
#[derive(Debug)]
pub(crate) struct NftTransfers {
    contract: Address,
    holder_count: u64,
    /// Ids of the tokens of each holder that has given or taken one. Any other holder has its first
    /// token.
    held: HashMap<u64, Vec<u64>>,
}

impl NftTransfers {
    /// Transfers of the tokens of `contract`.
    pub(crate) fn new(contract: Address, holder_count: u64) -> Self {
        Self { contract, holder_count, held: HashMap::new() }
    }

    /// Returns giver, taker and id of the next transfer. The giver is the first account with a
    /// token, from the account at `turn` on.
    fn parties(&self, turn: u64) -> (u64, u64, u64) {
        let mut giver = turn % self.holder_count;
        let id = loop {
            match self.held.get(&giver).map(|held| held.first().copied()) {
                None => break FIRST_ID + giver,
                Some(Some(id)) => break id,
                Some(None) => giver = (giver + 1) % self.holder_count,
            }
        };
        (giver, (giver + self.holder_count / 2) % self.holder_count, id)
    }
}

impl Script for NftTransfers {
    type Form = ();

    fn name(&self) -> &'static str {
        Contract::Nft.name()
    }

    fn call(
        &self,
        turn: u64,
        _: u64,
        senders: &mut Senders<'_>,
    ) -> Result<Call<()>, GeneratorError> {
        let (giver, taker, id) = self.parties(turn);
        let (from, to) = (senders.address(giver)?, senders.address(taker)?);
        let words = [from.into_word(), to.into_word(), word(id)];
        Ok(Call {
            sender: giver,
            to: Some(self.contract),
            input: calldata("transferFrom(address,address,uint256)", &words),
            ..Call::default()
        })
    }

    fn placed(
        &mut self,
        PlacedCall { turn, .. }: PlacedCall,
        _: &PlannedTx,
        _: &mut Senders<'_>,
    ) -> Result<(), GeneratorError> {
        let (giver, taker, id) = self.parties(turn);
        self.held.entry(giver).or_insert_with(|| vec![FIRST_ID + giver]).retain(|held| *held != id);
        self.held.entry(taker).or_insert_with(|| vec![FIRST_ID + taker]).push(id);
        Ok(())
    }
}

/// Mints of the next id.
#[derive(Debug)]
pub(crate) struct Mints {
    contract: Address,
    minter_count: u64,
}

impl Mints {
    /// Mints of `contract` by `minter_count` accounts in turn.
    pub(crate) const fn new(contract: Address, minter_count: u64) -> Self {
        Self { contract, minter_count }
    }
}

impl Script for Mints {
    type Form = ();

    fn name(&self) -> &'static str {
        Contract::Nft.name()
    }

    fn call(&self, turn: u64, _: u64, _: &mut Senders<'_>) -> Result<Call<()>, GeneratorError> {
        let sender = turn % self.minter_count;
        let input = calldata("mint()", &[]);
        Ok(Call { sender, to: Some(self.contract), input, ..Call::default() })
    }
}
