//! References of nodes. A parent has a child's hash, or the child's RLP if that is shorter than 32
//! bytes.

use alloy_primitives::{B256, keccak256};

use crate::error::NodeError;

/// RLP code of a string of 32 bytes.
const HASH_CODE: u8 = 0xa0;
const HASH_REFERENCE_BYTES: usize = 33;

/// A child in its parent's RLP: 0xa0 and the child's hash, or the child's own RLP if it is shorter
/// than 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    len: u8,
    bytes: [u8; HASH_REFERENCE_BYTES],
}

impl Reference {
    /// Placeholder of a hash that is not yet computed.
    pub(crate) const PENDING: Self = Self { len: 0, bytes: [0; HASH_REFERENCE_BYTES] };

    /// The reference of a node with this hash, whose RLP has 32 bytes or more.
    pub fn of_hash(hash: &B256) -> Self {
        let mut bytes = [HASH_CODE; HASH_REFERENCE_BYTES];
        bytes[1..].copy_from_slice(hash.as_slice());
        Self { len: HASH_REFERENCE_BYTES as u8, bytes }
    }

    /// The reference of a node of fewer than 32 bytes, which `write` fills.
    pub(crate) fn inline_with(len: usize, write: impl FnOnce(&mut [u8])) -> Self {
        let mut bytes = [0; HASH_REFERENCE_BYTES];
        write(&mut bytes[..len]);
        Self { len: len as u8, bytes }
    }

    /// The reference of a node with this RLP.
    pub fn of_rlp(rlp: &[u8]) -> Self {
        if rlp.len() < 32 {
            Self::inline_with(rlp.len(), |bytes| bytes.copy_from_slice(rlp))
        } else {
            Self::of_hash(&keccak256(rlp))
        }
    }

    /// The bytes of the reference, as the parent's RLP has them.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Writes the bytes of the reference to the beginning of `out`, and returns their number.
    pub(crate) fn write(&self, out: &mut [u8]) -> usize {
        let len = usize::from(self.len);
        if len == HASH_REFERENCE_BYTES
            && let Some(out) = out.first_chunk_mut()
        {
            // The compiler knows the length of this copy.
            *out = self.bytes;
        } else {
            out[..len].copy_from_slice(&self.bytes[..len]);
        }
        len
    }

    /// The node's RLP, if the parent has it in place of a hash.
    pub fn inline(&self) -> Option<&[u8]> {
        (usize::from(self.len) < HASH_REFERENCE_BYTES).then(|| self.as_slice())
    }

    /// The hash of the node as the root of a trie.
    pub fn root_hash(&self) -> B256 {
        self.inline().map_or_else(|| B256::from_slice(&self.bytes[1..]), keccak256)
    }

    /// Takes the reference at the beginning of `bytes`.
    pub(crate) fn split(bytes: &[u8]) -> Result<(Self, &[u8]), NodeError> {
        let first = *bytes.first().ok_or(NodeError::Short)?;
        let len = match first {
            HASH_CODE => HASH_REFERENCE_BYTES,
            // A list with a payload of at least one byte, and of at most 31 bytes with its header.
            0xc1..=0xde => usize::from(first - 0xc0) + 1,
            _ => return Err(NodeError::Reference),
        };
        let (own, rest) = bytes.split_at_checked(len).ok_or(NodeError::Short)?;
        let mut bytes = [0; HASH_REFERENCE_BYTES];
        bytes[..len].copy_from_slice(own);
        Ok((Self { len: len as u8, bytes }, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_of_32_bytes_is_named_by_hash_and_one_of_31_by_itself() {
        let mut short = vec![0x80; 31];
        short[0] = 0xde;
        let reference = Reference::of_rlp(&short);
        assert_eq!(reference.inline(), Some(&short[..]));
        assert_eq!(reference.root_hash(), keccak256(&short));
        let mut long = vec![0x80; 32];
        long[0] = 0xdf;
        let hashed = Reference::of_rlp(&long);
        assert_eq!((hashed.inline(), hashed.root_hash()), (None, keccak256(&long)));
        for reference in [reference, hashed] {
            let bytes = [reference.as_slice(), &[1, 2]].concat();
            assert_eq!(Reference::split(&bytes), Ok((reference, &[1, 2][..])));
            assert_eq!(Reference::split(&bytes[..9]), Err(NodeError::Short));
        }
        for wrong in [&[][..], &[0x80], &[0x9f; 40], &[0xa1; 40], &[0xc0], &[0xdf; 40], &[7]] {
            assert!(Reference::split(wrong).is_err(), "{wrong:?}");
        }
    }
}
