//! Counts of reads, for stores and the tries in them.

/// Reads of one thread as its store counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounters {
    /// Keys that were requested, present or not.
    pub key_count: u64,
    /// Blocks that the store read from its files.
    pub block_count: u64,
    /// Bytes of those blocks as the store requested them.
    pub block_bytes: u64,
    /// Blocks found in the store's own cache.
    pub cache_hit_count: u64,
}

impl ReadCounters {
    /// Adds another thread's counts.
    pub fn add(&mut self, other: &Self) {
        self.key_count += other.key_count;
        self.block_count += other.block_count;
        self.block_bytes += other.block_bytes;
        self.cache_hit_count += other.cache_hit_count;
    }

    /// The difference to `before`.
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
