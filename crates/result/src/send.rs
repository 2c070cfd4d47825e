//! `stress send`: a load on a live node, as it is written (`stress.send/2`, explained in `docs/send.md`).
//! An unknown value is `null`. Times are of the sending machine's clock unless said otherwise.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    environment::Environment,
    run::{Percentiles, Tool},
    schema::schema,
};

schema! {
    /// The schema of a [`SendResult`]. Version 1 counted a transaction that was known already among the errors,
    /// and its counts of fates had names without `_count`. It is not read.
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
    /// When it began, seconds since 1970.
    pub started_unix_s: u64,
    /// The sending machine.
    pub environment: Environment,
    /// The node.
    pub node: SendNode,
    /// The work.
    pub work: SendWork,
    /// When transactions were sent: `rate` (a second), `in-flight` or `pool-depth`.
    pub pace: String,
    /// The number of that.
    pub pace_value: f64,
    /// Accounts and contracts that were made before.
    pub setup: SendSetup,
    /// Transactions by their fate.
    pub counts: SendCounts,
    /// From the first to the end of the wait for the last.
    pub elapsed_ns: u64,
    /// From the start to when the last was handed over.
    pub sending_ns: u64,
    /// Transactions handed over a second.
    pub sent_per_s: Option<f64>,
    /// Transactions in blocks a second that succeeded, until the last block with one of the load was seen.
    pub included_per_s: Option<f64>,
    /// Gas of the load a second, until the same time.
    pub gas_per_s: Option<f64>,
    /// Times.
    pub latency: SendLatency,
    /// Calls that sent.
    pub attempts: SendAttempts,
    /// Failed calls that sent, or asked for a transaction, by kind.
    pub errors: Vec<SendErrors>,
    /// Failed calls that read blocks, by kind.
    pub read_errors: Vec<SendErrors>,
    /// Blocks of the chain since the start, in order.
    pub blocks: Vec<SendBlock>,
    /// Depth of the pool over time; empty where the node does not tell it.
    pub pool: Vec<SendPool>,
    /// Reorganisations.
    pub reorgs: SendReorgs,
    /// Blocks above the last one with a transaction of the load.
    pub confirmations: SendConfirmations,
    /// The node's CPU profile, where one was asked for.
    pub profile: Option<SendProfile>,
    /// Whether the user ended it.
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
    /// Name and version by its own word.
    pub version: Option<String>,
    /// Chain id.
    pub chain_id: u64,
}

/// The work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SendWork {
    /// Name of the scenario.
    pub scenario: String,
    /// Its seed.
    pub seed: u64,
    /// Rules by which it was made.
    pub fork: String,
    /// Digest of the workload.
    pub digest: String,
    /// Accounts that send.
    pub sender_count: u64,
    /// Contracts that they call.
    pub contract_count: u64,
}

/// Accounts and contracts that were made before.
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
    /// How long it took.
    pub time_ns: u64,
}

/// Transactions by their fate: `planned_count` = `unsent_count` + `sent_count`, and `sent_count` = `included_count` +
/// `reverted_count` + `pending_count` + `failed_count`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendCounts {
    /// All of the load.
    pub planned_count: u64,
    /// Never handed to the node.
    pub unsent_count: u64,
    /// Handed to the node at least once.
    pub sent_count: u64,
    /// In a block, and they succeeded.
    pub included_count: u64,
    /// In a block, and they reverted.
    pub reverted_count: u64,
    /// In no block at the end, and not refused.
    pub pending_count: u64,
    /// Refused for good.
    pub failed_count: u64,
}

/// Times of transactions. Those that were due and had the event not by the end of the load count as at least as
/// long as they had waited (estimate of Kaplan and Meier): a percentile that lies among them is `null`, and so is
/// the maximum where one of them was longest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SendLatency {
    /// From when a transaction was due to when it was first handed over.
    pub delay_ns: Percentiles,
    /// From when it was due to when the node had taken it, or a block had it.
    pub acceptance_ns: Percentiles,
    /// From when it was due to when the block with it was seen; blocks are looked for ten times a second.
    pub inclusion_ns: Percentiles,
    /// Transactions that were due and in no block at the end; they are in the count of `inclusion_ns`.
    pub open_count: u64,
    /// How long the longest of them had waited.
    pub open_longest_ns: Option<u64>,
    /// The times of `inclusion_ns` by ranges, each a quarter longer than the one before, from the first that has
    /// one to the last.
    pub inclusion_histogram: Vec<SendBucket>,
    /// Of each call that handed one over and was answered.
    pub call_ns: Percentiles,
}

/// Transactions with a time in a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendBucket {
    /// The longest time of the range; above that of the range before.
    pub up_to_ns: u64,
    /// Those that were in a block after such a time.
    pub included_count: u64,
    /// Those that had waited for such a time, and were in no block at the end.
    pub open_count: u64,
}

/// Calls and signatures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendAttempts {
    /// Calls that handed a transaction over.
    pub call_count: u64,
    /// Those of them that repeated a call.
    pub retry_count: u64,
    /// Calls that were answered by "already known" or "nonce too low", and the node had the transaction: an earlier call
    /// had brought it.
    pub known_count: u64,
    /// Transactions that the node had taken and forgotten, and that were sent again.
    pub resent_count: u64,
    /// Transactions that were signed anew, with another nonce or fee.
    pub signed_anew_count: u64,
    /// Nonces that were corrected from the node.
    pub nonce_corrected_count: u64,
    /// Transactions that two signatures brought into blocks.
    pub twice_count: u64,
}

/// Failed calls of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendErrors {
    /// The kind: `connection`, `timeout`, `http-status`, `malformed`, `internal`, `rate-limit`, `pool-full`, `nonce`,
    /// `underpriced`, `funds`, `rejected`, or `claimed-known`: the node says that it knows the transaction already, and
    /// does not have it.
    pub kind: String,
    /// How many.
    pub count: u64,
    /// Words of the first.
    pub first: String,
}

/// A block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendBlock {
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: String,
    /// Its own time, seconds since 1970.
    pub timestamp_unix_s: u64,
    /// When it was seen, since the start.
    pub seen_ns: u64,
    /// Transactions.
    pub tx_count: u64,
    /// Those of the load.
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
    /// When, since the start.
    pub at_ns: u64,
    /// Transactions that may go into the next block.
    pub pending_count: u64,
    /// Those that wait for others.
    pub queued_count: u64,
}

/// Blocks above the last one with a transaction of the load: reorganisations of fewer blocks were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendConfirmations {
    /// Those that were waited for.
    pub wanted_count: u64,
    /// Those that were seen.
    pub seen_count: u64,
}

/// Reorganisations of the chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendReorgs {
    /// How many.
    pub count: u64,
    /// Blocks that they removed.
    pub removed_block_count: u64,
    /// Inclusions that they undid.
    pub undone_count: u64,
}

/// A CPU profile of the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendProfile {
    /// Scheme, host and port of where it came from.
    pub url: String,
    /// The file; `null` where there is none.
    pub file: Option<String>,
    /// Its size.
    pub size_bytes: Option<u64>,
    /// Why there is none.
    pub reason: Option<String>,
}
