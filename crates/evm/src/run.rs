//! Runs one step of a batch on stock revm over any database: [`Runner`], for the reference, the
//! engines and imports.

use std::fmt;

use alloy_primitives::{Address, Bytes, Log, U256};
use revm::{
    Context, Database, ExecuteEvm, MainBuilder, MainContext, SystemCallEvm,
    context::{
        ContextSetters, ContextTr, JournalTr,
        result::{EVMError, ExecutionResult},
    },
    handler::{Handler, MainnetContext, MainnetEvm},
    state::EvmState,
};
use workload::{
    Block, Fork, ForkSchedule, StepKind, TxOutcome, TxStatus, Withdrawal, Workload,
    block::Transaction,
};

use crate::{
    env::{self, EarlyRules},
    fees::{FeeApart, Fees},
    system,
};

/// Number of wei in a gwei.
pub const GWEI: u64 = 1_000_000_000;

/// Reason that a step fails: it cannot be part of a valid block, or its state could not be read.
#[derive(Debug, thiserror::Error)]
pub enum StepError<E> {
    /// The database failed, or refused the read.
    #[error("{0}")]
    Database(E),
    /// The transaction is invalid where it stands in the block, by its nonce, balance or gas limit.
    #[error("invalid transaction: {0}")]
    Invalid(String),
    /// A system call failed that must succeed (EIP-7002, EIP-7251, EIP-8282).
    #[error("system call to {contract} failed: {reason}")]
    SystemCall {
        /// The contract that was called.
        contract: Address,
        /// The result of the call, or that the contract has no code.
        reason: String,
    },
}

impl<E: fmt::Debug> From<EVMError<E>> for StepError<E> {
    fn from(error: EVMError<E>) -> Self {
        match error {
            EVMError::Database(error) => Self::Database(error),
            EVMError::Transaction(reason) => Self::Invalid(reason.to_string()),
            EVMError::Header(reason) => Self::Invalid(reason.to_string()),
            other => Self::Invalid(format!("{other:?}")),
        }
    }
}

/// Gas of one transaction in its three senses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxGas {
    /// Gas in the receipt, after refunds: the sender pays for it.
    pub receipt_gas: u64,
    /// Execution gas that counts against the block (EIP-7778: before refunds).
    pub block_regular_gas: u64,
    /// State gas that counts against the block (EIP-8037).
    pub block_state_gas: u64,
}

impl TxGas {
    /// Execution gas and state gas together: the receipt's gas before refunds.
    pub const fn burnt_gas(&self) -> u64 {
        self.block_regular_gas + self.block_state_gas
    }
}

/// Result of a transaction: the content of its receipt, and its return data. [`Self::outcome`]
/// makes digests of them, for the comparison with the reference. A client needs no such digests, so
/// callers make them outside of the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TxResult {
    /// Status of the transaction.
    pub status: TxStatus,
    /// Gas of the transaction in its three senses.
    pub gas: TxGas,
    /// Logs in the receipt; none if the transaction failed.
    pub logs: Vec<Log>,
    /// Return data.
    pub output: Bytes,
}

impl TxResult {
    /// Computes the digests for the comparison with the reference.
    pub fn outcome(&self) -> TxOutcome {
        TxOutcome::new(self.status, self.gas.receipt_gas, &self.logs, &self.output)
    }
}

impl From<ExecutionResult> for TxResult {
    fn from(result: ExecutionResult) -> Self {
        let status = match &result {
            ExecutionResult::Success { .. } => TxStatus::Success,
            ExecutionResult::Revert { .. } => TxStatus::Revert,
            ExecutionResult::Halt { .. } => TxStatus::Halt,
        };
        let gas = TxGas {
            receipt_gas: result.tx_gas_used(),
            block_regular_gas: result.gas().block_regular_gas_used(),
            block_state_gas: result.gas().block_state_gas_used(),
        };
        let output = result.output().cloned().unwrap_or_default();
        // Logs of a transaction that failed are not in its receipt.
        let logs = if result.is_success() { result.into_logs() } else { Vec::new() };
        Self { status, gas, logs, output }
    }
}

/// The result of a step, apart from its state changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepOutput {
    /// The transaction's result; `None` for system steps.
    pub result: Option<TxResult>,
    /// Fee in wei that the transaction owes the block's beneficiary, if it is kept apart
    /// ([`Fees::Apart`]).
    pub fee_apart: U256,
}

impl StepOutput {
    /// Gas in the transaction's receipt; `None` for system steps.
    pub fn receipt_gas(&self) -> Option<u64> {
        self.result.as_ref().map(|result| result.gas.receipt_gas)
    }
}

/// An EVM that runs steps, one at a time, over a database that it owns.
pub struct Runner<DB: Database> {
    evm: MainnetEvm<MainnetContext<DB>>,
    rules: ForkSchedule,
    chain_id: u64,
    fees: Fees,
    requests: Vec<Bytes>,
    /// Index of the current block in its batch, as [`Self::switch_to`] has set it.
    block_index: Option<usize>,
}

impl<DB: Database> fmt::Debug for Runner<DB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl<DB: Database> Runner<DB> {
    /// Makes a runner under the rules of `workload`.
    pub fn new(workload: &Workload, db: DB) -> Self {
        let cfg = env::cfg_env(workload.rules.first.fork, workload.chain_id);
        let evm = Context::mainnet().with_db(db).with_cfg(cfg).build_mainnet();
        Self {
            evm,
            rules: workload.rules.clone(),
            chain_id: workload.chain_id,
            fees: Fees::Paid,
            requests: Vec::new(),
            block_index: None,
        }
    }

    /// Returns this runner with fees handled as `fees` says.
    #[must_use]
    pub fn with_fees(self, fees: Fees) -> Self {
        Self { fees, ..self }
    }

    /// Requests that the system calls of the current block returned: type ‖ data, ordered by type
    /// (EIP-7685). A call that returned nothing has no request. Deposits are not included.
    pub fn requests(&self) -> &[Bytes] {
        &self.requests
    }

    /// The database.
    pub fn db(&mut self) -> &mut DB {
        self.evm.ctx.db_mut()
    }

    /// Returns the database.
    pub fn into_db(self) -> DB {
        self.evm.ctx.journaled_state.database
    }

    /// Makes `block` the current block, whose steps are run next.
    pub fn set_block(&mut self, block: &Block) {
        env::set_block(&mut self.evm, &block.env, self.rules.at(block.env.timestamp));
        self.requests.clear();
        self.block_index = None;
    }

    /// Makes the block at `index` the current block, unless it is that already. Returns the block.
    /// All calls must have the same `blocks`.
    pub fn switch_to<'b>(&mut self, blocks: &'b [Block], index: usize) -> &'b Block {
        let block = &blocks[index];
        if self.block_index != Some(index) {
            self.set_block(block);
            self.block_index = Some(index);
        }
        block
    }

    /// Makes `block` the current block, under rules from before the Merge. Such a block has only
    /// steps of transactions; [`Self::pay`] pays its rewards.
    pub fn set_early_block(&mut self, block: &Block, rules: EarlyRules) {
        env::set_early_block(&mut self.evm, &block.env, rules);
        self.block_index = None;
    }

    fn fork_of(&self, block: &Block) -> Fork {
        self.rules.at(block.env.timestamp).fork
    }

    /// Runs one step of `block`, the current block. Passes the database and the state changes to
    /// `sink`, once for each part of the step: a transaction, a system call, or all withdrawals.
    ///
    /// # Errors
    /// [`StepError`]: the block is invalid, or its state cannot be read. The runner drops the keys
    /// that the step has read, and can run another step.
    pub fn run(
        &mut self,
        block: &Block,
        kind: StepKind,
        mut sink: impl FnMut(&mut DB, EvmState),
    ) -> Result<StepOutput, StepError<DB::Error>> {
        let output = self.run_kind(block, kind, &mut sink);
        if output.is_err() {
            // revm keeps the accounts that a failed transaction loaded.
            self.evm.finalize();
        }
        output
    }

    fn run_kind(
        &mut self,
        block: &Block,
        kind: StepKind,
        sink: &mut impl FnMut(&mut DB, EvmState),
    ) -> Result<StepOutput, StepError<DB::Error>> {
        match kind {
            StepKind::BeforeTransactions => {
                for call in system::before_transactions(self.fork_of(block), &block.env) {
                    self.system_call(&call, sink)?;
                }
                Ok(StepOutput::default())
            }
            StepKind::Transaction(tx_index) => {
                self.transaction(&block.transactions[tx_index], sink)
            }
            StepKind::AfterTransactions => {
                self.withdrawals(&block.withdrawals, sink)?;
                for call in system::after_transactions(self.fork_of(block)) {
                    let data = self.system_call(&call, sink)?;
                    if let Some(request_type) = call.request_type.filter(|_| !data.is_empty()) {
                        self.requests.push([&[request_type][..], &data].concat().into());
                    }
                }
                Ok(StepOutput::default())
            }
        }
    }

    fn transaction(
        &mut self,
        tx: &Transaction,
        sink: &mut impl FnMut(&mut DB, EvmState),
    ) -> Result<StepOutput, StepError<DB::Error>> {
        let tx = env::tx_env(tx, self.chain_id);
        let (result, fee_apart) = match self.fees {
            Fees::Paid => (self.evm.transact_one(tx).map_err(StepError::from)?, U256::ZERO),
            Fees::Apart => {
                let mut handler = FeeApart::new();
                self.evm.ctx.set_tx(tx);
                let result = handler.run(&mut self.evm).map_err(StepError::from)?;
                (result, handler.fee())
            }
        };
        let state = self.evm.finalize();
        sink(self.evm.ctx.db_mut(), state);
        Ok(StepOutput { result: Some(result.into()), fee_apart })
    }

    fn system_call(
        &mut self,
        call: &system::SystemCall,
        sink: &mut impl FnMut(&mut DB, EvmState),
    ) -> Result<Bytes, StepError<DB::Error>> {
        let result =
            self.evm.system_call_one(call.contract, call.input.clone()).map_err(StepError::from)?;
        let state = self.evm.finalize();
        let contract = call.contract;
        if call.must_succeed() {
            // The block is invalid if the contract has no code (EIP-7002, EIP-7251). A developers'
            // chain may lack the contract in its genesis; an import of its files checks that. So
            // the code is checked here only on chains with a fork after the genesis.
            let is_without_code = !self.rules.changes.is_empty()
                && state.get(&contract).is_none_or(|to| to.info.is_empty_code_hash());
            let failed = |reason| Err(StepError::SystemCall { contract, reason });
            if is_without_code {
                return failed("the system contract has no code".to_owned());
            }
            if !result.is_success() {
                return failed(format!("{result:?}"));
            }
        }
        sink(self.evm.ctx.db_mut(), state);
        Ok(result.into_output().unwrap_or_default())
    }

    fn withdrawals(
        &mut self,
        withdrawals: &[Withdrawal],
        sink: &mut impl FnMut(&mut DB, EvmState),
    ) -> Result<(), StepError<DB::Error>> {
        let payments = withdrawals.iter().map(|withdrawal| {
            (withdrawal.address, U256::from(withdrawal.amount_gwei) * U256::from(GWEI))
        });
        self.pay(payments, sink)
    }

    /// Adds each amount of wei to the balance of its account, as withdrawals and block rewards do.
    ///
    /// # Errors
    /// [`StepError::Database`].
    pub fn pay(
        &mut self,
        payments: impl IntoIterator<Item = (Address, U256)>,
        mut sink: impl FnMut(&mut DB, EvmState),
    ) -> Result<(), StepError<DB::Error>> {
        for (address, wei) in payments {
            let journal = self.evm.ctx.journal_mut();
            journal.balance_incr(address, wei).map_err(StepError::Database)?;
        }
        let state = self.evm.finalize();
        if !state.is_empty() {
            sink(self.evm.ctx.db_mut(), state);
        }
        Ok(())
    }
}
