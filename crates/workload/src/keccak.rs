//! Hashes eight inputs together by Keccak-256, each in one 64-bit lane of the registers. The
//! instructions are AVX-512, AVX2 or plain 64-bit ones, chosen at run time. Inputs of 20, 32 or 64
//! bytes have functions of their own, for rows and keys; [`Messages`] have any length, for nodes of
//! tries. For a single input, `alloy_primitives::keccak256` is faster.

mod messages;
mod permutation;

pub use messages::{BLOCK_BYTES, Messages};
use permutation::{Isa, LANES, Task, dispatch, hash};

/// Keccak-256 of each input; `out[i]` belongs to `inputs[i]`.
///
/// # Panics
/// When `inputs` and `out` have different lengths.
pub fn keccak256_many_32(inputs: &[[u8; 32]], out: &mut [[u8; 32]]) {
    many::<32, 5>(inputs, out);
}

/// Keccak-256 of each input; `out[i]` belongs to `inputs[i]`.
///
/// # Panics
/// When `inputs` and `out` have different lengths.
pub fn keccak256_many_64(inputs: &[[u8; 64]], out: &mut [[u8; 32]]) {
    many::<64, 9>(inputs, out);
}

/// Keccak-256 of each input, such as an address; `out[i]` belongs to `inputs[i]`.
///
/// # Panics
/// When `inputs` and `out` have different lengths.
pub fn keccak256_many_20(inputs: &[[u8; 20]], out: &mut [[u8; 32]]) {
    many::<20, 3>(inputs, out);
}

/// Name of the instructions in use, for reports: `avx512`, `avx2` or `scalar`.
pub fn keccak256_many_isa() -> &'static str {
    permutation::isa_name()
}

/// Hashes inputs of BYTES bytes. WORDS must be BYTES / 8 + 1: the 64-bit words of an input and of
/// the padding's first bit.
fn many<const BYTES: usize, const WORDS: usize>(inputs: &[[u8; BYTES]], out: &mut [[u8; 32]]) {
    assert_eq!(inputs.len(), out.len(), "one place for each hash");
    dispatch(ManyHashes::<BYTES, WORDS> { inputs, out });
}

struct ManyHashes<'a, const BYTES: usize, const WORDS: usize> {
    inputs: &'a [[u8; BYTES]],
    out: &'a mut [[u8; 32]],
}

impl<const BYTES: usize, const WORDS: usize> Task for ManyHashes<'_, BYTES, WORDS> {
    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        for (inputs, out) in self.inputs.chunks(LANES).zip(self.out.chunks_mut(LANES)) {
            let mut words = [[0; LANES]; WORDS];
            for (lane, input) in inputs.iter().enumerate() {
                for (word, value) in words.iter_mut().zip(padded_words::<BYTES, WORDS>(input)) {
                    word[lane] = value;
                }
            }
            let hashes = hash(isa, &words);
            for (lane, out) in out.iter_mut().enumerate() {
                for (bytes, word) in out.chunks_exact_mut(8).zip(hashes) {
                    bytes.copy_from_slice(&word[lane].to_le_bytes());
                }
            }
        }
    }
}

/// The input as little-endian words, followed by Keccak's first padding bit (0x01).
#[inline(always)]
fn padded_words<const BYTES: usize, const WORDS: usize>(input: &[u8; BYTES]) -> [u64; WORDS] {
    const { assert!(WORDS == BYTES / 8 + 1 && BYTES < 136) }
    let mut words = [0; WORDS];
    let (whole, rest) = input.split_at(BYTES / 8 * 8);
    for (word, bytes) in words.iter_mut().zip(whole.chunks_exact(8)) {
        let mut eight = [0; 8];
        eight.copy_from_slice(bytes);
        *word = u64::from_le_bytes(eight);
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x01;
    words[WORDS - 1] = u64::from_le_bytes(last);
    words
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;
    use proptest::prelude::*;

    use super::*;

    fn expected<const BYTES: usize>(inputs: &[[u8; BYTES]]) -> Vec<[u8; 32]> {
        inputs.iter().map(|input| keccak256(input).0).collect()
    }

    proptest! {
        #[test]
        fn many_hashes_equal_single_ones_at_every_count(
            a in prop::collection::vec(any::<[u8; 32]>(), 0..35),
            b in prop::collection::vec(any::<[[u8; 32]; 2]>(), 0..35),
            c in prop::collection::vec(any::<[u8; 20]>(), 0..35),
        ) {
            let b: Vec<[u8; 64]> = b.iter().map(|two| {
                let mut both = [0; 64];
                both[..32].copy_from_slice(&two[0]);
                both[32..].copy_from_slice(&two[1]);
                both
            }).collect();
            let mut out = vec![[0; 32]; a.len()];
            keccak256_many_32(&a, &mut out);
            prop_assert_eq!(&out, &expected(&a));
            out.resize(b.len(), [0; 32]);
            keccak256_many_64(&b, &mut out);
            prop_assert_eq!(&out, &expected(&b));
            out.resize(c.len(), [0; 32]);
            keccak256_many_20(&c, &mut out);
            prop_assert_eq!(&out, &expected(&c));
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_hashes() {
        let inputs: Vec<[u8; 32]> = (0..19_u8).map(|i| [i; 32]).collect();
        let expected = expected(&inputs);
        for pick in permutation::available() {
            let mut out = vec![[0; 32]; inputs.len()];
            pick.run(ManyHashes::<32, 5> { inputs: &inputs, out: &mut out });
            assert_eq!(out, expected, "{pick:?}");
        }
    }
}
