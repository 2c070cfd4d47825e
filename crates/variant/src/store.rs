//! Stores, the content of caches at a sample's start, and the durability of commits. Also how
//! `RocksDB` keeps and reads its files, and how MDBX keeps slots.

crate::named! {
    /// The database that holds the state.
    pub enum StoreKind: "store" {
        /// `RocksDB`, on disk.
        Rocksdb = "rocksdb",
        /// MDBX, on disk.
        Mdbx = "mdbx",
        /// Sorted rows in a flat file, with as little as possible between execution and device.
        Flat = "flat",
        /// A Redis Cluster: values come over the network, from the memory of its servers.
        Redis = "redis",
        /// A map in memory: reads cost almost nothing.
        Memory = "memory",
    }
}

/// How a thread that reads many keys waits for them.
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
    /// How a thread that reads many keys waits for them. This decides which numbers of threads are
    /// worth trying.
    pub const fn waiting(self) -> Waiting {
        match self {
            Self::Rocksdb => Waiting::ByMethod,
            Self::Mdbx => Waiting::OneByOne,
            Self::Flat | Self::Redis => Waiting::ManyAtOnce,
            Self::Memory => Waiting::Never,
        }
    }

    /// Returns whether a transaction that waits for a read can yield its thread to another one.
    /// That needs reads of single keys through a ring of `io_uring`. Reads of the other stores hold
    /// the thread, in a call of the store or in a page fault.
    pub const fn can_yield(self) -> bool {
        match self {
            Self::Flat => true,
            Self::Rocksdb | Self::Mdbx | Self::Redis | Self::Memory => false,
        }
    }

    /// Returns whether the store's values lie on a device of this machine. A store without one is
    /// never cold.
    pub const fn has_device(self) -> bool {
        match self {
            Self::Rocksdb | Self::Mdbx | Self::Flat => true,
            Self::Redis | Self::Memory => false,
        }
    }

    /// Returns the cache state of a sample for which `asked` is requested. `None` for a store
    /// without a device, whose values are always in memory.
    pub fn cache_state(self, asked: CacheMode) -> Option<CacheMode> {
        Some(asked).filter(|_| self.has_device())
    }

    /// Returns whether states of the store can have nodes of tries beside their rows.
    pub const fn has_tries(self) -> bool {
        match self {
            Self::Rocksdb | Self::Mdbx | Self::Flat | Self::Memory => true,
            Self::Redis => false,
        }
    }
}

crate::named! {
    /// Content of the operating system's and the store's caches at a sample's start.
    #[derive(Default)]
    pub enum CacheMode: "cache state" {
        /// No value of the state is in the store's cache or the kernel's, as far as the store can
        /// ensure that.
        #[default]
        Cold = "cold",
        /// All accounts and slots that the lists name have been read once through the same caches.
        Warm = "warm",
    }
}

crate::named! {
    /// Which keys the samples of a run ask for.
    pub enum SampleKeys: "choice of keys" {
        /// Each sample asks for keys of its own. A cache below this machine has few of the blocks
        /// with these keys.
        Fresh = "fresh",
        /// All samples ask for the scenario's keys.
        Same = "same",
    }
}

crate::named! {
    /// Event that a commit to a store on disk waits for.
    #[derive(Default)]
    pub enum Durability: "commit mode" {
        /// The kernel has the write: it survives a crash of the process, but not of the machine.
        #[default]
        Logged = "logged",
        /// The write is on the device (`fdatasync`).
        Synced = "synced",
        /// Memory has the write; there is no write-ahead log.
        Unlogged = "unlogged",
    }
}

crate::named! {
    /// Whether the `RocksDB` store compacts while a sample's clock runs.
    #[derive(Default)]
    pub enum Compaction: "compaction mode" {
        /// No compaction. Commits stay where they were flushed, and the clock does not wait for
        /// background work.
        #[default]
        Off = "off",
        /// RocksDB compacts as it decides, while blocks run. At the end, the clock waits for the
        /// compactions that are due.
        On = "on",
    }
}

crate::named! {
    /// Whether the `RocksDB` store checks the checksum of a block that it reads.
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
    /// Which reads of the `RocksDB` store put their blocks into its cache, in a cold sample. In a
    /// warm sample all reads do.
    #[derive(Default)]
    pub enum CacheFill: "rule for filling the cache" {
        /// All reads.
        #[default]
        Always = "always",
        /// Only reads of one key. A `MultiGet` still reads a block only once for those of its keys
        /// that share it.
        SingleReads = "single-reads",
    }
}

crate::named! {
    /// Call with which a reader of the `RocksDB` store reads many keys, in the order of their rows.
    pub enum ReadMethod: "read method" {
        /// One `Get` after the other.
        Get = "get",
        /// `MultiGet` for many keys. RocksDB reads 32 of them at once through `io_uring`; without
        /// `io_uring`, one after the other.
        MultiGet = "multi-get",
    }
}

crate::named! {
    /// The filter in each file of the `RocksDB` store.
    pub enum FilterKind: "filter" {
        /// A Bloom filter.
        Bloom = "bloom",
        /// A Ribbon filter: about 30 % smaller than a Bloom filter of the same accuracy, and
        /// slower.
        Ribbon = "ribbon",
        /// No filter.
        Nothing = "none",
    }
}

crate::named! {
    /// Where the `RocksDB` store keeps the index and the filter of each file.
    #[derive(Default)]
    pub enum IndexShape: "place of the index" {
        /// Each in one piece in memory.
        #[default]
        Whole = "whole",
        /// In partitions of 4 KiB, which are read through the block cache. Only the top level stays
        /// in memory.
        Partitioned = "partitioned",
    }
}

crate::named! {
    /// Whether reads of the `RocksDB` store go through the kernel's page cache, or past it.
    #[derive(Default)]
    pub enum FileAccess: "file access mode" {
        /// Past the page cache, with `O_DIRECT`, wherever the file system accepts that flag.
        #[default]
        Direct = "direct",
        /// Through the page cache. Before each cold sample, the kernel is asked to drop the files
        /// from it.
        Buffered = "buffered",
    }
}

crate::named! {
    /// Form of the table of slots in the MDBX store.
    #[derive(Default)]
    pub enum SlotTable: "form of the table" {
        /// A row for each slot: the account's key and the slot's key, with the value in 32 bytes.
        #[default]
        Rows = "rows",
        /// Sorted duplicates, as reth stores slots: under the account's key, one entry for each of
        /// its slots. An entry has the slot's key, then the slot's value without leading zeros.
        DupSort = "dupsort",
    }
}
