//! A scenario as plain values with their units: it has no TOML, and all defaults are applied.
//! `read.rs` makes it; generator and runs take it.

use std::time::Duration;

use workload::{Fork, stream::stream_seed};

use crate::load::Load;
use crate::mdbx::MdbxSpec;
use crate::metric::{Expect, Metric};
use crate::names::LoadOrder;
use crate::rocksdb::RocksdbSpec;
use crate::state::StateSpec;
use variant::{
    AccountReads, BlockDuty, CacheFill, CacheMode, Checksums, CodeReads, Design, Durability,
    ListDuty, PartitionTime, Partitioner, ReadMethod, ReadOrder, ReadTime, ReaderShare, RootCache,
    RootReads, RootTime, SampleKeys, Schedule, StopRule, StoreKind, TrieForm, WarmCache, WholeRows,
};

/// A workload to generate and how to run it.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Short name: lower-case letters, digits and hyphens.
    pub name: String,
    /// Effect on a client, in a sentence; may be empty.
    pub description: String,
    /// The fork whose rules all blocks follow.
    pub fork: Fork,
    /// The seed that every stream of randomness is derived from.
    pub seed: u64,
    /// The state before the first block.
    pub state: StateSpec,
    /// The blocks.
    pub block: BlockSpec,
    /// The loads: at least one, with shares that sum to 1.
    pub loads: Vec<Load>,
    /// How to run the workload; no part of the work.
    pub run: RunSpec,
    /// Claims on the results; see [`Scenario::skipped_expects`].
    pub expects: Vec<Expect>,
    /// Paths of the work keys that were set from outside the file, such as `block.gas`.
    pub overridden: Vec<String>,
}

/// The blocks of a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockSpec {
    /// Size of a block.
    pub target: BlockTarget,
    /// Number of blocks in the workload.
    pub block_count: u64,
    /// Number of consecutive blocks that run as one batch; it divides `block_count`.
    pub batch_block_count: u64,
    /// Gas limit of a transaction; the last transaction of a block may have less.
    pub tx_gas: u64,
    /// Order of the loads within a block.
    pub order: LoadOrder,
    /// Seed of the blocks' stream, in place of the derived seed.
    pub seed: Option<u64>,
}

/// Size of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockTarget {
    /// Sum of the gas of the block's receipts.
    Gas(u64),
    /// Gas limit of the block's header, which bounds execution gas and state gas apart (EIP-8037).
    Limit(u64),
    /// Number of the block's transactions.
    Transactions(u64),
}

impl BlockTarget {
    /// Key of the target in the table of the block.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Gas(_) => "gas",
            Self::Limit(_) => "limit",
            Self::Transactions(_) => "transactions",
        }
    }

    /// Value of the target's key.
    pub const fn count(self) -> u64 {
        match self {
            Self::Gas(count) | Self::Limit(count) | Self::Transactions(count) => count,
        }
    }
}

/// How to run a workload: no part of the work, not in the digest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunSpec {
    /// Designs to compare; at least one.
    pub designs: Vec<Design>,
    /// Stores to compare; at least one.
    pub stores: Vec<StoreKind>,
    /// Counts of executing threads to compare; empty: chosen by the tool.
    pub thread_counts: Vec<u32>,
    /// Counts of transactions under way on each thread to compare, for variants and stores that
    /// support several; at least one count.
    pub fiber_counts: Vec<u32>,
    /// Settings of shards that execute `batched-io` or `block-stm`.
    pub shards: ShardSpec,
    /// Counts of reading threads to compare; empty: chosen by the tool.
    pub io_thread_counts: Vec<u32>,
    /// Duties to compare of designs that run in order without a list: none, or to build the list.
    /// Empty: no duty.
    pub list_duties: Vec<ListDuty>,
    /// How the readers of batched I/O read.
    pub prefetch: PrefetchSpec,
    /// Orders to compare in which the threads of a parallel design take steps; at least one.
    pub schedules: Vec<Schedule>,
    /// Which threads read the cache that the speculative pass of `prewarm` fills: all threads, or
    /// each worker its own.
    pub warm_cache: WarmCache,
    /// How a reader of the `RocksDB` store asks for many keys: one by one, or many in a call.
    /// `None`: chosen by the tool.
    pub read: Option<ReadMethod>,
    /// Whether the `RocksDB` store verifies the checksums of the blocks that it reads.
    pub checksums: Checksums,
    /// Which reads of the `RocksDB` store leave their blocks in a cold sample's cache.
    pub cache_fill: CacheFill,
    /// Event that a commit to a store on disk waits for.
    pub commit: Durability,
    /// How state roots are computed.
    pub root: RootSpec,
    /// The nodes of tries that the state databases store.
    pub trie: TrieForm,
    /// Rows that run whole blocks.
    pub whole: WholeSpec,
    /// Duties on blocks beside execution, inside the clock. All rows have these duties. If there is
    /// one whole row of each design, only whole rows have them.
    pub duties: Vec<BlockDuty>,
    /// Whether each variant with block duties also runs without these duties and without a root.
    pub execution_alone: bool,
    /// Content of memory when a sample starts.
    pub cache: CacheMode,
    /// Whether each sample has its own keys, or all have the scenario's; `None`: chosen by the
    /// tool.
    pub keys: Option<SampleKeys>,
    /// Seed of each run's own draws; `None`: another seed for each run. The seed draws the blocks
    /// that measure the device, and the keys of samples that have their own keys.
    pub draw_seed: Option<u64>,
    /// Number of databases to run on, each with its own seed; see [`Scenario::for_database`].
    pub database_count: u32,
    /// Number of samples of a variant on each database; `None`: as many as the budget allows.
    pub sample_count: Option<u32>,
    /// Time for rounds of all variants. Further samples of the fastest variants end at 2.75
    /// budgets, or half a budget after the first round if that is later.
    pub budget: Duration,
    /// Whether senders are recovered from signatures, as a separate phase.
    pub recover_senders: bool,
    /// File layout of the `RocksDB` store, and how it opens the files.
    pub rocksdb: RocksdbSpec,
    /// File layout of the MDBX store.
    pub mdbx: MdbxSpec,
    /// Addresses of nodes of the Redis Cluster; empty: servers are started on this host.
    pub redis_addresses: Vec<String>,
}

/// How the readers of batched I/O read: the values of each axis to compare. Empty: chosen by the
/// tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrefetchSpec {
    /// When readers read.
    pub times: Vec<ReadTime>,
    /// Orders of the reads.
    pub orders: Vec<ReadOrder>,
    /// When accounts are read.
    pub accounts: Vec<AccountReads>,
    /// When codes are read.
    pub codes: Vec<CodeReads>,
    /// Events that end the readers' work.
    pub stops: Vec<StopRule>,
    /// How readers share the keys.
    pub shares: Vec<ReaderShare>,
    /// Counts of keys that a reader takes at a time.
    pub chunk_key_counts: Vec<u32>,
}

/// Execution on shards: the values of each axis to compare. Empty: the default of the axis.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShardSpec {
    /// Counts of shards; empty: this process executes.
    pub counts: Vec<u32>,
    /// Addresses of shards; empty: shards are started on this host.
    pub addresses: Vec<String>,
    /// Partitioners of transactions over shards.
    pub partitioners: Vec<Partitioner>,
    /// When partitioners run: inside the clock, or before it.
    pub partition_times: Vec<PartitionTime>,
    /// Counts of keys in one request that a shard makes ahead.
    pub micro_batch_key_counts: Vec<u32>,
    /// Delays of each message between coordinator and shards, in microseconds.
    pub delays_us: Vec<u32>,
}

/// How state roots are computed: the time, and the values of each other axis to compare.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RootSpec {
    /// When the root of a batch is computed.
    pub time: RootTime,
    /// Counts of shards of a trie; empty: one.
    pub shard_counts: Vec<u8>,
    /// How nodes are read; empty: level by level.
    pub reads: Vec<RootReads>,
    /// Nodes that are in memory when the clock starts; empty: none.
    pub caches: Vec<RootCache>,
}

/// Rows that run whole blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WholeSpec {
    /// The rows; `None`: chosen by the verb.
    pub rows: Option<WholeRows>,
    /// When the root of these rows is computed.
    pub root: RootTime,
}

impl Scenario {
    /// Returns the same scenario with the seed of one of its databases, counted from 0. The first
    /// database has the scenario's own seed. The n-th, counted from 1, has the first eight bytes,
    /// little-endian, of the stream `databases/n` under that seed.
    #[must_use]
    pub fn for_database(&self, index: u32) -> Self {
        let seed = match index {
            0 => self.seed,
            _ => derived_seed(self.seed, &format!("databases/{}", index + 1)),
        };
        Self { seed, ..self.clone() }
    }

    /// Returns the same scenario over the same state with the blocks of one sample, in a run with
    /// `draw_seed`. The state's seed stays. Each other seed is derived from its old value by the
    /// stream `samples/draw_seed/number`.
    #[must_use]
    pub fn for_sample(&self, draw_seed: u64, number: u64) -> Self {
        let stream = format!("samples/{draw_seed}/{number}");
        let mut sample = self.clone();
        sample.state.seed = Some(self.state.seed.unwrap_or(self.seed));
        sample.seed = derived_seed(self.seed, &stream);
        sample.block.seed = self.block.seed.map(|seed| derived_seed(seed, &stream));
        for load in &mut sample.loads {
            load.seed = load.seed.map(|seed| derived_seed(seed, &stream));
        }
        sample
    }

    /// Returns the overridden keys that prevent a judgement of `expects`, since the claims hold for
    /// the file's own work only. `None` if `expects` can be judged.
    pub fn skipped_expects(&self) -> Option<&[String]> {
        let skips = !self.overridden.is_empty() && !self.expects.is_empty();
        skips.then_some(self.overridden.as_slice())
    }

    /// Whether any claim to judge is on whole blocks.
    pub fn claims_whole_blocks(&self) -> bool {
        self.skipped_expects().is_none() && self.expects.iter().any(Expect::is_on_whole_blocks)
    }

    /// Returns the claims that this run cannot judge, each with the first design that
    /// [`RunSpec::designs`] lacks.
    pub fn claims_not_run(&self) -> Vec<(Metric, Design)> {
        if self.skipped_expects().is_some() {
            return Vec::new();
        }
        let metrics = self.expects.iter().map(|expect| expect.metric);
        metrics
            .filter_map(|metric| {
                let mut designs = metric.designs().into_iter();
                Some((metric, designs.find(|design| !self.run.designs.contains(design))?))
            })
            .collect()
    }
}

/// The first eight bytes, little-endian, of the stream `name` under `seed`.
fn derived_seed(seed: u64, name: &str) -> u64 {
    let stream = stream_seed(seed, name);
    let mut low = [0; 8];
    low.copy_from_slice(&stream[..8]);
    u64::from_le_bytes(low)
}
