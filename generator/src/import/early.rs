//! Makes, for `chain_import.rs`, the blocks before Paris (proof of work): checks their headers, and
//! computes the rewards of their miners. Neither the proof of work nor the difficulty is checked.

use alloy_consensus::{Header, proofs};
use alloy_eips::eip1559::INITIAL_BASE_FEE;
use alloy_primitives::{Address, U256};
use evm::EarlyRules;
use workload::{Block, Fork, block::BlockEnv};

use super::{
    ImportError, ImportedBlock,
    genesis::ChainConfig,
    header::RlpBlock,
    json::Json,
    read,
    rules::{self, HeaderFault},
};

/// Note for the user: values of blocks before Paris that are not checked.
pub(super) const NOT_CHECKED: &str = "not checked before Paris: proof of work, difficulty, headers of ommers; receipts before Byzantium";

/// Wei of one ether.
const ETHER: u64 = 1_000_000_000_000_000_000;
/// Maximal number of ommers of a block.
const MAX_OMMERS: usize = 2;
/// Maximal difference between the number of a block and that of an ommer in it.
const OMMER_DEPTH: u64 = 6;

/// A block before Paris.
pub(super) struct EarlyBlock {
    pub(super) block: Block,
    pub(super) said: ImportedBlock,
    pub(super) rules: EarlyRules,
    /// Rewards of the block's miner and of its ommers' miners.
    pub(super) rewards: Vec<(Address, U256)>,
}

impl EarlyBlock {
    /// Makes the block of `decoded`. Checks its header against that of its parent. Errors name
    /// `node` or the block.
    pub(super) fn new(
        node: &Json<'_>,
        decoded: RlpBlock,
        parent: &Header,
        config: &ChainConfig,
    ) -> Result<Self, ImportError> {
        let RlpBlock { header, body, ommers, list } = decoded;
        let number = header.number;
        check(&header, &ommers, parent, config).map_err(|fault| fault.of_block(number))?;
        if list.is_some() {
            return Err(node.fault("the RLP of a block before Paris, which ends with its ommers"));
        }
        let env = BlockEnv {
            number,
            timestamp: header.timestamp,
            beneficiary: header.beneficiary,
            gas_limit: read::gas_limit(node, header.gas_limit, Fork::Paris)?,
            base_fee: header.base_fee_per_gas.unwrap_or_default(),
            parent_hash: header.parent_hash,
            ..BlockEnv::default()
        };
        let rules = EarlyRules { spec: config.early_fork(number), difficulty: header.difficulty };
        // Before Byzantium (EIP-658) receipts have no status, but the state root after the
        // transaction, which is not computed here.
        let has_status = config.is_active("byzantiumBlock", number);
        let rewards = rewards(&header, &ommers, config);
        let said = ImportedBlock {
            gas_used: Some(header.gas_used),
            receipts_root: has_status.then_some(header.receipts_root),
            logs_bloom: Some(header.logs_bloom),
            txs_root: Some(header.transactions_root),
            state_root: Some(header.state_root),
            signed: body.transactions.signed,
            header: Some(header),
            ..ImportedBlock::default()
        };
        let block = Block { env, transactions: body.transactions.all, withdrawals: Vec::new() };
        Ok(Self { block, said, rules, rewards })
    }
}

/// Checks a header before Paris against that of its parent, and its ommers.
fn check(
    header: &Header,
    ommers: &[Header],
    parent: &Header,
    config: &ChainConfig,
) -> Result<(), HeaderFault> {
    rules::check_bounds(header)?;
    rules::check_place(header, parent)?;
    let later_fields = [
        ("a withdrawals root", header.withdrawals_root.is_some()),
        ("blob gas", header.blob_gas_used.or(header.excess_blob_gas).is_some()),
        ("a beacon root", header.parent_beacon_block_root.is_some()),
        ("a requests hash", header.requests_hash.is_some()),
        ("a list hash", header.block_access_list_hash.is_some()),
        ("a slot number", header.slot_number.is_some()),
    ];
    if let Some((what, _)) = later_fields.into_iter().find(|(_, is_there)| *is_there) {
        return Err(HeaderFault::LaterField(what));
    }
    let is_london = |number| config.is_active("londonBlock", number);
    // The first block of London has a fixed base fee.
    if is_london(header.number) && !is_london(parent.number) {
        let said = header.base_fee_per_gas;
        if said != Some(INITIAL_BASE_FEE) {
            return Err(HeaderFault::BaseFee { said, expected: Some(INITIAL_BASE_FEE) });
        }
        // From London on the gas limit is twice the gas target, so it doubles here (EIP-1559).
        let gas_limit = parent.gas_limit.saturating_mul(2);
        rules::check_gas_limit(header, &Header { gas_limit, ..Header::default() })?;
    } else {
        rules::check_base_fee(header, parent)?;
        rules::check_gas_limit(header, parent)?;
    }
    check_ommers(header, ommers)
}

/// Checks hash, number and distance of a block's ommers.
fn check_ommers(header: &Header, ommers: &[Header]) -> Result<(), HeaderFault> {
    let (said, made) = (header.ommers_hash, proofs::calculate_ommers_root(ommers));
    if said != made {
        return Err(HeaderFault::OmmersHash { said, made });
    }
    if ommers.len() > MAX_OMMERS {
        return Err(HeaderFault::OmmerCount(ommers.len()));
    }
    let mut too_far = ommers.iter().filter(|ommer| {
        let depth = header.number.checked_sub(ommer.number);
        !depth.is_some_and(|depth| (1..=OMMER_DEPTH).contains(&depth))
    });
    match too_far.next() {
        Some(ommer) => Err(HeaderFault::OmmerNumber(ommer.number)),
        None => Ok(()),
    }
}

/// Returns the rewards, in wei, of the miners of these `ommers` and of the block's miner, who comes
/// last (EIP-649, EIP-1234). An ommer's number is at most 6 below the block's, as [`check`]
/// ensures.
fn rewards(header: &Header, ommers: &[Header], config: &ChainConfig) -> Vec<(Address, U256)> {
    let ether = match header.number {
        number if config.is_active("constantinopleBlock", number) => 2,
        number if config.is_active("byzantiumBlock", number) => 3,
        _ => 5,
    };
    let block_reward = U256::from(ether * ETHER);
    let ommer_rewards = ommers.iter().map(|ommer| {
        // An eighth less for each number that the ommer is below the block.
        let eighths = ommer.number + 8 - header.number;
        (ommer.beneficiary, block_reward * U256::from(eighths) / U256::from(8))
    });
    // The miner gets a 32nd more for each ommer.
    let for_ommers = block_reward / U256::from(32) * U256::from(ommers.len());
    ommer_rewards.chain([(header.beneficiary, block_reward + for_ommers)]).collect()
}
