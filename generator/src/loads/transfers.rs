//! Plans transfers of ether or of a token between accounts that a pattern pairs. The price depends
//! only on the recipient's kind and the number of nonzero bytes of calldata.

use alloy_primitives::{Address, Bytes, U256};
use workload::{Fork, Genesis};

use super::{
    prices::Prices,
    solidity::{calldata, of_account, word},
};
use crate::{
    artifact::Contract,
    error::GeneratorError,
    holders::slots_of_holders,
    planner::{PlannedTx, Planner, Room, Touched},
    probe::{Absent, Cost, Probe},
    random::Stream,
    senders::Senders,
    state::{LoadGenesis, TOKEN_BALANCE, add_only},
};
use spec::{Erc20, Pattern};

/// Storage slot of the mapping of balances in `Token`.
const BALANCES: u64 = 0;

/// Adds the token, with a balance for each holder.
pub(crate) fn place(
    erc20: &Erc20,
    tag: &str,
    genesis: &mut Genesis,
) -> Result<LoadGenesis, GeneratorError> {
    let balance = |index, holder: &Address| {
        [(of_account(holder, BALANCES), TOKEN_BALANCE + U256::from(index))]
    };
    let balances = slots_of_holders(&genesis.senders[0], erc20.holder_count, balance)?;
    add_only(tag, Contract::Token, balances, genesis)
}

/// The transferred asset. Each transfer moves one unit.
#[derive(Clone, Debug)]
pub(crate) enum Asset {
    /// Wei.
    Ether,
    /// Units of the token of a contract.
    Token {
        /// The contract.
        address: Address,
        /// Its code.
        code: Bytes,
    },
}

impl Asset {
    /// The token at `address`.
    pub(crate) fn token(address: Address) -> Result<Self, GeneratorError> {
        Ok(Self::Token { address, code: Contract::Token.code()? })
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Ether => "a transfer",
            Self::Token { .. } => Contract::Token.name(),
        }
    }
}

/// Giver and taker of each transfer.
#[derive(Clone, Debug)]
pub(crate) struct Parties {
    pattern: Pattern,
    /// Number of accounts that take part.
    count: u64,
    /// Stream of addresses without an account.
    stream: Stream,
    /// Number of fresh addresses used up.
    fresh_count: u64,
}

/// The recipient of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taker {
    /// An account that takes part, by index.
    Member(u64),
    /// An address without an account.
    Fresh(Address),
}

impl Parties {
    /// The first `count` accounts, at least 2, paired by `pattern`.
    pub(crate) const fn new(pattern: Pattern, count: u64, stream: Stream) -> Self {
        Self { pattern, count, stream, fresh_count: 0 }
    }

    /// Giver and taker of the transfer at `turn`.
    fn at(&self, turn: u64) -> (u64, Taker) {
        let giver = turn % self.count;
        // Any account but the first.
        let other = 1 + turn % (self.count - 1).max(1);
        match self.pattern {
            // The taker is half way around from the giver. So consecutive transfers share no
            // account while they are at most half as many as the accounts.
            Pattern::AToB => (giver, Taker::Member((giver + self.count / 2) % self.count)),
            Pattern::AToA => (giver, Taker::Member(giver)),
            Pattern::AToMany => (0, Taker::Member(other)),
            Pattern::ManyToA => (other, Taker::Member(0)),
            Pattern::Fresh => (giver, Taker::Fresh(self.fresh())),
        }
    }

    fn fresh(&self) -> Address {
        Address::from_word(self.stream.word(format_args!("fresh/{}", self.fresh_count)))
    }
}

/// The facts of a transfer on which its gas depends, beside its calldata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Form {
    is_to_itself: bool,
    is_to_fresh: bool,
}

/// Plans transfers.
#[derive(Debug)]
pub(crate) struct Transfers {
    asset: Asset,
    parties: Parties,
    fork: Fork,
    prices: Prices<Form>,
    /// Gas limit of the first transfer.
    useful_gas: u64,
}

impl Transfers {
    /// Transfers of `asset` between `parties`.
    pub(crate) fn new(
        asset: Asset,
        parties: Parties,
        fork: Fork,
        senders: &mut Senders<'_>,
    ) -> Result<Self, GeneratorError> {
        let mut new = Self { asset, parties, fork, prices: Prices::new(), useful_gas: 0 };
        new.useful_gas = new.plan(0, senders)?.gas_limit;
        Ok(new)
    }

    fn plan(&mut self, turn: u64, senders: &mut Senders<'_>) -> Result<PlannedTx, GeneratorError> {
        let (giver, taker) = self.parties.at(turn);
        let sender = senders.address(giver)?;
        let (recipient, touched) = match taker {
            Taker::Member(index) => {
                (senders.address(index)?, Touched { senders: vec![index], ..Touched::default() })
            }
            Taker::Fresh(address) => {
                (address, Touched { absent: vec![address], ..Touched::default() })
            }
        };
        let (to, value, input, code, touched) = match &self.asset {
            Asset::Ether => (recipient, U256::ONE, Bytes::new(), Bytes::new(), touched),
            // A token's transfer touches a slot of the recipient, not the recipient's account.
            Asset::Token { address, code } => {
                let words = [recipient.into_word(), word(1)];
                let input = calldata("transfer(address,uint256)", &words);
                (*address, U256::ZERO, input, code.clone(), Touched::default())
            }
        };
        let is_to_fresh = matches!(taker, Taker::Fresh(_));
        let form = Form { is_to_itself: taker == Taker::Member(giver), is_to_fresh };
        let absent = match (&self.asset, is_to_fresh) {
            (_, false) => Absent::Nothing,
            (Asset::Ether, true) => Absent::Account(recipient),
            (Asset::Token { .. }, true) => Absent::Slot(of_account(&recipient, BALANCES)),
        };
        let (name, fork) = (self.asset.name(), self.fork);
        let probe = Probe { name, fork, sender, to, code, value, absent };
        let cost = self.prices.price(form, &probe, &input)?;
        let (sender, to) = (giver, Some(to));
        Ok(PlannedTx { sender, to, value, input, touched, ..PlannedTx::priced(cost) })
    }
}

impl Planner for Transfers {
    fn next(
        &mut self,
        room: Room,
        senders: &mut Senders<'_>,
    ) -> Result<Option<PlannedTx>, GeneratorError> {
        let tx = self.plan(room.turn, senders)?;
        if tx.gas_limit > room.gas_limit {
            return Ok(None);
        }
        self.parties.fresh_count += 1;
        Ok(Some(tx))
    }

    fn useful_gas(&self) -> u64 {
        self.useful_gas
    }

    fn price(
        &mut self,
        room: Room,
        senders: &mut Senders<'_>,
    ) -> Result<Option<Cost>, GeneratorError> {
        self.plan(room.turn, senders).map(|tx| Some(tx.cost))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn distinct_pairs_share_no_account_for_half_of_them() {
        let parties = Parties::new(Pattern::AToB, 10, Stream::new(1, "x".to_owned()));
        for first in 0..30 {
            let mut seen = HashSet::new();
            for turn in first..first + 5 {
                let (giver, taker) = parties.at(turn);
                let Taker::Member(taker) = taker else { panic!("{taker:?}") };
                assert!(seen.insert(giver) && seen.insert(taker), "{first} {turn}");
            }
        }
    }

    #[test]
    fn one_of_many_is_the_same_and_the_others_are_others() {
        let takers = |pattern| {
            let parties = Parties::new(pattern, 3, Stream::new(1, "x".to_owned()));
            (0..4).map(|turn| parties.at(turn)).collect::<Vec<_>>()
        };
        let others = [1, 2, 1, 2];
        assert_eq!(takers(Pattern::AToMany), others.map(|other| (0, Taker::Member(other))));
        assert_eq!(takers(Pattern::ManyToA), others.map(|other| (other, Taker::Member(0))));
    }
}
