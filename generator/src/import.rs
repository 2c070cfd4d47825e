//! Imports blocks from elsewhere: tests of execution-spec-tests, files of go-ethereum's transition tool,
//! chains, Engine payloads, and blocks of a running node. Facts of a block are compared with those of the
//! reference and never taken over.

mod blockchain_test;
mod chain;
mod complete;
mod early;
mod envelope;
mod exceptions;
mod genesis;
mod header;
mod intake;
mod kind;
mod lists;
mod node;
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
pub use chain::{Stream, chain};
pub use complete::{complete, in_batches};
pub use kind::Kind;
pub use lists::{FoundList, list_by_reference, lists};
pub use payloads::payloads;
pub use rpc::{blocks as rpc_blocks, witness};
pub use set::Set;
pub use state::state_after;
pub use t8n::{Text, TransitionInput, transition};

/// Files that are imported, for errors.
const TAKEN: &str = "tests (blockchain_test, blockchain_test_engine), t8n files (alloc, env, \
    txs, result), a genesis beside a chain as RLP or Engine payloads, a block beside its witness";

/// Blocks as a workload with one block a batch, and their facts in the files. The expected outcome
/// in the workload's batches is still empty: see [`complete`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Name of the test, or of the block.
    pub name: String,
    /// Genesis and blocks.
    pub workload: Workload,
    /// Per block, its facts in the files.
    pub blocks: Vec<ImportedBlock>,
    /// The state after the last block by ascending address; `None` where no file has it.
    pub post_state: Option<Vec<GenesisAccount>>,
    /// The source of the compared values.
    pub source: Source,
    /// Blocks that must be refused.
    pub invalid: Vec<InvalidBlock>,
    /// Facts of blocks before these, and values that are assumed, one sentence each.
    pub notes: Vec<String>,
    /// Values beside those of blocks that were compared while they were read.
    compared: Vec<&'static str>,
}

/// A block that must be refused, for a reason that its file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidBlock {
    /// Number of valid blocks before it.
    pub before_count: usize,
    /// Names of the rules, one of which it breaks.
    pub exception: String,
    /// The block, or why it cannot be read.
    read: Result<Box<(Block, ImportedBlock)>, String>,
}

/// The source of the blocks' outcomes.
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

/// Facts of a block in files; `None` where they have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedBlock {
    /// Gas used in the header's sense.
    pub gas_used: Option<u64>,
    /// Gas of blobs (EIP-4844).
    pub blob_gas_used: Option<u64>,
    /// The receipts, in order.
    pub receipts: Option<Vec<SaidReceipt>>,
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
    /// The list's RLP, once for each place in the files.
    pub lists: Vec<Bytes>,
    /// The block's hash.
    pub hash: Option<B256>,
    /// Its header by its fields.
    header: Option<Header>,
    /// Values that were compared while it was read.
    compared: Vec<&'static str>,
    /// Values that are stated, and that cannot be computed from the files.
    not_compared: Vec<&'static str>,
    /// Its transactions as it carries them; `None` where one is not signed.
    signed: Option<Vec<Bytes>>,
    /// Root of the withdrawals that were read, which no run is needed for; `None` where a file leaves
    /// out a part of one.
    made_withdrawals_root: Option<B256>,
}

impl Imported {
    /// Names of values that the files state, and that cannot be computed from them.
    pub fn not_compared(&self) -> Vec<&'static str> {
        let mut names: Vec<_> =
            self.blocks.iter().flat_map(|block| block.not_compared.iter().copied()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The signed transactions of all blocks; none where one of them is not signed.
fn signed_transactions(blocks: &[ImportedBlock]) -> Vec<Bytes> {
    let of_blocks: Option<Vec<_>> = blocks.iter().map(|block| block.signed.as_deref()).collect();
    of_blocks.map(|of_blocks| of_blocks.concat()).unwrap_or_default()
}

/// A receipt in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SaidReceipt {
    /// Status 1.
    pub has_succeeded: bool,
    /// Gas of this transaction alone.
    pub gas_used: u64,
}

impl fmt::Display for SaidReceipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} gas and status {}", self.gas_used, u8::from(self.has_succeeded))
    }
}

/// Blocks that cannot be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file is no JSON.
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
        /// Path in the file.
        path: String,
        /// The value.
        got: String,
        /// The allowed values.
        allowed: String,
    },
    /// A file is of a kind that is not imported.
    #[error("{file}: this seems to be {seems}; taken are {TAKEN}")]
    Kind {
        /// The file.
        file: String,
        /// Its likely kind.
        seems: String,
    },
    /// Files are no whole set.
    #[error("{0}")]
    Set(String),
    /// A file lacks values, accounts or blocks that are needed.
    #[error("{file}: {missing}")]
    State {
        /// The file.
        file: String,
        /// All that is missing, and why it is needed.
        missing: String,
    },
    /// A transaction cannot be part of a block here.
    #[error("block {block}, transaction {tx_index} from {sender}: {reason}{hint}")]
    Transaction {
        /// Number of the block.
        block: u64,
        /// The transaction in the block, 0-based.
        tx_index: usize,
        /// The sender.
        sender: Address,
        /// The reference's value.
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
        /// Why.
        reason: String,
    },
    /// A node gives no answer that can be used.
    #[error("{node}: {call}: {said}; {remedy}")]
    Node {
        /// Name of the node, without the secret parts of its URL.
        node: String,
        /// The call, with its first parameter.
        call: String,
        /// Its answer, or why there was none.
        said: String,
        /// The remedy.
        remedy: String,
    },
    /// The fork of blocks is not known, or not the one that was named.
    #[error("{0}")]
    Fork(String),
    /// The reference makes something else of a block than the files or the node say.
    #[error("block {block}: {what} is {said} {source_name}, and {made} by the reference")]
    Differs {
        /// Source of `said`.
        source_name: Source,
        /// Number of the block.
        block: u64,
        /// The part that differs.
        what: String,
        /// The source's value.
        said: String,
        /// The reference's value.
        made: String,
    },
}

impl ImportError {
    /// A step of `block` cannot be run.
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

    /// The reason alone: names of files and tests, which may be named after a rule, are left out.
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

/// The fork of this name, however it is capitalised.
pub fn fork_of(name: &str) -> Option<Fork> {
    Fork::ALL.into_iter().find(|fork| fork.name().eq_ignore_ascii_case(name))
}

/// The forks that blocks can be of, for errors.
pub fn fork_names() -> String {
    let names = Fork::ALL.map(Fork::name).join(", ");
    format!("one of {names}")
}
