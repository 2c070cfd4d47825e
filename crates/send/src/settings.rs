//! Plain values between the program and a load: settings, the funding account, facts of the node,
//! and progress.

use std::{fmt, time::Duration};

use alloy_primitives::B256;

use crate::{
    ledger::Tally,
    url::{NodeUrl, Transport},
};

/// Settings of a load.
#[derive(Clone, Debug)]
pub struct Settings {
    /// URL of the node.
    pub url: NodeUrl,
    /// Id of the chain that the user named (`--chain-id`); `None` if the user named no chain.
    pub chain_id: Option<u64>,
    /// Time limit of a call.
    pub timeout: Duration,
    /// Maximum number of calls to the node under way at a time.
    pub connection_count: usize,
    /// Time without any answer of the node after which the load ends. While no planned due time
    /// lies ahead, also the time without progress: no transaction is sent, taken or included.
    pub patience: Duration,
    /// Time after which the node is asked for a transaction that it has taken and no block has.
    pub forgotten_after: Duration,
    /// Number of successive refusals of one kind after which a transaction fails, if time may
    /// remedy that kind.
    pub temporary_refusal_count_max: u32,
    /// Number of blocks to wait for above the last block with a transaction of the load.
    pub confirmation_count: u64,
}

/// The account that pays for a load's senders and contracts.
#[derive(Clone)]
pub enum Funder {
    /// The first account whose key the node has.
    Node,
    /// The account with this secret key.
    Secret(B256),
}

impl fmt::Debug for Funder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Node => "Node",
            Self::Secret(_) => "Secret(…)",
        })
    }
}

/// Facts of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFacts {
    /// Name and version that the node reports.
    pub version: Option<String>,
    /// Chain id.
    pub chain_id: u64,
    /// Transport of calls to the node.
    pub transport: Transport,
    /// Whether the node's blocks have access lists (Amsterdam).
    pub has_lists: bool,
    /// Whether the chain is one of developer nodes. On other chains, transactions may cost money.
    pub is_developers: bool,
}

/// Progress of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Time since the start of the load.
    pub elapsed: Duration,
    /// Number of transactions of each fate so far.
    pub tally: Tally,
    /// Number of transactions in the node's pool; `None` until the node reports it.
    pub pool_depth: Option<u64>,
    /// Number of failed calls since the start of the load.
    pub error_count: u64,
    /// Number of blocks of the chain since the start of the load.
    pub block_count: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown_while_debugging() {
        let shown = format!("{:?} {:?}", Funder::Secret(B256::repeat_byte(0xab)), Funder::Node);
        assert_eq!(shown, "Secret(…) Node");
    }
}
