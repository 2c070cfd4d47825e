//! Runs one call on stock revm to measure its price, for planners. The state is invented: every
//! account can pay, and every slot that is not absent holds its own key plus 1. `trial.rs` measures
//! on a real genesis.

use std::{convert::Infallible, fmt::Display};

use alloy_primitives::{Address, B256, Bytes, U256};
use evm::{Runner, StepOutput, TxGas};
use revm::{Database, bytecode::Bytecode, primitives::KECCAK_EMPTY, state::AccountInfo};
use workload::{Block, BlockEnv, Fork, StepKind, Transaction, TxStatus, Workload};

use crate::{
    artifact::Contract,
    error::{GeneratorError, MeterError},
};

/// A call to measure.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    /// Name of the transaction in errors.
    pub(crate) name: &'static str,
    /// The rules in force.
    pub(crate) fork: Fork,
    /// The sender.
    pub(crate) sender: Address,
    /// The callee.
    pub(crate) to: Address,
    /// Code of the callee.
    pub(crate) code: Bytes,
    /// Wei that the transaction transfers.
    pub(crate) value: U256,
    /// The keys that do not exist.
    pub(crate) absent: Absent,
}

/// The keys that do not exist in a probe's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Absent {
    /// All keys exist.
    #[default]
    Nothing,
    /// This account does not exist.
    Account(Address),
    /// This slot does not exist.
    Slot(U256),
    /// No slot exists.
    Slots,
    /// Only sender, callee and beneficiary exist.
    Accounts,
}

/// The price of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Gas that it uses, after refunds.
    pub(crate) gas: u64,
    /// Gas that the limit needs above `gas`: a refund comes back only at the end (EIP-3529), and a
    /// call keeps gas back (EIP-150).
    pub(crate) refund: u64,
    /// Execution gas that counts against the block (EIP-7778).
    pub(crate) regular_gas: u64,
    /// State gas that counts against the block (EIP-8037).
    pub(crate) state_gas: u64,
}

impl Cost {
    /// The gas limit that the transaction needs.
    pub(crate) const fn limit(self) -> u64 {
        self.gas + self.refund
    }

    /// Gas of a transaction of this price, as if it had run.
    pub(crate) const fn tx_gas(self) -> TxGas {
        let Self { gas: receipt_gas, regular_gas, state_gas, .. } = self;
        TxGas { receipt_gas, block_regular_gas: regular_gas, block_state_gas: state_gas }
    }
}

/// Returns the largest size up to `guess` whose price is within `gas_limit`, and this price; `None`
/// where size 1 is not within it. The search goes down one by one, so `guess` must be nearly right.
/// `price` may fail above size 1: no transaction may have that size.
///
/// # Errors
/// The error of `price` for a size of 1.
pub(crate) fn most_within(
    guess: u64,
    gas_limit: u64,
    mut price: impl FnMut(u64) -> Result<Cost, GeneratorError>,
) -> Result<Option<(u64, Cost)>, GeneratorError> {
    let mut size = guess;
    loop {
        match price(size) {
            Ok(cost) if cost.limit() <= gas_limit => return Ok(Some((size, cost))),
            Err(error) if size == 1 => return Err(error),
            Ok(_) if size == 1 => return Ok(None),
            Ok(_) | Err(_) => size -= 1,
        }
    }
}

impl Probe {
    /// A call by `sender` of `contract`, whose code is at `to`.
    ///
    /// # Errors
    /// [`GeneratorError::Artifact`].
    pub(crate) fn new(
        contract: Contract,
        fork: Fork,
        sender: Address,
        to: Address,
    ) -> Result<Self, GeneratorError> {
        let (name, code) = (contract.name(), contract.code()?);
        Ok(Self { name, fork, sender, to, code, value: U256::ZERO, absent: Absent::Nothing })
    }

    /// The price of the transaction with `input`, which must succeed.
    ///
    /// # Errors
    /// [`MeterError::Probe`].
    pub(crate) fn cost(&self, input: &Bytes) -> Result<Cost, MeterError> {
        cost_by(self.fork, |gas_limit| self.spent(input, gas_limit, &Bytes::new()))
    }

    /// Gas spent by the transaction with `input` and `gas_limit`, which must succeed. Every account
    /// has the code `elsewhere`, except sender, callee and beneficiary.
    ///
    /// # Errors
    /// [`MeterError::Probe`].
    pub(crate) fn spent(
        &self,
        input: &Bytes,
        gas_limit: u64,
        elsewhere: &Bytes,
    ) -> Result<TxGas, MeterError> {
        let tx = Transaction {
            sender: self.sender,
            gas_limit,
            to: Some(self.to),
            value: self.value,
            input: input.clone(),
            ..Transaction::default()
        };
        let env = BlockEnv { gas_limit: self.fork.max_tx_gas(), ..BlockEnv::default() };
        let block = Block { env, transactions: vec![tx], withdrawals: Vec::new() };
        let rules = Workload { rules: self.fork.into(), chain_id: 1, ..Workload::default() };
        let mut runner = Runner::new(&rules, ProbeState { probe: self, elsewhere });
        runner.set_block(&block);
        success_gas(self.name, runner.run(&block, StepKind::Transaction(0), |_, _| {}))
    }
}

/// Gas of a transaction that has run, and must have succeeded. `name` is its name in errors.
///
/// # Errors
/// [`MeterError::Probe`].
pub(crate) fn success_gas<E: Display>(
    name: &'static str,
    ran: Result<StepOutput, E>,
) -> Result<TxGas, MeterError> {
    let reason = match ran {
        Ok(StepOutput { result: Some(result), .. }) if result.status == TxStatus::Success => {
            return Ok(result.gas);
        }
        Ok(StepOutput { result, .. }) => format!("{result:?}"),
        Err(error) => error.to_string(),
    };
    Err(MeterError::Probe { contract: name, reason })
}

/// The price of a transaction under `fork`. `gas_within` runs it within a gas limit, and fails
/// where the limit is too small.
///
/// # Errors
/// The error of `gas_within` at the largest limit.
pub(crate) fn cost_by(
    fork: Fork,
    gas_within: impl Fn(u64) -> Result<TxGas, MeterError>,
) -> Result<Cost, MeterError> {
    let used = gas_within(fork.max_tx_gas())?;
    let gas = used.receipt_gas;
    let (regular_gas, state_gas) = (used.block_regular_gas, used.block_state_gas);
    let cost = Cost { gas, refund: 0, regular_gas, state_gas };
    // Most often the smallest limit is the gas that the transaction uses.
    if gas_within(gas).is_ok() {
        return Ok(cost);
    }
    // Most often little is missing: the gas that a call keeps back (EIP-150), or a refund. `least`
    // is too little gas, and `most` is enough.
    let (mut least, mut most, mut step) = (gas, fork.max_tx_gas(), 1_024);
    while least + step < most {
        if gas_within(least + step).is_ok() {
            most = least + step;
        } else {
            least += step;
            step *= 2;
        }
    }
    while most - least > 1 {
        let middle = least + (most - least) / 2;
        match gas_within(middle) {
            Ok(_) => most = middle,
            Err(_) => least = middle,
        }
    }
    Ok(Cost { refund: most - gas, ..cost })
}

/// The invented state.
struct ProbeState<'p> {
    probe: &'p Probe,
    /// Code of every other account.
    elsewhere: &'p Bytes,
}

impl Database for ProbeState<'_> {
    type Error = Infallible;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        let probe = self.probe;
        let is_elsewhere = ![probe.sender, probe.to, Address::ZERO].contains(&address);
        let is_absent = match probe.absent {
            Absent::Account(absent) => absent == address,
            Absent::Accounts => is_elsewhere,
            Absent::Nothing | Absent::Slot(_) | Absent::Slots => false,
        };
        if is_absent {
            return Ok(None);
        }
        let balance = U256::from(1) << 128;
        let code = match is_elsewhere {
            true => self.elsewhere,
            false if address == probe.to => &probe.code,
            false => &Bytes::new(),
        };
        let code = (!code.is_empty()).then(|| Bytecode::new_raw(code.clone()));
        let code_hash = code.as_ref().map_or(KECCAK_EMPTY, Bytecode::hash_slow);
        Ok(Some(AccountInfo { balance, code_hash, code, ..AccountInfo::default() }))
    }

    fn code_by_hash(&mut self, _: B256) -> Result<Bytecode, Infallible> {
        Ok(Bytecode::new())
    }

    fn storage(&mut self, _: Address, key: U256) -> Result<U256, Infallible> {
        let is_absent =
            self.probe.absent == Absent::Slots || self.probe.absent == Absent::Slot(key);
        Ok(if is_absent { U256::ZERO } else { key.wrapping_add(U256::ONE) })
    }

    fn block_hash(&mut self, _: u64) -> Result<B256, Infallible> {
        Ok(B256::ZERO)
    }
}
