//! The state root: when a sample computes it, and which nodes of its tries a state stores.

crate::named! {
    /// Time at which the state root of a batch is computed.
    #[derive(Default)]
    pub enum RootTime: "time of the root" {
        /// Never: flat state alone is kept.
        #[default]
        Nothing = "none",
        /// Between execution and the commit.
        After = "after",
        /// From the batch's list, beside its execution, which checks the list meanwhile.
        FromList = "from-list",
    }
}

crate::named! {
    /// Nodes of its tries that a state stores beside its rows.
    #[derive(Default)]
    pub enum TrieForm: "form of tries" {
        /// None: such a state has no root.
        #[default]
        Nothing = "none",
        /// Branches above more than some rows; the nodes below are hashed again from the rows.
        Cut = "cut",
        /// Branches that have branches below, and no references of leaves: the nodes that reth stores.
        RethLike = "reth-like",
        /// All branches.
        Branches = "branches",
        /// All nodes by their path, as RLP.
        All = "all",
    }
}
