//! A path in a trie: up to 64 nibbles, two to a byte.

use std::fmt;

use alloy_primitives::B256;

/// Number of nibbles in a hashed key, and in the longest path.
pub const NIBBLES_MAX: usize = 64;

/// Nibbles from the root of a trie. A path sorts before all longer paths that begin with it.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path {
    /// Two nibbles to a byte, the first one high; zero from `len` on.
    bytes: [u8; 32],
    len: u8,
}

impl Path {
    /// The path of a trie's root.
    pub const ROOT: Self = Self { bytes: [0; 32], len: 0 };

    /// All nibbles of a key of whole bytes; `None` for a key of more than 32 bytes.
    pub fn of_bytes(key: &[u8]) -> Option<Self> {
        let mut bytes = [0; 32];
        bytes.get_mut(..key.len())?.copy_from_slice(key);
        Some(Self { bytes, len: key.len() as u8 * 2 })
    }

    /// All nibbles of a hashed key.
    pub const fn of_key(key: &B256) -> Self {
        Self { bytes: key.0, len: NIBBLES_MAX as u8 }
    }

    /// The path of the low four bits of each of `nibbles`; `None` for more than 64.
    pub fn of_nibbles(nibbles: impl IntoIterator<Item = u8>) -> Option<Self> {
        nibbles.into_iter().try_fold(Self::ROOT, |path, nibble| path.child(nibble))
    }

    /// The path of one nibble, the low four bits of `nibble`.
    pub const fn of_nibble(nibble: u8) -> Self {
        let mut bytes = [0; 32];
        bytes[0] = nibble << 4;
        Self { bytes, len: 1 }
    }

    /// Number of nibbles.
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether this is the path of the root.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The nibble at an index.
    ///
    /// # Panics
    /// When the index is 64 or more.
    pub const fn nibble(&self, index: usize) -> u8 {
        let byte = self.bytes[index / 2];
        if index.is_multiple_of(2) { byte >> 4 } else { byte & 15 }
    }

    /// All nibbles in order.
    pub fn nibbles(&self) -> impl ExactSizeIterator<Item = u8> {
        (0..self.len()).map(|index| self.nibble(index))
    }

    /// The path with one more nibble, the low four bits of `nibble`; `None` after 64 nibbles.
    pub fn child(&self, nibble: u8) -> Option<Self> {
        let mut path = *self;
        let byte = path.bytes.get_mut(self.len() / 2)?;
        *byte |= if self.len.is_multiple_of(2) { nibble << 4 } else { nibble & 15 };
        path.len += 1;
        Some(path)
    }

    /// This path followed by another; `None` if both together have more than 64 nibbles.
    pub(crate) fn join(&self, other: &Self) -> Option<Self> {
        other.nibbles().try_fold(*self, |path, nibble| path.child(nibble))
    }

    /// The path of the first `len` nibbles; the whole path if it is shorter.
    pub fn prefix(&self, len: usize) -> Self {
        let len = len.min(self.len());
        let mut bytes = [0; 32];
        let whole = len / 2;
        bytes[..whole].copy_from_slice(&self.bytes[..whole]);
        if len % 2 == 1 {
            bytes[whole] = self.bytes[whole] & 0xf0;
        }
        Self { bytes, len: len as u8 }
    }

    /// The path of the nibbles from index `from` on.
    pub fn suffix(&self, from: usize) -> Self {
        let mut path = Self::ROOT;
        for index in from..self.len() {
            let byte = &mut path.bytes[path.len as usize / 2];
            *byte |= self.nibble(index) << (4 * (1 - path.len % 2));
            path.len += 1;
        }
        path
    }

    /// Number of nibbles in the common prefix of both paths.
    pub fn common(&self, other: &Self) -> usize {
        let len = self.len().min(other.len());
        let (ours, theirs) = (self.bytes.as_chunks::<8>().0, other.bytes.as_chunks::<8>().0);
        for (index, (a, b)) in ours.iter().zip(theirs).enumerate() {
            let differing = u64::from_be_bytes(*a) ^ u64::from_be_bytes(*b);
            if differing != 0 {
                return len.min(index * 16 + differing.leading_zeros() as usize / 4);
            }
        }
        len
    }

    /// Whether this path begins with another.
    pub fn starts_with(&self, other: &Self) -> bool {
        other.len() <= self.len() && self.common(other) == other.len()
    }

    /// The first key below this path.
    pub const fn first_key(&self) -> B256 {
        B256::new(self.bytes)
    }

    /// The last key below this path.
    pub fn last_key(&self) -> B256 {
        let mut bytes = self.bytes;
        let whole = self.len().div_ceil(2);
        if self.len % 2 == 1 {
            bytes[whole - 1] |= 15;
        }
        bytes[whole..].fill(0xff);
        B256::new(bytes)
    }

    pub(crate) const fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("/")?;
        self.nibbles().try_for_each(|nibble| write!(f, "{nibble:x}"))
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn paths_do_as_slices_of_nibbles_do(
            a in prop::collection::vec(0_u8..16, 0..=64),
            b in prop::collection::vec(0_u8..16, 0..=64),
            at in 0_usize..=64,
        ) {
            let path = |nibbles: &[u8]| Path::of_nibbles(nibbles.iter().copied()).expect("64");
            let at = at.min(a.len());
            // `b` begins with a prefix of `a`, so the two paths have common nibbles.
            let b = [&a[..at / 2], &b[..b.len() / 2]].concat();
            let (one, two) = (path(&a), path(&b));
            prop_assert_eq!(one.nibbles().collect::<Vec<_>>(), a.clone());
            prop_assert_eq!(one.cmp(&two), a.cmp(&b));
            prop_assert_eq!(one.starts_with(&two), a.starts_with(&b));
            let common = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            prop_assert_eq!(one.common(&two), common);
            prop_assert_eq!(one.prefix(at), path(&a[..at]));
            prop_assert_eq!(one.suffix(at), path(&a[at..]));
            prop_assert_eq!(one.prefix(at).join(&one.suffix(at)), Some(one));
            let (first, last) = (one.first_key(), one.last_key());
            prop_assert!(Path::of_key(&first).starts_with(&one));
            prop_assert!(Path::of_key(&last).starts_with(&one));
            let rest = |key: &B256, nibble| Path::of_key(key).suffix(a.len()).nibbles().all(|n| n == nibble);
            prop_assert!(rest(&first, 0) && rest(&last, 15));
        }
    }

    #[test]
    fn a_path_has_at_most_sixty_four_nibbles() {
        let full = Path::of_key(&B256::repeat_byte(7));
        assert_eq!((full.len(), full.child(1), full.join(&Path::ROOT)), (64, None, Some(full)));
        assert!(Path::of_nibbles([1; 65]).is_none());
        assert!(Path::of_bytes(&[1; 33]).is_none());
        assert_eq!(format!("{}", full.prefix(3)), "/070");
    }
}
