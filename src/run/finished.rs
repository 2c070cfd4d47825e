//! A run that has ended, and how the program ends after it.

use std::path::PathBuf;

use anyhow::anyhow;

use result::{RunResult, Verdict};

use crate::{
    claims,
    exit::{Code, Failure, OrExit, Strictness},
};

/// A run that has ended.
#[derive(Debug)]
pub struct Finished {
    /// Its result.
    pub result: RunResult,
    /// The files of `--out`, `--trace` and `--profile`.
    pub written: Vec<PathBuf>,
    /// Cause of its early end.
    pub failure: Option<Failure>,
}

impl Finished {
    /// How the program ends after it.
    ///
    /// # Errors
    /// Cause of an early end of the run.
    pub fn code(self, strictness: Strictness) -> Result<Code, Failure> {
        let Self { result, failure, .. } = self;
        match (result.agree, failure, result.interrupted) {
            (Some(false), None, _) => Ok(Code::Disagree),
            (Some(false), Some(failure), _) => Err(Failure { code: Code::Disagree, ..failure }),
            (_, Some(failure), _) => Err(failure),
            (_, None, true) => Ok(Code::Interrupted),
            (Some(true), None, false) => Ok(judged(&result, strictness)),
            (None, None, false) => Err(anyhow!("the run ended without a sample")).or_exit(Code::Io),
        }
    }
}

/// The exit code of a run that ended by its plan and whose designs agree.
fn judged(result: &RunResult, strictness: Strictness) -> Code {
    match (claims::worst(&result.expects.claims), strictness) {
        (Some(Verdict::Fails), _) => Code::Claim,
        (Some(Verdict::Inconclusive | Verdict::NotJudged), Strictness::Strict) => {
            Code::Inconclusive
        }
        _ => Code::Fine,
    }
}
