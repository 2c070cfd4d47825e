//! Plans accounts that delegate their code (EIP-7702). A transaction carries delegations and calls
//! the first delegating account; later transactions call that account again. The accounts have a
//! family of their own, so that no other load pays an account that has code.

use alloy_primitives::{Address, B256, Bytes, U256};
use workload::{
    Genesis, SenderFamily, Transaction, TxType,
    block::{Authorization, IndexRange},
};

use super::{
    calls::{Call, PlacedCall, Script},
    solidity::{calldata, word},
};
use crate::{
    artifact::Contract,
    environment::{BENEFICIARY, CHAIN_ID},
    error::GeneratorError,
    planner::{PlannedTx, Touched},
    senders::Senders,
    state::{LoadGenesis, SENDER_BALANCE, add_numbered, first_secret, numbered_contract},
};
use spec::Delegate;

/// Number of `Wallet` contracts. Accounts delegate to them in turn.
const WALLET_COUNT: u64 = 2;

/// Adds the wallets, and the family of accounts that delegate.
pub(crate) fn place(
    delegate: &Delegate,
    tag: &str,
    seed: u64,
    genesis: &mut Genesis,
) -> Result<LoadGenesis, GeneratorError> {
    add_numbered(tag, Contract::Wallet, WALLET_COUNT, &[], genesis)?;
    let sender_family = genesis.senders.len() as u32;
    genesis.senders.push(SenderFamily {
        first_secret: first_secret(seed, &format!("state/load[{tag}]/authorities")),
        count: delegate.account_count,
        balance: SENDER_BALANCE,
    });
    Ok(LoadGenesis { sender_family, ..LoadGenesis::default() })
}

/// The kind of a transaction, on which its price depends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// The accounts delegate for the first time.
    #[default]
    First,
    /// The accounts have delegated before.
    Again,
    /// The transaction only calls.
    Calls,
}

/// Delegations, each with the calls that follow it.
#[derive(Debug)]
pub(crate) struct Delegations {
    delegate: Delegate,
    wallets: Vec<Address>,
    /// The accounts that delegate, and their family.
    authorities: Vec<Address>,
    family: u32,
    /// Number of delegating transactions so far.
    delegated_count: u64,
    /// The last delegating transaction, until all calls that follow it are made.
    last: Option<Transaction>,
    /// Number of calls that still follow it.
    left_count: u64,
}

impl Delegations {
    /// Delegations of the accounts that the load of `tag` has in the state.
    pub(crate) fn new(
        delegate: Delegate,
        tag: &str,
        placed: &LoadGenesis,
        genesis: &Genesis,
    ) -> Result<Self, GeneratorError> {
        let family = &genesis.senders[placed.sender_family as usize];
        let wallets = (0..WALLET_COUNT)
            .map(|wallet| numbered_contract(tag, Contract::Wallet, wallet))
            .collect();
        Ok(Self {
            delegate,
            wallets,
            authorities: family.addresses(0..family.count)?,
            family: placed.sender_family,
            delegated_count: 0,
            last: None,
            left_count: 0,
        })
    }

    /// The first account of the group of delegating transaction `number`, and how often the group
    /// has delegated before.
    fn group(&self, number: u64) -> (u64, u64) {
        let each = self.delegate.authorization_count;
        // Accounts that do not fill a group never delegate.
        let group_count = self.delegate.account_count / each;
        (number % group_count * each, number / group_count)
    }

    /// The delegations of a group from account `first` on, in the group's `round`.
    fn authorizations(&self, first: u64, round: u64) -> Vec<Authorization> {
        let authorities = first..first + self.delegate.authorization_count;
        authorities
            .map(|authority| Authorization {
                chain_id: U256::from(CHAIN_ID),
                address: self.wallets[(round % WALLET_COUNT) as usize],
                nonce: round,
                authority: Some(self.authorities[authority as usize]),
            })
            .collect()
    }

    /// The touched keys of a transaction that names these accounts.
    fn touched(&self, authorities: std::ops::Range<u64>) -> Touched {
        let others = authorities.map(|start| IndexRange { family: self.family, start, count: 1 });
        Touched { others: others.collect(), ..Touched::default() }
    }

    /// The delegating transaction of the same group in the round before; `None` in the first round.
    /// A trial runs it first, as it changes the price.
    fn delegated_before(&self, first: u64, round: u64, input: &Bytes) -> Option<Transaction> {
        Some(Transaction {
            tx_type: TxType::SetCode,
            // An existing account that is not the next transaction's sender.
            sender: BENEFICIARY,
            to: Some(self.authorities[first as usize]),
            input: input.clone(),
            authorizations: self.authorizations(first, round.checked_sub(1)?),
            ..Transaction::default()
        })
    }
}

impl Script for Delegations {
    type Form = Form;

    fn name(&self) -> &'static str {
        Contract::Wallet.name()
    }

    fn call(
        &self,
        turn: u64,
        _: u64,
        senders: &mut Senders<'_>,
    ) -> Result<Call<Form>, GeneratorError> {
        let sender = senders.in_turn(turn);
        // The wallet pays the caller, so that the call touches no third account.
        let paid: B256 = senders.address(sender)?.into_word();
        let input = calldata("execute(address,uint256)", &[paid, word(1)]);
        if let Some(last) = &self.last {
            let (first, _) = self.group(self.delegated_count - 1);
            return Ok(Call {
                form: Form::Calls,
                sender,
                to: last.to,
                input,
                touched: self.touched(first..first + 1),
                before: vec![last.clone()],
                ..Call::default()
            });
        }
        let (first, round) = self.group(self.delegated_count);
        let before = self.delegated_before(first, round, &input);
        Ok(Call {
            form: if before.is_some() { Form::Again } else { Form::First },
            sender,
            to: Some(self.authorities[first as usize]),
            input,
            authorizations: self.authorizations(first, round),
            touched: self.touched(first..first + self.delegate.authorization_count),
            before: before.into_iter().collect(),
        })
    }

    fn placed(
        &mut self,
        _: PlacedCall,
        tx: &PlannedTx,
        senders: &mut Senders<'_>,
    ) -> Result<(), GeneratorError> {
        if self.last.is_some() {
            self.left_count -= 1;
        } else {
            self.delegated_count += 1;
            self.left_count = self.delegate.call_count;
            self.last = Some(tx.to_tx(senders)?);
        }
        if self.left_count == 0 {
            self.last = None;
        }
        Ok(())
    }
}
