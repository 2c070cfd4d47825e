//! Named random streams. Each random decision draws from a stream that the one seed and a name give
//! (BLAKE3 in key-derivation mode). So an added load does not reshuffle another.

use alloy_primitives::B256;

const CONTEXT: &str = "stress 2026-11 random stream v1";

/// The 32-byte seed of the stream called `name` under `seed`.
pub fn stream_seed(seed: u64, name: &str) -> B256 {
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    hasher.update(&seed.to_le_bytes());
    hasher.update(name.as_bytes());
    B256::from(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_name_and_by_seed() {
        assert_ne!(stream_seed(1, "state"), stream_seed(1, "blocks"));
        assert_ne!(stream_seed(1, "state"), stream_seed(2, "state"));
        assert_eq!(stream_seed(1, "state"), stream_seed(1, "state"));
    }
}
