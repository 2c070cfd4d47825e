//! The settings of a sample's root computation, for plans and reads: from the variant, the store's
//! tries, and the size of the state.

use trie::{Format, NodeKey, ShardCount};
use variant::{RootReads, RootWay};
use workload::genesis::Genesis;

use super::error::RootError;
use crate::tries::{TrieId, Tries};

/// Smallest number of writes per shard for which a trie of slots is divided into shards. It is the
/// number of nodes that are hashed at a time, in SIMD lanes.
const WRITES_PER_SHARD: usize = 8;

/// The settings of root computation over the tries of a state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RootSettings {
    /// Format that decides which nodes the state stores.
    pub(super) format: Format,
    pub(super) shards: ShardCount,
    pub(super) reads: RootReads,
    /// Length, in nibbles, of the longest paths to nodes that are guessed (`RootReads::AtOnce`).
    pub(super) guess_depth: usize,
    /// Suitable number of ranges of slots for one call of the store.
    pub(super) ranges_per_call: usize,
}

impl RootSettings {
    /// Makes the settings from the variant's `root`, for a state that was built from `genesis`.
    ///
    /// # Errors
    /// A trie cannot have this number of shards.
    pub(super) fn new(
        root: RootWay,
        tries: &dyn Tries,
        genesis: &Genesis,
    ) -> Result<Self, RootError> {
        let RootWay { shard_count, reads, .. } = root;
        let shards = ShardCount::new(shard_count).ok_or(RootError::Shards(shard_count))?;
        let (format, ranges_per_call) = (tries.format(), tries.ranges_per_call());
        let guess_depth = guess_depth(format, genesis);
        Ok(Self { format, shards, reads, guess_depth, ranges_per_call })
    }

    /// Returns whether a trie with `write_count` writes is divided into shards.
    pub(super) fn divides(&self, trie: TrieId, write_count: usize) -> bool {
        let shard_count = usize::from(self.shards.get());
        let is_large = write_count >= WRITES_PER_SHARD * shard_count;
        shard_count > 1 && (trie == TrieId::Accounts || is_large)
    }

    /// Returns the key of the topmost node of a trie.
    pub(super) fn top(&self) -> NodeKey {
        NodeKey::top(self.format)
    }
}

/// Estimates the depth, in nibbles, of the deepest nodes that roots need in a state from `genesis`.
pub(super) fn guess_depth(format: Format, genesis: &Genesis) -> usize {
    depth_of(format, genesis.slot_count().max(genesis.account_count()))
}

/// Estimates the depth of the deepest branches of a trie of `row_count` rows with random keys. If
/// the format stores leaves, estimates the depth of the deepest leaves.
fn depth_of(format: Format, row_count: u64) -> usize {
    let nibbles = (u64::BITS - row_count.leading_zeros()).div_ceil(4) as usize;
    match format {
        Format::All => nibbles + 1,
        Format::Cut(_) | Format::RethLike | Format::Branches => nibbles,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_guessed_down_to_the_leaves_of_a_trie_of_all_rows() {
        let depths = [0, 1, 15, 16, 4_000, 128_000_000]
            .map(|row_count| depth_of(Format::RethLike, row_count));
        assert_eq!(depths, [0, 1, 1, 2, 3, 7]);
        assert_eq!(depth_of(Format::All, 4_000), 4);
    }
}
