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
    /// `transfer(address,uint256)`: an ERC-20 with its balances at mapping slot 0.
    Token,
    /// `mix(uint256)`: some hashes, then slot 0 read and written.
    OneSlot,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    deployed_bytecode: Bytes,
}

impl Contract {
    /// All contracts.
    pub const ALL: [Self; 11] = [
        Self::KeccakStorm,
        Self::WeylStorm,
        Self::ChaseStorm,
        Self::WriteStorm,
        Self::RewriteStorm,
        Self::AccountStorm,
        Self::BalanceStorm,
        Self::RangePointer,
        Self::ChainPointer,
        Self::Token,
        Self::OneSlot,
    ];

    /// Name of its source and its artifact.
    pub const fn name(self) -> &'static str {
        match self {
            Self::KeccakStorm => "KeccakStorm",
            Self::WeylStorm => "WeylStorm",
            Self::ChaseStorm => "ChaseStorm",
            Self::WriteStorm => "WriteStorm",
            Self::RewriteStorm => "RewriteStorm",
            Self::AccountStorm => "AccountStorm",
            Self::BalanceStorm => "BalanceStorm",
            Self::RangePointer => "RangePointer",
            Self::ChainPointer => "ChainPointer",
            Self::Token => "Token",
            Self::OneSlot => "OneSlot",
        }
    }

    /// Of a storm: operations in one unrolled block; the rest of a count costs more each.
    pub(crate) const fn unrolled_count(self) -> u64 {
        match self {
            Self::KeccakStorm
            | Self::WeylStorm
            | Self::ChaseStorm
            | Self::RangePointer
            | Self::ChainPointer => 64,
            _ => 8,
        }
    }

    /// Of a storm: whether it is told how many, and knows from where by itself.
    pub(crate) const fn takes_count_alone(self) -> bool {
        matches!(self, Self::ChaseStorm | Self::RangePointer | Self::ChainPointer)
    }

    /// The code that an account of the contract has.
    ///
    /// # Errors
    /// [`GeneratorError::Artifact`] when the committed artifact is not what it should be.
    pub fn code(self) -> Result<Bytes, GeneratorError> {
        let json = match self {
            Self::KeccakStorm => include_str!("../../contracts/artifacts/KeccakStorm.json"),
            Self::WeylStorm => include_str!("../../contracts/artifacts/WeylStorm.json"),
            Self::ChaseStorm => include_str!("../../contracts/artifacts/ChaseStorm.json"),
            Self::WriteStorm => {
                include_str!("../../contracts/artifacts/WriteStorm.json")
            }
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
            Self::Token => include_str!("../../contracts/artifacts/Token.json"),
            Self::OneSlot => include_str!("../../contracts/artifacts/OneSlot.json"),
        };
        let bad = |reason: String| GeneratorError::Artifact { contract: self.name(), reason };
        let artifact: Artifact = serde_json::from_str(json).map_err(|e| bad(e.to_string()))?;
        if artifact.deployed_bytecode.is_empty() {
            return Err(bad("it has no deployed bytecode".to_owned()));
        }
        Ok(artifact.deployed_bytecode)
    }
}
