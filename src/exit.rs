//! Exit codes, and errors that know theirs. The codes are part of the interface
//! (`docs/getting-started.md`).

use std::fmt;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// All went well.
    Fine = 0,
    /// A claim of the scenario fails.
    Claim = 1,
    /// Wrong usage, or a scenario that is not valid.
    Usage = 2,
    /// Designs disagree with the reference, or a list is wrong.
    Disagree = 3,
    /// A claim could not be judged, with `--strict`.
    Inconclusive = 4,
    /// The machine gives reason for doubt, with `stress doctor --strict`.
    Untrusted = 5,
    /// Input, output or something at run time failed.
    Io = 6,
    /// The user interrupted.
    Interrupted = 130,
}

/// Whether an undecided claim or gate ends the program with an error (`--strict`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// No.
    Lenient,
    /// Yes.
    Strict,
}

/// An error with its exit code.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub code: Code,
    /// The printed error, as one chain.
    pub error: anyhow::Error,
}

impl Failure {
    /// The same failure of `name`.
    #[must_use]
    pub fn context(self, name: String) -> Self {
        Self { error: self.error.context(name), ..self }
    }
}

impl fmt::Display for Failure {
    /// The whole chain in one line, unless the error is a text of several lines itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.error)
    }
}

/// Gives an error its exit code.
pub trait OrExit<T> {
    /// On error, the program ends with `code`.
    fn or_exit(self, code: Code) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrExit<T> for Result<T, E> {
    fn or_exit(self, code: Code) -> Result<T, Failure> {
        self.map_err(|error| Failure { code, error: error.into() })
    }
}
