//! The state below random blocks: few accounts, so that transactions meet in them. Every contract
//! is the interpreter, or a proxy that runs the interpreter's code as its own.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use evm::system;
use revm::bytecode::opcode as op;
use workload::{Fork, Genesis, GenesisAccount, SenderFamily};

use crate::{assembler::Assembler, interpreter};
use generator::environment::BENEFICIARY;

/// Number of sending accounts; the last ones begin with delegated code.
const SENDER_COUNT: usize = 8;
/// Number of senders that begin with delegated code (EIP-7702).
const DELEGATED_COUNT: usize = 2;
/// Number of proxies in the genesis.
const PROXY_COUNT: usize = 4;
/// Number of addresses without an account.
const FRESH_COUNT: usize = 6;
/// Names of kinds of accounts.
const SENDER: &str = "sender";
const PROXY: &str = "proxy";
const FRESH: &str = "fresh";
const INTERPRETER: &str = "interpreter";
/// Number of salts of CREATE2: few, so that addresses repeat.
pub(crate) const SALT_COUNT: u8 = 2;
/// Salt of contracts that destroy themselves at once.
pub(crate) const PASSING_SALT: u8 = SALT_COUNT;
/// Precompiles: those by number, and P256VERIFY (EIP-7951).
const LAST_PRECOMPILE: u64 = 0x11;
const P256_VERIFY: u64 = 0x100;

/// Accounts, by their purpose.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// Accounts that send.
    pub(crate) senders: Vec<Address>,
    /// Interpreter and proxies.
    pub(crate) contracts: Vec<Address>,
    /// Addresses that begin without an account.
    pub(crate) fresh: Vec<Address>,
    /// Addresses of CREATE2 by a contract.
    pub(crate) creations: Vec<Address>,
    /// Precompiled contracts.
    pub(crate) precompiles: Vec<Address>,
    /// Contracts of the system calls.
    pub(crate) system: Vec<Address>,
    /// Init codes, in whole instructions of the interpreter.
    pub(crate) init_codes: Vec<Bytes>,
}

/// An account whose secret is known, so that its transactions and delegations can be signed.
fn named(what: &str, number: usize) -> Address {
    let first_secret = secret(what, number);
    let of_one = SenderFamily { first_secret, count: 1, balance: U256::ZERO };
    of_one.address(0).unwrap_or_else(|error| panic!("secret {first_secret}: {error}"))
}

fn secret(what: &str, number: usize) -> B256 {
    keccak256(format!("random blocks {what} {number}"))
}

/// Secrets of all accounts that send or delegate.
pub(crate) fn secrets() -> Vec<B256> {
    let kinds =
        [(SENDER, SENDER_COUNT), (PROXY, PROXY_COUNT), (FRESH, FRESH_COUNT), (INTERPRETER, 1)];
    let of_kind = |(what, count)| (0..count).map(move |number| secret(what, number));
    kinds.into_iter().flat_map(of_kind).collect()
}

impl World {
    pub(crate) fn new(fork: Fork) -> Self {
        let all = |what: &str, count| (0..count).map(|number| named(what, number)).collect();
        let senders = all(SENDER, SENDER_COUNT);
        let mut contracts: Vec<Address> = all(PROXY, PROXY_COUNT);
        contracts.push(interpreter_address());
        let init_codes = init_codes();
        let mut creations = Vec::new();
        for creator in &contracts {
            for salt in 0..=PASSING_SALT {
                let salt = B256::with_last_byte(salt);
                creations
                    .extend(init_codes.iter().map(|code| creator.create2_from_code(salt, code)));
            }
        }
        let numbers = (1..=LAST_PRECOMPILE).chain([P256_VERIFY]);
        Self {
            senders,
            contracts,
            fresh: all(FRESH, FRESH_COUNT),
            creations,
            precompiles: numbers
                .map(|number| Address::from_word(U256::from(number).into()))
                .collect(),
            system: system::contracts(fork).iter().map(|account| account.address).collect(),
            init_codes,
        }
    }

    /// The genesis.
    pub(crate) fn genesis(&self, fork: Fork) -> Genesis {
        let mut accounts = system::contracts(fork);
        let ether = U256::from(1_000_000_000_000_000_000_u64);
        for (index, address) in self.senders.iter().enumerate() {
            let is_delegated = index + DELEGATED_COUNT >= self.senders.len();
            let code =
                if is_delegated { delegation(&self.contracts[index % 2]) } else { Bytes::new() };
            let nonce = u64::from(is_delegated);
            let storage = if is_delegated { storage(index) } else { Vec::new() };
            let balance = ether * U256::from(1_000_000);
            accounts.push(GenesisAccount { address: *address, nonce, balance, code, storage });
        }
        for (index, address) in self.contracts.iter().enumerate() {
            let is_interpreter = *address == interpreter_address();
            let code = if is_interpreter { interpreter::code() } else { proxy() };
            // The first contract has no wei: its calls with wei fail until it gets some.
            let balance = U256::from(1_000 * index);
            let storage = storage(index);
            accounts.push(GenesisAccount { address: *address, nonce: 1, balance, code, storage });
        }
        accounts.push(GenesisAccount {
            address: BENEFICIARY,
            balance: ether,
            ..GenesisAccount::default()
        });
        accounts.sort_unstable_by_key(|account| account.address);
        Genesis { accounts, ..Genesis::default() }
    }
}

/// A few slots; other keys do not exist.
fn storage(index: usize) -> Vec<(U256, U256)> {
    (0..6_u64).map(|key| (U256::from(2 * key), U256::from(key + index as u64 + 1))).collect()
}

fn interpreter_address() -> Address {
    named(INTERPRETER, 0)
}

/// Code of an account that delegates to `target` (EIP-7702).
fn delegation(target: &Address) -> Bytes {
    [&[0xef, 0x01, 0x00][..], target.as_slice()].concat().into()
}

/// Runs the interpreter with its own calldata, and ends with the same result.
fn proxy() -> Bytes {
    let mut asm = Assembler::default();
    let ok = asm.label();
    asm.ops(&[op::CALLDATASIZE, op::PUSH0, op::PUSH0, op::CALLDATACOPY]);
    asm.ops(&[op::PUSH0, op::PUSH0, op::CALLDATASIZE, op::PUSH0]);
    asm.push_bytes(interpreter_address().as_slice()).ops(&[op::GAS, op::DELEGATECALL]);
    asm.ops(&[op::RETURNDATASIZE, op::PUSH0, op::PUSH0, op::RETURNDATACOPY]).jump_if(ok);
    asm.ops(&[op::RETURNDATASIZE, op::PUSH0, op::REVERT]);
    asm.at(ok).ops(&[op::RETURNDATASIZE, op::PUSH0, op::RETURN]);
    asm.finish()
}

/// Init code that runs `program` in the new account, then leaves a proxy there.
pub(crate) fn init_code(program: &[u8]) -> Bytes {
    let proxy = proxy();
    // All offsets are pushed in two bytes, so that none depends on the width of another.
    let wide = |number: usize| (number as u16).to_be_bytes();
    let code = |program_at: usize| {
        let mut asm = Assembler::default();
        let fail = asm.label();
        let copy = |asm: &mut Assembler, len: usize, at: usize| {
            asm.push_bytes(&wide(len)).push_bytes(&wide(at)).ops(&[op::PUSH0, op::CODECOPY]);
        };
        copy(&mut asm, program.len(), program_at);
        asm.ops(&[op::PUSH0, op::PUSH0]).push_bytes(&wide(program.len())).ops(&[op::PUSH0]);
        asm.push_bytes(interpreter_address().as_slice()).ops(&[op::GAS, op::DELEGATECALL]);
        asm.ops(&[op::ISZERO]).jump_if(fail);
        copy(&mut asm, proxy.len(), program_at + program.len());
        asm.push_bytes(&wide(proxy.len())).ops(&[op::PUSH0, op::RETURN]);
        asm.at(fail).ops(&[op::PUSH0, op::PUSH0, op::REVERT]);
        asm.finish()
    };
    let program_at = code(0).len();
    [&code(program_at)[..], program, &proxy].concat().into()
}

fn init_codes() -> Vec<Bytes> {
    let store = interpreter::word(interpreter::Instruction::Add, [1, 7, 0], Address::ZERO);
    let mut destroys = Assembler::default();
    destroys.ops(&[op::CALLER, op::SELFDESTRUCT]);
    let mut leaves_nothing = Assembler::default();
    leaves_nothing.push(1).push(3).ops(&[op::SSTORE, op::STOP]);
    let all = [init_code(&[]), init_code(&store), destroys.finish(), leaves_nothing.finish()];
    all.into_iter().map(|code| interpreter::padded(&code)).collect()
}
