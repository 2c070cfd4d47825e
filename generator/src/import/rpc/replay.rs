//! Runs the blocks of a node (`blocks.rs`) or a witness (`witness.rs`) on [`StateBefore`]. Unknown
//! values are fetched when they are read, so that afterwards the state has all values that the
//! blocks touch. Each transaction is compared with its trace, if there is one.

use std::collections::BTreeSet;

use alloy_primitives::Address;
use revm::{
    DatabaseCommit,
    database::{CacheState, State},
    database_interface::bal::EvmDatabaseError,
};
use workload::{Block, GenesisAccount, StepKind, Steps, Workload};

use evm::{Runner, StepError};

use super::{
    super::{ImportError, Source},
    state_before::{REMEDY, ReadFailed, StateBefore},
    trace::{Difference, TxTrace},
};

/// Runs the blocks of `workload` on `state`, which then has all values that they touch. `traces`
/// has the traces of each block's transactions; it is empty without a tracer.
///
/// # Errors
/// A key cannot be read, or a transaction cannot be run; [`ImportError::Differs`] at the first
/// transaction whose changes differ from its trace.
pub(super) fn run<'a>(
    state: StateBefore<'a>,
    workload: &Workload,
    traces: &[Vec<TxTrace>],
) -> Result<State<StateBefore<'a>>, ImportError> {
    let db = State::builder().with_database(state).build();
    let mut runner = Runner::new(workload, db);
    for (index, batch) in workload.batches.iter().enumerate() {
        for (_, step) in Steps::of(batch).iter() {
            let block = &batch.blocks[step.block];
            if step.kind == StepKind::BeforeTransactions {
                runner.set_block(block);
            }
            let trace = match step.kind {
                StepKind::Transaction(tx_index) => traces.get(index).map(|txs| &txs[tx_index]),
                StepKind::BeforeTransactions | StepKind::AfterTransactions => None,
            };
            let mut difference = None;
            let ran = runner.run(block, step.kind, |db, changes| {
                difference = trace.and_then(|trace| trace.difference(&changes));
                db.commit(changes);
            });
            ran.map_err(|error| step_error(block, step.kind, error))?;
            if let Some(difference) = difference {
                return Err(differs(block, step.kind, difference));
            }
        }
    }
    Ok(runner.into_db())
}

/// Returns the accounts that the blocks of `workload` touch, and the addresses of the accounts
/// whose code the source lacks. These get an empty code, and a second run proves that the outcome
/// does not depend on the code.
///
/// # Errors
/// The errors of [`run`]; [`ImportError::State`] if the outcome depends on a lacking code.
pub(super) fn touched_accounts(
    state: StateBefore<'_>,
    workload: &Workload,
) -> Result<(Vec<GenesisAccount>, BTreeSet<Address>), ImportError> {
    let State { cache, database: mut state, .. } = run(state, workload, &[])?;
    let file = state.source_name().to_owned();
    let without_code = state.empty_lacking_codes();
    let Some(first) = without_code.first() else {
        return Ok((state.into_accounts(), without_code));
    };
    match run(state, workload, &[]) {
        Ok(again) if is_same(&cache, &again.cache, &without_code) => {
            Ok((again.database.into_accounts(), without_code))
        }
        Ok(_) | Err(_) => Err(ImportError::State {
            file,
            missing: format!(
                "it lacks the codes of {} accounts, {first} the first, and the block's outcome depends on one \
                 of them (EXTCODEHASH); {REMEDY}",
                without_code.len()
            ),
        }),
    }
}

/// Whether two runs left the same state, except for the codes of the accounts `without_code`.
fn is_same(one: &CacheState, other: &CacheState, without_code: &BTreeSet<Address>) -> bool {
    let (one, other) = (&one.accounts, &other.accounts);
    one.len() == other.len()
        && one.iter().all(|(address, one)| {
            let other = other.get(address).and_then(|account| account.account.as_ref());
            match (one.account.as_ref(), other) {
                (Some(one), Some(other)) if without_code.contains(address) => {
                    (one.info.nonce, one.info.balance) == (other.info.nonce, other.info.balance)
                        && one.storage == other.storage
                }
                (one, other) => one == other,
            }
        })
}

/// Makes the error for a step of `block` that cannot be run, or whose state cannot be read.
fn step_error(
    block: &Block,
    kind: StepKind,
    error: StepError<EvmDatabaseError<ReadFailed>>,
) -> ImportError {
    match error {
        StepError::Database(EvmDatabaseError::Database(failed)) => failed.0,
        error => ImportError::step(block, kind, error.to_string()),
    }
}

/// Makes the error for a step whose changes differ from its trace.
fn differs(block: &Block, kind: StepKind, difference: Difference) -> ImportError {
    let Difference { what, said, made } = difference;
    let what = match kind {
        StepKind::Transaction(tx_index) => format!("{what} after transaction {tx_index}"),
        StepKind::BeforeTransactions | StepKind::AfterTransactions => what,
    };
    ImportError::Differs { source_name: Source::Node, block: block.env.number, what, said, made }
}
