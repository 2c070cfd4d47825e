//! The closed sets of names a scenario may use: fork, layout, cache, design, store, list, key order.
//! Each is an enum whose names are listed once, here. Names that `stress` has planned but this
//! version does not run yet are kept beside them, so that the error can say so.

use std::fmt;

use workload::{Fork, Layout};

/// A closed set of names, as the reader of scenarios sees it.
pub(super) trait Named: Copy + PartialEq + 'static {
    /// What one of them is called in an error, such as `fork`.
    const WHAT: &'static str;
    /// Every value with its name, in the order in which errors list them.
    const ALL: &'static [(&'static str, Self)];
    /// Names that are known, but that this version does not run yet.
    const LATER: &'static [&'static str];

    /// The value's name; empty only for a value that `ALL` forgot, which a test rules out.
    fn label(self) -> &'static str {
        Self::ALL.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }
}

macro_rules! names {
    (
        $(#[$doc:meta])* $kind:ident, $what:literal,
        { $($(#[$value_doc:meta])* $value:ident = $name:literal),+ $(,)? },
        later [$($later:literal),*]
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
            const LATER: &'static [&'static str] = &[$($later),*];
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

impl Named for Fork {
    const WHAT: &'static str = "fork";
    const ALL: &'static [(&'static str, Self)] =
        &[(Self::Amsterdam.name(), Self::Amsterdam), (Self::Osaka.name(), Self::Osaka)];
    const LATER: &'static [&'static str] = &[];
}

impl Named for Layout {
    const WHAT: &'static str = "layout";
    const ALL: &'static [(&'static str, Self)] =
        &[("hashed", Self::Hashed), ("plain", Self::Plain)];
    const LATER: &'static [&'static str] = &[];
}

names! {
    /// What the operating system and the store hold in memory when a sample starts.
    Cache, "cache state",
    {
        /// Nothing of the state.
        Cold = "cold",
        /// All accounts and slots that the lists name have been read once.
        Warm = "warm",
    },
    later []
}

names! {
    /// When the readers of batched I/O read.
    PrefetchName, "time to prefetch",
    {
        /// Before any transaction begins.
        Before = "before",
        /// While transactions run.
        While = "while",
    },
    later []
}

names! {
    /// What a commit to the `RocksDB` store waits for.
    CommitName, "way to commit",
    {
        /// The write-ahead log is with the kernel.
        Logged = "logged",
        /// The write-ahead log is on the device.
        Synced = "synced",
        /// Memory only, without a write-ahead log.
        Unlogged = "unlogged",
    },
    later []
}

names! {
    /// How a reader of the `RocksDB` store asks for many keys.
    ReadName, "way to read",
    {
        /// One after the other.
        Get = "get",
        /// Many in a call, through `io_uring` where the kernel allows it.
        MultiGet = "multi-get",
    },
    later []
}

names! {
    /// Which keys the transactions of a storm have in common.
    Overlap, "overlap",
    {
        /// None: every key is read once in the whole workload.
        Nothing = "none",
        /// All: every transaction of a contract reads the same keys.
        All = "all",
    },
    later []
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
    },
    later []
}

names! {
    /// A preset of list, engine and I/O.
    DesignName, "design",
    {
        /// In order, no list, reads as the EVM asks.
        Sequential = "sequential",
        /// Parallel from post-transaction diffs; reads as the EVM asks.
        ParallelIo = "parallel-io",
        /// Parallel from the EIP-7928 list; all declared keys read in batches.
        BatchedIo = "batched-io",
    },
    later ["prewarm", "block-stm", "full"]
}

names! {
    /// The database that holds the state.
    StoreName, "store",
    {
        /// `RocksDB`, on disk.
        Rocksdb = "rocksdb",
        /// A map in memory: what is left when reads are free.
        Memory = "memory",
    },
    later ["mdbx"]
}

names! {
    /// What a block-level access list carries.
    ListName, "list",
    {
        /// Post-transaction diffs only.
        ParallelIo = "parallel-io",
        /// The EIP-7928 list: diffs and read keys.
        BatchedIo = "batched-io",
    },
    later ["full"]
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
    },
    later []
}
