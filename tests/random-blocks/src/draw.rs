//! Draws blocks: transactions of every type that meet in few accounts. A nonce is drawn as the
//! distance from the valid one, which is known only when the block is replayed.

use alloy_primitives::{Address, B256, Bytes, U256};
use evm::system;
use revm::primitives::eip4844;
use workload::{Fork, Transaction, TxType, Withdrawal, block::Authorization};

use crate::{
    chance::Chance,
    draft::Draft,
    program::{self, any_address, callee},
    world::World,
};
use generator::environment::{self, BENEFICIARY};

/// Maximal number of transactions of a block; the minimum is two.
const MOST_TX_COUNT: u64 = 10;
/// Maximal number of withdrawals of a block.
const MOST_WITHDRAWAL_COUNT: u64 = 3;

/// The work of a transaction.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    /// Calls a contract with a program.
    Program,
    /// Sends wei, or nothing, to any address.
    Transfer,
    /// Creates a contract.
    Create,
    /// Calls a precompile.
    Precompile,
    /// Sends a request to the contract of a system call (EIP-7002, EIP-7251).
    Request,
}

const PURPOSES: &[(u64, Purpose)] = &[
    (12, Purpose::Program),
    (5, Purpose::Transfer),
    (2, Purpose::Create),
    (1, Purpose::Precompile),
    (1, Purpose::Request),
];

const TYPES: &[(u64, TxType)] = &[
    (2, TxType::Legacy),
    (2, TxType::AccessList),
    (6, TxType::DynamicFee),
    (1, TxType::Blob),
    (3, TxType::SetCode),
];

/// Draws a block under the rules of `fork`.
pub(crate) fn block(world: &World, fork: Fork, chance: &mut Chance) -> Draft {
    let beneficiary = match chance.below(6) {
        0 => chance.one_of(&world.senders),
        1 => chance.one_of(&world.contracts),
        2 => chance.one_of(&world.fresh),
        3 => chance.one_of(&world.creations),
        _ => BENEFICIARY,
    };
    // Few senders, so that a block has chains of nonces.
    let senders: Vec<Address> =
        (0..=chance.below(4)).map(|_| chance.one_of(&world.senders)).collect();
    let transactions = (0..2 + chance.below(MOST_TX_COUNT - 1))
        .map(|_| transaction(world, fork, &senders, beneficiary, chance))
        .collect();
    let withdrawal = |chance: &mut Chance| Withdrawal {
        address: any_address(world, chance),
        amount_gwei: chance.below(3),
    };
    let withdrawals =
        (0..chance.below(MOST_WITHDRAWAL_COUNT + 1)).map(|_| withdrawal(chance)).collect();
    Draft { beneficiary, transactions, withdrawals }
}

fn transaction(
    world: &World,
    fork: Fork,
    senders: &[Address],
    beneficiary: Address,
    chance: &mut Chance,
) -> Transaction {
    let tx_type = chance.weighted(TYPES);
    let mut tx = Transaction {
        tx_type,
        sender: chance.one_of(senders),
        gas_limit: gas_limit(chance),
        max_fee_per_gas: environment::MAX_FEE,
        ..Transaction::default()
    };
    match tx_type {
        TxType::Legacy | TxType::AccessList => {
            tx.max_fee_per_gas = u128::from(environment::BASE_FEE) + u128::from(chance.below(2));
        }
        // A zero fee touches the beneficiary, too (EIP-161).
        _ => tx.max_priority_fee_per_gas = chance.one_of(&[0, 1, environment::PRIORITY_FEE]),
    }
    aim(&mut tx, world, fork, beneficiary, chance);
    // Only types 0 to 2 can create.
    if matches!(tx_type, TxType::Blob | TxType::SetCode) && tx.to.is_none() {
        tx.to = Some(callee(world, chance));
    }
    if tx_type != TxType::Legacy && chance.once_in(2) {
        tx.access_list = access_list(world, chance);
    }
    if tx_type == TxType::Blob {
        tx.max_fee_per_blob_gas = 10;
        tx.blob_hashes = (0..=chance.byte(2)).map(blob_hash).collect();
    }
    if tx_type == TxType::SetCode {
        tx.authorizations = (0..=chance.below(3)).map(|_| authorization(world, chance)).collect();
    }
    tx
}

/// Draws a gas limit that mostly suffices. New state costs more under Amsterdam (EIP-8037).
fn gas_limit(chance: &mut Chance) -> u64 {
    match chance.below(10) {
        0 => 60_000 + chance.below(140_000),
        1 => 200_000 + chance.below(400_000),
        _ => 2_000_000 + chance.below(1_000_000),
    }
}

/// Draws recipient, value and input.
fn aim(tx: &mut Transaction, world: &World, fork: Fork, beneficiary: Address, chance: &mut Chance) {
    let few_wei = |chance: &mut Chance| U256::from(chance.below(4));
    match chance.weighted(PURPOSES) {
        Purpose::Program => {
            tx.to = Some(if chance.once_in(8) { beneficiary } else { callee(world, chance) });
            tx.input = program::draw(world, chance);
            tx.value = few_wei(chance);
        }
        Purpose::Transfer => {
            tx.to = Some(match chance.below(8) {
                0 | 1 => beneficiary,
                // Wei for a contract that may be created later, over this balance.
                2 => program::hot_creation(world, chance),
                _ => any_address(world, chance),
            });
            tx.value = few_wei(chance);
        }
        Purpose::Create => {
            tx.input = program::draw_init_code(world, chance);
            tx.value = few_wei(chance);
        }
        Purpose::Precompile => {
            let (place, input) = program::precompile_input(chance);
            tx.to = Some(world.precompiles[place]);
            tx.input = Bytes::from_static(input);
            tx.value = few_wei(chance);
        }
        Purpose::Request => {
            // Input of a withdrawal request: 48 + 8 bytes; of a consolidation request: 48 + 48. The
            // fee is a few wei.
            let calls = system::after_transactions(fork);
            let (place, len) = chance.one_of(&[(0, 56), (1, 96)]);
            tx.to = Some(calls[place].contract);
            tx.input = vec![chance.byte(4); len].into();
            tx.value = U256::from(chance.below(100));
        }
    }
}

fn access_list(world: &World, chance: &mut Chance) -> Vec<(Address, Vec<B256>)> {
    let keys = |chance: &mut Chance| {
        (0..chance.below(4)).map(|_| B256::with_last_byte(chance.byte(8))).collect()
    };
    (0..=chance.below(3)).map(|_| (any_address(world, chance), keys(chance))).collect()
}

fn blob_hash(number: u8) -> B256 {
    let mut hash = B256::repeat_byte(number);
    hash[0] = eip4844::VERSIONED_HASH_VERSION_KZG;
    hash
}

/// Draws an authorization that sets, changes or clears a delegation, or that is skipped.
fn authorization(world: &World, chance: &mut Chance) -> Authorization {
    let address = match chance.below(6) {
        0 | 1 => Address::ZERO,
        2 => chance.one_of(&world.senders),
        3 => chance.one_of(&[world.precompiles[0], world.fresh[0], world.creations[0]]),
        _ => chance.one_of(&world.contracts),
    };
    let authority = match chance.below(8) {
        0 => Some(chance.one_of(&world.fresh)),
        1 => Some(chance.one_of(&world.contracts)),
        _ => Some(chance.one_of(&world.senders)),
    };
    Authorization {
        chain_id: U256::from(chance.one_of(&[0, 1, 1, 1, 1, 2])),
        address,
        nonce: u64::from(chance.once_in(10)),
        authority: authority.filter(|_| !chance.once_in(12)),
    }
}
