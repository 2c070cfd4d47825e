//! Plain values of a load: its settings, facts of the node, and how far it is.

use std::{fmt, time::Duration};

use alloy_primitives::B256;

use crate::{
    ledger::Tally,
    url::{NodeUrl, Transport},
};

/// Settings of a load.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The node.
    pub url: NodeUrl,
    /// The chain that the user named, if any.
    pub chain_id: Option<u64>,
    /// Time limit of a call.
    pub timeout: Duration,
    /// Calls under way at a time.
    pub connection_count: usize,
    /// The load is given up after so long without any answer. Once all transactions are due, also
    /// after so long without one taken or included.
    pub patience: Duration,
    /// Longest time of a taken transaction in no block before the node is asked for it.
    pub forgotten_after: Duration,
    /// Refusals one after the other that time may remedy, before the transaction has failed.
    pub patient_try_count: u32,
    /// Blocks above the last one with a transaction of the load that are waited for.
    pub confirmation_count: u64,
}

/// Source of the money for accounts and contracts.
#[derive(Clone)]
pub enum Funder {
    /// The node's own first account.
    Node,
    /// The account of a secret.
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
    /// Name and version by its own word.
    pub version: Option<String>,
    /// Chain id.
    pub chain_id: u64,
    /// Transport of its calls.
    pub transport: Transport,
    /// Whether its blocks have access lists (Amsterdam).
    pub has_lists: bool,
    /// Whether the chain is one of developer nodes. On others transactions may cost money.
    pub is_developers: bool,
}

/// Progress of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Since the start.
    pub elapsed: Duration,
    /// Fates so far.
    pub tally: Tally,
    /// Depth of the pool, where it is known.
    pub pool_depth: Option<u64>,
    /// Failed calls.
    pub error_count: u64,
    /// Blocks seen.
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
