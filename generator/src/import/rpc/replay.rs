//! Runs imported blocks over the state that is known below them. An unknown value is asked for
//! when it is read, so that afterwards the state holds all that the blocks touch. Each transaction
//! is compared with the tracer's changes.

use revm::{DatabaseCommit, database::State, database_interface::bal::EvmDatabaseError};
use workload::{Block, GenesisAccount, StepKind, Steps, Workload};

use evm::{Runner, StepError};

use super::{
    super::{ImportError, Source},
    below::{Below, ReadFailed},
    trace::{Difference, TxTrace},
};

/// The accounts that the blocks of `workload` touch, as they are below the first. `traces` are
/// those of the transactions of each block; none where there was no tracer.
///
/// # Errors A key cannot be read; a transaction that cannot be run; [`ImportError::Differs`] at the
/// first transaction that changes something else than its trace.
pub(super) fn accounts(
    below: Below<'_>,
    workload: &Workload,
    traces: &[Vec<TxTrace>],
) -> Result<Vec<GenesisAccount>, ImportError> {
    let db = State::builder().with_database(below).build();
    let mut runner = Runner::new(workload, db);
    for (index, batch) in workload.batches.iter().enumerate() {
        for (_, step) in Steps::of(batch).iter() {
            let block = &batch.blocks[step.block];
            if step.kind == StepKind::BeforeTransactions {
                runner.enter(block);
            }
            let trace = match step.kind {
                StepKind::Transaction(tx_index) => traces.get(index).map(|txs| &txs[tx_index]),
                StepKind::BeforeTransactions | StepKind::AfterTransactions => None,
            };
            let mut found = None;
            let ran = runner.run(block, step.kind, |db, changes| {
                found = trace.and_then(|trace| trace.difference(&changes));
                db.commit(changes);
            });
            ran.map_err(|error| name(block, step.kind, error))?;
            if let Some(difference) = found {
                return Err(differs(block, step.kind, difference));
            }
        }
    }
    Ok(runner.into_db().database.into_accounts())
}

fn name(
    block: &Block,
    kind: StepKind,
    error: StepError<EvmDatabaseError<ReadFailed>>,
) -> ImportError {
    match error {
        StepError::Database(EvmDatabaseError::Database(failed)) => failed.0,
        error => ImportError::step(block, kind, error.to_string()),
    }
}

fn differs(block: &Block, kind: StepKind, difference: Difference) -> ImportError {
    let Difference { what, said, made } = difference;
    let what = match kind {
        StepKind::Transaction(tx_index) => format!("{what} after transaction {tx_index}"),
        StepKind::BeforeTransactions | StepKind::AfterTransactions => what,
    };
    ImportError::Differs { source_name: Source::Node, block: block.env.number, what, said, made }
}
