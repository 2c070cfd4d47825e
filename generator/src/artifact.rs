//! The contracts that loads call, and their code. The code comes from committed artifacts of
//! `contracts/`, so that building the program needs no compiler of Solidity or Yul.

use alloy_primitives::Bytes;
use serde::Deserialize;

use crate::error::GeneratorError;

/// Defines [`Contract`] from one list of names, which are also the names of the sources and
/// artifacts.
macro_rules! contracts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A contract of `contracts/` that loads use. The comment of each begins with its calldata.
        /// `(start, count)*` are ranges of indices i; keccak(seed ‖ i) is a slot's key, or has an
        /// account's address in its low 20 bytes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Contract {
            $($(#[$doc])* $name,)*
        }

        impl Contract {
            /// Name of the contract's source and artifact.
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
    /// `seed, (start, count)*`: reads the slots keccak(seed ‖ i).
    KeccakStorm,
    /// `seed, (start, count)*`: reads the slots seed + i·W, where W is 2^256 over the golden ratio.
    WeylStorm,
    /// `key, count`: reads the slot `key`, then `count` - 1 times the slot whose key is the last
    /// value.
    ChaseStorm,
    /// `seed, value, (start, count)*`: writes the value to the slots keccak(seed ‖ i).
    WriteStorm,
    /// `op, where, count`: reads `count` slots at consecutive keys from the key in slot 0 on, or
    /// writes slots at such keys from `where` on.
    Bloated,
    /// `count`: computes `count` hashes, then reads and writes slot 0.
    HashChain,
    /// `seed, change, (start, count)*`: reads the slots keccak(seed ‖ i), and writes to each its
    /// value XOR the change.
    RewriteStorm,
    /// `seed, op, bytes, (start, count)*`: accesses the accounts keccak(seed ‖ i) by the operation
    /// `op`.
    AccountStorm,
    /// `seed, token, (start, count)*`: reads the balances of accounts keccak(seed ‖ i) from a
    /// token.
    BalanceStorm,
    /// `seed, storm, count`: calls a storm for a range of `count` indices. Slot 0 has the first
    /// index plus 1, as a slot is never 0; the call adds `count` to it.
    RangePointer,
    /// `storm, count`: calls a storm that follows the chain from the key in slot 0, and stores the
    /// chain's last key there.
    ChainPointer,
    /// `seed, index*` of 4 bytes: reads the slots keccak(seed ‖ i) in the order of the indices.
    IndexStorm,
    /// `seed, value, index*` of 4 bytes: writes the value to the slots keccak(seed ‖ i).
    IndexWriteStorm,
    /// `seed, slot, value, (start, count)*`: calls the contracts at keccak(seed ‖ i), each of which
    /// writes the value to a slot.
    SpreadStorm,
    /// `slot, value`: writes the value to the slot.
    SpreadTarget,
    /// `seed, n, (start, count)^n`, then padding of any length: reads the slots seed + i·W.
    PaddedStorm,
    /// `key, count`: a key contains the address of a contract. Calls it for the value of the key,
    /// which is the next key.
    HopStorm,
    /// `key`: returns a slot's value.
    HopTarget,
    /// `transfer(address,uint256)`: an ERC-20 with its balances at mapping slot 0.
    Token,
    /// `mix`, `mixFirst` of `(uint256)`: read and write slot 0, after the hashes (`mix`) or before
    /// them.
    OneSlot,
    /// `use(uint256,uint256)`: reads a resource in the mapping at slot 0, computes with it, writes
    /// and logs it.
    Dapp,
    /// `step` and `pay`: read two entries of the mapping at slot 0, or two balances, and change one
    /// of them.
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

/// The used parts of an artifact.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    bytecode: Bytes,
    deployed_bytecode: Bytes,
}

impl Contract {
    /// Number of operations in one unrolled block of a storm's loop. Each operation of an
    /// incomplete block costs more gas.
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

    /// Whether a storm's calldata has a count in place of ranges: no index says where the storm
    /// begins.
    pub(crate) const fn takes_count_alone(self) -> bool {
        matches!(self, Self::ChaseStorm | Self::HopStorm | Self::RangePointer | Self::ChainPointer)
    }

    /// Whether a storm's calldata has a packed list of indices in place of ranges.
    pub(crate) const fn takes_indices(self) -> bool {
        matches!(self, Self::IndexStorm | Self::IndexWriteStorm)
    }

    /// Whether a storm's calldata has the number of ranges; the storm ignores the bytes after them.
    pub(crate) const fn takes_padding(self) -> bool {
        matches!(self, Self::PaddedStorm)
    }

    /// The deployed code: the code of an account of this contract.
    ///
    /// # Errors
    /// [`GeneratorError::Artifact`] when the committed artifact is damaged.
    pub fn code(self) -> Result<Bytes, GeneratorError> {
        let code = self.artifact()?.deployed_bytecode;
        self.not_empty(code)
    }

    /// The creation code, which a transaction carries to deploy the contract.
    ///
    /// # Errors
    /// [`GeneratorError::Artifact`] when the committed artifact is damaged.
    pub fn creation_code(self) -> Result<Bytes, GeneratorError> {
        let code = self.artifact()?.bytecode;
        self.not_empty(code)
    }

    /// The error for an unreadable artifact.
    fn error(self, reason: String) -> GeneratorError {
        GeneratorError::Artifact { contract: self.name(), reason }
    }

    fn not_empty(self, code: Bytes) -> Result<Bytes, GeneratorError> {
        if code.is_empty() {
            return Err(self.error("it has no bytecode".to_owned()));
        }
        Ok(code)
    }

    fn artifact(self) -> Result<Artifact, GeneratorError> {
        serde_json::from_str(self.json()).map_err(|error| self.error(error.to_string()))
    }
}
