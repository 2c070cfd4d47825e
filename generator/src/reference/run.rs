//! Runs the reference: the batches of a workload in order, on stock revm, one step after another.
//! The generator, the import, the export and the description of workloads call this.

use std::{cell::Cell, ops::ControlFlow};

use alloy_primitives::{Address, Bytes, Log};
use evm::{
    BlockGas, DepositFault, Parts, Runner, StepOutput, TxGas, creations, deposit_request,
    net_changes,
};
use revm::{
    DatabaseCommit,
    database::{State, states::bundle_state::BundleRetention},
    state::{EvmState, bal::alloy::AlloyBal},
};
use workload::{
    Batch, Block, BlockAccessIndex, BlockFault, Fork, ForkSchedule, ListBounds, NetChanges,
    StepKind, Steps, TxOutcome, Workload,
    block::{BatchOutcome, ListSizes},
    list,
};

use super::{
    error::ReferenceError,
    planned::{PlanError, PlannedState},
};

/// The return value of a callback after a transaction: it decides whether the run goes on. A
/// callback that never stops the run returns `()`; others return a [`ControlFlow`].
pub trait StopAnswer {
    /// Whether to go on.
    fn flow(self) -> ControlFlow<()>;
}

impl StopAnswer for () {
    fn flow(self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl StopAnswer for ControlFlow<()> {
    fn flow(self) -> ControlFlow<()> {
        self
    }
}

/// The outcome of one batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchReference {
    /// The batch's block-level access list, RLP (EIP-7928).
    pub list: Bytes,
    /// The same list in its `full` form, with the values before the batch.
    pub full_list: Bytes,
    /// Encoded length of the list in each form.
    pub list_sizes: ListSizes,
    /// The outcome of every correct execution.
    pub expected: BatchOutcome,
    /// The net changes whose digest is in `expected`.
    pub changes: NetChanges,
    /// Gas of each block.
    pub gas: Vec<BlockGas>,
    /// Gas of each transaction, through all blocks.
    pub tx_gas: Vec<TxGas>,
    /// Requests to the consensus layer of each block: type ‖ data (EIP-7685).
    pub requests: Vec<Vec<Bytes>>,
    /// Number of accounts and slots in the list.
    pub item_count: u64,
}

impl BatchReference {
    /// Refuses a list with more accounts and slots than the gas limits of `batch` allow (EIP-7928).
    /// `index` is the batch's, for the error.
    ///
    /// # Errors
    /// [`ReferenceError::ListItems`].
    pub(crate) fn check_item_count(
        &self,
        index: usize,
        batch: &Batch,
        rules: &ForkSchedule,
    ) -> Result<(), ReferenceError> {
        let bounds = ListBounds::new(batch, rules);
        let (item_count, max_count) = (self.item_count, bounds.max_item_count());
        if item_count <= max_count {
            return Ok(());
        }
        let gas_limit = bounds.gas_limit;
        Err(ReferenceError::ListItems { batch: index, item_count, gas_limit, max_count })
    }
}

/// A transaction that has just run, for callers that need more than its outcome.
#[derive(Clone, Copy, Debug)]
pub struct ExecutedTx<'a> {
    /// The transaction's block in the batch, 0-based.
    pub block: usize,
    /// Its outcome.
    pub outcome: TxOutcome,
    /// Its logs.
    pub logs: &'a [Log],
}

/// Runs the batches of a workload in order, one per call. Each batch begins where the batch before
/// it ended. Reads the work (genesis, plan, blocks), and nothing of the expected outcome.
#[derive(Debug)]
pub struct ReferenceRun<'w> {
    workload: &'w Workload,
    state: PlannedState<'w>,
    next: usize,
}

impl<'w> ReferenceRun<'w> {
    /// A run that begins at the genesis.
    ///
    /// # Errors
    /// [`ReferenceError::Inconsistent`] when a code of the genesis is invalid.
    pub fn new(workload: &'w Workload) -> Result<Self, ReferenceError> {
        Ok(Self { workload, state: PlannedState::new(workload)?, next: 0 })
    }

    /// Runs the next batch; `None` when all have been run. `on_tx` is called after each
    /// transaction and may stop the run.
    ///
    /// # Errors
    /// [`ReferenceError`]; the run cannot go on after it.
    pub fn next_batch<A: StopAnswer>(
        &mut self,
        mut on_tx: impl FnMut() -> A,
    ) -> Option<Result<BatchReference, ReferenceError>> {
        self.next_batch_with_txs(|_| on_tx())
    }

    /// Runs the next batch, as [`Self::next_batch`] does. `on_tx` gets each transaction.
    ///
    /// # Errors
    /// [`ReferenceError`]; the run cannot go on after it.
    pub fn next_batch_with_txs<A: StopAnswer>(
        &mut self,
        mut on_tx: impl FnMut(ExecutedTx<'_>) -> A,
    ) -> Option<Result<BatchReference, ReferenceError>> {
        self.run_next(&mut |ran| on_tx(ran).flow(), &mut |_, _| {})
    }

    /// Runs the next batch, as [`Self::next_batch_with_txs`] does. Before `on_tx`, `on_state` gets
    /// the transaction's block in the batch, and all keys that it touched, with their values before
    /// and after it.
    ///
    /// # Errors
    /// [`ReferenceError`]; the run cannot go on after it.
    pub(crate) fn next_batch_with_states<A: StopAnswer>(
        &mut self,
        mut on_tx: impl FnMut(ExecutedTx<'_>) -> A,
        mut on_state: impl FnMut(usize, &EvmState),
    ) -> Option<Result<BatchReference, ReferenceError>> {
        self.run_next(&mut |ran| on_tx(ran).flow(), &mut on_state)
    }

    fn run_next(
        &mut self,
        on_tx: &mut dyn FnMut(ExecutedTx<'_>) -> ControlFlow<()>,
        on_state: &mut dyn FnMut(usize, &EvmState),
    ) -> Option<Result<BatchReference, ReferenceError>> {
        let callbacks = &mut Callbacks { on_tx, on_state };
        let batch = self.workload.batches.get(self.next)?;
        let planned = self.state.plan(batch).map_err(plan_error(self.next));
        let state = &mut self.state;
        let made =
            planned.and_then(|()| run_planned(self.workload, self.next, batch, state, callbacks));
        self.next = if made.is_ok() { self.next + 1 } else { usize::MAX };
        Some(made)
    }
}

/// Makes errors of a plan into errors of the batch with this index.
pub(super) fn plan_error(batch: usize) -> impl Fn(PlanError) -> ReferenceError {
    move |source| ReferenceError::Plan { batch, source }
}

/// Runs `batch`, at `batch_index` in `workload`. Only keys in the plan of `state` may be read.
/// `state` is the state before the batch, and is left as the state after it.
pub(super) fn run_planned(
    workload: &Workload,
    batch_index: usize,
    batch: &Batch,
    state: &mut PlannedState<'_>,
    callbacks: &mut Callbacks<'_>,
) -> Result<BatchReference, ReferenceError> {
    let db = State::builder().with_database(state).with_bal_builder().with_bundle_update().build();
    let mut runner = Runner::new(workload, db);
    let mut out = BatchReference::default();
    let mut deposits = Vec::new();
    for (index, step) in Steps::of(batch).iter() {
        let block = &batch.blocks[step.block];
        let rules = workload.rules_of(block);
        let at = StepPosition { batch: batch_index, block: step.block, kind: step.kind, index };
        match step.kind {
            StepKind::BeforeTransactions => {
                block.check(rules).map_err(|source| at.rule(source))?;
                runner.set_block(block);
                out.gas.push(BlockGas::default());
            }
            StepKind::Transaction(tx_index) => {
                let used = out.gas[step.block];
                admit(&at, tx_index, block, used, rules.fork)?;
            }
            StepKind::AfterTransactions => {}
        }
        let output = run_step(&mut runner, workload, block, &at, callbacks.on_state)?;
        if let Some(result) = &output.result {
            let outcome = result.outcome();
            out.expected.transactions.push(outcome);
            out.gas[step.block].add(&result.gas);
            out.tx_gas.push(result.gas);
            if rules.fork.is_from(Fork::Prague) {
                let deposit = deposit_request(&result.logs, rules.deposit_contract);
                deposits.extend(deposit.map_err(|source| at.deposit(source))?);
            }
            let ran = ExecutedTx { block: step.block, outcome, logs: &result.logs };
            if (callbacks.on_tx)(ran).is_break() {
                return Err(ReferenceError::Cancelled);
            }
        }
        if step.kind == StepKind::AfterTransactions {
            let joined = joined_deposits(&mut deposits).into_iter();
            out.requests.push(joined.chain(runner.requests().iter().cloned()).collect());
        }
        runner.db().bump_bal_index();
    }
    let mut db = runner.into_db();
    let list = db.take_built_alloy_bal().unwrap_or_default();
    db.merge_transitions(BundleRetention::PlainState);
    out.changes = net_changes(&db.take_bundle());
    let state = db.database;
    out.full_list = full_list(&list, state).map_err(plan_error(batch_index))?;
    out.list = list::encode(&list);
    let items = list.iter().map(|account| 1 + account.storage_slots().count() as u64);
    out.item_count = items.sum();
    out.list_sizes = ListSizes {
        parallel_io_bytes: list::encode(&list::parallel_io_form(&list)).len() as u64,
        batched_io_bytes: out.list.len() as u64,
        full_bytes: out.full_list.len() as u64,
    };
    let blocks = batch.blocks.iter().zip(&out.gas);
    let header_gas = blocks.map(|(block, gas)| gas.header_gas(workload.rules_of(block).fork));
    out.expected.header_gas = header_gas.collect();
    out.expected.net_changes = out.changes.digest();
    state.commit(&out.changes).map_err(plan_error(batch_index))?;
    Ok(out)
}

/// The `full` form of a list; `state` is the state before the batch.
fn full_list(list: &AlloyBal, state: &PlannedState<'_>) -> Result<Bytes, PlanError> {
    // The encoder takes functions that cannot fail, so the last error is kept here.
    let failed = Cell::new(None);
    let full = list::full_encode(
        list,
        |address| {
            let account = state.account(address);
            account.map_err(|error| failed.set(Some(error))).unwrap_or_default()
        },
        |address, key| {
            let value = state.slot(*address, *key);
            value.map_err(|error| failed.set(Some(error))).unwrap_or_default()
        },
    );
    failed.into_inner().map_or(Ok(full), Err)
}

/// The callbacks of a batch's run.
pub(super) struct Callbacks<'a> {
    pub(super) on_tx: &'a mut dyn FnMut(ExecutedTx<'_>) -> ControlFlow<()>,
    /// Called with a transaction's block in its batch, and the keys that it touched.
    pub(super) on_state: &'a mut dyn FnMut(usize, &EvmState),
}

/// Joins the deposit requests of a block's transactions into one request, and empties `requests`.
/// The first byte of each request is its type.
fn joined_deposits(requests: &mut Vec<Bytes>) -> Option<Bytes> {
    let (first, rest) = requests.split_first()?;
    let rest = rest.iter().flat_map(|request| &request[1..]);
    let all = first.iter().chain(rest).copied().collect();
    requests.clear();
    Some(all)
}

/// Position of a step in a workload, for errors.
struct StepPosition {
    batch: usize,
    block: usize,
    kind: StepKind,
    index: BlockAccessIndex,
}

impl StepPosition {
    const fn rule(&self, source: BlockFault) -> ReferenceError {
        let Self { batch, block, .. } = *self;
        ReferenceError::Rule { batch, block, source }
    }

    const fn deposit(&self, source: DepositFault) -> ReferenceError {
        let Self { batch, block, kind, .. } = *self;
        ReferenceError::Deposit { batch, block, kind, source }
    }
}

/// Refuses a transaction whose gas limit is more than its block has left.
fn admit(
    at: &StepPosition,
    tx_index: usize,
    block: &Block,
    used: BlockGas,
    fork: Fork,
) -> Result<(), ReferenceError> {
    let (tx_gas_limit, limit) = (block.transactions[tx_index].gas_limit, block.env.gas_limit);
    if used.has_room_for(tx_gas_limit, limit, fork) {
        return Ok(());
    }
    let (batch, block_gas_limit) = (at.batch, limit);
    let block = at.block;
    Err(ReferenceError::Admission { batch, block, tx_index, tx_gas_limit, block_gas_limit, used })
}

/// Runs a step and commits its changes. Refuses a transaction whose effect on storage has no single
/// meaning: a creation on storage, or a removal of storage.
fn run_step(
    runner: &mut Runner<State<&mut PlannedState<'_>>>,
    workload: &Workload,
    block: &Block,
    at: &StepPosition,
    on_state: &mut dyn FnMut(usize, &EvmState),
) -> Result<StepOutput, ReferenceError> {
    let mut parts = Parts::default();
    let mut storage_fault = None;
    let commit = |db: &mut State<&mut PlannedState<'_>>, mut changes: EvmState| {
        parts.join(&mut changes);
        if let StepKind::Transaction(tx_index) = at.kind {
            on_state(at.block, &changes);
            if changes.keys().any(|address| db.database.has_storage_only(address)) {
                let mut created = creations(workload, block, tx_index, &mut *db).into_iter();
                let on_storage = created.find(|address| db.database.has_storage_only(address));
                storage_fault = on_storage.map(|address| ReferenceError::CreationOnStorage {
                    batch: at.batch,
                    block: at.block,
                    tx_index,
                    address,
                });
            }
            if !workload.rules_of(block).fork.is_from(Fork::Cancun)
                && let Some(address) = removed_with_storage(db, &changes)
            {
                storage_fault = Some(ReferenceError::StorageRemoved {
                    batch: at.batch,
                    block: at.block,
                    tx_index,
                    address,
                });
            }
        }
        db.commit(changes);
    };
    let output = runner.run(block, at.kind, commit).map_err(|source| {
        let source = Box::new(source);
        let StepPosition { batch, block, kind, index } = *at;
        ReferenceError::Step { batch, block, kind, index, source }
    })?;
    storage_fault.map_or(Ok(output), Err)
}

/// A contract that `changes` remove and that had a slot, before the batch or within it.
fn removed_with_storage(db: &State<&mut PlannedState<'_>>, changes: &EvmState) -> Option<Address> {
    let mut removed = changes.iter().filter(|(_, account)| account.is_selfdestructed());
    let with_storage = removed.find(|(address, _)| {
        let cached = db.cache.accounts.get(*address).and_then(|cached| cached.account.as_ref());
        let is_written =
            cached.is_some_and(|account| account.storage.values().any(|v| !v.is_zero()));
        is_written || db.database.has_slots(address)
    });
    with_storage.map(|(address, _)| *address)
}

/// Fills in the expected outcome of every batch: list, list sizes, outcomes. Returns the gas of
/// each transaction through all blocks. `on_tx` is called after each transaction and may stop the
/// run.
///
/// # Errors
/// [`ReferenceError`]; the workload is then as before.
pub fn complete<A: StopAnswer>(
    workload: &mut Workload,
    on_tx: impl FnMut() -> A,
) -> Result<Vec<TxGas>, ReferenceError> {
    let made = run_each(workload, on_tx, |made| {
        ((made.list, made.list_sizes, made.expected), made.tx_gas)
    })?;
    let mut gas = Vec::new();
    for (batch, (outcome, tx_gas)) in workload.batches.iter_mut().zip(made) {
        (batch.list, batch.list_sizes, batch.expected) = outcome;
        gas.extend(tx_gas);
    }
    Ok(gas)
}

/// Runs all batches. `on_tx` is called after each transaction and may stop the run.
///
/// # Errors
/// [`ReferenceError`].
pub fn run<A: StopAnswer>(
    workload: &Workload,
    on_tx: impl FnMut() -> A,
) -> Result<Vec<BatchReference>, ReferenceError> {
    run_each(workload, on_tx, |made| made)
}

/// Returns the list of every batch in its `full` form. A workload does not carry the values, so the
/// reference runs the workload once more over the planned keys. So the values do not come from a
/// store under test. `on_tx` is called after each transaction and may stop the run.
///
/// # Errors
/// [`ReferenceError`].
pub fn full_lists<A: StopAnswer>(
    workload: &Workload,
    on_tx: impl FnMut() -> A,
) -> Result<Vec<Bytes>, ReferenceError> {
    run_each(workload, on_tx, |made| made.full_list)
}

/// Runs all batches, and returns the `part` of each outcome.
fn run_each<T, A: StopAnswer>(
    workload: &Workload,
    mut on_tx: impl FnMut() -> A,
    part: fn(BatchReference) -> T,
) -> Result<Vec<T>, ReferenceError> {
    let mut run = ReferenceRun::new(workload)?;
    let mut out = Vec::with_capacity(workload.batches.len());
    while let Some(batch) = run.next_batch(&mut on_tx) {
        out.push(part(batch?));
    }
    Ok(out)
}
