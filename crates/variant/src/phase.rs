//! The phases of a sample: declared here, timed by the executor, written by results, drawn by
//! reports.

crate::named! {
    /// A part of a sample. Phases may overlap.
    pub enum Phase: "phase" {
        /// Decoding blocks and their signed transactions from their bytes.
        BlockDecode = "block-decode",
        /// Recovering senders and authorities from signatures.
        Recover = "recover",
        /// Keccak-256 of the encoded list, and its comparison with the hash in the header.
        Hash = "hash",
        /// Decoding and indexing the list.
        Decode = "decode",
        /// Ordering the steps for the threads, where their order is not the block's.
        Schedule = "schedule",
        /// Partitioning the transactions over shards.
        Partition = "partition",
        /// From the first byte of a shard's part of a batch until the shard is ready to execute it.
        ShardSend = "shard-send",
        /// Running transactions speculatively, to read the keys that they need.
        WarmUp = "warm-up",
        /// Sorting the declared keys into the order in which they are read.
        Order = "order",
        /// Reading declared keys ahead, by I/O threads or by executing threads before they execute.
        /// On shards, until the last value that was requested ahead has arrived.
        Prefetch = "prefetch",
        /// Executing steps, reads on demand included.
        Execute = "execute",
        /// Reading the keys of a `full` list and comparing their values.
        Verify = "verify",
        /// Sending values that steps of one shard wrote to others, from the first one to the last.
        ShardValues = "shard-values",
        /// From a shard's last step until its last result is checked.
        ShardResults = "shard-results",
        /// Encoding the list that was built while steps ran, hashing it, and comparing with the
        /// header's hash.
        Build = "build",
        /// Checking the result against the list and joining the changes.
        Validate = "validate",
        /// Hashing the changed keys and sorting them into plans, one a trie, for the state root.
        RootPlan = "root-plan",
        /// Reading the nodes and rows that the plans ask for.
        RootRead = "root-read",
        /// Hashing the changed nodes of all tries up to the state root.
        RootFold = "root-fold",
        /// Joining the folded shards of a trie, where tries are folded in shards.
        RootJoin = "root-join",
        /// Making receipts with their blooms, their root and the bloom of each block.
        Receipts = "receipts",
        /// Comparing headers with the blocks, their outcome and the list.
        Header = "header",
        /// Committing the changes to flat state, and changed nodes of tries with them.
        Commit = "commit",
        /// Waiting until the device has the committed changes.
        Sync = "sync",
        /// Waiting, after the last commit, for flushes and compactions that the commits have
        /// caused.
        Settle = "settle",
    }
}
