//! The closed sets of names that only scenarios use. Those that the executor shares are in the
//! crate `variant`.

use variant::named;
use workload::{Fork, Layout};

/// The forks, by name.
pub(crate) const FORKS: [(&str, Fork); 4] = [
    (Fork::Amsterdam.name(), Fork::Amsterdam),
    (Fork::Bpo2.name(), Fork::Bpo2),
    (Fork::Bpo1.name(), Fork::Bpo1),
    (Fork::Osaka.name(), Fork::Osaka),
];

/// The layouts of rows, by name.
pub(crate) const LAYOUTS: [(&str, Layout); 2] =
    [(Layout::Hashed.name(), Layout::Hashed), (Layout::Plain.name(), Layout::Plain)];

named! {
    /// How the loads of a block follow one another.
    pub enum LoadOrder: "order of loads" {
        /// They take turns, each by its share.
        Interleaved = "interleaved",
        /// One after the other, as the scenario has them.
        Phases = "phases",
    }
}

named! {
    /// How large the transactions of a load are.
    pub enum SizesName: "distribution of sizes" {
        /// All have the most.
        Fixed = "fixed",
        /// Evenly from the least to the most.
        Range = "range",
        /// Multiples of the least by Zipf's law: many small, few large.
        Zipf = "zipf",
    }
}

named! {
    /// Which keys the transactions of a storm have in common.
    #[derive(Default)]
    pub enum Overlap: "overlap" {
        /// None: every key is read once in the whole workload.
        #[default]
        Nothing = "none",
        /// All: every transaction of a contract reads the same keys.
        All = "all",
    }
}

named! {
    /// The change of slots by the writes of a storm.
    #[derive(Default)]
    pub enum WriteOp: "operation" {
        /// 0 becomes a value: slots that do not exist.
        Create = "create",
        /// A value becomes another.
        #[default]
        Update = "update",
        /// A value becomes 0.
        Clear = "clear",
        /// A slot is read, and written as it was.
        Nothing = "no-op",
    }
}

named! {
    /// How a storm looks at an account.
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
        /// Nothing.
        Absent = "absent",
    }
}

named! {
    /// Who gives to whom in transfers.
    #[derive(Default)]
    pub enum Pattern: "pattern" {
        /// Pairs that have no account in common.
        #[default]
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

named! {
    /// The work of a transaction without state.
    #[derive(Default)]
    pub enum Work: "sort of work" {
        /// Hashes of 4 KiB.
        #[default]
        Keccak = "keccak",
        /// Powers of 256 bits, by the precompile (EIP-198).
        Modexp = "modexp",
        /// Pairings of two pairs of points, by the precompile (EIP-197).
        Pairing = "pairing",
        /// Plain arithmetic in a loop.
        Loop = "loop",
    }
}

named! {
    /// By which operation contracts are deployed.
    #[derive(Default)]
    pub enum Creation: "kind of deployment" {
        /// A transaction that creates.
        #[default]
        Create = "create",
        /// A factory's CREATE2.
        Create2 = "create2",
    }
}

named! {
    /// Who receives an airdrop.
    #[derive(Default)]
    pub enum Recipients: "sort of recipients" {
        /// Addresses that have none of the token.
        #[default]
        Fresh = "fresh",
        /// Those who hold it.
        Holders = "holders",
    }
}

named! {
    /// How a storm's next key follows from the last.
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
