//! Converts the workload's forks, blocks and transactions to revm's types, for `run.rs` and for
//! callers that run revm themselves.

use alloy_eips::{eip7594::MAX_BLOBS_PER_TX_FUSAKA, eip7840::BlobParams};
use alloy_primitives::{TxKind, U256};
use revm::{
    Database,
    context::{BlockEnv, CfgEnv, TxEnv, either::Either},
    context_interface::{
        block::BlobExcessGasAndPrice,
        transaction::{
            AccessList, AccessListItem, Authorization, RecoveredAuthority, RecoveredAuthorization,
        },
    },
    handler::{MainnetContext, MainnetEvm, instructions::EthInstructions},
    primitives::hardfork::SpecId,
};
use workload::{ChainRules, Fork, Transaction, TxType, block};

/// Returns revm's name of a fork.
pub const fn spec(fork: Fork) -> SpecId {
    match fork {
        Fork::Paris => SpecId::MERGE,
        Fork::Shanghai => SpecId::SHANGHAI,
        Fork::Cancun => SpecId::CANCUN,
        Fork::Prague => SpecId::PRAGUE,
        Fork::Osaka | Fork::Bpo1 | Fork::Bpo2 => SpecId::OSAKA,
        Fork::Amsterdam => SpecId::AMSTERDAM,
    }
}

/// Chain settings, with all of revm's checks of a mainnet transaction.
pub fn cfg_env(fork: Fork, chain_id: u64) -> CfgEnv {
    let mut cfg = CfgEnv::new_with_spec(spec(fork)).with_chain_id(chain_id);
    cfg.max_blobs_per_tx = fork.is_from(Fork::Osaka).then_some(MAX_BLOBS_PER_TX_FUSAKA);
    cfg
}

/// Blob parameters of the rules (EIP-7840); since Osaka with the reserve price of EIP-7918.
pub fn blob_params(rules: &ChainRules) -> BlobParams {
    let ChainRules { fork, blobs, .. } = rules;
    let fork_params = match fork {
        Fork::Paris | Fork::Shanghai | Fork::Cancun => BlobParams::cancun(),
        Fork::Prague => BlobParams::prague(),
        Fork::Osaka | Fork::Bpo1 | Fork::Bpo2 | Fork::Amsterdam => BlobParams::osaka(),
    };
    BlobParams {
        target_blob_count: blobs.target,
        max_blob_count: blobs.max,
        update_fraction: blobs.base_fee_update_fraction.into(),
        ..fork_params
    }
}

/// Converts the environment of a block under `rules`.
pub fn block_env(env: &block::BlockEnv, rules: &ChainRules) -> BlockEnv {
    let blob_fee =
        BlobExcessGasAndPrice::new(env.excess_blob_gas, rules.blobs.base_fee_update_fraction);
    BlockEnv {
        number: U256::from(env.number),
        beneficiary: env.beneficiary,
        timestamp: U256::from(env.timestamp),
        gas_limit: env.gas_limit,
        basefee: env.base_fee,
        difficulty: U256::ZERO,
        prevrandao: Some(env.prev_randao),
        blob_excess_gas_and_price: rules.fork.is_from(Fork::Cancun).then_some(blob_fee),
        slot_num: env.slot_number,
    }
}

/// Sets up `evm` for a block: the next steps run in `env` under `rules`.
pub fn set_block<DB: Database, I>(
    evm: &mut MainnetEvm<MainnetContext<DB>, I>,
    env: &block::BlockEnv,
    rules: &ChainRules,
) {
    set_spec(evm, spec(rules.fork), |chain_id| cfg_env(rules.fork, chain_id));
    evm.ctx.block = block_env(env, rules);
}

/// Sets up `evm` for a block before the Merge, whose transactions it runs next.
pub fn set_early_block<DB: Database, I>(
    evm: &mut MainnetEvm<MainnetContext<DB>, I>,
    env: &block::BlockEnv,
    early: EarlyRules,
) {
    let EarlyRules { spec, difficulty } = early;
    set_spec(evm, spec, |chain_id| CfgEnv::new_with_spec(spec).with_chain_id(chain_id));
    let paris_env = block_env(env, &Fork::Paris.into());
    evm.ctx.block = BlockEnv { difficulty, prevrandao: None, ..paris_env };
}

/// Rules of a block before the Merge (EIP-3675).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EarlyRules {
    /// revm's name of the block's fork.
    pub spec: SpecId,
    /// Difficulty of the block, which code can read.
    pub difficulty: U256,
}

/// Sets the fork of `evm`, unless it has this fork already. `cfg` makes the settings from the chain
/// id.
fn set_spec<DB: Database, I>(
    evm: &mut MainnetEvm<MainnetContext<DB>, I>,
    spec: SpecId,
    cfg: impl FnOnce(u64) -> CfgEnv,
) {
    if evm.ctx.cfg.spec != spec {
        let chain_id = evm.ctx.cfg.chain_id;
        evm.ctx.modify_cfg(|current| *current = cfg(chain_id));
        // revm itself changes the precompiles at the next transaction.
        evm.instruction = EthInstructions::new_mainnet_with_spec(spec);
    }
}

/// Converts a transaction on chain `chain_id`.
pub fn tx_env(tx: &Transaction, chain_id: u64) -> TxEnv {
    let priority_fee = match tx.tx_type {
        TxType::Legacy | TxType::AccessList => None,
        TxType::DynamicFee | TxType::Blob | TxType::SetCode => Some(tx.max_priority_fee_per_gas),
    };
    let access_list = tx.access_list.iter().map(|(address, storage_keys)| AccessListItem {
        address: *address,
        storage_keys: storage_keys.clone(),
    });
    TxEnv {
        tx_type: match tx.tx_type {
            TxType::Legacy => 0,
            TxType::AccessList => 1,
            TxType::DynamicFee => 2,
            TxType::Blob => 3,
            TxType::SetCode => 4,
        },
        caller: tx.sender,
        gas_limit: tx.gas_limit,
        gas_price: tx.max_fee_per_gas,
        kind: tx.to.map_or(TxKind::Create, TxKind::Call),
        value: tx.value,
        data: tx.input.clone(),
        nonce: tx.nonce,
        chain_id: Some(chain_id),
        access_list: AccessList(access_list.collect()),
        gas_priority_fee: priority_fee,
        blob_hashes: tx.blob_hashes.clone(),
        max_fee_per_blob_gas: tx.max_fee_per_blob_gas,
        authorization_list: tx
            .authorizations
            .iter()
            .map(authorization)
            .map(Either::Right)
            .collect(),
    }
}

fn authorization(from: &block::Authorization) -> RecoveredAuthorization {
    let tuple = Authorization { chain_id: from.chain_id, address: from.address, nonce: from.nonce };
    let authority = from.authority.map_or(RecoveredAuthority::Invalid, RecoveredAuthority::Valid);
    RecoveredAuthorization::new_unchecked(tuple, authority)
}

#[cfg(test)]
mod tests {
    use workload::BlobSchedule;

    use super::*;

    #[test]
    fn blob_fees_follow_the_schedule_up_to_its_bounds() {
        let (osaka, bpo2) = (BlobParams::osaka(), BlobParams::bpo2());
        let with_blobs = Fork::ALL.into_iter().filter(|fork| fork.is_from(Fork::Cancun));
        let before = [BlobParams::cancun(), BlobParams::prague()];
        let params = before.into_iter().chain([osaka, BlobParams::bpo1(), bpo2, bpo2]);
        for (fork, params) in with_blobs.clone().zip(params) {
            assert_eq!(blob_params(&fork.into()), params, "{fork}");
        }
        for fork in [Fork::Paris, Fork::Shanghai] {
            let env = block_env(&block::BlockEnv::default(), &fork.into());
            assert_eq!(env.blob_excess_gas_and_price, None, "{fork}");
        }
        let most = BlobSchedule { target: 0, max: 1 << 16, base_fee_update_fraction: 100_000_000 };
        let least = BlobSchedule { target: 1, max: 1, base_fee_update_fraction: 1 };
        for blobs in with_blobs.map(Fork::blob_schedule).chain([most, least]) {
            assert!(blobs.is_bounded(), "{blobs}");
            for excess_blob_gas in [0, 1, 40, blobs.max_excess_blob_gas()] {
                let env = block::BlockEnv { excess_blob_gas, ..block::BlockEnv::default() };
                let rules = ChainRules { blobs, ..ChainRules::default() };
                let fee = block_env(&env, &rules).blob_excess_gas_and_price;
                let expected = blob_params(&rules).calc_blob_fee(excess_blob_gas);
                assert_eq!(fee.map(|fee| fee.blob_gasprice), Some(expected), "{blobs}");
            }
        }
        for unbounded in [
            BlobSchedule { max: (1 << 16) + 1, ..most },
            BlobSchedule { base_fee_update_fraction: 100_000_001, ..most },
            BlobSchedule { base_fee_update_fraction: 0, ..least },
            BlobSchedule { target: 2, ..least },
            BlobSchedule { target: 0, max: 0, ..least },
        ] {
            assert!(!unbounded.is_bounded(), "{unbounded}");
        }
    }
}
