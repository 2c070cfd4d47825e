//! Keccak-f[1600] over lanes (FIPS 202), written once and compiled for each instruction set. No
//! code here is unsafe: `pulp` checks at run time that the instructions exist.

#[cfg(target_arch = "x86_64")]
mod x86;

/// Number of inputs that are hashed together.
pub(super) const LANES: usize = 8;

/// An instruction set: the few operations that the permutation needs, on one register of lanes.
pub(super) trait Isa: Copy {
    /// A register.
    type Word: Copy;
    /// Number of lanes in a register; divides [`LANES`].
    const WIDTH: usize;

    /// Loads the lanes from `first` on.
    fn load(self, lanes: &[u64; LANES], first: usize) -> Self::Word;
    /// Stores the lanes from `first` on.
    fn store(self, word: Self::Word, lanes: &mut [u64; LANES], first: usize);
    /// Sets all lanes to `value`.
    fn splat(self, value: u64) -> Self::Word;
    fn xor(self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// a ^ b ^ c
    fn xor3(self, a: Self::Word, b: Self::Word, c: Self::Word) -> Self::Word;
    /// a ^ (!b & c)
    fn chi(self, a: Self::Word, b: Self::Word, c: Self::Word) -> Self::Word;
    /// Rotation to the left by LEFT; RIGHT = 64 - LEFT.
    fn rotl<const LEFT: i32, const RIGHT: i32>(self, a: Self::Word) -> Self::Word;
}

/// Work that is compiled for each instruction set; everything it calls must be inlined.
pub(super) trait Task {
    fn run<I: Isa>(self, isa: I);
}

/// An instruction set that this machine has.
#[derive(Clone, Copy, Debug)]
pub(super) enum InstructionSet {
    #[cfg(target_arch = "x86_64")]
    Avx512(pulp::x86::V4),
    #[cfg(target_arch = "x86_64")]
    Avx2(pulp::x86::V3),
    Scalar,
}

/// All instruction sets that this machine has, best first.
pub(super) fn available() -> impl Iterator<Item = InstructionSet> {
    #[cfg(target_arch = "x86_64")]
    let vectors = [
        pulp::x86::V4::try_new().map(InstructionSet::Avx512),
        pulp::x86::V3::try_new().map(InstructionSet::Avx2),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let vectors: [Option<InstructionSet>; 0] = [];
    vectors.into_iter().flatten().chain([InstructionSet::Scalar])
}

impl InstructionSet {
    pub(super) fn run<T: Task>(self, task: T) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(v4) => v4.vectorize(BoundTask { isa: v4, task }),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(v3) => v3.vectorize(BoundTask { isa: v3, task }),
            Self::Scalar => task.run(Scalar),
        }
    }

    fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            Self::Scalar => "scalar",
        }
    }
}

fn best() -> InstructionSet {
    available().next().unwrap_or(InstructionSet::Scalar)
}

pub(super) fn isa_name() -> &'static str {
    best().name()
}

/// Runs `task` with the best instruction set of this machine.
pub(super) fn dispatch<T: Task>(task: T) {
    best().run(task);
}

struct BoundTask<I, T> {
    isa: I,
    task: T,
}

impl<I: Isa, T: Task> pulp::NullaryFnOnce for BoundTask<I, T> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.task.run(self.isa);
    }
}

/// Keccak-256 of eight one-block inputs: `words` are the inputs' words and the first padding
/// bit; the last padding bit is set here.
#[inline(always)]
pub(super) fn hash<I: Isa, const WORDS: usize>(
    isa: I,
    words: &[[u64; LANES]; WORDS],
) -> [[u64; LANES]; 4] {
    const { assert!(WORDS <= 16, "word 16 has the last padding bit") }
    let mut out = [[0; LANES]; 4];
    let mut first = 0;
    while first < LANES {
        let mut state = [isa.splat(0); 25];
        for (word, lanes) in state.iter_mut().zip(words) {
            *word = isa.load(lanes, first);
        }
        state[16] = isa.splat(1 << 63);
        for constant in ROUND_CONSTANTS {
            state = round(isa, state, constant);
        }
        for (lanes, word) in out.iter_mut().zip(state) {
            isa.store(word, lanes, first);
        }
        first += I::WIDTH;
    }
    out
}

/// Absorbs one block into the state of each lane. `fresh` is all ones for a lane that begins a
/// message, and zero for the other lanes.
#[inline(always)]
pub(super) fn absorb<I: Isa>(
    isa: I,
    lanes: &mut [[u64; LANES]; 25],
    block: &[[u64; LANES]; 17],
    fresh: &[u64; LANES],
) {
    let mut first = 0;
    while first < LANES {
        let begins = isa.load(fresh, first);
        let mut state = [isa.splat(0); 25];
        for (index, (word, before)) in state.iter_mut().zip(&*lanes).enumerate() {
            let input = block.get(index).map_or(*word, |lanes| isa.load(lanes, first));
            // input ^ (!begins & before): a lane that begins a message takes no earlier state.
            *word = isa.chi(input, begins, isa.load(before, first));
        }
        for constant in ROUND_CONSTANTS {
            state = round(isa, state, constant);
        }
        for (lanes, word) in lanes.iter_mut().zip(state) {
            isa.store(word, lanes, first);
        }
        first += I::WIDTH;
    }
}

/// One round: theta, rho and pi, chi, iota. Word x + 5y of the state is FIPS 202's lane (x, y).
#[inline(always)]
fn round<I: Isa>(isa: I, s: [I::Word; 25], constant: u64) -> [I::Word; 25] {
    macro_rules! column {
        ($x:literal) => {{
            let upper = isa.xor3(s[$x], s[$x + 5], s[$x + 10]);
            isa.xor3(upper, s[$x + 15], s[$x + 20])
        }};
    }
    let c = [column!(0), column!(1), column!(2), column!(3), column!(4)];
    macro_rules! parity {
        ($left:literal, $right:literal) => {
            isa.xor(c[$left], isa.rotl::<1, 63>(c[$right]))
        };
    }
    let d = [parity!(4, 1), parity!(0, 2), parity!(1, 3), parity!(2, 4), parity!(3, 0)];
    macro_rules! moved {
        ($from:literal, $left:literal) => {
            isa.rotl::<$left, { (64 - $left) % 64 }>(isa.xor(s[$from], d[$from % 5]))
        };
    }
    // One row after pi: five sources and their rotations (rho), then chi.
    macro_rules! row {
        ($($from:literal by $left:literal),*) => {{
            let b = [$(moved!($from, $left)),*];
            [
                isa.chi(b[0], b[1], b[2]),
                isa.chi(b[1], b[2], b[3]),
                isa.chi(b[2], b[3], b[4]),
                isa.chi(b[3], b[4], b[0]),
                isa.chi(b[4], b[0], b[1]),
            ]
        }};
    }
    let r0 = row!(0 by 0, 6 by 44, 12 by 43, 18 by 21, 24 by 14);
    let r1 = row!(3 by 28, 9 by 20, 10 by 3, 16 by 45, 22 by 61);
    let r2 = row!(1 by 1, 7 by 6, 13 by 25, 19 by 8, 20 by 18);
    let r3 = row!(4 by 27, 5 by 36, 11 by 10, 17 by 15, 23 by 56);
    let r4 = row!(2 by 62, 8 by 55, 14 by 39, 15 by 41, 21 by 2);
    let r00 = isa.xor(r0[0], isa.splat(constant));
    [
        r00, r0[1], r0[2], r0[3], r0[4], //
        r1[0], r1[1], r1[2], r1[3], r1[4], //
        r2[0], r2[1], r2[2], r2[3], r2[4], //
        r3[0], r3[1], r3[2], r3[3], r3[4], //
        r4[0], r4[1], r4[2], r4[3], r4[4],
    ]
}

/// Round constants of the step iota (FIPS 202, section 3.2.5).
const ROUND_CONSTANTS: [u64; 24] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808a,
    0x8000_0000_8000_8000,
    0x0000_0000_0000_808b,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8009,
    0x0000_0000_0000_008a,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000a,
    0x0000_0000_8000_808b,
    0x8000_0000_0000_008b,
    0x8000_0000_0000_8089,
    0x8000_0000_0000_8003,
    0x8000_0000_0000_8002,
    0x8000_0000_0000_0080,
    0x0000_0000_0000_800a,
    0x8000_0000_8000_000a,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8080,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008,
];

/// Plain 64-bit words, one input at a time.
#[derive(Clone, Copy)]
struct Scalar;

impl Isa for Scalar {
    type Word = u64;
    const WIDTH: usize = 1;

    #[inline(always)]
    fn load(self, lanes: &[u64; LANES], first: usize) -> u64 {
        lanes[first]
    }
    #[inline(always)]
    fn store(self, word: u64, lanes: &mut [u64; LANES], first: usize) {
        lanes[first] = word;
    }
    #[inline(always)]
    fn splat(self, value: u64) -> u64 {
        value
    }
    #[inline(always)]
    fn xor(self, a: u64, b: u64) -> u64 {
        a ^ b
    }
    #[inline(always)]
    fn xor3(self, a: u64, b: u64, c: u64) -> u64 {
        a ^ b ^ c
    }
    #[inline(always)]
    fn chi(self, a: u64, b: u64, c: u64) -> u64 {
        a ^ (!b & c)
    }
    #[inline(always)]
    fn rotl<const LEFT: i32, const RIGHT: i32>(self, a: u64) -> u64 {
        a.rotate_left(LEFT as u32)
    }
}
