//! The outcome of a run, for the verbs that run: its result, its files, and the exit code.

use std::path::PathBuf;

use result::RunResult;

use crate::{
    figures::claims,
    terminal::{Code, Failure, UndecidedCodes, exit::fail},
};

/// A run that has ended.
#[derive(Debug)]
pub struct Finished {
    pub result: RunResult,
    /// The files of `--out`, `--trace` and `--profile`.
    pub written: Vec<PathBuf>,
    /// Cause of an early end.
    pub failure: Option<Failure>,
}

impl Finished {
    /// Returns the exit code of the program.
    ///
    /// # Errors
    /// The cause of an early end of the run.
    pub fn code(self, open: UndecidedCodes) -> Result<Code, Failure> {
        let Self { result, failure, .. } = self;
        match (result.agree, failure, result.interrupted) {
            (Some(false), None, _) => Ok(Code::Disagree),
            (Some(false), Some(failure), _) => Err(Failure { code: Code::Disagree, ..failure }),
            (_, Some(failure), _) => Err(failure),
            (_, None, true) => Ok(Code::Interrupted),
            // The run is complete, and all designs agree.
            (Some(true), None, false) => Ok(claims::exit_code(&result.expects.claims, open)),
            (None, None, false) => fail!(Code::Io, "the run ended without a sample"),
        }
    }
}
