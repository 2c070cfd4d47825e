//! The contract of the random blocks. It runs the program in its calldata, so that one code at many
//! addresses does anything. A program has 32-byte instructions. Each has an [`Instruction`], three
//! arguments a, b, c of a byte each, and an address in the last 20 bytes. A call or a creation
//! takes the `a` words after it as its input, and these are skipped.
//!
//! The value that an instruction reads is folded into an accumulator. Later writes, keys, skips and
//! the returned word depend on the accumulator: a wrong value shows.

use alloy_primitives::{Address, Bytes};
use revm::bytecode::opcode as op;

use crate::assembler::{Assembler, Label};

/// Bytes of an instruction.
pub(crate) const WORD_BYTES: u64 = 32;

/// Memory offset of the accumulator.
const ACCUMULATOR: u64 = 0;
/// Memory offset of the address created last.
const CREATED: u64 = 32;
/// Memory offset of inputs and outputs of calls.
const SCRATCH: u64 = 64;
/// Upper bound of keys that depend on the accumulator, a power of two.
pub(crate) const DYNAMIC_KEY_COUNT: u64 = 4;
/// Gas of a call per unit of c, if c is not 0.
const CALL_GAS: u64 = 1_000;

/// Instructions of the contract. The number is the instruction's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Instruction {
    /// Folds slot a.
    Load = 1,
    /// Slot a becomes b.
    Store,
    /// Slot a becomes the accumulator.
    StoreFolded,
    /// Slot a grows by b.
    Add,
    /// Slot (accumulator mod 4) grows by b, and is folded.
    AddAtFolded,
    /// Transient slot a grows by b (EIP-1153), and is folded.
    Transient,
    /// Folds the balance of the address.
    Balance,
    /// Folds its own balance.
    SelfBalance,
    /// Folds the size of the address's code.
    CodeSize,
    /// Folds the hash of the address's code.
    CodeHash,
    /// Folds the first word of the address's code.
    CodeCopy,
    /// Folds the hash of the block `a` blocks before this one.
    BlockHash,
    /// Folds the beneficiary and its balance.
    Beneficiary,
    /// Folds caller, value, origin and remaining gas.
    Environment,
    /// Logs the accumulator under topics b and the accumulator.
    Log,
    /// Destroys itself, and sends all its balance to the address.
    Destroy,
    /// Reverts.
    Revert,
    /// Ends by an invalid opcode.
    Invalid,
    /// Uses up all gas.
    Burn,
    /// Skips the next instruction, of a words, if the accumulator is odd.
    SkipIfOdd,
    /// Calls the address with b wei.
    Call,
    /// Calls the code of the address with b wei, in its own state.
    CallCode,
    /// Runs the code of the address as its own.
    DelegateCall,
    /// Calls the address without permission to write.
    StaticCall,
    /// Calls itself with b wei.
    CallSelf,
    /// Calls the contract that it created last with b wei.
    CallCreated,
    /// Creates with b wei.
    Create,
    /// Creates with b wei and salt c.
    Create2,
}

use Instruction as I;

impl Instruction {
    /// All instructions, in the order of their numbers.
    pub(crate) const ALL: [Self; 28] = [
        Self::Load,
        Self::Store,
        Self::StoreFolded,
        Self::Add,
        Self::AddAtFolded,
        Self::Transient,
        Self::Balance,
        Self::SelfBalance,
        Self::CodeSize,
        Self::CodeHash,
        Self::CodeCopy,
        Self::BlockHash,
        Self::Beneficiary,
        Self::Environment,
        Self::Log,
        Self::Destroy,
        Self::Revert,
        Self::Invalid,
        Self::Burn,
        Self::SkipIfOdd,
        Self::Call,
        Self::CallCode,
        Self::DelegateCall,
        Self::StaticCall,
        Self::CallSelf,
        Self::CallCreated,
        Self::Create,
        Self::Create2,
    ];
}

/// The contract's code.
pub(crate) fn code() -> Bytes {
    let mut asm = Assembler::default();
    let (next, end) = (asm.label(), asm.label());
    let handlers: Vec<_> = I::ALL.iter().map(|what| (*what, asm.label())).collect();
    // Stack between instructions: place of the next one.
    asm.push(0).at(next);
    asm.ops(&[op::DUP1, op::CALLDATASIZE, op::GT, op::ISZERO]).jump_if(end);
    asm.ops(&[op::DUP1, op::CALLDATALOAD, op::SWAP1]).push(WORD_BYTES).ops(&[op::ADD, op::SWAP1]);
    asm.ops(&[op::DUP1, op::PUSH0, op::BYTE]);
    for (what, label) in &handlers {
        asm.ops(&[op::DUP1]).push(*what as u64).ops(&[op::EQ]).jump_if(*label);
    }
    asm.ops(&[op::INVALID]);
    for (what, label) in &handlers {
        // Stack: place of the next one, this one.
        asm.at(*label).ops(&[op::POP]);
        handle(&mut asm, *what, next);
        asm.jump(next);
    }
    asm.at(end).push(WORD_BYTES).push(ACCUMULATOR).ops(&[op::RETURN]);
    asm.finish()
}

/// Pushes argument 1 to 3 of the instruction at the top.
fn arg(asm: &mut Assembler, index: u64) {
    asm.ops(&[op::DUP1]).push(index).ops(&[op::BYTE]);
}

/// Pushes the address of the instruction at the top.
fn address(asm: &mut Assembler) {
    asm.ops(&[op::DUP1]).push_bytes(&[0xff; 20]).ops(&[op::AND]);
}

fn accumulator(asm: &mut Assembler) {
    asm.push(ACCUMULATOR).ops(&[op::MLOAD]);
}

/// Folds the top of the stack into the accumulator.
fn fold(asm: &mut Assembler) {
    accumulator(asm);
    asm.push(257).ops(&[op::MUL, op::ADD]).push(ACCUMULATOR).ops(&[op::MSTORE]);
}

/// Folds the result of `opcode` for the address.
fn fold_of_address(asm: &mut Assembler, opcode: u8) {
    address(asm);
    asm.ops(&[opcode]);
    fold(asm);
}

/// Code of an instruction. It takes the stack from [offset of the next, this] to [offset of the
/// next].
fn handle(asm: &mut Assembler, what: Instruction, next: Label) {
    match what {
        I::Load | I::Store | I::StoreFolded | I::Add | I::AddAtFolded | I::Transient => {
            storage(asm, what);
        }
        I::Balance => fold_of_address(asm, op::BALANCE),
        I::CodeSize => fold_of_address(asm, op::EXTCODESIZE),
        I::CodeHash => fold_of_address(asm, op::EXTCODEHASH),
        I::SelfBalance | I::CodeCopy | I::BlockHash | I::Beneficiary | I::Environment => {
            surroundings(asm, what);
        }
        I::Log => {
            accumulator(asm);
            arg_below(asm, 2);
            asm.push(WORD_BYTES).push(ACCUMULATOR).ops(&[op::LOG2]);
        }
        I::Destroy => {
            address(asm);
            asm.ops(&[op::SELFDESTRUCT]);
        }
        I::Revert => {
            asm.push(WORD_BYTES).push(ACCUMULATOR).ops(&[op::REVERT]);
        }
        I::Invalid => {
            asm.ops(&[op::INVALID]);
        }
        I::Burn => {
            let again = asm.label();
            asm.at(again).jump(again);
        }
        I::SkipIfOdd => {
            arg(asm, 1);
            accumulator(asm);
            asm.push(1).ops(&[op::AND, op::MUL]).push(WORD_BYTES).ops(&[op::MUL]);
            // Stack: next, this, bytes to skip.
            asm.ops(&[op::SWAP1, op::POP, op::ADD]);
            asm.jump(next);
            return;
        }
        I::Call | I::CallCode | I::DelegateCall | I::StaticCall | I::CallSelf | I::CallCreated => {
            input(asm);
            call(asm, what);
            return;
        }
        I::Create | I::Create2 => {
            input(asm);
            create(asm, what);
            return;
        }
    }
    asm.ops(&[op::POP]);
}

/// Pushes argument `index` of the instruction that is second from the top.
fn arg_below(asm: &mut Assembler, index: u64) {
    asm.ops(&[op::DUP2]).push(index).ops(&[op::BYTE]);
}

fn storage(asm: &mut Assembler, what: Instruction) {
    match what {
        I::Load => {
            arg(asm, 1);
            asm.ops(&[op::SLOAD]);
            fold(asm);
        }
        I::Store => {
            arg(asm, 2);
            arg_below(asm, 1);
            asm.ops(&[op::SSTORE]);
        }
        I::StoreFolded => {
            accumulator(asm);
            arg_below(asm, 1);
            asm.ops(&[op::SSTORE]);
        }
        I::Add => {
            arg(asm, 2);
            arg_below(asm, 1);
            // Stack: next, this, b, a.
            asm.ops(&[op::SWAP1, op::DUP2, op::SLOAD, op::ADD, op::SWAP1, op::SSTORE]);
        }
        I::AddAtFolded => {
            arg(asm, 2);
            accumulator(asm);
            asm.push(DYNAMIC_KEY_COUNT - 1).ops(&[op::AND]);
            // Stack: next, this, b, key.
            asm.ops(&[op::SWAP1, op::DUP2, op::SLOAD, op::ADD, op::DUP1, op::SWAP2, op::SSTORE]);
            fold(asm);
        }
        _ => {
            arg(asm, 2);
            arg_below(asm, 1);
            asm.ops(&[op::SWAP1, op::DUP2, op::TLOAD, op::ADD, op::DUP1, op::SWAP2, op::TSTORE]);
            fold(asm);
        }
    }
}

fn surroundings(asm: &mut Assembler, what: Instruction) {
    match what {
        I::SelfBalance => {
            asm.ops(&[op::SELFBALANCE]);
            fold(asm);
        }
        I::CodeCopy => {
            // size, offset in the code, offset in memory, address
            asm.push(WORD_BYTES).push(0).push(SCRATCH);
            asm.ops(&[op::DUP4]).push_bytes(&[0xff; 20]).ops(&[op::AND, op::EXTCODECOPY]);
            asm.push(SCRATCH).ops(&[op::MLOAD]);
            fold(asm);
        }
        I::BlockHash => {
            arg(asm, 1);
            asm.ops(&[op::NUMBER, op::SUB, op::BLOCKHASH]);
            fold(asm);
        }
        I::Beneficiary => {
            asm.ops(&[op::COINBASE, op::BALANCE]);
            fold(asm);
            asm.ops(&[op::COINBASE]);
            fold(asm);
        }
        _ => {
            for opcode in [op::CALLER, op::CALLVALUE, op::ORIGIN, op::GAS] {
                asm.ops(&[opcode]);
                fold(asm);
            }
        }
    }
}

/// Copies the `a` words after the instruction to memory and skips them. It takes the stack from
/// [next, this] to [next, this, size of the input].
fn input(asm: &mut Assembler) {
    arg(asm, 1);
    asm.push(WORD_BYTES).ops(&[op::MUL]);
    // Stack: next, this, size. CALLDATACOPY takes memory, calldata, size.
    asm.ops(&[op::DUP1, op::DUP4]).push(SCRATCH).ops(&[op::CALLDATACOPY]);
    // Stack: next, this, size. The next instruction is behind the input.
    asm.ops(&[op::DUP1, op::SWAP3, op::ADD, op::SWAP2]);
}

/// Calls. It takes the stack from [next, this, size of the input] to [next].
fn call(asm: &mut Assembler, what: Instruction) {
    // A call takes gas, address, value, input, its size, output, its size: pushed from the last.
    // Stack: next, this, size.
    asm.push(WORD_BYTES).push(SCRATCH).ops(&[op::DUP3]).push(SCRATCH);
    // Stack: next, this, size, 32, scratch, size, scratch: this is the sixth.
    let mut above = 6;
    if !matches!(what, I::DelegateCall | I::StaticCall) {
        asm.ops(&[op::DUP1 + above - 1]).push(2).ops(&[op::BYTE]);
        above += 1;
    }
    match what {
        I::CallSelf => asm.ops(&[op::ADDRESS]),
        I::CallCreated => asm.push(CREATED).ops(&[op::MLOAD]),
        _ => asm.ops(&[op::DUP1 + above - 1]).push_bytes(&[0xff; 20]).ops(&[op::AND]),
    };
    above += 1;
    gas(asm, above);
    asm.ops(&[match what {
        I::CallCode => op::CALLCODE,
        I::DelegateCall => op::DELEGATECALL,
        I::StaticCall => op::STATICCALL,
        _ => op::CALL,
    }]);
    // Stack: next, this, size, success.
    fold(asm);
    asm.push(SCRATCH).ops(&[op::MLOAD]);
    fold(asm);
    asm.ops(&[op::RETURNDATASIZE]);
    fold(asm);
    asm.ops(&[op::POP, op::POP]);
}

/// Pushes all gas or, if c is not 0, [`CALL_GAS`] times c; `this` is number `above` from the top.
fn gas(asm: &mut Assembler, above: u8) {
    let limited = asm.label();
    asm.ops(&[op::DUP1 + above - 1]).push(3).ops(&[op::BYTE]);
    asm.push(CALL_GAS).ops(&[op::MUL, op::DUP1]).jump_if(limited);
    asm.ops(&[op::POP, op::GAS]).at(limited);
}

/// Creates. It takes the stack from [next, this, size of the init code] to [next].
fn create(asm: &mut Assembler, what: Instruction) {
    if what == I::Create2 {
        // CREATE2 takes value, offset, size, salt.
        asm.ops(&[op::DUP2]).push(3).ops(&[op::BYTE, op::SWAP1]);
        asm.push(SCRATCH).ops(&[op::DUP4]).push(2).ops(&[op::BYTE, op::CREATE2]);
    } else {
        asm.push(SCRATCH).ops(&[op::DUP3]).push(2).ops(&[op::BYTE, op::CREATE]);
    }
    // Stack: next, this, address.
    asm.ops(&[op::DUP1]).push(CREATED).ops(&[op::MSTORE]);
    fold(asm);
    asm.ops(&[op::POP]);
}

/// An instruction with its arguments.
pub(crate) fn word(what: Instruction, arguments: [u8; 3], address: Address) -> [u8; 32] {
    let mut out = [0; 32];
    out[0] = what as u8;
    out[1..4].copy_from_slice(&arguments);
    out[12..].copy_from_slice(address.as_slice());
    out
}

/// `code` with zeros up to a whole number of instructions.
pub(crate) fn padded(code: &[u8]) -> Bytes {
    let mut out = code.to_vec();
    out.resize(code.len().next_multiple_of(WORD_BYTES as usize), 0);
    out.into()
}
