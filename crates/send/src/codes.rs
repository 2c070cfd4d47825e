//! Init codes that the setup sends: one creates a contract with its slots, the other pays many
//! accounts. An init code runs once, in the transaction that has it, so paying needs no helper
//! contract on the chain.

use alloy_primitives::{Address, Bytes, U256};

/// Instructions used here (execution-specs; `PUSH0` of EIP-3855).
mod op {
    pub(super) const STOP: u8 = 0x00;
    pub(super) const ADD: u8 = 0x01;
    pub(super) const SUB: u8 = 0x03;
    pub(super) const ISZERO: u8 = 0x15;
    pub(super) const AND: u8 = 0x16;
    pub(super) const SHR: u8 = 0x1c;
    pub(super) const CODECOPY: u8 = 0x39;
    pub(super) const POP: u8 = 0x50;
    pub(super) const MLOAD: u8 = 0x51;
    pub(super) const SSTORE: u8 = 0x55;
    pub(super) const JUMP: u8 = 0x56;
    pub(super) const JUMPI: u8 = 0x57;
    pub(super) const GAS: u8 = 0x5a;
    pub(super) const JUMPDEST: u8 = 0x5b;
    pub(super) const PUSH0: u8 = 0x5f;
    pub(super) const PUSH1: u8 = 0x60;
    pub(super) const PUSH3: u8 = 0x62;
    pub(super) const PUSH12: u8 = 0x6b;
    pub(super) const DUP1: u8 = 0x80;
    pub(super) const DUP2: u8 = 0x81;
    pub(super) const DUP5: u8 = 0x84;
    pub(super) const DUP6: u8 = 0x85;
    pub(super) const SWAP1: u8 = 0x90;
    pub(super) const CALL: u8 = 0xf1;
    pub(super) const RETURN: u8 = 0xf3;
    pub(super) const REVERT: u8 = 0xfd;
}

/// Maximum length of an init code in bytes (EIP-3860).
pub(crate) const INIT_BYTES_MAX: usize = 49_152;
/// Length of an amount in bytes: address and amount together fill a word of 32 bytes.
const AMOUNT_BYTES: usize = 12;

/// `PUSH3 value`.
fn push3(value: usize) -> [u8; 4] {
    let bytes = (value as u32).to_be_bytes();
    [op::PUSH3, bytes[1], bytes[2], bytes[3]]
}

/// Code that copies `length` bytes of the init code, from `offset` on, to the start of memory, and
/// leaves `length` on the stack.
fn copy_to_memory(offset: usize, length: usize) -> Vec<u8> {
    [&push3(length)[..], &[op::DUP1], &push3(offset), &[op::PUSH0, op::CODECOPY]].concat()
}

/// Length of the code of [`copy_to_memory`], in bytes.
const COPY_BYTES: usize = 11;

/// Init code of a contract with `code` and `slots`: writes the slots, then returns the code.
pub(crate) fn creation(code: &[u8], slots: &[(U256, U256)]) -> Bytes {
    let words = slots.iter().flat_map(|(key, value)| [key, value]);
    let pairs: Vec<u8> = words.flat_map(|word| word.to_be_bytes::<32>()).collect();
    let loop_end = COPY_BYTES + slots_loop(0).len();
    // The second copy, `PUSH0` and `RETURN` follow the loop.
    let pairs_offset = loop_end + COPY_BYTES + 2;
    [
        &copy_to_memory(pairs_offset, pairs.len()),
        // The loop's exit is its last JUMPDEST, two bytes before its end.
        &slots_loop(loop_end as u8 - 2),
        &copy_to_memory(pairs_offset + pairs.len(), code.len()),
        &[op::PUSH0, op::RETURN][..],
        &pairs,
        code,
    ]
    .concat()
    .into()
}

/// Code that follows the code of [`copy_to_memory`] and writes all slots. It exits at offset `end`.
fn slots_loop(end: u8) -> Vec<u8> {
    [
        &[op::JUMPDEST, op::DUP1, op::ISZERO, op::PUSH1, end, op::JUMPI][..],
        &[op::PUSH1, 64, op::SWAP1, op::SUB],
        &[op::DUP1, op::PUSH1, 32, op::ADD, op::MLOAD, op::DUP2, op::MLOAD, op::SSTORE],
        &[op::PUSH1, COPY_BYTES as u8, op::JUMP, op::JUMPDEST, op::POP],
    ]
    .concat()
}

/// Init code that pays each account its amount in wei from the value of the transaction, and
/// creates a contract without code. The whole transaction fails if a payment fails. `None` if an
/// amount has more than 96 bits.
pub(crate) fn payments(all: &[(Address, U256)]) -> Option<Bytes> {
    let mut words = Vec::with_capacity(all.len() * 32);
    for (address, amount) in all {
        let amount = amount.to_be_bytes::<32>();
        let (high, low) = amount.split_at(32 - AMOUNT_BYTES);
        if high.iter().any(|byte| *byte != 0) {
            return None;
        }
        words.extend_from_slice(address.as_slice());
        words.extend_from_slice(low);
    }
    let length = COPY_BYTES + payments_loop(0, 0).len();
    // The last two lines of the loop: the exit has 2 bytes, and the failure after it 4.
    let (end, fail) = (length as u8 - 6, length as u8 - 4);
    Some([copy_to_memory(length, words.len()), payments_loop(end, fail), words].concat().into())
}

/// Code that follows the code of [`copy_to_memory`] and makes all payments. It exits at offset
/// `end`, or at `fail` if a payment fails.
fn payments_loop(end: u8, fail: u8) -> Vec<u8> {
    let start = COPY_BYTES as u8;
    [
        &[op::JUMPDEST, op::DUP1, op::ISZERO, op::PUSH1, end, op::JUMPI][..],
        &[op::PUSH1, 32, op::SWAP1, op::SUB, op::DUP1, op::MLOAD],
        &[op::PUSH0, op::PUSH0, op::PUSH0, op::PUSH0, op::DUP5, op::PUSH12],
        &[0xff; AMOUNT_BYTES],
        &[op::AND, op::DUP6, op::PUSH1, 96, op::SHR, op::GAS, op::CALL],
        &[op::ISZERO, op::PUSH1, fail, op::JUMPI, op::POP, op::PUSH1, start, op::JUMP],
        &[op::JUMPDEST, op::STOP],
        &[op::JUMPDEST, op::PUSH0, op::PUSH0, op::REVERT],
    ]
    .concat()
}
