//! Random programs of the interpreter: short, nested, and mostly successful.

use alloy_primitives::{Address, Bytes, hex};

use crate::{
    chance::Chance,
    interpreter::{Instruction, WORD_BYTES, padded, word},
    world::{PASSING_SALT, SALT_COUNT, World, init_code},
};

/// Maximal depth of nested calls and creations.
const MOST_DEPTH: u32 = 3;
/// Keys that many programs use.
const HOT_KEY_COUNT: u8 = 4;
/// Number of addresses of CREATE2 that many programs use: those of the first contract.
const HOT_CREATION_COUNT: usize = 12;
/// Number of all keys.
const KEY_COUNT: u8 = 200;

use Instruction as I;

/// Instructions with their weights.
const WEIGHTS: &[(u64, Instruction)] = &[
    (8, I::Load),
    (6, I::Store),
    (6, I::StoreFolded),
    (8, I::Add),
    (6, I::AddAtFolded),
    (3, I::Transient),
    (4, I::Balance),
    (3, I::SelfBalance),
    (2, I::CodeSize),
    (3, I::CodeHash),
    (2, I::CodeCopy),
    (2, I::BlockHash),
    (3, I::Beneficiary),
    (2, I::Environment),
    (4, I::Log),
    (1, I::Destroy),
    (1, I::Revert),
    (1, I::Invalid),
    (1, I::Burn),
    (5, I::SkipIfOdd),
    (12, I::Call),
    (2, I::CallCode),
    (3, I::DelegateCall),
    (3, I::StaticCall),
    (3, I::CallSelf),
    (2, I::CallCreated),
    (3, I::Create),
    (6, I::Create2),
];

/// Draws a program.
pub(crate) fn draw(world: &World, chance: &mut Chance) -> Bytes {
    if chance.once_in(12) {
        return passing(world, chance).into();
    }
    program(world, chance, 0).into()
}

/// Draws init code for a transaction that creates.
pub(crate) fn draw_init_code(world: &World, chance: &mut Chance) -> Bytes {
    if chance.once_in(3) {
        return world.init_codes[chance.below(world.init_codes.len() as u64) as usize].clone();
    }
    init_code(&program(world, chance, 1))
}

/// Creates a contract that destroys itself at once, at an address that nothing else uses. So a
/// second run creates it again.
fn passing(world: &World, chance: &mut Chance) -> Vec<u8> {
    let arguments = [0, chance.byte(2), PASSING_SALT];
    let mut out = with_words(I::Create2, arguments, Address::ZERO, &world.init_codes[1]);
    let heir = any_address(world, chance);
    let last = [plain(world, chance), word(I::Destroy, [0; 3], heir)].concat();
    out.extend(with_words(I::CallCreated, [0; 3], Address::ZERO, &last));
    out
}

fn program(world: &World, chance: &mut Chance, depth: u32) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..=chance.below(if depth == 0 { 7 } else { 3 }) {
        out.extend(instruction(world, chance, depth));
    }
    out
}

fn instruction(world: &World, chance: &mut Chance, depth: u32) -> Vec<u8> {
    let what = chance.weighted(WEIGHTS);
    let key = chance.once_in(5);
    let key = chance.byte(if key { KEY_COUNT } else { HOT_KEY_COUNT });
    // Often zero, which clears a slot.
    let number = chance.byte(4);
    match what {
        I::SkipIfOdd => {
            let next = plain(world, chance);
            [&word(what, [1, 0, 0], Address::ZERO)[..], &next].concat()
        }
        I::BlockHash => {
            let back = chance.one_of(&[0, 1, 2, 3, 255]);
            word(what, [back, 0, 0], Address::ZERO).to_vec()
        }
        I::Create | I::Create2 => creation(world, chance, what, depth),
        I::Call | I::CallCode | I::DelegateCall | I::StaticCall | I::CallSelf | I::CallCreated => {
            if depth == MOST_DEPTH {
                return plain(world, chance).to_vec();
            }
            call(world, chance, what, depth)
        }
        _ => word(what, [key, number, 0], any_address(world, chance)).to_vec(),
    }
}

/// An instruction without further words.
fn plain(world: &World, chance: &mut Chance) -> [u8; 32] {
    let what = chance.one_of(&[I::Add, I::StoreFolded, I::Load, I::Balance, I::Log, I::Store]);
    let arguments = [chance.byte(HOT_KEY_COUNT), chance.byte(3), 0];
    word(what, arguments, any_address(world, chance))
}

fn call(world: &World, chance: &mut Chance, what: Instruction, depth: u32) -> Vec<u8> {
    if matches!(what, I::Call | I::StaticCall) && chance.once_in(3) {
        let (number, input) = precompile_input(chance);
        let address = world.precompiles[number];
        return with_words(what, [0, chance.byte(2), 0], address, &padded(input));
    }
    let address = match what {
        I::DelegateCall | I::CallCode => chance.one_of(&world.contracts),
        _ => callee(world, chance),
    };
    let value = if chance.once_in(3) { chance.byte(5) } else { 0 };
    // Sometimes too little gas for the callee.
    let gas = if chance.once_in(6) { chance.byte(60) } else { 0 };
    with_words(what, [0, value, gas], address, &program(world, chance, depth + 1))
}

fn creation(world: &World, chance: &mut Chance, what: Instruction, depth: u32) -> Vec<u8> {
    let code = &world.init_codes[chance.below(world.init_codes.len() as u64) as usize];
    let arguments = [0, chance.byte(3), chance.byte(SALT_COUNT)];
    let mut out = with_words(what, arguments, Address::ZERO, code);
    if depth < MOST_DEPTH && !chance.once_in(3) {
        // A contract that is created here no longer exists after the transaction (EIP-6780).
        let heir = any_address(world, chance);
        let last = [plain(world, chance), word(I::Destroy, [0; 3], heir)].concat();
        out.extend(with_words(I::CallCreated, [0, chance.byte(2), 0], Address::ZERO, &last));
    }
    out
}

/// An instruction and its words.
fn with_words(what: Instruction, [_, b, c]: [u8; 3], address: Address, words: &[u8]) -> Vec<u8> {
    let count = words.len() / WORD_BYTES as usize;
    // Words beyond the largest byte are no input: they run as instructions.
    let a = u8::try_from(count).unwrap_or(u8::MAX);
    [&word(what, [a, b, c], address)[..], words].concat()
}

/// The callee of a call: the first contract most often, so that transactions meet in its slots.
pub(crate) fn callee(world: &World, chance: &mut Chance) -> Address {
    match chance.below(10) {
        0..4 => world.contracts[0],
        4..6 => chance.one_of(&world.contracts),
        6..8 => chance.one_of(&world.senders),
        _ => any_address(world, chance),
    }
}

/// An address that the first contract may create.
pub(crate) fn hot_creation(world: &World, chance: &mut Chance) -> Address {
    chance.one_of(&world.creations[..HOT_CREATION_COUNT])
}

/// An address of any kind.
pub(crate) fn any_address(world: &World, chance: &mut Chance) -> Address {
    match chance.below(12) {
        0..3 => chance.one_of(&world.senders),
        3..6 => chance.one_of(&world.contracts),
        6..8 => chance.one_of(&world.fresh),
        8 => chance.one_of(&world.creations),
        9 => hot_creation(world, chance),
        10 => {
            chance.one_of(&[crate::environment::BENEFICIARY, world.precompiles[1], Address::ZERO])
        }
        _ => chance.one_of(&world.system),
    }
}

/// Draws a precompile, by its index in the world, and an input for it.
pub(crate) fn precompile_input(chance: &mut Chance) -> (usize, &'static [u8]) {
    chance.one_of(PRECOMPILE_INPUTS)
}

/// Index of a precompile, and an input.
type PrecompileInput = (usize, &'static [u8]);

/// Inputs that the precompiles accept, and some that they refuse.
const PRECOMPILE_INPUTS: &[PrecompileInput] = &[
    // ECRECOVER: r is the x coordinate of the generator, so that any s and hash have a signer.
    (
        0,
        &hex!(
            "00000000000000000000000000000000000000000000000000000000000000aa"
            "000000000000000000000000000000000000000000000000000000000000001b"
            "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
            "0000000000000000000000000000000000000000000000000000000000000005"
        ),
    ),
    (0, &[0x11; 128]),
    (1, b"SHA2-256"),
    (2, b"RIPEMD-160"),
    (3, b"identity"),
    // MODEXP: 3 to the 5th modulo 7, in one byte each.
    (
        4,
        &hex!(
            "0000000000000000000000000000000000000000000000000000000000000001"
            "0000000000000000000000000000000000000000000000000000000000000001"
            "0000000000000000000000000000000000000000000000000000000000000001"
            "030507"
        ),
    ),
    // BN254: the generator (1, 2) and itself; times 9; no pairs.
    (
        5,
        &hex!(
            "0000000000000000000000000000000000000000000000000000000000000001"
            "0000000000000000000000000000000000000000000000000000000000000002"
            "0000000000000000000000000000000000000000000000000000000000000001"
            "0000000000000000000000000000000000000000000000000000000000000002"
        ),
    ),
    (
        6,
        &hex!(
            "0000000000000000000000000000000000000000000000000000000000000001"
            "0000000000000000000000000000000000000000000000000000000000000002"
            "0000000000000000000000000000000000000000000000000000000000000009"
        ),
    ),
    (7, &[]),
    (7, &[1; 192]),
    // BLAKE2F takes 213 bytes. Programs give whole words, so it fails and uses all its gas.
    (8, &[0; 213]),
    (9, &[2; 192]),
    // BLS12-381: the sum of two points at infinity; inputs of a wrong length.
    (10, &[0; 256]),
    (12, &[0; 256]),
    (14, &[3; 32]),
    // P256VERIFY of an invalid signature returns nothing.
    (17, &[4; 160]),
];
