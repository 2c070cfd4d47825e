//! The calls that send a load's transactions or ask for them, and their answers. Each call runs in
//! a task of its own, which the driving task starts.

use std::time::{Duration, Instant};

use alloy_primitives::{Address, B256, Bytes};

use crate::{
    account::Signed,
    error::{CallError, ErrorKind},
    node::Node,
};

/// A task's work for one transaction: one or more JSON-RPC calls of the node.
#[derive(Debug)]
pub(crate) enum Call {
    /// Send the signed bytes of a sender's transaction.
    Send { sender: usize, raw: Bytes },
    /// Ask whether the node knows a transaction that it has refused, and for the sender's next
    /// nonce.
    Check { sender: usize, account: Address, hash: B256, error: CallError },
    /// Ask whether the node has a transaction that it claims to know.
    Confirm { sender: usize, hash: B256, error: CallError },
    /// Ask whether the node has forgotten a transaction that it had taken. If so, send it again.
    Remind { tx: usize, account: Address, signed: Signed },
}

/// A node's knowledge of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeKnowledge {
    /// Whether the node has the transaction, in a block or in its pool.
    pub(crate) is_known: bool,
    /// Next nonce of the sender, after its transactions in blocks and in the pool.
    pub(crate) next_nonce: u64,
}

/// Result of [`Call::Remind`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ReminderResult {
    /// The node still has the transaction.
    Known,
    /// The node took the transaction again.
    Resent,
    /// Another transaction in a block has used the nonce.
    Dead,
}

/// The answer to a call.
#[derive(Debug)]
pub(crate) enum Answer {
    Sent {
        sender: usize,
        result: Result<B256, CallError>,
        took: Duration,
    },
    Checked {
        sender: usize,
        error: CallError,
        result: Result<NodeKnowledge, CallError>,
    },
    /// Answer to [`Call::Confirm`]: whether the node has the transaction.
    Confirmed {
        sender: usize,
        error: CallError,
        result: Result<bool, CallError>,
    },
    /// Answer to [`Call::Remind`].
    Reminded {
        tx: usize,
        /// Hash of the transaction.
        hash: B256,
        /// Number of calls that sent the transaction again.
        send_count: u64,
        result: Result<ReminderResult, CallError>,
    },
}

impl Call {
    /// Makes the calls and returns their answer.
    pub(crate) async fn run(self, node: Node) -> Answer {
        match self {
            Self::Send { sender, raw } => {
                let began = Instant::now();
                let result = node.send_raw(raw).await;
                Answer::Sent { sender, result, took: began.elapsed() }
            }
            Self::Check { sender, account, hash, error } => {
                let result = node_knowledge(&node, account, hash).await;
                Answer::Checked { sender, error, result }
            }
            Self::Confirm { sender, hash, error } => {
                let result = node.knows(hash).await;
                Answer::Confirmed { sender, error, result }
            }
            Self::Remind { tx, account, signed } => {
                let mut send_count = 0;
                let result = remind(&node, account, &signed, &mut send_count).await;
                Answer::Reminded { tx, hash: signed.hash, send_count, result }
            }
        }
    }
}

async fn node_knowledge(
    node: &Node,
    account: Address,
    hash: B256,
) -> Result<NodeKnowledge, CallError> {
    // The nonce is read first: a transaction that gets into a block between both calls is then
    // known.
    let next_nonce = node.next_nonce(account).await?;
    Ok(NodeKnowledge { is_known: node.knows(hash).await?, next_nonce })
}

async fn remind(
    node: &Node,
    account: Address,
    signed: &Signed,
    send_count: &mut u64,
) -> Result<ReminderResult, CallError> {
    if node.knows(signed.hash).await? {
        return Ok(ReminderResult::Known);
    }
    *send_count += 1;
    let error = match node.send_raw(signed.raw.clone()).await {
        Ok(_) => return Ok(ReminderResult::Resent),
        Err(error) => error,
    };
    match error.kind {
        ErrorKind::ClaimedKnown if node.knows(signed.hash).await? => Ok(ReminderResult::Known),
        ErrorKind::Nonce => {
            let mined = node.mined_nonce(account).await?;
            match (node.knows(signed.hash).await?, mined > signed.nonce) {
                (true, _) => Ok(ReminderResult::Known),
                (false, true) => Ok(ReminderResult::Dead),
                (false, false) => Err(error),
            }
        }
        _ => Err(error),
    }
}
