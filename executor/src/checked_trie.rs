//! A trie that is built twice: by the builder, which stores nodes, and by `alloy_trie::HashBuilder`,
//! which shares no code with it.

use alloy_primitives::B256;
use alloy_trie::{HashBuilder, Nibbles};
use trie::{Builder, NodeSink};

/// Both builders.
pub(crate) struct CheckedTrie<S> {
    builder: Builder<S>,
    reference: HashBuilder,
}

/// A trie whose two roots are not one, or that cannot be built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CheckedTrieError {
    /// The rows make no trie, or the sink failed.
    #[error(transparent)]
    Trie(#[from] trie::Error),
    /// The roots differ.
    #[error("its root is {got}, and by HashBuilder {expected}")]
    Root {
        /// By the reference.
        expected: B256,
        /// By the builder.
        got: B256,
    },
}

impl<S: NodeSink> CheckedTrie<S> {
    pub(crate) fn new(builder: Builder<S>) -> Self {
        Self { builder, reference: HashBuilder::default() }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, key: &B256, value: &[u8]) -> Result<(), trie::Error> {
        // First: it checks the order of the keys, by which the reference would panic.
        self.builder.push(key.as_slice(), value)?;
        self.reference.add_leaf(Nibbles::unpack(key), value);
        Ok(())
    }

    /// The root and the sink.
    pub(crate) fn finish(mut self) -> Result<(B256, S), CheckedTrieError> {
        let built = self.builder.finish()?;
        let (expected, got) = (self.reference.root(), built.root);
        if expected != got {
            return Err(CheckedTrieError::Root { expected, got });
        }
        Ok((got, built.sink))
    }
}
