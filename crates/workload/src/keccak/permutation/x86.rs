//! The operations of [`Isa`] in AVX-512 and AVX2.

use std::arch::x86_64::{__m256i, __m512i};

use pulp::{cast, x86::V3, x86::V4};

use super::{Isa, LANES};

impl Isa for V4 {
    type Word = __m512i;
    const WIDTH: usize = 8;

    #[inline(always)]
    fn load(self, lanes: &[u64; LANES], _first: usize) -> __m512i {
        cast(*lanes)
    }
    #[inline(always)]
    fn store(self, word: __m512i, lanes: &mut [u64; LANES], _first: usize) {
        *lanes = cast(word);
    }
    #[inline(always)]
    fn splat(self, value: u64) -> __m512i {
        cast([value; 8])
    }
    #[inline(always)]
    fn xor(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512f._mm512_xor_si512(a, b)
    }
    #[inline(always)]
    fn xor3(self, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        // The truth table of a ^ b ^ c.
        self.avx512f._mm512_ternarylogic_epi64::<0x96>(a, b, c)
    }
    #[inline(always)]
    fn chi(self, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        // The truth table of a ^ (!b & c).
        self.avx512f._mm512_ternarylogic_epi64::<0xd2>(a, b, c)
    }
    #[inline(always)]
    fn rotl<const LEFT: i32, const RIGHT: i32>(self, a: __m512i) -> __m512i {
        self.avx512f._mm512_rol_epi64::<LEFT>(a)
    }
}

impl Isa for V3 {
    type Word = __m256i;
    const WIDTH: usize = 4;

    #[inline(always)]
    fn load(self, lanes: &[u64; LANES], first: usize) -> __m256i {
        cast([lanes[first], lanes[first + 1], lanes[first + 2], lanes[first + 3]])
    }
    #[inline(always)]
    fn store(self, word: __m256i, lanes: &mut [u64; LANES], first: usize) {
        lanes[first..first + 4].copy_from_slice(&cast::<__m256i, [u64; 4]>(word));
    }
    #[inline(always)]
    fn splat(self, value: u64) -> __m256i {
        cast([value; 4])
    }
    #[inline(always)]
    fn xor(self, a: __m256i, b: __m256i) -> __m256i {
        self.avx2._mm256_xor_si256(a, b)
    }
    #[inline(always)]
    fn xor3(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        self.xor(self.xor(a, b), c)
    }
    #[inline(always)]
    fn chi(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        self.xor(a, self.avx2._mm256_andnot_si256(b, c))
    }
    #[inline(always)]
    fn rotl<const LEFT: i32, const RIGHT: i32>(self, a: __m256i) -> __m256i {
        let left = self.avx2._mm256_slli_epi64::<LEFT>(a);
        let right = self.avx2._mm256_srli_epi64::<RIGHT>(a);
        if LEFT == 0 { a } else { self.avx2._mm256_or_si256(left, right) }
    }
}
