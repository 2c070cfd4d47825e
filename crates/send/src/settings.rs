//! Plain values of a load: its settings, facts of the node, and its progress.

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
    /// Id of the chain that the user named; `None` if the user named no chain.
    pub chain_id: Option<u64>,
    /// Time limit of a call.
    pub timeout: Duration,
    /// Maximum number of calls under way.
    pub connection_count: usize,
    /// Time without any answer after which the load is given up. Once all transactions are due,
    /// also the time without a taken or included transaction.
    pub patience: Duration,
    /// Time that a taken transaction may be in no block before the node is asked for it.
    pub forgotten_after: Duration,
    /// Number of successive refusals that time may remedy, before the transaction counts as failed.
    pub patient_try_count: u32,
    /// Number of blocks to wait for above the last block with a transaction of the load.
    pub confirmation_count: u64,
}

/// Source of the money for accounts and contracts.
#[derive(Clone)]
pub enum Funder {
    /// The node's own first account.
    Node,
    /// The account with this secret.
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
    /// Numbers of transactions by their fate so far.
    pub tally: Tally,
    /// Depth of the pool, if it is known.
    pub pool_depth: Option<u64>,
    /// Number of failed calls.
    pub error_count: u64,
    /// Number of blocks seen.
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
