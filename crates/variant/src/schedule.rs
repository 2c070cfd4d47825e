//! In which order the threads of a parallel engine take a batch's steps.

crate::named! {
    /// Order of steps for free threads.
    #[derive(Default)]
    pub enum Schedule: "schedule" {
        /// The next of the block.
        #[default]
        BlockOrder = "block-order",
        /// The one with the largest gas limit; system steps, which have none, come last.
        GasLimit = "gas-limit",
        /// The one with the most changes in the list. Reads are not counted: EIP-7928 does not say
        /// which step reads what.
        ListEntries = "list-entries",
        /// The one that was measured to take longest: an oracle, which no client has.
        KnownCost = "known-cost",
    }
}
