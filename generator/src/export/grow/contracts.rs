//! The helper accounts through which the transactions of `grow.rs` write the storage of any
//! contract.
//!
//! A contract with slots has no code of its own in the grown chain: it delegates to another address
//! (EIP-7702), where its code will be. While the state grows, each transaction creates a loader at
//! that address (CREATE2). The contract writes its slots through the loader. The same transaction
//! then destroys the loader, as EIP-6780 allows. After the last slot, the contract's own code is
//! created at that address. The init code asks its creator for the code, so the address does not
//! depend on the code.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use revm::bytecode::opcode as op;
use workload::GenesisAccount;

/// Wei of the account that sends all transactions, 2^100: more than they cost.
const SENDER_BALANCE: U256 = U256::from_limbs([0, 1 << 36, 0, 0]);

/// Asks the caller for an address, and returns the code that is there. Twenty bytes.
const INIT_CODE: [u8; 20] = [
    op::PUSH1,
    32,
    op::PUSH0,
    op::PUSH0,
    op::PUSH0,
    op::CALLER,
    op::GAS,
    op::STATICCALL,
    op::POP,
    op::PUSH0,
    op::MLOAD,
    op::DUP1,
    op::EXTCODESIZE,
    op::DUP1,
    op::PUSH0,
    op::PUSH0,
    op::DUP5,
    op::EXTCODECOPY,
    op::PUSH0,
    op::RETURN,
];

/// Offset of the loader's code that writes.
const WRITING: u8 = 6;
/// Offset of the loader's loop.
const NEXT_PAIR: u8 = 8;

/// Writes the pairs of key and value in its calldata; without calldata it destroys itself.
const LOADER: [u8; 27] = [
    op::CALLDATASIZE,
    op::PUSH1,
    WRITING,
    op::JUMPI,
    op::CALLER,
    op::SELFDESTRUCT,
    op::JUMPDEST,
    op::PUSH0,
    op::JUMPDEST,
    op::DUP1,
    op::PUSH1,
    32,
    op::ADD,
    op::CALLDATALOAD,
    op::DUP2,
    op::CALLDATALOAD,
    op::SSTORE,
    op::PUSH1,
    64,
    op::ADD,
    op::CALLDATASIZE,
    op::DUP2,
    op::LT,
    op::PUSH1,
    NEXT_PAIR,
    op::JUMPI,
    op::STOP,
];

/// The part of the factory that answers the init code with the address that the transaction named.
const ANSWER: [u8; 8] =
    [op::PUSH0, op::TLOAD, op::PUSH0, op::MSTORE, op::PUSH1, 32, op::PUSH0, op::RETURN];
/// Offset of the factory's part that a transaction calls.
const CALLED: u8 = 4 + ANSWER.len() as u8;
/// Bytes of the factory's calldata before the pairs: salt, address of the code to copy, and the
/// contract that writes (0: no contract).
const HEAD_BYTES: u8 = 96;

/// Returns the factory's code. It creates the code that calldata names, lets a contract write
/// through that code, and has the code destroyed. Without a contract the code stays. The call
/// reverts where any step fails.
fn factory() -> Vec<u8> {
    let create = [
        &[op::JUMPDEST, op::PUSH1, 32, op::CALLDATALOAD, op::PUSH0, op::TSTORE, op::PUSH20][..],
        &INIT_CODE,
        // The init code is at the end of the first word of memory.
        &[op::PUSH0, op::MSTORE, op::PUSH0, op::CALLDATALOAD],
        &[op::PUSH1, INIT_CODE.len() as u8, op::PUSH1, 32 - INIT_CODE.len() as u8],
        &[op::PUSH0, op::CREATE2],
    ];
    let pairs = [
        &[op::PUSH1, HEAD_BYTES, op::CALLDATASIZE, op::SUB, op::DUP1, op::PUSH1, HEAD_BYTES][..],
        &[op::PUSH0, op::CALLDATACOPY],
        // The contract writes the pairs.
        &[op::PUSH0, op::PUSH0, op::SWAP2, op::PUSH0, op::PUSH0, op::DUP6, op::GAS, op::CALL],
    ];
    let destroy = [
        op::POP,
        op::PUSH0,
        op::PUSH0,
        op::PUSH0,
        op::PUSH0,
        op::PUSH0,
        op::DUP6,
        op::GAS,
        op::CALL,
    ];
    let (create, pairs) = (create.concat(), pairs.concat());
    // Beside the three parts, the lengths 5, 8, 4 and 4 are those of the parts that jump, in order.
    let start = usize::from(CALLED) + create.len();
    let end = start + 5 + 8 + pairs.len() + 4 + destroy.len() + 4;
    let (stop, fail) = (end as u8, end as u8 + 2);
    [
        &[op::CALLDATASIZE, op::PUSH1, CALLED, op::JUMPI][..],
        &ANSWER,
        &create,
        &[op::DUP1, op::ISZERO, op::PUSH1, fail, op::JUMPI],
        &[op::PUSH1, 64, op::CALLDATALOAD, op::DUP1, op::ISZERO, op::PUSH1, stop, op::JUMPI],
        &pairs,
        &[op::ISZERO, op::PUSH1, fail, op::JUMPI],
        &destroy,
        &[op::ISZERO, op::PUSH1, fail, op::JUMPI],
        &[op::JUMPDEST, op::STOP],
        &[op::JUMPDEST, op::PUSH0, op::PUSH0, op::REVERT],
    ]
    .concat()
}

/// Derives from a name an address that has no other use.
fn named(name: &str) -> Address {
    Address::from_word(keccak256(format!("stress export --grow/{name}")))
}

/// The secret of the account that sends all transactions.
pub(super) fn sender_secret() -> B256 {
    let mut secret = keccak256("stress export --grow/sender");
    // Far below the order of the curve.
    secret[0] &= 0x0f;
    secret
}

/// The address that transactions call.
pub(super) fn factory_address() -> Address {
    named("factory")
}

fn loader_address() -> Address {
    named("loader")
}

/// Address of an account that stores code number `code` for copying.
fn source_address(code: usize) -> Address {
    named(&format!("code/{code}"))
}

/// Address at which code number `code` is created.
pub(super) fn code_address(code: usize) -> Address {
    factory_address().create2(salt(code), keccak256(INIT_CODE))
}

fn salt(code: usize) -> B256 {
    B256::from(U256::from(code))
}

fn contract(address: Address, code: Bytes) -> GenesisAccount {
    GenesisAccount { address, nonce: 1, code, ..GenesisAccount::default() }
}

/// The helper accounts of a genesis from which contracts get the `codes`. `sender` sends the
/// transactions.
pub(super) fn accounts(codes: &[Bytes], sender: Address) -> Vec<GenesisAccount> {
    let mut all = vec![
        contract(factory_address(), factory().into()),
        contract(loader_address(), LOADER.to_vec().into()),
        GenesisAccount { address: sender, balance: SENDER_BALANCE, ..GenesisAccount::default() },
    ];
    let sources = codes.iter().enumerate();
    all.extend(sources.map(|(index, code)| contract(source_address(index), code.clone())));
    all
}

/// Calldata that lets `contract`, which delegates to code number `code`, write the slots of `keys`
/// and `values`.
pub(super) fn writes(
    code: usize,
    contract: Address,
    keys: &[[u8; 32]],
    values: &[[u8; 32]],
) -> Bytes {
    let head = [salt(code), loader_address().into_word(), contract.into_word()].concat();
    let pairs = keys.iter().zip(values).flat_map(|(key, value)| [key, value]);
    head.into_iter().chain(pairs.flatten().copied()).collect()
}

/// Calldata that creates code number `code` for good.
pub(super) fn placement(code: usize) -> Bytes {
    [salt(code), source_address(code).into_word(), B256::ZERO].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_of_the_codes_lead_to_their_destinations() {
        assert_eq!(
            (LOADER[usize::from(WRITING)], LOADER[usize::from(NEXT_PAIR)]),
            (op::JUMPDEST, op::JUMPDEST)
        );
        let code = factory();
        assert_eq!(code[usize::from(CALLED)], op::JUMPDEST);
        let jumps =
            code.windows(3).enumerate().filter(|(_, of)| of[0] == op::PUSH1 && of[2] == op::JUMPI);
        let targets: Vec<_> = jumps.map(|(_, of)| of[1]).collect();
        assert_eq!(targets.len(), 5);
        assert!(targets.iter().all(|at| code[usize::from(*at)] == op::JUMPDEST), "{targets:?}");
        let ends = [targets[1], targets[2]].map(|at| code[usize::from(at) + 1]);
        assert_eq!(ends, [op::PUSH0, op::STOP], "a failure reverts, a placement stops");
    }

    #[test]
    fn addresses_are_distinct_and_calldata_has_its_words() {
        let all = [
            factory_address(),
            loader_address(),
            source_address(0),
            source_address(1),
            code_address(0),
            code_address(1),
        ];
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        let (keys, values) = ([[1; 32], [3; 32]], [[2; 32], [4; 32]]);
        let data = writes(1, Address::with_last_byte(9), &keys, &values);
        assert_eq!(data.len(), usize::from(HEAD_BYTES) + 128);
        assert_eq!((data[31], data[95], data[96], data[223]), (1, 9, 1, 4));
        assert_eq!(placement(1).len(), usize::from(HEAD_BYTES));
    }
}
