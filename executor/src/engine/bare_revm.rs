//! A plain loop over stock revm: the yardstick for the other engines. It uses revm's own state and
//! calls alone (`State` with its bundle, `transact_commit`, `system_call_commit`,
//! `increment_balances`, `merge_transitions`). Like every engine, it counts and times reads and
//! steps, keeps the results, and returns the net changes.

use std::sync::atomic::Ordering;

use alloy_primitives::map::AddressMap;
use evm::{GWEI, StepError, TxResult, env, net_changes, system};
use revm::{
    Context, Database, ExecuteCommitEvm, ExecuteEvm, MainBuilder, MainContext, SystemCallCommitEvm,
    SystemCallEvm,
    context::ContextTr,
    database::{State, states::bundle_state::BundleRetention},
    database_interface::{DatabaseCommitExt, bal::EvmDatabaseError},
    handler::{MainnetContext, MainnetEvm},
};
use workload::{Block, BlockAccessIndex, StepKind, Steps, Withdrawal, Workload};

use super::{
    database::StoreDatabase,
    error::{EngineError, ViewError},
    executed::Executed,
    in_order::BatchRun,
    laps::Laps,
    task::Task,
};
use crate::root::WrittenKeys;

/// Runs the batch at `batch_index`, for `Alone`.
pub(super) fn run(
    database: &mut StoreDatabase<'_>,
    task: &Task<'_>,
    batch_index: usize,
    executed: &mut Executed,
) -> Result<BatchRun, EngineError> {
    let (workload, batch) = (task.workload, &task.workload.batches[batch_index]);
    let state = State::builder().with_database(database).with_bundle_update().build();
    let cfg = env::cfg_env(workload.rules.first.fork, workload.chain_id);
    let mut evm = Context::mainnet().with_db(state).with_cfg(cfg).build_mainnet();
    let mut laps = Laps::start(batch_index, executed);
    for (index, step) in Steps::of(batch).iter() {
        if task.cancel.load(Ordering::Relaxed) {
            return Err(EngineError::Cancelled);
        }
        let block = &batch.blocks[step.block];
        let input = StepInput { workload, block, written: task.root.written };
        let result = run_step(&mut evm, &input, step.kind)
            .map_err(|error| failed(batch_index, index, error))?;
        laps.next(index, step, result, evm.ctx.db_mut().database.recorder());
    }
    let mut result = laps.finish();
    result.net_changes = net_changes(&evm.ctx.db_mut().take_bundle());
    Ok(BatchRun::without_list(result))
}

/// The workload and the block of a step, and the destination of the keys that it writes.
#[derive(Clone, Copy)]
struct StepInput<'a> {
    workload: &'a Workload,
    block: &'a Block,
    /// Takes the keys that steps write, if a root needs them. In that case `transact` and `commit`
    /// are called in place of `transact_commit`, which does not return the written keys.
    written: Option<&'a WrittenKeys>,
}

/// Stock revm over its own state.
type Evm<D> = MainnetEvm<MainnetContext<State<D>>>;

/// An error of stock revm over its own state.
type Failure<D> = StepError<EvmDatabaseError<<D as Database>::Error>>;

fn run_step<D: Database>(
    evm: &mut Evm<D>,
    input: &StepInput<'_>,
    kind: StepKind,
) -> Result<Option<TxResult>, Failure<D>> {
    let StepInput { workload, block, written } = *input;
    let rules = workload.rules_of(block);
    match kind {
        StepKind::BeforeTransactions => {
            env::set_block(evm, &block.env, rules);
            system_calls(evm, system::before_transactions(rules.fork, &block.env), written)?;
            Ok(None)
        }
        StepKind::Transaction(tx_index) => {
            let tx = env::tx_env(&block.transactions[tx_index], workload.chain_id);
            let Some(written) = written else { return Ok(Some(evm.transact_commit(tx)?.into())) };
            let ran = evm.transact(tx)?;
            written.add(&ran.state);
            evm.commit(ran.state);
            Ok(Some(ran.result.into()))
        }
        StepKind::AfterTransactions => {
            let paid = amounts(&block.withdrawals);
            if let Some(written) = written {
                written.add_accounts(paid.keys().copied());
            }
            evm.ctx.db_mut().increment_balances(paid).map_err(StepError::Database)?;
            system_calls(evm, system::after_transactions(rules.fork), written)?;
            // Each block's changes are merged into the bundle at its end, as in a client.
            evm.ctx.db_mut().merge_transitions(BundleRetention::PlainState);
            Ok(None)
        }
    }
}

fn system_calls<D: Database>(
    evm: &mut Evm<D>,
    calls: impl IntoIterator<Item = system::SystemCall>,
    written: Option<&WrittenKeys>,
) -> Result<(), Failure<D>> {
    for call in calls {
        let (contract, input) = (call.contract, call.input.clone());
        let result = match written {
            None => evm.system_call_commit(contract, input)?,
            Some(written) => {
                let ran = evm.system_call(contract, input)?;
                written.add(&ran.state);
                evm.commit(ran.state);
                ran.result
            }
        };
        if !result.is_success() && call.must_succeed() {
            let reason = format!("{result:?}");
            return Err(StepError::SystemCall { contract, reason });
        }
    }
    Ok(())
}

/// Returns the wei that withdrawals add to each account. An account with several withdrawals gets
/// one sum, because `increment_balances` reads all accounts before it writes any.
fn amounts(withdrawals: &[Withdrawal]) -> AddressMap<u128> {
    let mut amounts = AddressMap::<u128>::default();
    for Withdrawal { address, amount_gwei } in withdrawals {
        *amounts.entry(*address).or_default() += u128::from(*amount_gwei) * u128::from(GWEI);
    }
    amounts
}

fn failed(
    batch: usize,
    index: BlockAccessIndex,
    error: StepError<EvmDatabaseError<ViewError>>,
) -> EngineError {
    match error {
        StepError::Database(EvmDatabaseError::Database(error)) => {
            EngineError::of_read(batch, index, error)
        }
        other => EngineError::Step { batch, index, reason: other.to_string() },
    }
}
