//! Derives seeds of random streams from the workload's seed and a name (BLAKE3 in key-derivation
//! mode). Each load draws from streams of its own, so a new load does not change the draws of the
//! others. The generator calls it.

use alloy_primitives::B256;

/// Context of the derivation. Another text would change every workload.
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
