//! System calls of a block, as data: the contracts, their inputs and forks. `run.rs` makes the
//! calls. Also the contracts' codes, for a genesis.

use alloy_eips::{
    eip2935::{HISTORY_STORAGE_ADDRESS, HISTORY_STORAGE_CODE},
    eip4788::{BEACON_ROOTS_ADDRESS, BEACON_ROOTS_CODE},
    eip7002::{
        WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, WITHDRAWAL_REQUEST_PREDEPLOY_CODE,
        WITHDRAWAL_REQUEST_TYPE,
    },
    eip7251::{
        CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_PREDEPLOY_CODE,
        CONSOLIDATION_REQUEST_TYPE,
    },
    eip8282::{
        BUILDER_DEPOSIT_CONTRACT_ADDRESS, BUILDER_DEPOSIT_CONTRACT_CODE,
        BUILDER_DEPOSIT_REQUEST_TYPE, BUILDER_EXIT_CONTRACT_ADDRESS, BUILDER_EXIT_CONTRACT_CODE,
        BUILDER_EXIT_REQUEST_TYPE,
    },
};
use alloy_primitives::{Address, Bytes};
use workload::{Fork, GenesisAccount, block::BlockEnv};

/// A call by the system address to a contract, outside any transaction.
#[derive(Clone, Debug)]
pub struct SystemCall {
    /// The contract.
    pub contract: Address,
    /// Calldata.
    pub input: Bytes,
    /// Type of the requests that the call returns (EIP-7685); `None` if it returns no requests.
    pub request_type: Option<u8>,
}

impl SystemCall {
    /// Whether the block is invalid if the call fails (EIP-7002, EIP-7251, EIP-8282). The failure
    /// of a call before the transactions is ignored (EIP-4788, EIP-2935): its changes are undone.
    pub const fn must_succeed(&self) -> bool {
        self.request_type.is_some()
    }
}

/// Returns the calls before the first transaction: beacon root (EIP-4788, from Cancun), parent hash
/// (EIP-2935, from Prague).
pub fn before_transactions(fork: Fork, env: &BlockEnv) -> impl Iterator<Item = SystemCall> {
    let calls = [
        (Fork::Cancun, BEACON_ROOTS_ADDRESS, env.parent_beacon_root),
        (Fork::Prague, HISTORY_STORAGE_ADDRESS, env.parent_hash),
    ];
    let calls = calls.into_iter().filter(move |(since, ..)| fork.is_from(*since));
    calls.map(|(_, contract, input)| SystemCall {
        contract,
        input: Bytes::copy_from_slice(input.as_slice()),
        request_type: None,
    })
}

/// Returns the calls after the last transaction and the withdrawals: withdrawal requests
/// (EIP-7002), consolidation requests (EIP-7251), both from Prague, builder requests (EIP-8282,
/// from Amsterdam).
pub fn after_transactions(fork: Fork) -> Vec<SystemCall> {
    let calls = [
        (Fork::Prague, WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, WITHDRAWAL_REQUEST_TYPE),
        (Fork::Prague, CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_TYPE),
        (Fork::Amsterdam, BUILDER_DEPOSIT_CONTRACT_ADDRESS, BUILDER_DEPOSIT_REQUEST_TYPE),
        (Fork::Amsterdam, BUILDER_EXIT_CONTRACT_ADDRESS, BUILDER_EXIT_REQUEST_TYPE),
    ];
    let calls = calls.into_iter().filter(|(since, ..)| fork.is_from(*since));
    calls
        .map(|(_, contract, request_type)| SystemCall {
            contract,
            input: Bytes::new(),
            request_type: Some(request_type),
        })
        .collect()
}

/// Returns the system contracts of a fork as accounts of a genesis.
pub fn contracts(fork: Fork) -> Vec<GenesisAccount> {
    let all = [
        (Fork::Cancun, BEACON_ROOTS_ADDRESS, &BEACON_ROOTS_CODE),
        (Fork::Prague, HISTORY_STORAGE_ADDRESS, &HISTORY_STORAGE_CODE),
        (Fork::Prague, WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, &WITHDRAWAL_REQUEST_PREDEPLOY_CODE),
        (
            Fork::Prague,
            CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
            &CONSOLIDATION_REQUEST_PREDEPLOY_CODE,
        ),
        (Fork::Amsterdam, BUILDER_DEPOSIT_CONTRACT_ADDRESS, &BUILDER_DEPOSIT_CONTRACT_CODE),
        (Fork::Amsterdam, BUILDER_EXIT_CONTRACT_ADDRESS, &BUILDER_EXIT_CONTRACT_CODE),
    ];
    all.into_iter()
        .filter(|(since, ..)| fork.is_from(*since))
        .map(|(_, address, code)| GenesisAccount {
            address,
            nonce: 1,
            code: code.clone(),
            ..GenesisAccount::default()
        })
        .collect()
}
