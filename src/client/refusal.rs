//! Reasons for a missing sample of a client, each with its remedy. A time without an execution, or
//! without an answer, is never a figure.

use std::time::Duration;

use thiserror::Error;

use crate::terminal::{Code, Failure};

/// Time after which the HTTP server of go-ethereum closes a connection, by default.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// The reason for which a request of the Engine API gives no sample. `method` is the called method.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The client would answer VALID without executing.
    #[error(
        "all {count} blocks that are left are known to the client, which would answer VALID \
         without executing them: start it on a fresh data directory, or export with more \
         --siblings"
    )]
    KnownBlocks { count: usize },
    /// The client lacks the parent's state.
    #[error(
        "{method}: SYNCING: the client lacks the state below the block; give it the export's genesis.json, \
         and let no peer or consensus client speak to it"
    )]
    Syncing { method: String },
    /// The client kept the block and did not execute it.
    #[error(
        "{method}: ACCEPTED: the client kept the block and did not execute it; its head must be the \
         block's parent or a sibling: start it on a fresh data directory"
    )]
    Accepted { method: String },
    /// The client executed the block, and found it invalid.
    #[error("{method}: INVALID: {reason}")]
    Invalid { method: String, reason: String },
    /// The client's chain begins with another block.
    #[error(
        "the client's genesis is {found}, that of the export is {expected}: initialise an empty data \
         directory with the export's genesis.json"
    )]
    OtherGenesis { found: String, expected: String },
    /// The client did not answer in time.
    #[error(
        "{method}: no answer within {:.1} s: raise --timeout, or export less gas",
        .limit.as_secs_f64()
    )]
    TimedOut { method: String, limit: Duration },
    /// The connection ended before the answer did.
    #[error(
        "{method}: cut off after {:.1} s ({reason}): {}",
        .after.as_secs_f64(),
        remedy_of_cut(*.after)
    )]
    CutOff { method: String, after: Duration, reason: String },
    #[error(
        "401: the client does not take the token: --jwt must name the file that the client has, and both \
         clocks must be less than a minute apart"
    )]
    Unauthorized,
    #[error(
        "nobody listens ({reason}): start the client, and give its Engine API as --url (geth: \
         --authrpc.port, 8551)"
    )]
    NoConnection { reason: String },
    /// The client's process ended. `log` is the end of its log.
    #[error("the client died ({how}); the end of its log:\n{log}")]
    Died { how: String, log: String },
    /// The client does not know the call, or refuses its parameters.
    #[error(
        "{method}: error {code}: {message}: the client may not know the fork of the export; \
         export with another --fork, or take a newer client"
    )]
    Error { method: String, code: i64, message: String },
    /// The answer is not of the Engine API. `text` is the beginning of the answer.
    #[error(
        "{method}: no answer of an Engine API (HTTP status {status}): {text:?}: give the client's \
         Engine API as --url (geth: port 8551)"
    )]
    NoAnswer { method: String, status: u16, text: String },
}

/// Returns the remedy for a connection that ended after this time.
fn remedy_of_cut(after: Duration) -> &'static str {
    // A second of tolerance, as both sides measure the time.
    if after + Duration::from_secs(1) < WRITE_TIMEOUT {
        return "look into the client's log";
    }
    "geth ends an answer after 30 s: raise WriteTimeout under [Node.HTTPTimeouts] of its --config, or \
     export less gas"
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal {
            Refusal::Invalid { .. } => Code::Disagree,
            Refusal::KnownBlocks { .. } | Refusal::OtherGenesis { .. } | Refusal::Unauthorized => {
                Code::Usage
            }
            Refusal::Syncing { .. }
            | Refusal::Accepted { .. }
            | Refusal::TimedOut { .. }
            | Refusal::CutOff { .. }
            | Refusal::NoConnection { .. }
            | Refusal::Died { .. }
            | Refusal::Error { .. }
            | Refusal::NoAnswer { .. } => Code::Io,
        };
        Self { code, error: refusal.into() }
    }
}
