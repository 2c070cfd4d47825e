//! The rules of a header by itself and after its parent's header. All sources with whole headers
//! are checked by [`check`]; `early.rs` and `t8n.rs` check single rules. The errors name the EIPs.

use alloy_consensus::{EMPTY_OMMER_ROOT_HASH, Header};
use alloy_eips::eip1559::BaseFeeParams;
use alloy_primitives::{B64, B256, U256};
use evm::env::blob_params;
use workload::{ChainRules, Fork};

use super::ImportError;

/// Maximal number of bytes of a header's extra data (Yellow Paper, 4.4).
const MAX_EXTRA_BYTES: usize = 32;
/// Divisor of the parent's gas limit. A block's gas limit differs from its parent's by less than
/// the quotient.
const GAS_LIMIT_DIVISOR: u64 = 1_024;
/// Minimal gas limit of a parent from which the next base fee can be computed: its gas target, half
/// of that, is a divisor.
const MIN_PARENT_GAS: u64 = 2;
/// Maximal base fee of a parent from which the next base fee can be computed without overflow.
const MAX_BASE_FEE: u64 = u64::MAX / 16;
/// Maximal blob gas of a parent from which the next excess blob gas can be computed: that of 2^16
/// blobs, each with 2^17 gas.
const MAX_BLOB_GAS: u64 = 1 << (16 + 17);

/// A rule that a header breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum HeaderFault {
    #[error("its difficulty is {0}; since the Merge it is 0 (EIP-3675)")]
    Difficulty(U256),
    #[error("its nonce is {0}; since the Merge it is 0 (EIP-3675)")]
    Nonce(B64),
    #[error("its ommers' hash is {0}; since the Merge it is that of no ommers (EIP-3675)")]
    Ommers(B256),
    #[error("its header has {0}, which blocks before Paris do not have")]
    LaterField(&'static str),
    #[error("its ommers' hash is {said}; that of its ommers is {made}")]
    OmmersHash { said: B256, made: B256 },
    #[error("it has {0} ommers; 2 are allowed")]
    OmmerCount(usize),
    #[error("it has an ommer of number {0}; allowed are the 6 numbers before its own")]
    OmmerNumber(u64),
    #[error("its extra data have {0} bytes; {MAX_EXTRA_BYTES} are allowed")]
    ExtraData(usize),
    #[error("its gas used, {used}, is above its gas limit, {limit}")]
    GasUsed { used: u64, limit: u64 },
    #[error("its parent is {said}; the block before it is {parent}")]
    Parent { said: B256, parent: B256 },
    #[error("its number is {said}; that of its parent is {parent}")]
    Number { said: u64, parent: u64 },
    #[error("its timestamp, {said}, is not above that of its parent, {parent}")]
    Timestamp { said: u64, parent: u64 },
    #[error(
        "its gas limit, {said}, differs from that of its parent, {parent}, by a \
         {GAS_LIMIT_DIVISOR}th or more"
    )]
    GasLimit { said: u64, parent: u64 },
    #[error("its base fee is {}; after its parent it is {} (EIP-1559)", shown(*said), shown(*expected))]
    BaseFee { said: Option<u64>, expected: Option<u64> },
    #[error(
        "its excess blob gas is {}; after its parent it is {} (EIP-4844, EIP-7918)",
        shown(*said), shown(*expected)
    )]
    ExcessBlobGas { said: Option<u64>, expected: Option<u64> },
}

/// Formats a number for an error.
fn shown(number: Option<u64>) -> String {
    number.map_or_else(|| "not known".to_owned(), |number| number.to_string())
}

impl HeaderFault {
    /// Makes the error of the block `number`, whose header breaks this rule.
    pub(super) fn of_block(&self, number: u64) -> ImportError {
        ImportError::Block { block: number, reason: self.to_string() }
    }
}

/// Checks `header`, of a block of Paris or later under `rules`, by itself and against the header
/// `parent`.
pub(super) fn check(
    header: &Header,
    parent: &Header,
    rules: &ChainRules,
) -> Result<(), ImportError> {
    check_alone(header)
        .and_then(|()| check_parent(header, parent, rules))
        .map_err(|fault| fault.of_block(header.number))
}

fn check_alone(header: &Header) -> Result<(), HeaderFault> {
    if !header.difficulty.is_zero() {
        return Err(HeaderFault::Difficulty(header.difficulty));
    }
    if header.nonce != B64::ZERO {
        return Err(HeaderFault::Nonce(header.nonce));
    }
    if header.ommers_hash != EMPTY_OMMER_ROOT_HASH {
        return Err(HeaderFault::Ommers(header.ommers_hash));
    }
    check_bounds(header)
}

/// Checks the bounds of extra data and of gas used.
pub(super) fn check_bounds(header: &Header) -> Result<(), HeaderFault> {
    if header.extra_data.len() > MAX_EXTRA_BYTES {
        return Err(HeaderFault::ExtraData(header.extra_data.len()));
    }
    let (used, limit) = (header.gas_used, header.gas_limit);
    if used > limit { Err(HeaderFault::GasUsed { used, limit }) } else { Ok(()) }
}

fn check_parent(header: &Header, parent: &Header, rules: &ChainRules) -> Result<(), HeaderFault> {
    check_place(header, parent)?;
    check_gas_limit(header, parent)?;
    check_base_fee(header, parent)?;
    check_excess_blob_gas(header, parent, rules)
}

/// Checks that a block follows its parent: by hash, number and timestamp.
pub(super) fn check_place(header: &Header, parent: &Header) -> Result<(), HeaderFault> {
    let (said, hash) = (header.parent_hash, parent.hash_slow());
    if said != hash {
        return Err(HeaderFault::Parent { said, parent: hash });
    }
    if parent.number.checked_add(1) != Some(header.number) {
        return Err(HeaderFault::Number { said: header.number, parent: parent.number });
    }
    check_timestamp(header, parent)
}

pub(super) fn check_timestamp(header: &Header, parent: &Header) -> Result<(), HeaderFault> {
    let (said, parent) = (header.timestamp, parent.timestamp);
    if said > parent { Ok(()) } else { Err(HeaderFault::Timestamp { said, parent }) }
}

pub(super) fn check_gas_limit(header: &Header, parent: &Header) -> Result<(), HeaderFault> {
    let (said, parent) = (header.gas_limit, parent.gas_limit);
    let is_near = said.abs_diff(parent) < parent / GAS_LIMIT_DIVISOR;
    if is_near { Ok(()) } else { Err(HeaderFault::GasLimit { said, parent }) }
}

pub(super) fn check_base_fee(header: &Header, parent: &Header) -> Result<(), HeaderFault> {
    let (said, expected) = (header.base_fee_per_gas, base_fee_after(parent));
    if said == expected { Ok(()) } else { Err(HeaderFault::BaseFee { said, expected }) }
}

/// Returns the base fee of the block after `parent`; `None` if it cannot be computed.
pub(super) fn base_fee_after(parent: &Header) -> Option<u64> {
    let is_computable = parent.gas_limit >= MIN_PARENT_GAS
        && parent.gas_used <= parent.gas_limit
        && parent.base_fee_per_gas.is_none_or(|fee| fee <= MAX_BASE_FEE);
    is_computable.then(|| parent.next_block_base_fee(BaseFeeParams::ethereum())).flatten()
}

fn check_excess_blob_gas(
    header: &Header,
    parent: &Header,
    rules: &ChainRules,
) -> Result<(), HeaderFault> {
    let (said, expected) = (header.excess_blob_gas, excess_blob_gas_after(parent, rules));
    if said == expected { Ok(()) } else { Err(HeaderFault::ExcessBlobGas { said, expected }) }
}

/// Returns the excess blob gas of the block after `parent`; `None` if the block has none, or if it
/// cannot be computed.
pub(super) fn excess_blob_gas_after(parent: &Header, rules: &ChainRules) -> Option<u64> {
    let blobs = rules.blobs;
    // With larger values the computation takes unbounded time, or exceeds 64 bits.
    let is_computable = parent.excess_blob_gas.is_none_or(|gas| gas <= blobs.max_excess_blob_gas())
        && parent.blob_gas_used.is_none_or(|gas| gas <= MAX_BLOB_GAS);
    match parent.excess_blob_gas {
        // The excess of the first block that can have blobs is 0.
        None => rules.fork.is_from(Fork::Cancun).then_some(0),
        Some(_) if is_computable => parent.next_block_excess_blob_gas(blob_params(rules)),
        Some(_) => None,
    }
}
