//! The phases of a sample. They are declared here, timed by the executor, written by results and
//! drawn by reports.

crate::named! {
    /// A part of a sample's time. Phases may overlap.
    pub enum Phase: "phase" {
        /// Decoding blocks and their signed transactions from their bytes.
        BlockDecode = "block-decode",
        /// Recovering the senders of transactions, and the authorities of delegations, from
        /// signatures.
        Recover = "recover",
        /// Keccak-256 of the encoded list, and its comparison with the hash in the header.
        Hash = "hash",
        /// Decoding and indexing the list.
        Decode = "decode",
        /// Ordering the steps for the threads, where their order is not block order.
        Schedule = "schedule",
        /// Partitioning the transactions over shards.
        Partition = "partition",
        /// Time from the first byte of a shard's part of a batch until the shard is ready to
        /// execute it.
        ShardSend = "shard-send",
        /// Running transactions speculatively, to read the keys that they need ahead.
        WarmUp = "warm-up",
        /// Sorting the declared keys into the order in which they are read.
        Order = "order",
        /// Reading declared keys ahead, by I/O threads, or by the executing threads before they
        /// execute. With shards, it lasts until the last value that was requested ahead has
        /// arrived.
        Prefetch = "prefetch",
        /// Executing steps, with their reads on demand.
        Execute = "execute",
        /// Reading the keys of a `full` list from the store, and comparing their values with the
        /// list's.
        Verify = "verify",
        /// Sending values that steps of one shard wrote to other shards, from the first value to
        /// the last.
        ShardValues = "shard-values",
        /// Time from a shard's last step until its last result is checked.
        ShardResults = "shard-results",
        /// Encoding the list that was built while steps ran, hashing it, and comparing the hash
        /// with that in the header.
        Build = "build",
        /// Checking the results of execution against the list, and joining the changes of all
        /// steps.
        Validate = "validate",
        /// Hashing the changed keys and sorting them into plans for the state root, one plan for
        /// each trie.
        RootPlan = "root-plan",
        /// Reading the nodes and rows that the plans ask for.
        RootRead = "root-read",
        /// Hashing the changed nodes of all tries up to the state root.
        RootFold = "root-fold",
        /// Joining the folded shards of each trie, where tries are folded in shards.
        RootJoin = "root-join",
        /// Making receipts with their blooms, their root and the bloom of each block.
        Receipts = "receipts",
        /// Comparing headers with the blocks, with the outcome of their execution and with the
        /// list.
        Header = "header",
        /// Committing the changes of flat state, together with the changed nodes of tries.
        Commit = "commit",
        /// Waiting until the device has the committed changes.
        Sync = "sync",
        /// Waiting, after the last commit, for the flushes and compactions that the commits caused.
        Settle = "settle",
    }
}
