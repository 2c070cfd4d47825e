//! Runs one transaction on stock revm to measure its price, on a genesis and after earlier
//! transactions that affect it. Only the genesis' explicit accounts exist, and accounts that send,
//! sign a delegation, or are in the trial's `named` list. The gas is that of the transaction in its
//! block. `calls.rs` and `hash_chain.rs` use it, as their prices depend on the genesis or on
//! earlier transactions.

use std::{collections::BTreeMap, convert::Infallible};

use alloy_primitives::{Address, B256, U256};
use evm::{Runner, TxGas, account_info};
use revm::{Database, DatabaseCommit, bytecode::Bytecode, database::State, state::AccountInfo};
use workload::{Block, BlockEnv, Fork, Genesis, StepKind, Transaction, Workload};

use crate::{
    environment::CHAIN_ID,
    error::MeterError,
    probe::{Cost, cost_by, success_gas},
};

/// A transaction to measure.
#[derive(Clone, Debug)]
pub(crate) struct Trial<'g> {
    /// Name of the transaction in errors.
    pub(crate) name: &'static str,
    /// The rules in force.
    pub(crate) fork: Fork,
    /// The state, of which only explicit accounts exist.
    pub(crate) genesis: &'g Genesis,
    /// Accounts of sender families that the transaction touches, beside senders and authorities.
    pub(crate) named: Vec<Address>,
    /// Earlier transactions. They run with the largest gas limit.
    pub(crate) before: Vec<Transaction>,
    /// The transaction. Its gas limit is ignored.
    pub(crate) tx: Transaction,
}

impl Trial<'_> {
    /// The price of the transaction, which must succeed.
    ///
    /// # Errors
    /// [`MeterError::Probe`].
    pub(crate) fn cost(&self) -> Result<Cost, MeterError> {
        cost_by(self.fork, |gas_limit| self.gas_within(gas_limit))
    }

    /// Gas that the transaction uses with `gas_limit`, which may be too little for it.
    ///
    /// # Errors
    /// [`MeterError::Probe`] when it does not succeed.
    pub(crate) fn gas_within(&self, gas_limit: u64) -> Result<TxGas, MeterError> {
        let (mut transactions, most_gas) = (self.before.clone(), self.fork.max_tx_gas());
        for tx in &mut transactions {
            // A transaction may cost more here than in its block, so its own limit may be too
            // small.
            tx.gas_limit = most_gas;
        }
        transactions.push(Transaction { gas_limit, ..self.tx.clone() });
        for tx in &mut transactions {
            // The block's base fee is 0.
            (tx.max_fee_per_gas, tx.max_priority_fee_per_gas) = (0, 0);
        }
        let gas_limit = most_gas.saturating_mul(transactions.len() as u64);
        let env = BlockEnv { gas_limit, ..BlockEnv::default() };
        let block = Block { env, transactions, withdrawals: Vec::new() };
        let rules = Workload { rules: self.fork.into(), chain_id: CHAIN_ID, ..Workload::default() };
        let state = TrialState { genesis: self.genesis, nonces: self.nonces() };
        let mut runner = Runner::new(&rules, State::builder().with_database(state).build());
        runner.set_block(&block);
        let mut used = TxGas::default();
        for tx_index in 0..block.transactions.len() {
            let kind = StepKind::Transaction(tx_index);
            let ran = runner.run(&block, kind, |db, changes| db.commit(changes));
            used = success_gas(self.name, ran)?;
        }
        Ok(used)
    }

    /// Nonces before the first transaction of the accounts of families that exist here.
    fn nonces(&self) -> BTreeMap<Address, u64> {
        let mut nonces = BTreeMap::new();
        for tx in self.before.iter().chain([&self.tx]) {
            nonces.entry(tx.sender).or_insert(tx.nonce);
            for authorization in &tx.authorizations {
                if let Some(authority) = authorization.authority {
                    nonces.entry(authority).or_insert(authorization.nonce);
                }
            }
        }
        for account in &self.named {
            nonces.entry(*account).or_insert(0);
        }
        nonces
    }
}

/// The state before the first transaction.
struct TrialState<'g> {
    genesis: &'g Genesis,
    /// Nonces of the accounts of families that exist.
    nonces: BTreeMap<Address, u64>,
}

impl Database for TrialState<'_> {
    type Error = Infallible;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        if let Some(account) = self.genesis.account(&address) {
            let code = Some(Bytecode::new_raw(account.code.clone()));
            return Ok(Some(AccountInfo { code, ..account_info(account.state()) }));
        }
        let balance = U256::from(1) << 128;
        let nonce = self.nonces.get(&address).copied();
        Ok(nonce.map(|nonce| AccountInfo { balance, nonce, ..AccountInfo::default() }))
    }

    fn code_by_hash(&mut self, _: B256) -> Result<Bytecode, Infallible> {
        Ok(Bytecode::new())
    }

    fn storage(&mut self, address: Address, key: U256) -> Result<U256, Infallible> {
        let storage = self.genesis.account(&address).map_or(&[][..], |account| &account.storage);
        let index = storage.binary_search_by(|(at, _)| at.cmp(&key));
        Ok(index.map_or(U256::ZERO, |index| storage[index].1))
    }

    fn block_hash(&mut self, _: u64) -> Result<B256, Infallible> {
        Ok(B256::ZERO)
    }
}
