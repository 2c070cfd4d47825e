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
    pub const ALL: [Self; 5] =
        [Self::KeccakStorm, Self::WeylStorm, Self::ChaseStorm, Self::Token, Self::OneSlot];

    /// Name of its source and its artifact.
    pub const fn name(self) -> &'static str {
        match self {
            Self::KeccakStorm => "KeccakStorm",
            Self::WeylStorm => "WeylStorm",
            Self::ChaseStorm => "ChaseStorm",
            Self::Token => "Token",
            Self::OneSlot => "OneSlot",
        }
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
