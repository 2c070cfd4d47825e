//! Checks the lists of a workload and signs its transactions, outside any clock.

use std::num::NonZeroUsize;

use executor::{
    engine::EngineError,
    recover::{self, RecoverError},
};
use spec::RunSpec;
use variant::Variant;
use workload::{Workload, signing::TxSignatures};

use crate::{
    run::session::Session,
    terminal::{Code, Failure, Progress, WithExitCode, interrupt},
};

/// Rebuilds and compares the lists, outside any clock, on behalf of engines that take no list. A
/// run without such an engine skips this, since the other engines check their lists themselves.
///
/// # Errors
/// A list differs from the rebuilt list.
pub fn check_lists(session: &Session, run: &RunSpec, progress: &Progress) -> Result<(), Failure> {
    let one = NonZeroUsize::MIN;
    if run.designs.iter().all(|design| Variant::of(*design, one, one).list.is_some()) {
        return Ok(());
    }
    let stage = progress.stage("making the list again in order", 0);
    let paused = progress.pause();
    let first_store = 0;
    let checked = session.check_lists(first_store, interrupt::flag());
    drop(paused);
    stage.finish();
    match checked {
        Ok(None) => Ok(()),
        Ok(Some(difference)) => Err(difference).with_exit_code(Code::Disagree),
        Err(error @ EngineError::Cancelled) => Err(error).with_exit_code(Code::Interrupted),
        Err(error @ EngineError::Store(_)) => Err(error).with_exit_code(Code::Io),
        Err(error) => Err(error).with_exit_code(Code::Disagree),
    }
}

/// Signs all transactions, outside any clock, if their senders are to be recovered.
///
/// # Errors
/// The user interrupted, or a sender has no known key.
pub fn sign(
    workload: &Workload,
    run: &RunSpec,
    core_count: NonZeroUsize,
    progress: &Progress,
) -> Result<Option<Vec<TxSignatures>>, Failure> {
    if !run.recover_senders {
        return Ok(None);
    }
    let stage = progress.stage("signing the transactions", 0);
    let signed = recover::sign(workload, core_count.get(), interrupt::flag());
    stage.finish();
    let code = match &signed {
        Err(RecoverError::Cancelled) => Code::Interrupted,
        Err(RecoverError::Thread(_)) => Code::Io,
        _ => Code::Usage,
    };
    signed.map(Some).with_exit_code(code)
}
