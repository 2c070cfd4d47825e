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
    /// `execute(address,uint256)`: what accounts delegate to (EIP-7702).
    Wallet,
    /// `deploy(bytes32,bytes)`: CREATE2.
    Factory,
    /// A contract of any size, deployed with what follows its creation code.
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
    pub const ALL: [Self; 13] = [
        Self::KeccakStorm,
        Self::WeylStorm,
        Self::ChaseStorm,
        Self::Token,
        Self::OneSlot,
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
            Self::Token => "Token",
            Self::OneSlot => "OneSlot",
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

    /// The code that an account of the contract has.
    ///
    /// # Errors
    /// [`GeneratorError::Artifact`] when the committed artifact is not what it should be.
    pub fn code(self) -> Result<Bytes, GeneratorError> {
        let code = self.artifact()?.deployed_bytecode;
        self.not_empty(code)
    }

    /// The code that creates a contract: what a transaction that deploys it carries.
    ///
    /// # Errors
    /// [`GeneratorError::Artifact`] when the committed artifact is not what it should be.
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
            Self::Token => include_str!("../../contracts/artifacts/Token.json"),
            Self::OneSlot => include_str!("../../contracts/artifacts/OneSlot.json"),
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
