//! The result of `stress send`: a load on a live node (`stress.send/2`, explained in
//! `docs/send.md`). An unknown value is `null`. Times are by the clock of the sending machine,
//! unless a key says otherwise. The start is that of the load, after its setup. Only types:
//! `src/send/figures.rs` fills them.

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
    /// transaction among the errors, and its counts of transactions by fate had names without
    /// `_count`.
    SCHEMA: SendSchema = "stress.send/2"
}

/// The whole result of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SendResult {
    /// Name and version of this format.
    pub schema: SendSchema,
    /// The program that sent the load.
    pub tool: Tool,
    /// The command line, without the parts of URLs that may be secret.
    pub command: Vec<String>,
    /// Start of the load, seconds since 1970.
    pub started_unix_s: u64,
    /// The sending machine.
    pub environment: Environment,
    /// The node that got the load.
    pub node: SendNode,
    /// The work of the load.
    pub work: SendWork,
    /// Kind of the pace: `rate` (transactions a second), `in-flight` or `pool-depth`.
    pub pace: String,
    /// Value of the pace, in the unit of its kind.
    pub pace_value: f64,
    /// Accounts and contracts that were made before the load.
    pub setup: SendSetup,
    /// Counts of the load's transactions by their fate.
    pub counts: SendCounts,
    /// Time from the start of the load to its end, with the wait for the last transactions.
    pub elapsed_ns: u64,
    /// Time from the start until the last transaction was first sent.
    pub sending_ns: u64,
    /// Transactions sent a second, over `sending_ns`.
    pub sent_per_s: Option<f64>,
    /// Transactions that are in blocks and succeeded, a second, from the start until the last block
    /// with a transaction of the load was seen.
    pub included_per_s: Option<f64>,
    /// Gas of the load's transactions a second, from the start until the last block with one of
    /// them was seen.
    pub gas_per_s: Option<f64>,
    /// Latencies of transactions and calls.
    pub latency: SendLatency,
    /// Counts of the calls that sent transactions, and of signatures.
    pub attempts: SendAttempts,
    /// Failed calls that sent a transaction or asked for one, by kind.
    pub errors: Vec<SendErrors>,
    /// Failed calls that read blocks, by kind.
    pub read_errors: Vec<SendErrors>,
    /// Blocks of the chain since the start, in order.
    pub blocks: Vec<SendBlock>,
    /// Depth of the node's pool over time; empty if the node does not report it.
    pub pool: Vec<SendPool>,
    /// Reorganisations of the chain during the load.
    pub reorgs: SendReorgs,
    /// Blocks above the last block with a transaction of the load.
    pub confirmations: SendConfirmations,
    /// The node's CPU profile; `null` where the user did not ask for a profile.
    pub profile: Option<SendProfile>,
    /// Whether the user ended the load early.
    pub interrupted: bool,
    /// Reasons to doubt the figures, each with its remedy.
    pub warnings: Vec<String>,
}

/// The node that got the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SendNode {
    /// Scheme, host and port of the node's URL.
    pub url: String,
    /// Protocol of the calls: `http` or `websocket`.
    pub transport: String,
    /// Name and version as the node reports them.
    pub version: Option<String>,
    /// Id of the node's chain.
    pub chain_id: u64,
}

/// The work of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SendWork {
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of the workload.
    pub seed: u64,
    /// Fork of the workload.
    pub fork: String,
    /// Digest of the workload.
    pub digest: String,
    /// Number of accounts that send.
    pub sender_count: u64,
    /// Number of contracts that the senders call.
    pub contract_count: u64,
}

/// Accounts and contracts that were made before the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SendSetup {
    /// Number of senders that were paid.
    pub funded_count: u64,
    /// Number of senders that already had enough money.
    pub reused_count: u64,
    /// Number of contracts that were created.
    pub contract_count: u64,
    /// Number of transactions of the setup. None of them is in `counts`.
    pub tx_count: u64,
    /// Time that the setup took.
    pub time_ns: u64,
}

/// Counts of the load's transactions by their fate. `planned_count` = `unsent_count` +
/// `sent_count`. `sent_count` = `included_count` + `reverted_count` + `pending_count` +
/// `failed_count`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendCounts {
    /// Number of all transactions of the load.
    pub planned_count: u64,
    /// Number of transactions that were never sent to the node.
    pub unsent_count: u64,
    /// Number of transactions that were sent to the node at least once.
    pub sent_count: u64,
    /// Number of transactions that are in a block and succeeded.
    pub included_count: u64,
    /// Number of transactions that are in a block and reverted.
    pub reverted_count: u64,
    /// Number of sent transactions that at the end are neither in a block nor refused.
    pub pending_count: u64,
    /// Number of transactions that the node refused for good.
    pub failed_count: u64,
}

/// Latencies of the load's transactions. A transaction that was due and had not reached an event at
/// the end counts with its wait until then. That wait is a lower bound (Kaplan-Meier estimate).
///
/// A percentile in the range of such waits is `null`. So is the maximum where one of them is the
/// longest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SendLatency {
    /// Time from when a transaction was due until it was first sent.
    pub delay_ns: Percentiles,
    /// Time from when a transaction was due until the node had taken it, or a block had it.
    pub acceptance_ns: Percentiles,
    /// Time from when a transaction was due until its block was seen. Blocks are polled ten times a
    /// second.
    pub inclusion_ns: Percentiles,
    /// Number of due transactions that were in no block at the end. The count of `inclusion_ns`
    /// includes them.
    pub open_count: u64,
    /// Longest wait, until the end, of a due transaction that was in no block; `null` without one.
    pub open_longest_ns: Option<u64>,
    /// Histogram of those times of `inclusion_ns` that ended in a block. It begins with an empty
    /// range. The longest time of each range is about a quarter above that of the range before.
    pub inclusion_histogram: Vec<Bucket>,
    /// Histogram of the waits of transactions without a block, in the same ranges.
    pub open_histogram: Vec<Bucket>,
    /// Time of each answered call that sent a transaction.
    pub call_ns: Percentiles,
}

/// Counts of the calls that sent transactions, and of signatures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendAttempts {
    /// Number of calls that sent a transaction.
    pub call_count: u64,
    /// Number of calls that repeated the bytes of an earlier call.
    pub retry_count: u64,
    /// Number of calls that were answered by "already known" or "nonce too low" for a transaction
    /// that the node had. An earlier call had delivered it.
    pub known_count: u64,
    /// Number of transactions that the node had taken and forgotten, and that were sent again.
    pub resent_count: u64,
    /// Number of transactions that were signed anew, with another nonce or fee.
    pub signed_anew_count: u64,
    /// Number of nonces that were corrected by the node's nonce.
    pub nonce_corrected_count: u64,
    /// Number of transactions that got into blocks twice, by two signatures.
    pub twice_count: u64,
}

/// Failed calls of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendErrors {
    /// Kind of the failure: `connection`, `timeout`, `http-status`, `malformed`, `internal`,
    /// `rate-limit`, `pool-full`, `nonce`, `underpriced`, `funds`, `rejected` or `claimed-known`.
    /// With `claimed-known`, the node says that it knows the transaction, but does not have it.
    pub kind: String,
    /// Number of failed calls.
    pub count: u64,
    /// Message of the first failed call of this kind.
    pub first: String,
}

/// A block of the chain since the start.
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
    /// Number of transactions in the block.
    pub tx_count: u64,
    /// Number of the load's transactions in the block.
    pub own_tx_count: u64,
    /// Gas used by the block.
    pub gas: u64,
    /// Gas of the load's transactions in the block.
    pub own_gas: u64,
    /// Gas limit of the block.
    pub limit_gas: u64,
    /// Base fee of the block in wei; `null` if the block has none.
    pub base_fee_wei: Option<u64>,
}

/// Depth of the node's pool at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendPool {
    /// Time of the observation, since the start.
    pub at_ns: u64,
    /// Number of transactions that may go into the next block.
    pub pending_count: u64,
    /// Number of transactions that wait for other transactions.
    pub queued_count: u64,
}

/// Blocks above the last block with a transaction of the load. A reorganisation of fewer blocks
/// would have been seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendConfirmations {
    /// Number of blocks that the load waits for.
    pub wanted_count: u64,
    /// Number of blocks that were seen.
    pub seen_count: u64,
}

/// Reorganisations of the chain during the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendReorgs {
    /// Number of reorganisations.
    pub count: u64,
    /// Number of blocks that reorganisations removed from the chain.
    pub removed_block_count: u64,
    /// Number of inclusions of the load's transactions that reorganisations undid.
    pub undone_count: u64,
}

/// CPU profile of the node during the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendProfile {
    /// Scheme, host and port of the URL that gave the profile.
    pub url: String,
    /// Path of the profile's file; `null` if there is no profile.
    pub file: Option<String>,
    /// Size of the file.
    pub size_bytes: Option<u64>,
    /// Reason why there is no profile; `null` if there is one.
    pub reason: Option<String>,
}
