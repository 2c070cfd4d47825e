//! Why a client gave no sample. Each refusal names its remedy: a time without an execution, or
//! without an answer, is never a figure.

use std::{fmt, time::Duration};

use crate::terminal::exit::{Code, Failure};

/// The HTTP server of go-ethereum closes a connection after as long, with any answer.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Answer to a request of the Engine API that makes it no sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The client has all blocks that could be sent: it would answer VALID without executing.
    KnownBlocks {
        /// Number of them.
        count: usize,
    },
    /// It lacks the parent's state.
    Syncing {
        /// The call.
        method: String,
    },
    /// It kept the block and did not execute it.
    Accepted {
        /// The call.
        method: String,
    },
    /// It executed the block and came to something else.
    Invalid {
        /// The call.
        method: String,
        /// By its own word.
        reason: String,
    },
    /// Its chain begins with another block.
    OtherGenesis {
        /// The client's.
        found: String,
        /// The export's.
        expected: String,
    },
    /// It did not answer within the time that it was given.
    TimedOut {
        /// The call.
        method: String,
        /// The time.
        limit: Duration,
    },
    /// The connection ended before the answer did.
    CutOff {
        /// The call.
        method: String,
        /// After so long.
        after: Duration,
        /// By the system's word.
        reason: String,
    },
    /// It does not take the token.
    Unauthorized,
    /// Nobody listens.
    NoConnection {
        /// By the system's word.
        reason: String,
    },
    /// Its process ended.
    Died {
        /// How.
        how: String,
        /// The end of its log.
        log: String,
    },
    /// It does not know the call, or refuses its parameters.
    Error {
        /// The call.
        method: String,
        /// Code of JSON-RPC.
        code: i64,
        /// By its own word.
        message: String,
    },
    /// Its answer is none of the Engine API.
    NoAnswer {
        /// The call.
        method: String,
        /// HTTP status.
        status: u16,
        /// The beginning of the answer.
        text: String,
    },
}

impl Refusal {
    /// How the program ends after it.
    pub const fn code(&self) -> Code {
        match self {
            Self::Invalid { .. } => Code::Disagree,
            Self::KnownBlocks { .. } | Self::OtherGenesis { .. } | Self::Unauthorized => {
                Code::Usage
            }
            Self::Syncing { .. }
            | Self::Accepted { .. }
            | Self::TimedOut { .. }
            | Self::CutOff { .. }
            | Self::NoConnection { .. }
            | Self::Died { .. }
            | Self::Error { .. }
            | Self::NoAnswer { .. } => Code::Io,
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self { code: refusal.code(), error: refusal.into() }
    }
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KnownBlocks { count } => write!(
                f,
                "all blocks of the export that are left ({count}) are known to the client, which would \
                 answer VALID without executing them: start it on a fresh data directory, or \
                 export more siblings (stress export --siblings)"
            ),
            Self::Syncing { method } => write!(
                f,
                "{method}: SYNCING: the client lacks the state below the block; give it the export's \
                 genesis.json, and let no peer or consensus client speak to it"
            ),
            Self::Accepted { method } => write!(
                f,
                "{method}: ACCEPTED: the client kept the block and did not execute it; its head must \
                 be the block's parent or a sibling: start it on a fresh data directory"
            ),
            Self::Invalid { method, reason } => write!(f, "{method}: INVALID: {reason}"),
            Self::OtherGenesis { found, expected } => write!(
                f,
                "the client's genesis is {found}, that of the export is {expected}: initialise an empty \
                 data directory with the export's genesis.json"
            ),
            Self::TimedOut { method, limit } => write!(
                f,
                "{method}: no answer within {:.1} s: raise --timeout, or export less gas",
                limit.as_secs_f64()
            ),
            Self::CutOff { method, after, reason } => {
                write!(f, "{method}: cut off after {:.1} s ({reason}): ", after.as_secs_f64())?;
                match *after + Duration::from_secs(1) >= WRITE_TIMEOUT {
                    true => write!(
                        f,
                        "geth ends an answer after 30 s: raise WriteTimeout under \
                         [Node.HTTPTimeouts] of its --config, or export less gas"
                    ),
                    false => write!(f, "look into the client's log"),
                }
            }
            Self::Unauthorized => write!(
                f,
                "401: the client does not take the token: --jwt must name the file that the client has, \
                 and both clocks must be less than a minute apart"
            ),
            Self::NoConnection { reason } => write!(
                f,
                "nobody listens ({reason}): --url is the client's Engine API (geth: --authrpc.port, \
                 8551), which must run"
            ),
            Self::Died { how, log } => {
                write!(f, "the client died ({how}); the end of its log:\n{log}")
            }
            Self::Error { method, code, message } => write!(
                f,
                "{method}: error {code}: {message}: does this version of the client know the fork of the \
                 export? Export another --fork, or take a newer client"
            ),
            Self::NoAnswer { method, status, text } => write!(
                f,
                "{method}: no answer of an Engine API (HTTP status {status}): {text:?}: --url is the \
                 client's Engine API (geth: port 8551)"
            ),
        }
    }
}
