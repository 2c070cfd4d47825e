//! The closed sets of names a scenario may use: fork, layout, cache, design, store, list, key
//! order. Each is an enum whose names are listed once, here.

use std::fmt;

use workload::{Fork, Layout};

/// A closed set of names, as the reader of scenarios sees it.
pub(super) trait Named: Copy + PartialEq + 'static {
    /// What one of them is called in an error, such as `fork`.
    const WHAT: &'static str;
    /// Every value with its name, in the order in which errors list them.
    const ALL: &'static [(&'static str, Self)];

    /// The value's name; empty only for a value that `ALL` forgot, which a test rules out.
    fn label(self) -> &'static str {
        Self::ALL.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }
}

macro_rules! names {
    (
        $(#[$doc:meta])* $kind:ident, $what:literal,
        { $($(#[$value_doc:meta])* $value:ident = $name:literal),+ $(,)? }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $kind { $($(#[$value_doc])* $value),+ }

        impl $kind {
            /// The name that scenarios, the command line and reports use.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$value => $name),+ }
            }
        }

        impl Named for $kind {
            const WHAT: &'static str = $what;
            const ALL: &'static [(&'static str, Self)] = &[$(($name, Self::$value)),+];
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

pub(super) use names;

impl Named for Fork {
    const WHAT: &'static str = "fork";
    const ALL: &'static [(&'static str, Self)] = &[
        (Self::Amsterdam.name(), Self::Amsterdam),
        (Self::Bpo2.name(), Self::Bpo2),
        (Self::Bpo1.name(), Self::Bpo1),
        (Self::Osaka.name(), Self::Osaka),
    ];
}

impl Named for Layout {
    const WHAT: &'static str = "layout";
    const ALL: &'static [(&'static str, Self)] =
        &[("hashed", Self::Hashed), ("plain", Self::Plain)];
}

names! {
    /// What the operating system and the store hold in memory when a sample starts.
    Cache, "cache state",
    {
        /// Nothing of the state.
        Cold = "cold",
        /// All accounts and slots that the lists name have been read once.
        Warm = "warm",
    }
}

names! {
    /// When the readers of batched I/O read.
    PrefetchName, "time to prefetch",
    {
        /// Before any transaction begins.
        Before = "before",
        /// While transactions run.
        While = "while",
    }
}

names! {
    /// In which order the readers of batched I/O read.
    OrderName, "order to prefetch in",
    {
        /// As the store's rows lie.
        OnDisk = "on-disk",
        /// As the list has the keys.
        Listed = "listed",
        /// By the first index at which the list says that a key is written.
        FirstWrite = "first-write",
    }
}

names! {
    /// When the accounts of batched I/O are read.
    AccountsName, "time to read accounts",
    {
        /// Before slots.
        First = "first",
        /// Evenly between slots.
        Mixed = "mixed",
        /// As executing threads ask for them.
        OnDemand = "on-demand",
    }
}

names! {
    /// When the codes of batched I/O are read.
    CodesName, "time to read codes",
    {
        /// As executing threads ask for them.
        OnDemand = "on-demand",
        /// Right after their account.
        WithState = "with-state",
        /// After all accounts and slots.
        AfterState = "after-state",
    }
}

names! {
    /// What ends the readers' work beside execution.
    StopName, "end of prefetching",
    {
        /// The last transaction has been executed.
        Executed = "executed",
        /// All is read.
        AllRead = "all-read",
    }
}

names! {
    /// Which keys a reader of batched I/O takes.
    ShareName, "share of a reader",
    {
        /// The next ones that nobody has taken.
        Next = "next",
        /// Those of a contiguous range of its own.
        Ranges = "ranges",
    }
}

names! {
    /// Who finds what the speculative pass of `prewarm` has read.
    WarmCacheName, "warm cache",
    {
        /// All workers and the run in order: one cache.
        Shared = "shared",
        /// Each worker for itself.
        PerWorker = "per-worker",
    }
}

names! {
    /// Which step a free thread of a parallel design takes next.
    ScheduleName, "schedule",
    {
        /// The next of the block.
        BlockOrder = "block-order",
        /// The one with the largest gas limit.
        GasLimit = "gas-limit",
        /// The one with the most changes in the list.
        ListEntries = "list-entries",
        /// The one that was measured to take longest.
        KnownCost = "known-cost",
    }
}

names! {
    /// What a commit to a store on disk waits for.
    CommitName, "way to commit",
    {
        /// The write-ahead log is with the kernel.
        Logged = "logged",
        /// The write-ahead log is on the device.
        Synced = "synced",
        /// Memory only, without a write-ahead log.
        Unlogged = "unlogged",
    }
}

names! {
    /// Whether the `RocksDB` store compares the checksums of what it reads.
    ChecksumsName, "way with checksums",
    {
        /// It does.
        Verify = "verify",
        /// It does not.
        Skip = "skip",
    }
}

names! {
    /// Which reads of the `RocksDB` store leave their blocks in a cold sample's cache.
    CacheFillName, "way to fill the cache",
    {
        /// All.
        Always = "always",
        /// Those of one key.
        SingleReads = "single-reads",
    }
}

names! {
    /// How a reader of the `RocksDB` store asks for many keys.
    ReadName, "way to read",
    {
        /// One after the other.
        Get = "get",
        /// Many in a call, through `io_uring` where the kernel allows it.
        MultiGet = "multi-get",
    }
}

names! {
    /// The filter of a file of the `RocksDB` store.
    FilterName, "filter",
    {
        /// A Bloom filter.
        Bloom = "bloom",
        /// A Ribbon filter: smaller and slower.
        Ribbon = "ribbon",
        /// None.
        Nothing = "none",
    }
}

names! {
    /// Where index and filters of the `RocksDB` store are.
    IndexName, "place of the index",
    {
        /// In one piece in memory.
        Whole = "whole",
        /// In partitions that are read through the block cache.
        Partitioned = "partitioned",
    }
}

names! {
    /// Whether reads of the `RocksDB` store go past the kernel's page cache.
    AccessName, "way to the files",
    {
        /// Past it, with `O_DIRECT`, wherever the file system accepts that.
        Direct = "direct",
        /// Through it; it is asked to drop the files before each cold sample.
        Buffered = "buffered",
    }
}

names! {
    /// How the loads of a block follow one another.
    LoadOrder, "order of loads",
    {
        /// They take turns, each by its share.
        Interleaved = "interleaved",
        /// One after the other, as the scenario has them.
        Phases = "phases",
    }
}

names! {
    /// How large the transactions of a load are.
    SizesName, "distribution of sizes",
    {
        /// All have the most.
        Fixed = "fixed",
        /// Evenly from the least to the most.
        Range = "range",
        /// Multiples of the least by Zipf's law: many small, few large.
        Zipf = "zipf",
    }
}

names! {
    /// Which keys the transactions of a storm have in common.
    Overlap, "overlap",
    {
        /// None: every key is read once in the whole workload.
        Nothing = "none",
        /// All: every transaction of a contract reads the same keys.
        All = "all",
    }
}

names! {
    /// What the writes of a storm do to their slots.
    WriteOp, "operation",
    {
        /// 0 becomes a value: slots that do not exist.
        Create = "create",
        /// A value becomes another.
        Update = "update",
        /// A value becomes 0.
        Clear = "clear",
        /// A slot is read, and written as it was.
        Nothing = "no-op",
    }
}

names! {
    /// How a storm looks at an account.
    AccountOp, "operation",
    {
        /// BALANCE.
        Balance = "balance",
        /// EXTCODESIZE.
        CodeSize = "code-size",
        /// EXTCODEHASH.
        CodeHash = "code-hash",
        /// EXTCODECOPY of all of the code.
        CodeCopy = "code-copy",
        /// CALL without value.
        Call = "call",
    }
}

names! {
    /// What is where a storm looks.
    AccountTarget, "target",
    {
        /// Accounts without code.
        Plain = "plain",
        /// Contracts.
        Contracts = "contracts",
        /// Nothing.
        Absent = "absent",
    }
}

names! {
    /// Who gives to whom in transfers.
    Pattern, "pattern",
    {
        /// Pairs that have no account in common.
        AToB = "a-to-b",
        /// Each to itself.
        AToA = "a-to-a",
        /// One to all others in turn.
        AToMany = "a-to-many",
        /// All others in turn to one.
        ManyToA = "many-to-a",
        /// Each to an address that does not exist.
        Fresh = "fresh",
    }
}

names! {
    /// What a transaction without state computes.
    Work, "sort of work",
    {
        /// Hashes of 4 KiB.
        Keccak = "keccak",
        /// Powers of 256 bits, by the precompile (EIP-198).
        Modexp = "modexp",
        /// Pairings of two pairs of points, by the precompile (EIP-197).
        Pairing = "pairing",
        /// Plain arithmetic in a loop.
        Loop = "loop",
    }
}

names! {
    /// By which operation contracts are deployed.
    Creation, "way to deploy",
    {
        /// A transaction that creates.
        Create = "create",
        /// A factory's CREATE2.
        Create2 = "create2",
    }
}

names! {
    /// Who receives an airdrop.
    Recipients, "sort of recipients",
    {
        /// Addresses that have none of the token.
        Fresh = "fresh",
        /// Those who hold it.
        Holders = "holders",
    }
}

names! {
    /// A preset of list, engine and I/O.
    DesignName, "design",
    {
        /// In order, no list, reads as the EVM asks.
        Sequential = "sequential",
        /// A speculative parallel pass fills a cache, then in order; no list.
        Prewarm = "prewarm",
        /// Optimistically parallel, no list, reads as the EVM asks.
        BlockStm = "block-stm",
        /// Parallel from post-transaction diffs; reads as the EVM asks.
        ParallelIo = "parallel-io",
        /// Parallel from the EIP-7928 list; all declared keys read in batches.
        BatchedIo = "batched-io",
        /// Parallel from a list with all values, which are verified beside.
        Full = "full",
    }
}

names! {
    /// The database that holds the state.
    StoreName, "store",
    {
        /// `RocksDB`, on disk.
        Rocksdb = "rocksdb",
        /// MDBX, on disk.
        Mdbx = "mdbx",
        /// Sorted rows in a flat file: what is left between execution and the device.
        Flat = "flat",
        /// A map in memory: what is left when reads are free.
        Memory = "memory",
    }
}

names! {
    /// What a block-level access list carries.
    ListName, "list",
    {
        /// Post-transaction diffs only.
        ParallelIo = "parallel-io",
        /// The EIP-7928 list: diffs and read keys.
        BatchedIo = "batched-io",
        /// Diffs, keys and pre-block values.
        Full = "full",
    }
}

names! {
    /// How a storm's next key follows from the last.
    KeyOrder, "key order",
    {
        /// A keccak chain: random keys, known only by hashing.
        Keccak = "keccak",
        /// A Weyl sequence: random-looking keys at the price of an addition.
        Weyl = "weyl",
        /// Each value read is the next key: strictly serial.
        Chase = "chase",
    }
}
