//! Plans airdrops: one transaction gives a token to many recipients, who are addresses without an
//! account, or holders of the token.

use alloy_primitives::Address;
use workload::Genesis;

use super::{
    calls::{Call, PlacedCall, Script, Size},
    solidity::{calldata, of_account, word},
};
use crate::{
    artifact::Contract,
    error::GeneratorError,
    holders::slots_of_holders,
    planner::PlannedTx,
    random::Stream,
    senders::Senders,
    state::{LoadGenesis, TOKEN_BALANCE, add_only},
};
use spec::{Airdrop, Recipients};

/// Storage slot of the mapping of balances in `StandardToken`.
const BALANCES: u64 = 0;

/// Adds the token, with a balance of each holder.
pub(crate) fn place(
    airdrop: &Airdrop,
    tag: &str,
    genesis: &mut Genesis,
) -> Result<LoadGenesis, GeneratorError> {
    let balances = slots_of_holders(&genesis.senders[0], airdrop.holder_count, |_, holder| {
        [(of_account(holder, BALANCES), TOKEN_BALANCE)]
    })?;
    add_only(tag, Contract::StandardToken, balances, genesis)
}

/// Calls that give one unit of a token to each of several recipients.
#[derive(Debug)]
pub(crate) struct Airdrops {
    airdrop: Airdrop,
    contract: Address,
    /// Stream of addresses without an account.
    stream: Stream,
    /// Number of recipients of all transactions so far. It decides the next recipient.
    received_count: u64,
}

impl Airdrops {
    /// Airdrops of the token of `contract`.
    pub(crate) const fn new(airdrop: Airdrop, contract: Address, stream: Stream) -> Self {
        Self { airdrop, contract, stream, received_count: 0 }
    }

    /// The recipient at `index` of the next call, in which `giver` gives.
    fn recipient(
        &self,
        giver: u64,
        index: u64,
        senders: &mut Senders<'_>,
    ) -> Result<Address, GeneratorError> {
        let turn = self.received_count + index;
        match self.airdrop.recipients {
            Recipients::Fresh => {
                Ok(Address::from_word(self.stream.word(format_args!("fresh/{turn}"))))
            }
            // All holders except the giver.
            Recipients::Holders => {
                let other = turn % (self.airdrop.holder_count - 1);
                Ok(senders.address(other + u64::from(other >= giver))?)
            }
        }
    }
}

impl Script for Airdrops {
    type Form = ();

    fn name(&self) -> &'static str {
        Contract::StandardToken.name()
    }

    fn size(&self) -> Size {
        Size::Asked("recipients", self.airdrop.recipient_count)
    }

    fn call(
        &self,
        turn: u64,
        size: u64,
        senders: &mut Senders<'_>,
    ) -> Result<Call<()>, GeneratorError> {
        let sender = turn % self.airdrop.holder_count;
        // The array's offset, the amount, the array's length.
        let mut words = vec![word(64), word(1), word(size)];
        for index in 0..size {
            words.push(self.recipient(sender, index, senders)?.into_word());
        }
        let input = calldata("airdrop(address[],uint256)", &words);
        Ok(Call { sender, to: Some(self.contract), input, ..Call::default() })
    }

    fn placed(
        &mut self,
        PlacedCall { size, .. }: PlacedCall,
        _: &PlannedTx,
        _: &mut Senders<'_>,
    ) -> Result<(), GeneratorError> {
        self.received_count += size;
        Ok(())
    }
}
