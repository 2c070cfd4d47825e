//! Exit codes, and errors with an exit code. The codes are part of the interface
//! (`docs/getting-started.md`).

use std::{fmt, io};

use executor::state::StateError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Fine = 0,
    /// A claim fails, a gate finds a regression, or a sent transaction is in no block or reverted.
    Claim = 1,
    /// Wrong usage, or a scenario that is not valid.
    Usage = 2,
    /// Designs disagree with the reference, or a list is wrong.
    Disagree = 3,
    /// Too few samples for a verdict, with `--strict`.
    Inconclusive = 4,
    /// The machine gives reason for doubt, in a gate or with `stress doctor --strict`.
    Untrusted = 5,
    /// Input, output or another operation at run time failed.
    Io = 6,
    /// A time or a claim was not judged, without `--accept-not-judged`.
    NotJudged = 7,
    Interrupted = 130,
}

/// Exit codes for claims and figures that are inconclusive, or not judged at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UndecidedCodes {
    /// Code for too few samples: [`Code::Fine`], or [`Code::Inconclusive`] (`--strict`).
    pub inconclusive: Code,
    /// Code for times and claims that were not judged: [`Code::NotJudged`], or [`Code::Fine`]
    /// (`--accept-not-judged`).
    pub not_judged: Code,
}

impl UndecidedCodes {
    /// The codes without any option.
    pub const DEFAULT: Self = Self { inconclusive: Code::Fine, not_judged: Code::NotJudged };
}

/// An error with its exit code.
#[derive(Debug)]
pub struct Failure {
    pub code: Code,
    /// The error, which is printed with the chain of its causes.
    pub error: anyhow::Error,
}

impl Failure {
    /// Adds `name` to the error, as the subject that failed.
    #[must_use]
    pub fn context(self, name: String) -> Self {
        Self { error: self.error.context(name), ..self }
    }
}

impl fmt::Display for Failure {
    /// Formats the error and its causes in one line, unless a text of them has several lines
    /// itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.error)
    }
}

/// Returns a failure with this exit code and message, as [`anyhow::bail`] returns an error.
macro_rules! fail {
    ($code:expr, $($message:tt)+) => {
        return Err($crate::terminal::exit::Failure {
            code: $code,
            error: anyhow::anyhow!($($message)+),
        })
    };
}
pub(crate) use fail;

/// Joins the outcome of the main work with that of the `side` work. A failure of the side work is
/// returned only if the main work ended with [`Code::Fine`]; otherwise `tell` reports it.
///
/// # Errors
/// The failure of the main work, or else of the side work.
pub fn with_side_work(
    ended: Result<Code, Failure>,
    side: Result<(), Failure>,
    tell: impl FnOnce(&str),
) -> Result<Code, Failure> {
    match (ended, side) {
        (Ok(Code::Fine), Err(failure)) => Err(failure),
        (ended, Err(failure)) => {
            tell(&format!("error: {failure}"));
            ended
        }
        (ended, Ok(())) => ended,
    }
}

/// An existing file is an error of usage: the user names another file. All other errors are errors
/// of the machine.
impl From<report::Error> for Failure {
    fn from(error: report::Error) -> Self {
        let code = match error {
            report::Error::Usage(_) => Code::Usage,
            report::Error::Result(_) | report::Error::Other(_) => Code::Io,
        };
        Self { code, error: error.into() }
    }
}

/// Adds an exit code to an error.
pub trait WithExitCode<T> {
    /// Adds `code` to an error.
    fn with_exit_code(self, code: Code) -> Result<T, Failure>;

    /// Adds the code for an input that the user named: usage if the input does not exist, otherwise
    /// I/O.
    fn with_input_code(self) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> WithExitCode<T> for Result<T, E> {
    fn with_exit_code(self, code: Code) -> Result<T, Failure> {
        self.map_err(|error| Failure { code, error: error.into() })
    }

    fn with_input_code(self) -> Result<T, Failure> {
        self.map_err(|error| {
            let error = error.into();
            Failure { code: if is_missing(&error) { Code::Usage } else { Code::Io }, error }
        })
    }
}

/// Whether an input does not exist, so that the user must name another.
fn is_missing(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let system = cause.downcast_ref::<io::Error>();
        system.is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
            || matches!(cause.downcast_ref(), Some(result::Error::Missing(_)))
            || matches!(cause.downcast_ref(), Some(StateError::NotFound { .. }))
    })
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_failure_beside_the_work_hides_no_code_of_the_work() {
        let fails = |code| Failure { code, error: anyhow!("no space") };
        let mut told = Vec::new();
        let mut ended = |ended, side| {
            let tell = |text: &str| told.push(text.to_owned());
            with_side_work(ended, side, tell).unwrap_or_else(|failure| failure.code)
        };
        assert_eq!(ended(Ok(Code::Fine), Ok(())), Code::Fine);
        assert_eq!(ended(Ok(Code::Fine), Err(fails(Code::Io))), Code::Io);
        let others = [Code::Claim, Code::Disagree, Code::Inconclusive, Code::NotJudged];
        for code in others.into_iter().chain([Code::Interrupted]) {
            assert_eq!(ended(Ok(code), Err(fails(Code::Io))), code);
        }
        assert_eq!(ended(Err(fails(Code::Usage)), Err(fails(Code::Io))), Code::Usage);
        assert_eq!(told, ["error: no space"; 6]);
    }
}
