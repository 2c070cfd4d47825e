//! Keccak-256 of messages of any length, one message in each lane. A lane whose message ends takes
//! the next message, so different lengths leave no lane idle before the last eight messages.

use super::permutation::{Isa, LANES, Task, absorb, dispatch};

/// Number of bytes that Keccak-256 absorbs in one permutation.
pub const BLOCK_BYTES: usize = 136;
const BLOCK_WORDS: usize = BLOCK_BYTES / 8;

/// Messages in one buffer, each padded to whole blocks as Keccak-256 asks.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    bytes: Vec<u8>,
    /// Index of the block after each message's last block.
    ends: Vec<usize>,
}

impl Messages {
    /// Number of messages.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Number of permutations that hashing all messages takes: one for each block.
    pub fn block_count(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Forgets all messages and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Adds a message.
    pub fn push(&mut self, message: &[u8]) {
        self.push_with(message.len(), |bytes| bytes.copy_from_slice(message));
    }

    /// Adds a message of `len` bytes, which `write` fills. The bytes are zero before `write`.
    pub fn push_with(&mut self, len: usize, write: impl FnOnce(&mut [u8])) {
        let start = self.bytes.len();
        // At least one byte of padding.
        let end = start + (len / BLOCK_BYTES + 1) * BLOCK_BYTES;
        self.bytes.resize(end, 0);
        write(&mut self.bytes[start..start + len]);
        self.bytes[start + len] = 0x01;
        self.bytes[end - 1] |= 0x80;
        self.ends.push(end / BLOCK_BYTES);
    }

    /// Sets `out` to the hashes, in the order of the messages.
    pub fn hash_all(&self, out: &mut Vec<[u8; 32]>) {
        out.clear();
        out.resize(self.len(), [0; 32]);
        dispatch(Hash { messages: self, out });
    }
}

struct Hash<'a> {
    messages: &'a Messages,
    out: &'a mut [[u8; 32]],
}

/// The message that a lane hashes: its index, its next block, and the block after its last one.
#[derive(Clone, Copy, Default)]
struct Lane {
    message: usize,
    block: usize,
    end: usize,
}

impl Task for Hash<'_> {
    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let Messages { bytes, ends } = self.messages;
        let mut state = [[0; LANES]; 25];
        let mut block = [[0; LANES]; BLOCK_WORDS];
        let mut lanes = [Lane::default(); LANES];
        let mut next = 0;
        loop {
            let mut fresh = [0; LANES];
            let mut busy = [false; LANES];
            for (index, lane) in lanes.iter_mut().enumerate() {
                if lane.block == lane.end {
                    let Some(end) = ends.get(next) else { continue };
                    *lane = Lane { message: next, block: lane_start(ends, next), end: *end };
                    fresh[index] = u64::MAX;
                    next += 1;
                }
                let start = lane.block * BLOCK_BYTES;
                let words = bytes[start..start + BLOCK_BYTES].as_chunks::<8>().0;
                for (word, bytes) in block.iter_mut().zip(words) {
                    word[index] = u64::from_le_bytes(*bytes);
                }
                lane.block += 1;
                busy[index] = true;
            }
            if busy == [false; LANES] {
                return;
            }
            absorb(isa, &mut state, &block, &fresh);
            for (index, lane) in lanes.iter().enumerate() {
                if busy[index] && lane.block == lane.end {
                    let out = &mut self.out[lane.message];
                    for (bytes, word) in out.as_chunks_mut::<8>().0.iter_mut().zip(&state) {
                        *bytes = word[index].to_le_bytes();
                    }
                }
            }
        }
    }
}

/// Index of the first block of a message.
#[inline(always)]
fn lane_start(ends: &[usize], message: usize) -> usize {
    message.checked_sub(1).map_or(0, |before| ends[before])
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;
    use proptest::prelude::*;

    use super::{super::permutation, *};

    fn messages(lengths: &[usize]) -> (Messages, Vec<[u8; 32]>) {
        let mut messages = Messages::default();
        let mut expected = Vec::new();
        for (place, len) in lengths.iter().enumerate() {
            let message: Vec<u8> =
                (0..*len).map(|byte| (byte * 31 + place * 7 + 1) as u8).collect();
            messages.push(&message);
            expected.push(keccak256(&message).0);
        }
        (messages, expected)
    }

    fn check(lengths: &[usize]) {
        let (messages, expected) = messages(lengths);
        let blocks: usize = lengths.iter().map(|len| len / BLOCK_BYTES + 1).sum();
        assert_eq!((messages.len(), messages.block_count()), (lengths.len(), blocks));
        for pick in permutation::available() {
            let mut out = vec![[0; 32]; messages.len()];
            pick.run(Hash { messages: &messages, out: &mut out });
            assert_eq!(out, expected, "{pick:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn messages_of_mixed_lengths_hash_as_alone(
            lengths in prop::collection::vec(0_usize..900, 0..40),
        ) {
            check(&lengths);
        }
    }

    #[test]
    fn every_length_around_the_ends_of_blocks_hashes_as_alone() {
        check(&(0..=BLOCK_BYTES * 3 + 2).collect::<Vec<_>>());
    }

    #[test]
    fn cleared_messages_leave_nothing_behind() {
        let (mut messages, _) = messages(&[500, 3, 0]);
        messages.clear();
        assert!(messages.is_empty());
        messages.push(b"again");
        let mut out = vec![[9; 32]; 5];
        messages.hash_all(&mut out);
        assert_eq!(out, [keccak256(b"again").0]);
    }
}
