//! The loads' contracts, as `contracts/` has compiled them. Committed artifacts are the only way
//! in which Solidity and Yul reach Rust.

use alloy_primitives::Bytes;
use serde::Deserialize;

use crate::error::GeneratorError;

/// A contract of `contracts/` that loads use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Contract {
    /// `seed, (start, count)*`: reads keccak(seed ‖ i).
    KeccakStorm,
    /// `seed, (start, count)*`: reads seed + i·W.
    WeylStorm,
    /// `key, count`: reads the slot that the last value names.
    ChaseStorm,
    /// `seed, value, (start, count)*`: writes the value to keccak(seed ‖ i).
    WriteStorm,
    /// `op, where, count`: reads or writes slots 1, 2, 3, …, from where slot 0 says.
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
    /// `mix(uint256)`: some hashes, then slot 0 read and written.
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
    /// All contracts.
    pub const ALL: [Self; 31] = [
        Self::KeccakStorm,
        Self::WeylStorm,
        Self::ChaseStorm,
        Self::WriteStorm,
        Self::Bloated,
        Self::HashChain,
        Self::RewriteStorm,
        Self::AccountStorm,
        Self::BalanceStorm,
        Self::RangePointer,
        Self::ChainPointer,
        Self::IndexStorm,
        Self::IndexWriteStorm,
        Self::SpreadStorm,
        Self::SpreadTarget,
        Self::PaddedStorm,
        Self::HopStorm,
        Self::HopTarget,
        Self::Token,
        Self::OneSlot,
        Self::Dapp,
        Self::Chain,
        Self::Supply,
        Self::StandardToken,
        Self::Pair,
        Self::Nft,
        Self::Compute,
        Self::Logs,
        Self::Wallet,
        Self::Factory,
        Self::Deployed,
    ];

    /// Name of its source and its artifact.
    pub const fn name(self) -> &'static str {
        match self {
            Self::KeccakStorm => "KeccakStorm",
            Self::WeylStorm => "WeylStorm",
            Self::ChaseStorm => "ChaseStorm",
            Self::WriteStorm => "WriteStorm",
            Self::Bloated => "Bloated",
            Self::HashChain => "HashChain",
            Self::RewriteStorm => "RewriteStorm",
            Self::AccountStorm => "AccountStorm",
            Self::BalanceStorm => "BalanceStorm",
            Self::RangePointer => "RangePointer",
            Self::ChainPointer => "ChainPointer",
            Self::IndexStorm => "IndexStorm",
            Self::IndexWriteStorm => "IndexWriteStorm",
            Self::SpreadStorm => "SpreadStorm",
            Self::SpreadTarget => "SpreadTarget",
            Self::PaddedStorm => "PaddedStorm",
            Self::HopStorm => "HopStorm",
            Self::HopTarget => "HopTarget",
            Self::Token => "Token",
            Self::OneSlot => "OneSlot",
            Self::Dapp => "Dapp",
            Self::Chain => "Chain",
            Self::Supply => "Supply",
            Self::StandardToken => "StandardToken",
            Self::Pair => "Pair",
            Self::Nft => "Nft",
            Self::Compute => "Compute",
            Self::Logs => "Logs",
            Self::Wallet => "Wallet",
            Self::Factory => "Factory",
            Self::Deployed => "Deployed",
        }
    }

    /// Of a storm: operations in one unrolled block; the rest of a count costs more each.
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

    /// Of a storm: whether calldata gives it the number of keys, and it finds the start by itself.
    pub(crate) const fn takes_count_alone(self) -> bool {
        matches!(self, Self::ChaseStorm | Self::HopStorm | Self::RangePointer | Self::ChainPointer)
    }

    /// Of a storm: whether calldata has each index, packed, and not ranges of them.
    pub(crate) const fn takes_indices(self) -> bool {
        matches!(self, Self::IndexStorm | Self::IndexWriteStorm)
    }

    /// Of a storm: whether calldata gives it the number of ranges, and it ignores the words after
    /// them.
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
        let json = match self {
            Self::KeccakStorm => include_str!("../../contracts/artifacts/KeccakStorm.json"),
            Self::WeylStorm => include_str!("../../contracts/artifacts/WeylStorm.json"),
            Self::ChaseStorm => include_str!("../../contracts/artifacts/ChaseStorm.json"),
            Self::WriteStorm => {
                include_str!("../../contracts/artifacts/WriteStorm.json")
            }
            Self::Bloated => include_str!("../../contracts/artifacts/Bloated.json"),
            Self::HashChain => include_str!("../../contracts/artifacts/HashChain.json"),
            Self::RewriteStorm => {
                include_str!("../../contracts/artifacts/RewriteStorm.json")
            }
            Self::AccountStorm => {
                include_str!("../../contracts/artifacts/AccountStorm.json")
            }
            Self::BalanceStorm => {
                include_str!("../../contracts/artifacts/BalanceStorm.json")
            }
            Self::RangePointer => {
                include_str!("../../contracts/artifacts/RangePointer.json")
            }
            Self::ChainPointer => {
                include_str!("../../contracts/artifacts/ChainPointer.json")
            }
            Self::IndexStorm => include_str!("../../contracts/artifacts/IndexStorm.json"),
            Self::IndexWriteStorm => {
                include_str!("../../contracts/artifacts/IndexWriteStorm.json")
            }
            Self::SpreadStorm => include_str!("../../contracts/artifacts/SpreadStorm.json"),
            Self::SpreadTarget => {
                include_str!("../../contracts/artifacts/SpreadTarget.json")
            }
            Self::PaddedStorm => {
                include_str!("../../contracts/artifacts/PaddedStorm.json")
            }
            Self::HopStorm => include_str!("../../contracts/artifacts/HopStorm.json"),
            Self::HopTarget => include_str!("../../contracts/artifacts/HopTarget.json"),
            Self::Token => include_str!("../../contracts/artifacts/Token.json"),
            Self::OneSlot => include_str!("../../contracts/artifacts/OneSlot.json"),
            Self::Dapp => include_str!("../../contracts/artifacts/Dapp.json"),
            Self::Chain => include_str!("../../contracts/artifacts/Chain.json"),
            Self::Supply => include_str!("../../contracts/artifacts/Supply.json"),
            Self::StandardToken => include_str!("../../contracts/artifacts/StandardToken.json"),
            Self::Pair => include_str!("../../contracts/artifacts/Pair.json"),
            Self::Nft => include_str!("../../contracts/artifacts/Nft.json"),
            Self::Compute => include_str!("../../contracts/artifacts/Compute.json"),
            Self::Logs => include_str!("../../contracts/artifacts/Logs.json"),
            Self::Wallet => include_str!("../../contracts/artifacts/Wallet.json"),
            Self::Factory => include_str!("../../contracts/artifacts/Factory.json"),
            Self::Deployed => include_str!("../../contracts/artifacts/Deployed.json"),
        };
        serde_json::from_str(json).map_err(|e| self.bad(e.to_string()))
    }
}
