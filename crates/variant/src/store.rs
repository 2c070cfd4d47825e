//! Stores, the content of memory when a sample starts, and the durability of commits. Also how
//! `RocksDB` keeps and reads its files, and how MDBX keeps slots.

crate::named! {
    /// The database that holds the state.
    pub enum StoreKind: "store" {
        /// `RocksDB`, on disk.
        Rocksdb = "rocksdb",
        /// MDBX, on disk.
        Mdbx = "mdbx",
        /// Sorted rows in a flat file, with as little as possible between execution and the device.
        Flat = "flat",
        /// A Redis Cluster: values come over the network, from the memory of its servers.
        Redis = "redis",
        /// A map in memory: execution with free reads.
        Memory = "memory",
    }
}

/// Waits of a thread that reads many keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// The thread never waits: there is no device.
    Never,
    /// The thread waits for each key alone.
    OneByOne,
    /// The thread waits for each key, or for several keys at once, as [`ReadMethod`] says.
    ByMethod,
    /// The thread waits for hundreds of keys at once.
    ManyAtOnce,
}

impl StoreKind {
    /// Waits of a thread that reads many keys: they decide the numbers of threads worth trying.
    pub const fn waiting(self) -> Waiting {
        match self {
            Self::Rocksdb => Waiting::ByMethod,
            Self::Mdbx => Waiting::OneByOne,
            Self::Flat | Self::Redis => Waiting::ManyAtOnce,
            Self::Memory => Waiting::Never,
        }
    }

    /// Returns whether a transaction that waits for a read can yield its thread. That takes reads
    /// of single keys through a ring of `io_uring`. Reads of the other stores hold the thread, in a
    /// call of the store or in a page fault.
    pub const fn can_yield(self) -> bool {
        match self {
            Self::Flat => true,
            Self::Rocksdb | Self::Mdbx | Self::Redis | Self::Memory => false,
        }
    }

    /// Returns whether values lie on a device: a store without one is never cold.
    pub const fn has_device(self) -> bool {
        match self {
            Self::Rocksdb | Self::Mdbx | Self::Flat => true,
            Self::Redis | Self::Memory => false,
        }
    }

    /// The cache state of a sample that asks for `asked`; `None` for a store without a device: its
    /// values are always in memory.
    pub fn cache_state(self, asked: CacheMode) -> Option<CacheMode> {
        Some(asked).filter(|_| self.has_device())
    }

    /// Returns whether states of the store can have tries beside their rows.
    pub const fn has_tries(self) -> bool {
        match self {
            Self::Rocksdb | Self::Mdbx | Self::Flat | Self::Memory => true,
            Self::Redis => false,
        }
    }
}

crate::named! {
    /// Content of the caches of the operating system and the store at a sample's start.
    #[derive(Default)]
    pub enum CacheMode: "cache state" {
        /// Nothing of the state's values is in the store's cache, nor in the kernel's, as far as
        /// the store can ensure that.
        #[default]
        Cold = "cold",
        /// All accounts and slots that the lists name have been read once through the same caches.
        Warm = "warm",
    }
}

crate::named! {
    /// Keys that the samples of a run ask for.
    pub enum SampleKeys: "choice of keys" {
        /// Each sample asks for keys of its own: a cache below this machine has few of their
        /// blocks.
        Fresh = "fresh",
        /// All samples ask for the scenario's keys.
        Same = "same",
    }
}

crate::named! {
    /// Event that a commit to a store on disk waits for.
    #[derive(Default)]
    pub enum Durability: "commit mode" {
        /// The kernel has the write, which survives a crash of the process, but not of the machine.
        #[default]
        Logged = "logged",
        /// The write is on the device (`fdatasync`).
        Synced = "synced",
        /// The write is in memory alone, without a write-ahead log.
        Unlogged = "unlogged",
    }
}

crate::named! {
    /// Compactions of the `RocksDB` store while a sample's clock runs.
    #[derive(Default)]
    pub enum Compaction: "compaction mode" {
        /// No compaction. Commits stay where they were flushed, and the clock waits for nothing.
        #[default]
        Off = "off",
        /// RocksDB's own compactions, while blocks run. At the end, the clock waits for due
        /// compactions.
        On = "on",
    }
}

crate::named! {
    /// Check of the checksum of a block that the `RocksDB` store reads.
    #[derive(Default)]
    pub enum Checksums: "checksum mode" {
        /// Checked, as clients do.
        #[default]
        Verified = "verify",
        /// Not checked.
        Skipped = "skip",
    }
}

crate::named! {
    /// Reads of the `RocksDB` store that leave their blocks in a cold sample's cache. Reads of warm
    /// samples always do.
    #[derive(Default)]
    pub enum CacheFill: "rule for filling the cache" {
        /// All reads.
        #[default]
        Always = "always",
        /// Reads of one key. A `MultiGet` still reads a block that its keys share only once.
        SingleReads = "single-reads",
    }
}

crate::named! {
    /// Call of a reader of the `RocksDB` store for many keys, in the order of the rows.
    pub enum ReadMethod: "read method" {
        /// One `Get` after the other.
        Get = "get",
        /// `MultiGet` of many keys. RocksDB reads 32 of them at once through `io_uring`, and one
        /// after the other without it.
        MultiGet = "multi-get",
    }
}

crate::named! {
    /// The filter of a file of the `RocksDB` store.
    pub enum FilterKind: "filter" {
        /// A Bloom filter.
        Bloom = "bloom",
        /// A Ribbon filter: about 30 % smaller than the Bloom filter that is as good, and slower.
        Ribbon = "ribbon",
        /// No filter.
        Nothing = "none",
    }
}

crate::named! {
    /// Place of index and filters of the `RocksDB` store.
    #[derive(Default)]
    pub enum IndexShape: "place of the index" {
        /// Each in one piece in memory.
        #[default]
        Whole = "whole",
        /// In partitions of 4 KiB, read through the block cache; only the top level stays in
        /// memory.
        Partitioned = "partitioned",
    }
}

crate::named! {
    /// Path of reads of the `RocksDB` store: through the kernel's page cache, or past it.
    #[derive(Default)]
    pub enum FileAccess: "file access mode" {
        /// Past the page cache, with `O_DIRECT`, wherever the file system accepts that flag.
        #[default]
        Direct = "direct",
        /// Through the page cache. The kernel is asked to drop the files before each cold sample.
        Buffered = "buffered",
    }
}

crate::named! {
    /// Form of the table of slots in the MDBX store.
    #[derive(Default)]
    pub enum SlotTable: "form of the table" {
        /// A row a slot: key of the account and key of the slot, to the value in 32 bytes.
        #[default]
        Rows = "rows",
        /// Sorted duplicates, as reth stores slots: the account's key has a value for each of its
        /// slots. A value is the slot's key and its value without leading zeros.
        DupSort = "dupsort",
    }
}
