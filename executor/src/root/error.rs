//! The error of root computation.

use workload::list::ListError;

use crate::error::StoreError;

/// A root that could not be computed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RootError {
    /// The state has no tries.
    #[error("the state has no tries, so it has no root: build one that has, with run.trie")]
    NoTries,
    /// The root is to come from a list, and the variant takes no list.
    #[error("the root is to come from the list, and the design takes none")]
    NoList,
    /// A trie cannot have this number of shards.
    #[error("{0} shards: a trie has 1 to 16")]
    Shards(u8),
    /// The list cannot be read.
    #[error(transparent)]
    List(#[from] ListError),
    /// Nodes and rows make no trie.
    #[error("nodes and rows of the state make no trie: {0}")]
    Trie(#[from] trie::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The computation was told to stop.
    #[error("cancelled")]
    Cancelled,
}
