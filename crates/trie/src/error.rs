//! Errors of this crate: wrong rows, writes, stored nodes and shards, and failed stores.

use std::error;

use thiserror::Error;

use crate::path::Path;

/// Rows, nodes or shards that do not make a trie, or a failed store.
#[derive(Debug, Error)]
pub enum Error {
    /// A key is below the key before it.
    #[error("{key} comes after {previous}: keys must ascend; sort them before")]
    Unsorted {
        /// The key before.
        previous: Path,
        /// The key that is below `previous`.
        key: Path,
    },
    /// A key comes twice.
    #[error("{key} comes twice: a trie has one value under a key")]
    Duplicate {
        /// The key.
        key: Path,
    },
    /// A key begins with another key. Branches have no value of their own.
    #[error("{short} is a prefix of {long}: a branch cannot have a value; use keys of one length")]
    Prefix {
        /// The shorter key.
        short: Path,
        /// The longer key.
        long: Path,
    },
    /// A key is longer than 32 bytes.
    #[error("a key of {bytes} bytes: at most 32 are supported")]
    LongKey {
        /// Length of the key in bytes.
        bytes: usize,
    },
    /// The value of a row is empty, which means a deletion among writes.
    #[error("the value under {key} is empty: leave the row out")]
    EmptyValue {
        /// The row's key.
        key: Path,
    },
    /// A key or path outside the part of the trie of its builder or shard.
    #[error("{key} is outside of {range}")]
    Outside {
        /// The key or path.
        key: Path,
        /// The part of the trie that the key must lie in.
        range: String,
    },
    /// A node that another node refers to is not in the store.
    #[error("the stored node at {path} is missing")]
    MissingNode {
        /// The node's path.
        path: Path,
    },
    /// The bytes of a stored node are invalid.
    #[error("the stored node at {path} is invalid: {source}")]
    InvalidNode {
        /// The node's path.
        path: Path,
        /// The fault.
        source: NodeError,
    },
    /// A node and the rows below it contradict each other.
    #[error("{found} rows below {path} where its node counts {counted}")]
    RowCount {
        /// The rows' common path.
        path: Path,
        /// Number of rows that the stored node gives.
        counted: usize,
        /// Number of rows that were read.
        found: usize,
    },
    /// Reads were answered with a wrong number of nodes, or with rows outside the requested ranges.
    #[error("the answer does not fit the requested reads: {rule}")]
    Answer {
        /// The rule that was broken.
        rule: &'static str,
    },
    /// A subtree that is known by its hash alone would have to move. The cause is a store whose
    /// nodes contradict each other.
    #[error("the subtree at {path} is known by its hash alone and would have to move")]
    Unread {
        /// The subtree's path.
        path: Path,
    },
    /// Shards that do not divide one trie among them, or have different formats.
    #[error("the shards do not make one trie: {rule}")]
    Shards {
        /// The rule that was broken.
        rule: &'static str,
    },
    /// The sink of nodes failed.
    #[error("cannot write the node at {path}")]
    Sink {
        /// The node's path.
        path: Path,
        /// The sink's error.
        source: Box<dyn error::Error + Send + Sync>,
    },
    /// The store failed.
    #[error("cannot read nodes or rows")]
    Source(#[source] Box<dyn error::Error + Send + Sync>),
    /// A cut at an invalid number of rows.
    #[error("cut at {rows} rows: must be 1 to 250")]
    Cut {
        /// The number of rows.
        rows: u8,
    },
}

/// Fault in the bytes of a stored node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NodeError {
    /// The bytes end early.
    #[error("it ends early")]
    Short,
    /// There are bytes after the end.
    #[error("it has bytes behind its end")]
    Long,
    /// Not RLP, or not the shortest form.
    #[error("it is not canonical RLP")]
    Rlp,
    /// The list has neither two items nor seventeen.
    #[error("it has neither two items nor seventeen")]
    ItemCount,
    /// A child that is neither a hash nor a node shorter than 32 bytes.
    #[error("a child is neither a hash nor a node of less than 32 bytes")]
    Reference,
    /// Wrong flags, padding or length of a path.
    #[error("a path has wrong flags, padding or length")]
    Path,
    /// A branch with fewer than two children, a branch with a value, or a leaf or extension that is
    /// empty.
    #[error(
        "it has too few children, or a value where there must be none, or none where one must be"
    )]
    Shape,
    /// A count of rows or a kind of child that the node's format does not have.
    #[error("a child's kind or count is not one of its format")]
    Kind,
}
