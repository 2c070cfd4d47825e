//! Counts of the reads of a store, as its readers of rows and of tries count them.

/// Counts of the reads of one reader, or the sums over several readers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounters {
    /// Number of keys that were requested, present or absent.
    pub key_count: u64,
    /// Number of blocks that the store read from its files.
    pub block_count: u64,
    /// Bytes that the store requested for these blocks.
    pub block_bytes: u64,
    /// Number of blocks that the store found in its own cache.
    pub cache_hit_count: u64,
}

impl ReadCounters {
    /// Adds the counts of another reader.
    pub fn add(&mut self, other: &Self) {
        self.key_count += other.key_count;
        self.block_count += other.block_count;
        self.block_bytes += other.block_bytes;
        self.cache_hit_count += other.cache_hit_count;
    }

    /// Returns the difference to `before`.
    #[must_use]
    pub const fn since(&self, before: &Self) -> Self {
        Self {
            key_count: self.key_count - before.key_count,
            block_count: self.block_count - before.block_count,
            block_bytes: self.block_bytes - before.block_bytes,
            cache_hit_count: self.cache_hit_count - before.cache_hit_count,
        }
    }
}
