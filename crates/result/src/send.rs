//! `stress send`: the result of a load on a live node (`stress.send/2`, explained in
//! `docs/send.md`). An unknown value is `null`. Times are by the sending machine's clock unless
//! said otherwise.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    environment::Environment,
    figures::Bucket,
    run::{Percentiles, Tool},
    schema::schema,
};

schema! {
    /// The schema of a [`SendResult`]. Version 1 is not read: it counted an already known
    /// transaction among the errors, and its counts of fates had names without `_count`.
    SCHEMA: SendSchema = "stress.send/2"
}

/// A whole result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SendResult {
    /// Name and version of this format.
    pub schema: SendSchema,
    /// The program.
    pub tool: Tool,
    /// The command line, without the parts of URLs that may be secret.
    pub command: Vec<String>,
    /// Start of the load, seconds since 1970.
    pub started_unix_s: u64,
    /// The sending machine.
    pub environment: Environment,
    /// The node.
    pub node: SendNode,
    /// The work.
    pub work: SendWork,
    /// Kind of the pace: `rate` (transactions a second), `in-flight` or `pool-depth`.
    pub pace: String,
    /// Value of the pace.
    pub pace_value: f64,
    /// Accounts and contracts that were made before the load.
    pub setup: SendSetup,
    /// Transactions by their fate.
    pub counts: SendCounts,
    /// Time from the first transaction to the end of the wait for the last.
    pub elapsed_ns: u64,
    /// Time from the start until the last transaction was handed over.
    pub sending_ns: u64,
    /// Transactions handed over a second.
    pub sent_per_s: Option<f64>,
    /// Transactions that succeeded in blocks, a second, until the last block with a transaction of
    /// the load was seen.
    pub included_per_s: Option<f64>,
    /// Gas of the load a second, until the last block with a transaction of the load was seen.
    pub gas_per_s: Option<f64>,
    /// Times of transactions and calls.
    pub latency: SendLatency,
    /// Calls that sent transactions.
    pub attempts: SendAttempts,
    /// Failed calls that sent transactions or asked for one, by kind.
    pub errors: Vec<SendErrors>,
    /// Failed calls that read blocks, by kind.
    pub read_errors: Vec<SendErrors>,
    /// Blocks of the chain since the start, in order.
    pub blocks: Vec<SendBlock>,
    /// Depth of the pool over time; empty where the node does not report it.
    pub pool: Vec<SendPool>,
    /// Reorganisations.
    pub reorgs: SendReorgs,
    /// Blocks above the last one with a transaction of the load.
    pub confirmations: SendConfirmations,
    /// The node's CPU profile; `null` where the user did not ask for a profile.
    pub profile: Option<SendProfile>,
    /// Whether the user ended the load.
    pub interrupted: bool,
    /// Reasons for doubt, each with its remedy.
    pub warnings: Vec<String>,
}

/// The node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SendNode {
    /// Scheme, host and port.
    pub url: String,
    /// `http` or `websocket`.
    pub transport: String,
    /// Name and version as the node reports them.
    pub version: Option<String>,
    /// Chain id.
    pub chain_id: u64,
}

/// The work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SendWork {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the scenario.
    pub seed: u64,
    /// Fork of the workload.
    pub fork: String,
    /// Digest of the workload.
    pub digest: String,
    /// Accounts that send.
    pub sender_count: u64,
    /// Contracts that the senders call.
    pub contract_count: u64,
}

/// Accounts and contracts that were made before the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SendSetup {
    /// Senders that were paid.
    pub funded_count: u64,
    /// Senders that had enough.
    pub reused_count: u64,
    /// Contracts that were created.
    pub contract_count: u64,
    /// Transactions of the setup; none of them is in `counts`.
    pub tx_count: u64,
    /// Time of the setup.
    pub time_ns: u64,
}

/// Transactions by their fate. `planned_count` = `unsent_count` + `sent_count`. `sent_count` =
/// `included_count` + `reverted_count` + `pending_count` + `failed_count`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendCounts {
    /// All transactions of the load.
    pub planned_count: u64,
    /// Transactions never handed to the node.
    pub unsent_count: u64,
    /// Transactions handed to the node at least once.
    pub sent_count: u64,
    /// Transactions in a block that succeeded.
    pub included_count: u64,
    /// Transactions in a block that reverted.
    pub reverted_count: u64,
    /// Transactions in no block at the end, and not refused.
    pub pending_count: u64,
    /// Transactions refused for good.
    pub failed_count: u64,
}

/// Times of transactions. A due transaction that had not reached the event at the end counts as at
/// least as long as it had waited (Kaplan-Meier estimate).
///
/// A percentile in the range of such transactions is `null`. So is the maximum where one of them
/// waited longest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SendLatency {
    /// From when a transaction was due until it was first handed over.
    pub delay_ns: Percentiles,
    /// From when a transaction was due until the node had taken it, or a block had it.
    pub acceptance_ns: Percentiles,
    /// From when a transaction was due until its block was seen. Blocks are polled ten times a
    /// second.
    pub inclusion_ns: Percentiles,
    /// Due transactions in no block at the end. The count of `inclusion_ns` includes them.
    pub open_count: u64,
    /// Longest wait of these open transactions.
    pub open_longest_ns: Option<u64>,
    /// Histogram of the times of `inclusion_ns` that ended. It begins with an empty range, and each
    /// range is a quarter longer than the one before.
    pub inclusion_histogram: Vec<Bucket>,
    /// Histogram of the waits of the open transactions, in the same ranges.
    pub open_histogram: Vec<Bucket>,
    /// Time of each answered call that handed a transaction over.
    pub call_ns: Percentiles,
}

/// Calls and signatures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendAttempts {
    /// Calls that handed a transaction over.
    pub call_count: u64,
    /// Calls that repeated an earlier call.
    pub retry_count: u64,
    /// Calls answered by "already known" or "nonce too low" for a transaction that the node had. An
    /// earlier call had delivered it.
    pub known_count: u64,
    /// Transactions that the node had taken and forgotten, and that were sent again.
    pub resent_count: u64,
    /// Transactions that were signed anew, with another nonce or fee.
    pub signed_anew_count: u64,
    /// Nonces that were corrected from the node.
    pub nonce_corrected_count: u64,
    /// Transactions of which two signatures got into blocks.
    pub twice_count: u64,
}

/// Failed calls of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendErrors {
    /// The kind: `connection`, `timeout`, `http-status`, `malformed`, `internal`, `rate-limit`,
    /// `pool-full`, `nonce`, `underpriced`, `funds`, `rejected` or `claimed-known`.
    /// `claimed-known`: the node says that it already knows the transaction, but does not have it.
    pub kind: String,
    /// Number of failed calls.
    pub count: u64,
    /// Message of the first failure.
    pub first: String,
}

/// A block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendBlock {
    /// Number of the block.
    pub number: u64,
    /// Hash of the block.
    pub hash: String,
    /// Timestamp of the block, seconds since 1970.
    pub timestamp_unix_s: u64,
    /// Time from the start until the block was seen.
    pub seen_ns: u64,
    /// Transactions.
    pub tx_count: u64,
    /// Transactions of the load.
    pub own_tx_count: u64,
    /// Gas used.
    pub gas: u64,
    /// Gas of the transactions of the load.
    pub own_gas: u64,
    /// Gas limit.
    pub limit_gas: u64,
    /// Base fee in wei.
    pub base_fee_wei: Option<u64>,
}

/// The pool at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendPool {
    /// Time of the observation, from the start.
    pub at_ns: u64,
    /// Transactions that may go into the next block.
    pub pending_count: u64,
    /// Transactions that wait for others.
    pub queued_count: u64,
}

/// Blocks above the last block with a transaction of the load. A reorganisation of fewer blocks
/// would have been seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendConfirmations {
    /// Blocks to wait for.
    pub wanted_count: u64,
    /// Blocks that were seen.
    pub seen_count: u64,
}

/// Reorganisations of the chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendReorgs {
    /// Number of reorganisations.
    pub count: u64,
    /// Blocks that reorganisations removed.
    pub removed_block_count: u64,
    /// Inclusions that reorganisations undid.
    pub undone_count: u64,
}

/// A CPU profile of the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendProfile {
    /// Scheme, host and port of the profile's source.
    pub url: String,
    /// File of the profile; `null` without a profile.
    pub file: Option<String>,
    /// Size of the file.
    pub size_bytes: Option<u64>,
    /// Reason for the lack of a profile.
    pub reason: Option<String>,
}
