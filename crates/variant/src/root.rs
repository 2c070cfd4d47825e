//! The state root: when and how a sample computes it, and which nodes of tries a state stores.

use std::fmt;

crate::named! {
    /// When the state root of a batch is computed.
    #[derive(Default)]
    pub enum RootTime: "time of the root" {
        /// Never: flat state alone is kept.
        #[default]
        Nothing = "none",
        /// Between execution and the commit.
        After = "after",
        /// While the batch is executed, from the batch's list. Execution checks that list.
        FromList = "from-list",
        /// After execution. While steps run, nodes above the keys that finished steps wrote are
        /// read ahead.
        Pipelined = "pipelined",
    }
}

crate::named! {
    /// Order in which the nodes for a root are read from the store.
    #[derive(Default)]
    pub enum RootReads: "order of reading nodes" {
        /// One node after the other, down each trie from its top. Each shard of a trie reads on its
        /// own.
        OnDemand = "on-demand",
        /// All nodes of one level of all tries together, then those of the next level.
        #[default]
        ByLevel = "by-level",
        /// All nodes that may be above the written keys, together. Some of these nodes do not
        /// exist.
        AtOnce = "at-once",
    }
}

crate::named! {
    /// Nodes of tries that are in memory at a sample's start, and stay there.
    #[derive(Default)]
    pub enum RootCache: "content of the cache of nodes" {
        /// No node.
        #[default]
        Cold = "cold",
        /// Nodes near the tops of tries: those with short paths.
        UpperLevels = "upper-levels",
        /// All nodes that the sample's roots need.
        Warm = "warm",
    }
}

/// One way to compute state roots: when, on how many shards, and with which reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RootWay {
    /// When the root is computed.
    pub time: RootTime,
    /// Number of shards, 1 to 16, of the accounts' trie and of each slot trie with many written
    /// slots. Each shard is folded on a thread of its own.
    pub shard_count: u8,
    /// Order in which nodes are read.
    pub reads: RootReads,
    /// Nodes that are in memory at a sample's start.
    pub cache: RootCache,
}

impl RootWay {
    /// No state root.
    pub const NONE: Self = Self::at(RootTime::Nothing);

    /// Roots at `time`, with the defaults of all else: undivided tries, read level by level,
    /// without nodes in memory.
    pub const fn at(time: RootTime) -> Self {
        Self { time, shard_count: 1, reads: RootReads::ByLevel, cache: RootCache::Cold }
    }

    /// Returns whether no state root is computed.
    pub const fn is_none(&self) -> bool {
        matches!(self.time, RootTime::Nothing)
    }
}

impl Default for RootWay {
    fn default() -> Self {
        Self::NONE
    }
}

impl fmt::Display for RootWay {
    /// Writes the time and all values that are not the default: `after`,
    /// `pipelined-16-shards-at-once-upper-levels`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, shard_count, reads, cache } = self;
        write!(f, "{time}")?;
        if *shard_count > 1 {
            write!(f, "-{shard_count}-shards")?;
        }
        if *reads != RootReads::default() {
            write!(f, "-{reads}")?;
        }
        if *cache != RootCache::default() {
            write!(f, "-{cache}")?;
        }
        Ok(())
    }
}

crate::named! {
    /// Which nodes of its tries a state stores beside its rows.
    #[derive(Default)]
    pub enum TrieForm: "form of tries" {
        /// No node. Such a state has no root.
        #[default]
        Nothing = "none",
        /// Branches with more rows below them than a fixed number. All nodes below are hashed again
        /// from the rows.
        Cut = "cut",
        /// Branches above other branches, with references of those alone and not of leaves: the
        /// nodes that reth stores.
        RethLike = "reth-like",
        /// All branches.
        Branches = "branches",
        /// All nodes by their path, as RLP, leaves included.
        All = "all",
    }
}
