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
    /// `use(uint256,uint256)`: a resource at mapping slot 0 read, computed with, written and logged.
    Dapp,
    /// `step` and `pay`: two places at mapping slot 0, or two balances, read and one changed.
    Chain,
    /// `spend` and `burn`: balances at mapping slot 0, the total supply at slot 1.
    Supply,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    deployed_bytecode: Bytes,
}

impl Contract {
    /// All contracts.
    pub const ALL: [Self; 8] = [
        Self::KeccakStorm,
        Self::WeylStorm,
        Self::ChaseStorm,
        Self::Token,
        Self::OneSlot,
        Self::Dapp,
        Self::Chain,
        Self::Supply,
    ];

    /// Name of its source and its artifact.
    pub const fn name(self) -> &'static str {
        match self {
            Self::KeccakStorm => "KeccakStorm",
            Self::WeylStorm => "WeylStorm",
            Self::ChaseStorm => "ChaseStorm",
            Self::Token => "Token",
            Self::OneSlot => "OneSlot",
            Self::Dapp => "Dapp",
            Self::Chain => "Chain",
            Self::Supply => "Supply",
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
            Self::Dapp => include_str!("../../contracts/artifacts/Dapp.json"),
            Self::Chain => include_str!("../../contracts/artifacts/Chain.json"),
            Self::Supply => include_str!("../../contracts/artifacts/Supply.json"),
        };
        let bad = |reason: String| GeneratorError::Artifact { contract: self.name(), reason };
        let artifact: Artifact = serde_json::from_str(json).map_err(|e| bad(e.to_string()))?;
        if artifact.deployed_bytecode.is_empty() {
            return Err(bad("it has no deployed bytecode".to_owned()));
        }
        Ok(artifact.deployed_bytecode)
    }
}
