//! The loads' contracts, as `contracts/` has compiled them. Committed artifacts are the only way
//! in which Solidity and Yul reach Rust.

use alloy_primitives::Bytes;
use serde::Deserialize;

use crate::error::GeneratorError;

/// Makes [`Contract`] of one list of its names, which are those of sources and artifacts.
macro_rules! contracts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A contract of `contracts/` that loads use.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Contract {
            $($(#[$doc])* $name,)*
        }

        impl Contract {
            /// Name of its source and its artifact.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            const fn json(self) -> &'static str {
                match self {
                    $(Self::$name => include_str!(concat!(
                        "../../contracts/artifacts/",
                        stringify!($name),
                        ".json"
                    )),)*
                }
            }
        }
    };
}

contracts! {
    /// `seed, (start, count)*`: reads keccak(seed ‖ i).
    KeccakStorm,
    /// `seed, (start, count)*`: reads seed + i·W.
    WeylStorm,
    /// `key, count`: reads the slot that the last value names.
    ChaseStorm,
    /// `seed, value, (start, count)*`: writes the value to keccak(seed ‖ i).
    WriteStorm,
    /// `op, where, count`: reads slots 1, 2, 3, … from where slot 0 says, or writes them from `where` on.
    Bloated,
    /// `count`: hashes, then slot 0 read and written.
    HashChain,
    /// `seed, change, (start, count)*`: reads keccak(seed ‖ i), and writes it XOR the change.
    RewriteStorm,
    /// `seed, op, bytes, (start, count)*`: looks at the accounts keccak(seed ‖ i).
    AccountStorm,
    /// `seed, token, (start, count)*`: asks a token for balances of the accounts keccak(seed ‖ i).
    BalanceStorm,
    /// `seed, storm, count`: has a storm read the range that slot 0 says, and moves it.
    RangePointer,
    /// `storm, count`: has a storm follow the chain from slot 0, and moves it.
    ChainPointer,
    /// `seed, index*` of 4 bytes: reads keccak(seed ‖ i) in the order given.
    IndexStorm,
    /// `seed, value, index*` of 4 bytes: writes the value to keccak(seed ‖ i).
    IndexWriteStorm,
    /// `seed, slot, value, (start, count)*`: has the contracts at keccak(seed ‖ i) write the value to a slot.
    SpreadStorm,
    /// `slot, value`: writes the value to the slot.
    SpreadTarget,
    /// `seed, n, (start, count)^n`, then anything: reads seed + i·W.
    PaddedStorm,
    /// `key, count`: asks the contract that a key names for the key's value, which is the next key.
    HopStorm,
    /// `key`: answers with a slot's value.
    HopTarget,
    /// `transfer(address,uint256)`: an ERC-20 with its balances at mapping slot 0.
    Token,
    /// `mix`, `mixFirst` of `(uint256)`: some hashes before or after slot 0 is read and written.
    OneSlot,
    /// `use(uint256,uint256)`: a resource at mapping slot 0 read, computed with, written and logged.
    Dapp,
    /// `step` and `pay`: two places at mapping slot 0, or two balances, read and one changed.
    Chain,
    /// `spend` and `burn`: balances at mapping slot 0, the total supply at slot 1.
    Supply,
    /// `OpenZeppelin`'s ERC-20, and `airdrop(address[],uint256)`.
    StandardToken,
    /// `swap(bool,uint256,uint256)`: a constant-product pool of two tokens.
    Pair,
    /// `OpenZeppelin`'s ERC-721, and `mint()`.
    Nft,
    /// `hash`, `modexp`, `pairing`, `loop` of `(uint256)`: work without state.
    Compute,
    /// `write(uint256,uint256,uint256)`: logs of some topics and some data.
    Logs,
    /// `execute(address,uint256)`: the code that accounts delegate to (EIP-7702).
    Wallet,
    /// `deploy(bytes32,bytes)`: CREATE2.
    Factory,
    /// A contract of any size, deployed with the bytes after its creation code.
    Deployed,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    bytecode: Bytes,
    deployed_bytecode: Bytes,
}

impl Contract {
    /// Operations in one unrolled block of a storm; the rest of a count costs more each.
    pub(crate) const fn unrolled_count(self) -> u64 {
        match self {
            Self::KeccakStorm
            | Self::WeylStorm
            | Self::ChaseStorm
            | Self::PaddedStorm
            | Self::RangePointer
            | Self::ChainPointer => 64,
            _ => 8,
        }
    }

    /// Whether a storm's calldata has one count in the place of ranges: no index says where it begins.
    pub(crate) const fn takes_count_alone(self) -> bool {
        matches!(self, Self::ChaseStorm | Self::HopStorm | Self::RangePointer | Self::ChainPointer)
    }

    /// Whether a storm's calldata has each index, packed, in the place of ranges.
    pub(crate) const fn takes_indices(self) -> bool {
        matches!(self, Self::IndexStorm | Self::IndexWriteStorm)
    }

    /// Whether a storm's calldata has the number of ranges; the storm ignores the words after them.
    pub(crate) const fn takes_padding(self) -> bool {
        matches!(self, Self::PaddedStorm)
    }

    /// The code that an account of the contract has.
    ///
    /// # Errors
    /// [`GeneratorError::Artifact`] when the committed artifact is damaged.
    pub fn code(self) -> Result<Bytes, GeneratorError> {
        let code = self.artifact()?.deployed_bytecode;
        self.not_empty(code)
    }

    /// The code that creates a contract, as a transaction that deploys it carries it.
    ///
    /// # Errors
    /// [`GeneratorError::Artifact`] when the committed artifact is damaged.
    pub fn creation_code(self) -> Result<Bytes, GeneratorError> {
        let code = self.artifact()?.bytecode;
        self.not_empty(code)
    }

    fn bad(self, reason: String) -> GeneratorError {
        GeneratorError::Artifact { contract: self.name(), reason }
    }

    fn not_empty(self, code: Bytes) -> Result<Bytes, GeneratorError> {
        if code.is_empty() {
            return Err(self.bad("it has no bytecode".to_owned()));
        }
        Ok(code)
    }

    fn artifact(self) -> Result<Artifact, GeneratorError> {
        serde_json::from_str(self.json()).map_err(|error| self.bad(error.to_string()))
    }
}
