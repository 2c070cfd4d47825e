//! Errors of this crate: those of a call, by kind, and those that prevent or end a load.

use std::{ops::RangeInclusive, time::Duration};

use alloy_json_rpc::{ErrorPayload, RpcError};
use alloy_transport::{TransportError, TransportErrorKind};
use workload::{senders::SenderError, signing::SignError};

use crate::{
    http::{HttpError, last_cause},
    plan::PlanError,
    url::NodeUrl,
};

variant::named! {
    /// Reason that a call of the node failed.
    pub enum ErrorKind: "kind of error" {
        /// No connection, or a broken connection: it is unknown whether the node took the call.
        Connection = "connection",
        /// No answer in time: it is unknown whether the node took the call.
        Timeout = "timeout",
        /// An HTTP status that is no success.
        HttpStatus = "http-status",
        /// An answer that is not JSON-RPC.
        Malformed = "malformed",
        /// The node reports that it failed: an internal error, or a time-out behind the node.
        Internal = "internal",
        /// The node asks for fewer calls.
        RateLimit = "rate-limit",
        /// The transaction pool has no room.
        PoolFull = "pool-full",
        /// The nonce is used already, or is that of another transaction in the pool. Not counted as
        /// an error if it is this transaction, sent before, that has used the nonce.
        Nonce = "nonce",
        /// The fee is below the node's minimum.
        Underpriced = "underpriced",
        /// The sender cannot pay.
        Funds = "funds",
        /// The node claims that it knows the transaction already. Counted as an error only if the
        /// node does not have it.
        ClaimedKnown = "claimed-known",
        /// Any other refusal of the transaction.
        Rejected = "rejected",
    }
}

impl ErrorKind {
    /// Whether the refusal may only mean that an earlier call has brought the transaction to the
    /// node, which is no error.
    pub(crate) const fn may_be_earlier_success(self) -> bool {
        matches!(self, Self::ClaimedKnown | Self::Nonce)
    }

    /// Whether the node may have taken the transaction in spite of the error.
    pub(crate) const fn leaves_fate_open(self) -> bool {
        matches!(
            self,
            Self::Connection
                | Self::Timeout
                | Self::HttpStatus
                | Self::Malformed
                | Self::Internal
                | Self::ClaimedKnown
        )
    }
}

/// Number of characters of a node's message that are kept.
const SHOWN_CHARS: usize = 200;

/// A failed call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CallError {
    /// Kind of the failure.
    pub kind: ErrorKind,
    /// Message of the node or of the connection, shortened, without the URL's secrets.
    pub message: String,
}

impl CallError {
    pub(crate) fn timeout(after: Duration) -> Self {
        let message = format!("no answer within {} s", after.as_secs_f64());
        Self { kind: ErrorKind::Timeout, message }
    }

    /// Makes the error of a failed call over a transport to `url`. Its message does not show the
    /// URL's secrets.
    pub(crate) fn of(error: &TransportError, url: &NodeUrl) -> Self {
        let (kind, message) = match error {
            RpcError::ErrorResp(payload) => (refusal_kind(payload), payload.message.to_string()),
            RpcError::Transport(kind) => transport_failure(kind),
            RpcError::DeserError { err, text } if text.is_empty() => {
                (ErrorKind::Malformed, err.to_string())
            }
            RpcError::DeserError { err, text } => (ErrorKind::Malformed, format!("{err}: {text}")),
            RpcError::NullResp => (ErrorKind::Malformed, "the answer is null".to_owned()),
            other => (ErrorKind::Malformed, other.to_string()),
        };
        Self { kind, message: one_line(&url.hide(&message)) }
    }
}

fn transport_failure(kind: &TransportErrorKind) -> (ErrorKind, String) {
    if let Some(http) = kind.as_http_error() {
        let too_many = http.status == 429;
        let kind = if too_many { ErrorKind::RateLimit } else { ErrorKind::HttpStatus };
        return (kind, format!("HTTP status {}: {}", http.status, http.body));
    }
    if kind.is_backend_gone() {
        return (ErrorKind::Connection, "the connection broke off".to_owned());
    }
    let http_error = match kind {
        TransportErrorKind::Custom(error) => error.downcast_ref(),
        _ => None,
    };
    let error_kind = match http_error {
        Some(HttpError::TimedOut(_)) => ErrorKind::Timeout,
        Some(HttpError::TooLong(_) | HttpError::Refused(_)) => ErrorKind::Malformed,
        _ => ErrorKind::Connection,
    };
    (error_kind, last_cause(kind))
}

/// Parts of nodes' messages, in lower case, and their meaning. The first entry whose part is in a
/// message decides.
const MESSAGE_PARTS: [(&str, ErrorKind); 33] = [
    ("unknown transaction", ErrorKind::Rejected),
    ("already known", ErrorKind::ClaimedKnown),
    ("known transaction", ErrorKind::ClaimedKnown),
    ("already imported", ErrorKind::ClaimedKnown),
    ("alreadyknown", ErrorKind::ClaimedKnown),
    ("nonce too low", ErrorKind::Nonce),
    ("nonce too high", ErrorKind::Nonce),
    ("nonce gap", ErrorKind::Nonce),
    ("oldnonce", ErrorKind::Nonce),
    ("old nonce", ErrorKind::Nonce),
    ("replacement", ErrorKind::Nonce),
    ("invalid nonce", ErrorKind::Nonce),
    ("pool is full", ErrorKind::PoolFull),
    ("pool limit", ErrorKind::PoolFull),
    ("mempool full", ErrorKind::PoolFull),
    ("mempool is full", ErrorKind::PoolFull),
    ("too many transactions", ErrorKind::PoolFull),
    ("account limit", ErrorKind::PoolFull),
    ("slots by sender", ErrorKind::PoolFull),
    ("underpriced", ErrorKind::Underpriced),
    ("fee too low", ErrorKind::Underpriced),
    ("feetoolow", ErrorKind::Underpriced),
    ("less than block base fee", ErrorKind::Underpriced),
    ("insufficient funds", ErrorKind::Funds),
    ("insufficientfunds", ErrorKind::Funds),
    ("too many requests", ErrorKind::RateLimit),
    ("rate limit", ErrorKind::RateLimit),
    ("compute units", ErrorKind::RateLimit),
    ("internal error", ErrorKind::Internal),
    ("internal server error", ErrorKind::Internal),
    ("timed out", ErrorKind::Internal),
    ("service unavailable", ErrorKind::Internal),
    ("bad gateway", ErrorKind::Internal),
];
/// JSON-RPC error codes (EIP-1474).
const INTERNAL: i64 = -32603;
const UNAVAILABLE: i64 = -32002;
const LIMIT_EXCEEDED: i64 = -32005;
/// HTTP statuses that gateways repeat as a JSON-RPC code.
const TOO_MANY: i64 = 429;
const SERVER_ERRORS: RangeInclusive<i64> = 500..=599;

fn refusal_kind(payload: &ErrorPayload) -> ErrorKind {
    let words = payload.message.to_lowercase();
    let known = MESSAGE_PARTS.iter().find(|(part, _)| words.contains(part)).map(|(_, kind)| *kind);
    match (known, payload.code) {
        (Some(kind), _) => kind,
        (None, LIMIT_EXCEEDED | TOO_MANY) => ErrorKind::RateLimit,
        (None, INTERNAL | UNAVAILABLE) => ErrorKind::Internal,
        (None, code) if SERVER_ERRORS.contains(&code) => ErrorKind::Internal,
        (None, _) => ErrorKind::Rejected,
    }
}

/// Returns a node's message in a form that may be shown and kept. It is one line, cut after 200
/// characters, with characters that steer a terminal escaped.
pub fn one_line(text: &str) -> String {
    // A message may have many megabytes: only its beginning is read.
    let words = text.split_whitespace().flat_map(|word| [" ", word]).skip(1);
    let mut chars = words.flat_map(str::chars);
    let mut shown = String::new();
    for c in chars.by_ref().take(SHOWN_CHARS) {
        match variant::steers_terminal(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Error that prevents or ends a load.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The operating system gives no threads.
    #[error("cannot start the threads that send: {0}")]
    Threads(#[from] std::io::Error),
    /// A task panicked.
    #[error("{task} ended in a panic ({why}), which is a fault of stress: please report it")]
    Fault {
        /// The task.
        task: &'static str,
        /// Message of the panic.
        why: String,
    },
    /// There is no connection to the node.
    #[error("cannot connect to the node: {0}; does it run, and does it listen at this URL?")]
    Connect(String),
    /// A call failed that must succeed before anything is sent.
    #[error("{method}: {error}; {remedy}")]
    Call {
        /// The method.
        method: &'static str,
        /// The failure.
        error: CallError,
        /// The remedy.
        remedy: &'static str,
    },
    /// The chain is public, and the user has not named it.
    #[error(
        "the node is on the public chain {name}, where transactions cost money; if that is meant, \
         give --chain-id {id} and a --seed that nobody guesses"
    )]
    PublicChain {
        /// Id of the chain.
        id: u64,
        /// Name of the chain.
        name: String,
    },
    /// The chain may be public, and the user has not named it.
    #[error(
        "the node is on chain {id}, which may be public ({developers} are of developer nodes), \
         where transactions cost money; if that is meant, give --chain-id {id} and a --seed that \
         nobody guesses"
    )]
    UnknownChain {
        /// Id of the chain.
        id: u64,
        /// Chain ids of developer nodes.
        developers: String,
    },
    /// The node is on another chain than the chain that the user named.
    #[error("the node is on chain {id}, and --chain-id is {asked}; give the URL of the other node")]
    OtherChain {
        /// Id of the node's chain.
        id: u64,
        /// Id of the named chain.
        asked: u64,
    },
    /// The workload cannot be sent.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The node has no account that could pay the senders, and the user gave no key.
    #[error(
        "the node has no account of its own (eth_accounts is empty) that pays the senders; give \
         --key-file FILE, or start the node in developer mode"
    )]
    NoFunder,
    /// The balance of the funding account is too small.
    #[error(
        "the funding account {account} has {has_wei} wei, and {wanted_wei} are wanted for the senders and \
         contracts; fund it, or send fewer transactions from fewer accounts"
    )]
    PoorFunder {
        /// The funding account.
        account: alloy_primitives::Address,
        /// Balance of the account, in wei.
        has_wei: alloy_primitives::U256,
        /// Amount that the setup needs from the account, in wei.
        wanted_wei: alloy_primitives::U256,
    },
    /// A transaction of the setup failed.
    #[error("{purpose}: {reason}; the node's log says more")]
    Setup {
        /// Purpose of the transaction.
        purpose: String,
        /// Reason of the failure.
        reason: String,
    },
    /// A secret of the setup or of the senders is invalid.
    #[error(transparent)]
    Sender(#[from] SenderError),
    /// A transaction cannot be signed.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// The node does not report the depth of its pool.
    #[error(
        "--pool-depth needs txpool_status, and the node does not answer it: {0}; switch its txpool \
         interface on (go-ethereum: --http.api eth,txpool), or use --in-flight"
    )]
    NoPoolStatus(CallError),
    /// The user interrupted before sending began.
    #[error("interrupted before the first transaction was sent")]
    Stopped,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(code: i64, message: &'static str) -> ErrorKind {
        let payload = ErrorPayload { code, message: message.into(), data: None };
        CallError::of(&RpcError::ErrorResp(payload), &NodeUrl::new("http://url")).kind
    }

    #[test]
    fn words_of_nodes_have_their_kind() {
        for (message, expected) in [
            ("already known", ErrorKind::ClaimedKnown),
            ("transaction already imported", ErrorKind::ClaimedKnown),
            ("known transaction: 0x07", ErrorKind::ClaimedKnown),
            ("AlreadyKnown", ErrorKind::ClaimedKnown),
            ("nonce too low: next nonce 5, tx nonce 3", ErrorKind::Nonce),
            ("replacement transaction underpriced", ErrorKind::Nonce),
            ("txpool is full", ErrorKind::PoolFull),
            ("transaction underpriced", ErrorKind::Underpriced),
            ("max fee per gas less than block base fee: address 0x", ErrorKind::Underpriced),
            ("Insufficient funds for gas * price + value", ErrorKind::Funds),
            ("intrinsic gas too low", ErrorKind::Rejected),
            ("unknown transaction type", ErrorKind::Rejected),
            ("Internal error", ErrorKind::Internal),
            ("request timed out", ErrorKind::Internal),
        ] {
            assert_eq!(kind(-32000, message), expected, "{message}");
        }
        for (code, expected) in [
            (LIMIT_EXCEEDED, ErrorKind::RateLimit),
            (TOO_MANY, ErrorKind::RateLimit),
            (INTERNAL, ErrorKind::Internal),
            (UNAVAILABLE, ErrorKind::Internal),
            (503, ErrorKind::Internal),
            (-32000, ErrorKind::Rejected),
            (-32602, ErrorKind::Rejected),
        ] {
            assert_eq!(kind(code, "no words that are known"), expected, "{code}");
        }
        assert_eq!(kind(INTERNAL, "nonce too low"), ErrorKind::Nonce, "words before codes");
    }

    #[test]
    fn words_of_a_node_are_a_short_line_that_steers_no_terminal() {
        for (text, expected) in [
            ("", ""),
            (" two\n\twords ", "two words"),
            ("\u{1b}[2J\u{7}a", "\\u{1b}[2J\\u{7}a"),
            ("\u{9b}1m\u{202e}b", "\\u{9b}1m\\u{202e}b"),
            ("漢字 é", "漢字 é"),
        ] {
            assert_eq!(one_line(text), expected);
        }
        let (full, long) = ("a".repeat(SHOWN_CHARS), "a".repeat(1 << 20));
        assert_eq!(one_line(&full), full);
        assert_eq!(one_line(&long), full + "…");
    }

    #[test]
    fn an_error_shows_no_url_and_not_all_of_a_page() {
        let url = &NodeUrl::new("http://node/KEY");
        let page = format!("{} Cannot POST /KEY {}", url.as_str(), "a".repeat(1000));
        let error = CallError::of(&TransportErrorKind::http_error(500, page), url);
        assert_eq!(error.kind, ErrorKind::HttpStatus);
        assert!(error.message.contains("500") && !error.message.contains("KEY"), "{error}");
        assert!(error.message.len() < 300, "{error}");
        let error = CallError::of(&TransportErrorKind::http_error(429, String::new()), url);
        assert_eq!(error.kind, ErrorKind::RateLimit);
        let error = CallError::of(&TransportErrorKind::backend_gone(), url);
        assert_eq!(error.kind, ErrorKind::Connection);
    }
}
