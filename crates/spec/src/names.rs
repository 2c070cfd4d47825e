//! The closed sets of names that only scenarios use. The crate `variant` has the names that the
//! executor shares.

use variant::named;
use workload::{Fork, Layout};

/// The forks that a scenario may name, each with its name.
pub(crate) const FORKS: [(&str, Fork); 4] = [
    (Fork::Amsterdam.name(), Fork::Amsterdam),
    (Fork::Bpo2.name(), Fork::Bpo2),
    (Fork::Bpo1.name(), Fork::Bpo1),
    (Fork::Osaka.name(), Fork::Osaka),
];

/// The layouts of rows, each with its name.
pub(crate) const LAYOUTS: [(&str, Layout); 2] =
    [(Layout::Hashed.name(), Layout::Hashed), (Layout::Plain.name(), Layout::Plain)];

named! {
    /// Order of the loads of a block.
    pub enum LoadOrder: "order of loads" {
        /// Loads take turns, each by its share.
        Interleaved = "interleaved",
        /// One load after the other, in the order of the scenario.
        Phases = "phases",
    }
}

named! {
    /// Distribution of the gas limits of a load's transactions.
    pub enum SizeDistribution: "distribution of sizes" {
        /// All transactions have the largest gas limit.
        Fixed = "fixed",
        /// Evenly distributed from the least gas limit to the largest.
        Range = "range",
        /// Multiples of the least gas limit by Zipf's law: many small, few large.
        Zipf = "zipf",
    }
}

named! {
    /// Keys that the transactions of a storm share.
    #[derive(Default)]
    pub enum Overlap: "overlap" {
        /// Transactions share no keys: every key is read once in the whole workload.
        #[default]
        Nothing = "none",
        /// Transactions share all keys: every transaction of a contract reads the same keys.
        All = "all",
    }
}

named! {
    /// The change that a write of a storm makes to a slot.
    #[derive(Default)]
    pub enum WriteOp: "operation" {
        /// 0 becomes a value: the slot does not exist before.
        Create = "create",
        /// A value becomes another value.
        #[default]
        Update = "update",
        /// A value becomes 0.
        Clear = "clear",
        /// A slot is read, and written with the same value.
        Nothing = "no-op",
    }
}

named! {
    /// Operation of a storm on an account.
    #[derive(Default)]
    pub enum AccountOp: "operation" {
        /// BALANCE.
        #[default]
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

named! {
    /// The accounts at the addresses of a storm.
    #[derive(Default)]
    pub enum AccountTarget: "target" {
        /// Accounts without code.
        #[default]
        Plain = "plain",
        /// Contracts.
        Contracts = "contracts",
        /// No accounts: nothing is at the addresses.
        Absent = "absent",
    }
}

named! {
    /// Pattern of senders and recipients in transfers.
    #[derive(Default)]
    pub enum Pattern: "pattern" {
        /// Pairs that have no account in common.
        #[default]
        AToB = "a-to-b",
        /// Each account to itself.
        AToA = "a-to-a",
        /// One account to all others in turn.
        AToMany = "a-to-many",
        /// All other accounts in turn to one account.
        ManyToA = "many-to-a",
        /// Each transfer to an account that does not exist.
        Fresh = "fresh",
    }
}

named! {
    /// Kind of work that a transaction does without reading or writing state.
    #[derive(Default)]
    pub enum Work: "sort of work" {
        /// Hashes of 4 KiB.
        #[default]
        Keccak = "keccak",
        /// Modular powers of 256-bit numbers, by the precompile (EIP-198).
        Modexp = "modexp",
        /// Pairings of two pairs of points, by the precompile (EIP-197).
        Pairing = "pairing",
        /// Plain arithmetic in a loop.
        Loop = "loop",
    }
}

named! {
    /// Operation that deploys contracts.
    #[derive(Default)]
    pub enum Creation: "kind of deployment" {
        /// A transaction that creates a contract.
        #[default]
        Create = "create",
        /// A factory's CREATE2.
        Create2 = "create2",
    }
}

named! {
    /// Accounts that receive an airdrop.
    #[derive(Default)]
    pub enum Recipients: "sort of recipients" {
        /// Addresses without a balance of the token.
        #[default]
        Fresh = "fresh",
        /// Accounts that hold the token.
        Holders = "holders",
    }
}

named! {
    /// Rule from one key of a storm to the next.
    #[derive(Default)]
    pub enum KeyOrder: "key order" {
        /// A keccak chain: random keys, known only by hashing.
        #[default]
        Keccak = "keccak",
        /// A Weyl sequence: random-looking keys at the price of an addition.
        Weyl = "weyl",
        /// Each value read is the next key: strictly serial.
        Chase = "chase",
    }
}
