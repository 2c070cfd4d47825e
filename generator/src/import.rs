//! Imports blocks that others made, for `stress import`. Sources are execution-spec-tests, files of
//! go-ethereum's transition tool (t8n), chains, Engine payloads, and a running node. The outcome
//! that a source states is compared with that of the reference, and never taken over. In names,
//! `said` is a value that the source states, and `made` is the same value as it is computed here.

mod blockchain_test;
mod chain;
mod chain_import;
mod complete;
mod early;
mod envelope;
mod exceptions;
mod genesis;
mod header;
mod json;
mod kind;
mod lists;
mod payload;
mod payloads;
mod read;
pub mod rpc;
mod rules;
mod set;
mod state;
mod t8n;

use std::fmt;

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bloom, Bytes};
use workload::{Block, Fork, GenesisAccount, StepKind, Workload};

use crate::reference::ReferenceError;

pub use blockchain_test::{NamedTest, blockchain_tests, each_blockchain_test};
pub use chain::{NamedStream, chain};
pub use complete::{complete, in_batches};
pub use kind::InputKind;
pub use lists::{FoundList, list_by_reference, lists};
pub use payloads::payloads;
pub use rpc::{blocks as rpc_blocks, witness};
pub use set::FileSet;
pub use state::state_after;
pub use t8n::{NamedText, TransitionInput, transition};

/// Kinds of files that can be imported, as a text for errors.
const IMPORTED_KINDS: &str = "tests (blockchain_test, blockchain_test_engine), t8n files (alloc, env, \
    txs, result), a genesis beside a chain as RLP or Engine payloads, a block beside its witness";

/// Imported blocks: a workload with one block a batch, and the facts that the source gives about
/// the blocks. The expected outcome in the workload's batches is still empty: see [`complete`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Name of the test, or of the block.
    pub name: String,
    /// The workload: genesis and blocks.
    pub workload: Workload,
    /// Facts that the source gives about each block of the workload.
    pub blocks: Vec<ImportedBlock>,
    /// The accounts after the last block, in ascending order of their addresses; `None` if no file
    /// has them.
    pub post_state: Option<Vec<GenesisAccount>>,
    /// The kind of the source.
    pub source: Source,
    /// Blocks that the reference must refuse.
    pub invalid: Vec<InvalidBlock>,
    /// Notes for the user, one sentence each: facts of blocks before the imported ones, and values
    /// that are assumed.
    pub notes: Vec<String>,
    /// Names of values that were compared while the source was read, except for values of single
    /// blocks, which are in `blocks`.
    compared: Vec<&'static str>,
}

/// A block that must be refused, for a reason that its file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidBlock {
    /// Number of valid blocks before this block.
    pub before_count: usize,
    /// Names of rules, of which the block breaks one.
    pub exception: String,
    /// The block and its facts, or the reason for which it cannot be read.
    read: Result<Box<(Block, ImportedBlock)>, String>,
}

/// The kind of the source that states the blocks' outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Files.
    Files,
    /// A running node.
    Node,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Files => "in the file",
            Self::Node => "by the node",
        })
    }
}

/// Facts that the source gives about a block; `None` for a fact that it does not give.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedBlock {
    /// Gas used, as headers count it.
    pub gas_used: Option<u64>,
    /// Gas used for blobs (EIP-4844).
    pub blob_gas_used: Option<u64>,
    /// The receipts, in order.
    pub receipts: Option<Vec<StatedReceipt>>,
    /// Root of the receipts.
    pub receipts_root: Option<B256>,
    /// Bloom filter of all logs.
    pub logs_bloom: Option<Bloom>,
    /// Keccak-256 of the RLP of all logs.
    pub logs_hash: Option<B256>,
    /// Root of the transactions.
    pub txs_root: Option<B256>,
    /// Root of the withdrawals (EIP-4895).
    pub withdrawals_root: Option<B256>,
    /// Root of the state after the block.
    pub state_root: Option<B256>,
    /// Hash of the requests (EIP-7685).
    pub requests_hash: Option<B256>,
    /// Keccak-256 of the list's RLP (EIP-7928); `None` before Amsterdam.
    pub list_hash: Option<B256>,
    /// RLP of the list, once for each place in the source that has it.
    pub lists: Vec<Bytes>,
    /// The block's hash.
    pub hash: Option<B256>,
    /// The block's header.
    header: Option<Header>,
    /// Names of values that were compared while the block was read.
    compared: Vec<&'static str>,
    /// Names of values that the source gives, and that cannot be computed from it.
    not_compared: Vec<&'static str>,
    /// The block's transactions in their signed form (EIP-2718); `None` if one is not signed.
    signed: Option<Vec<Bytes>>,
    /// Root of the withdrawals that were read; `None` if the file leaves out a field of a
    /// withdrawal.
    computed_withdrawals_root: Option<B256>,
}

impl Imported {
    /// Valid blocks from files, without further facts. The workload gets the signed transactions of
    /// all blocks, or none if one is not signed.
    fn new(mut workload: Workload, blocks: Vec<ImportedBlock>) -> Self {
        let signed: Option<Vec<_>> = blocks.iter().map(|block| block.signed.as_deref()).collect();
        workload.signed_transactions = signed.map(|blocks| blocks.concat()).unwrap_or_default();
        Self {
            name: workload.scenario.clone(),
            workload,
            blocks,
            post_state: None,
            source: Source::Files,
            invalid: Vec::new(),
            notes: Vec::new(),
            compared: Vec::new(),
        }
    }

    /// Returns the names of values that the source gives, and that cannot be computed from it.
    pub fn not_compared(&self) -> Vec<&'static str> {
        let mut names: Vec<_> =
            self.blocks.iter().flat_map(|block| block.not_compared.iter().copied()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The facts of a receipt that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatedReceipt {
    /// Whether the receipt has status 1 (success).
    pub has_succeeded: bool,
    /// Gas that the receipt's transaction used, without that of earlier transactions.
    pub gas_used: u64,
}

impl fmt::Display for StatedReceipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} gas and status {}", self.gas_used, u8::from(self.has_succeeded))
    }
}

/// Reasons for which blocks cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file is not valid JSON.
    #[error("{file}: this is not valid JSON (truncated?): {source}")]
    Json {
        /// The file.
        file: String,
        /// The fault, with line and column.
        source: serde_json::Error,
    },
    /// A file cannot be read.
    #[error("cannot read {file}: {source}")]
    Read {
        /// The file.
        file: String,
        /// The fault.
        source: std::io::Error,
    },
    /// A value is missing, or is not an allowed one.
    #[error("{file}: {path} is {got}; allowed is {allowed}")]
    Field {
        /// The file.
        file: String,
        /// Path of the value in the file.
        path: String,
        /// The value.
        got: String,
        /// The allowed values.
        allowed: String,
    },
    /// A file is of a kind that is not imported.
    #[error("{file}: this seems to be {seems}; taken are {IMPORTED_KINDS}")]
    Kind {
        /// The file.
        file: String,
        /// Its likely kind.
        seems: String,
    },
    /// The files are no set that can be imported together.
    #[error("{0}")]
    Set(String),
    /// A file lacks values, accounts or blocks that are needed.
    #[error("{file}: {missing}")]
    State {
        /// The file.
        file: String,
        /// All missing values, accounts or blocks, and the reason for which they are needed.
        missing: String,
    },
    /// The reference refuses a transaction of a block.
    #[error("block {block}, transaction {tx_index} from {sender}: {reason}{hint}")]
    Transaction {
        /// Number of the block.
        block: u64,
        /// Index of the transaction in the block, from 0.
        tx_index: usize,
        /// The sender.
        sender: Address,
        /// The reason of the reference.
        reason: String,
        /// A possible cause.
        hint: &'static str,
    },
    /// The reference cannot be run, or was stopped.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// A block cannot be run, for another reason than one of its transactions.
    #[error("block {block}: {reason}")]
    Block {
        /// Number of the block.
        block: u64,
        /// The reason.
        reason: String,
    },
    /// A node gives no answer that can be used.
    #[error("{node}: {call}: {said}; {remedy}")]
    Node {
        /// Name of the node, without the secret parts of its URL.
        node: String,
        /// The call, with its first parameter.
        call: String,
        /// The node's answer, or the reason for a missing answer.
        said: String,
        /// The remedy.
        remedy: String,
    },
    /// The fork of the blocks is unknown, or is not the fork that the user named.
    #[error("{0}")]
    Fork(String),
    /// The reference has another outcome of a block than the source gives.
    #[error("block {block}: {what} is {said} {source_name}, and {made} by the reference")]
    Differs {
        /// The source that gives `said`.
        source_name: Source,
        /// Number of the block.
        block: u64,
        /// Name of the value that differs.
        what: String,
        /// The source's value.
        said: String,
        /// The reference's value.
        made: String,
    },
}

impl ImportError {
    /// Makes the error for a step of `block` that cannot be run.
    fn step(block: &Block, kind: StepKind, reason: String) -> Self {
        let number = block.env.number;
        match kind {
            StepKind::Transaction(tx_index) => {
                let sender = block.transactions[tx_index].sender;
                Self::Transaction { block: number, tx_index, sender, reason, hint: "" }
            }
            StepKind::BeforeTransactions | StepKind::AfterTransactions => {
                Self::Block { block: number, reason }
            }
        }
    }

    /// Returns the reason without the names of files and tests, as these names may contain the name
    /// of a rule.
    fn reason(&self) -> String {
        match self {
            Self::Field { path, got, allowed, .. } => {
                let key = path.rsplit('.').next().unwrap_or(path);
                format!("{key} is {got}; allowed is {allowed}")
            }
            Self::Json { source, .. } => source.to_string(),
            other => other.to_string(),
        }
    }
}

/// Returns the fork of this name. Upper and lower case are the same.
pub fn fork_of(name: &str) -> Option<Fork> {
    Fork::ALL.into_iter().find(|fork| fork.name().eq_ignore_ascii_case(name))
}

/// Returns the names of all forks, as a text for errors.
pub fn fork_names() -> String {
    let names = Fork::ALL.map(Fork::name).join(", ");
    format!("one of {names}")
}
