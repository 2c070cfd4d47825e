//! The state root: when and how a sample computes it, and which nodes of its tries a state stores.

use std::fmt;

crate::named! {
    /// Time at which the state root of a batch is computed.
    #[derive(Default)]
    pub enum RootTime: "time of the root" {
        /// Never: flat state alone is kept.
        #[default]
        Nothing = "none",
        /// Between execution and the commit.
        After = "after",
        /// From the batch's list, while the batch is executed. Execution checks the list.
        FromList = "from-list",
        /// After execution. Nodes above the keys that steps write are read while other steps run.
        Pipelined = "pipelined",
    }
}

crate::named! {
    /// Order in which the nodes for a root are read.
    #[derive(Default)]
    pub enum RootReads: "order of reading nodes" {
        /// One node after the other, by a walk from the top of a trie. Each shard has a walk of its
        /// own.
        OnDemand = "on-demand",
        /// All nodes of one level of all tries together.
        #[default]
        ByLevel = "by-level",
        /// All nodes that may be above the writes, together. Some of these nodes do not exist.
        AtOnce = "at-once",
    }
}

crate::named! {
    /// Nodes of tries that are in memory when a sample starts, and stay there.
    #[derive(Default)]
    pub enum RootCache: "content of the cache of nodes" {
        /// No node.
        #[default]
        Cold = "cold",
        /// The tops of tries, and nodes at short paths.
        UpperLevels = "upper-levels",
        /// All nodes that the sample's roots need.
        Warm = "warm",
    }
}

/// One way to compute state roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RootWay {
    /// Time of computing the root.
    pub time: RootTime,
    /// Shards of the accounts' trie and of large tries of slots, 1 to 16. Each shard is folded on a
    /// thread.
    pub shard_count: u8,
    /// Method of reading nodes.
    pub reads: RootReads,
    /// Nodes that are in memory.
    pub cache: RootCache,
}

impl RootWay {
    /// No state root.
    pub const NONE: Self = Self::at(RootTime::Nothing);

    /// Roots at a time: of whole tries, read level by level, without nodes in memory.
    pub const fn at(time: RootTime) -> Self {
        Self { time, shard_count: 1, reads: RootReads::ByLevel, cache: RootCache::Cold }
    }

    /// Returns whether no root is computed.
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
    /// Nodes of its tries that a state stores beside its rows.
    #[derive(Default)]
    pub enum TrieForm: "form of tries" {
        /// No node: such a state has no root.
        #[default]
        Nothing = "none",
        /// Branches above more than a number of rows. Nodes below are hashed again from the rows.
        Cut = "cut",
        /// Branches that have branches below, and no references of leaves: the nodes that reth
        /// stores.
        RethLike = "reth-like",
        /// All branches.
        Branches = "branches",
        /// All nodes by their path, as RLP.
        All = "all",
    }
}
