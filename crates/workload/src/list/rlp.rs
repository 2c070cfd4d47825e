//! Strict RLP: a cursor that accepts only the one canonical encoding of each item, and never
//! copies. Knows nothing of the meaning of items: the decoders of lists do.

use alloy_primitives::{Address, B256, U256};

use super::error::ListError;

/// First byte of an empty list. A list of up to 55 bytes begins with 0xc0 + its length.
const LIST: u8 = 0xc0;
/// First byte of an empty string. A string of up to 55 bytes begins with 0x80 + its length.
const STRING: u8 = 0x80;
/// Maximum length in bytes of a payload whose length stands in the first byte.
const SHORT_MAX_BYTES: u8 = 55;

/// Reads 32 big-endian bytes as an integer. `U256::from_be_bytes` goes byte by byte where overflow
/// checks are on.
#[inline]
fn word_of(bytes: &[u8; 32]) -> U256 {
    let mut limbs = [0; 4];
    for (limb, chunk) in limbs.iter_mut().rev().zip(bytes.as_chunks::<8>().0) {
        *limb = u64::from_be_bytes(*chunk);
    }
    U256::from_limbs(limbs)
}

/// Reads at most 32 big-endian bytes as an integer.
fn short_word_of(bytes: &[u8]) -> U256 {
    if bytes.len() <= 8 {
        let low = bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        return U256::from_limbs([low, 0, 0, 0]);
    }
    let mut word = [0; 32];
    word[32 - bytes.len()..].copy_from_slice(bytes);
    word_of(&word)
}

/// The items of a list's payload that are not taken yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    /// Offset in the whole input at which the payload ends.
    end: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(input: &'a [u8]) -> Self {
        Self { rest: input, end: input.len() }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Offset in the whole input of the next item.
    pub(super) const fn offset(&self) -> usize {
        self.end - self.rest.len()
    }

    /// Fails when an item is left.
    pub(super) const fn finish(&self) -> Result<(), ListError> {
        if self.is_empty() {
            return Ok(());
        }
        Err(ListError::SurplusField { offset: self.offset() })
    }

    /// Enters the list that comes next.
    pub(super) fn list(&mut self) -> Result<Self, ListError> {
        let offset = self.offset();
        let first = self.first_byte()?;
        if first < LIST {
            return Err(ListError::NotAList { offset });
        }
        let rest = self.payload(first - LIST, offset)?;
        Ok(Self { rest, end: self.offset() })
    }

    /// The string that comes next.
    pub(super) fn string(&mut self) -> Result<&'a [u8], ListError> {
        let offset = self.offset();
        let before = self.rest;
        let first = self.first_byte()?;
        if first < STRING {
            return Ok(&before[..1]);
        }
        if first >= LIST {
            return Err(ListError::NotAString { offset });
        }
        let payload = self.payload(first - STRING, offset)?;
        match payload {
            [byte] if *byte < STRING => Err(ListError::HeadedByte { offset }),
            _ => Ok(payload),
        }
    }

    /// The big-endian bytes of the integer that comes next: none for zero.
    pub(super) fn integer(&mut self, max_bytes: usize) -> Result<&'a [u8], ListError> {
        let offset = self.offset();
        let bytes = self.string()?;
        if bytes.first() == Some(&0) {
            return Err(ListError::LeadingZero { offset });
        }
        if bytes.len() > max_bytes {
            return Err(ListError::WideInteger { offset, max_bytes });
        }
        Ok(bytes)
    }

    /// The integer of at most 32 bytes that comes next.
    #[inline]
    pub(super) fn u256(&mut self) -> Result<U256, ListError> {
        match self.full_u256() {
            Some(value) => Ok(value),
            None => self.integer(32).map(short_word_of),
        }
    }

    /// Takes the next integer if it has all 32 bytes, as almost every key and value has. Takes
    /// nothing, and returns `None`, where it is shorter or not canonical.
    #[inline]
    pub(super) fn full_u256(&mut self) -> Option<U256> {
        let ([first, word @ ..], rest) = self.rest.split_first_chunk::<33>()?;
        if *first != STRING + 32 || word[0] == 0 {
            return None;
        }
        self.rest = rest;
        Some(word_of(word))
    }

    /// The integer of at most 8 bytes that comes next.
    pub(super) fn u64(&mut self) -> Result<u64, ListError> {
        let bytes = self.integer(8)?;
        Ok(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// The integer of at most 4 bytes that comes next.
    pub(super) fn u32(&mut self) -> Result<u32, ListError> {
        let bytes = self.integer(4)?;
        Ok(bytes.iter().fold(0, |value, byte| value << 8 | u32::from(*byte)))
    }

    /// The address that comes next.
    pub(super) fn address(&mut self) -> Result<Address, ListError> {
        let offset = self.offset();
        let bytes = self.string()?;
        Address::try_from(bytes)
            .map_err(|_| ListError::AddressLength { offset, got_bytes: bytes.len() })
    }

    /// The hash of 32 bytes that comes next.
    pub(super) fn hash(&mut self) -> Result<B256, ListError> {
        let offset = self.offset();
        let bytes = self.string()?;
        B256::try_from(bytes).map_err(|_| ListError::HashLength { offset, got_bytes: bytes.len() })
    }

    fn first_byte(&mut self) -> Result<u8, ListError> {
        let offset = self.offset();
        let (first, rest) = self.rest.split_first().ok_or(ListError::MissingItem { offset })?;
        self.rest = rest;
        Ok(*first)
    }

    /// Takes the payload of the item at `offset`. `length_code` is the item's first byte, minus
    /// [`LIST`] or [`STRING`]. Up to 55 it is the payload's length. Above, it is 55 + the number of
    /// bytes that the length takes.
    fn payload(&mut self, length_code: u8, offset: usize) -> Result<&'a [u8], ListError> {
        let len = match length_code.checked_sub(SHORT_MAX_BYTES) {
            None | Some(0) => usize::from(length_code),
            Some(width) => self.long_length(usize::from(width), offset)?,
        };
        let (payload, rest) =
            self.rest.split_at_checked(len).ok_or(ListError::Overrun { offset })?;
        self.rest = rest;
        Ok(payload)
    }

    /// Takes a length of `width` bytes, 1..=8.
    fn long_length(&mut self, width: usize, offset: usize) -> Result<usize, ListError> {
        let (bytes, rest) =
            self.rest.split_at_checked(width).ok_or(ListError::Overrun { offset })?;
        let len = bytes.iter().fold(0_u64, |len, byte| len << 8 | u64::from(*byte));
        if bytes.first() == Some(&0) || len <= u64::from(SHORT_MAX_BYTES) {
            return Err(ListError::LongLength { offset });
        }
        self.rest = rest;
        usize::try_from(len).map_err(|_| ListError::Overrun { offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_an_item_but_the_shortest_is_refused() {
        let string = |bytes: &[u8]| Cursor::new(bytes).string().map(<[u8]>::to_vec);
        assert_eq!(string(&[0x81, 0x7f]), Err(ListError::HeadedByte { offset: 0 }));
        assert_eq!(string(&[0xb8, 1, 0x80]), Err(ListError::LongLength { offset: 0 }));
        assert_eq!(string(&[0xb9, 0, 56]), Err(ListError::LongLength { offset: 0 }));
        assert_eq!(string(&[0x82, 1]), Err(ListError::Overrun { offset: 0 }));
        assert_eq!(string(&[0xbf; 9]), Err(ListError::Overrun { offset: 0 }));
        assert_eq!(string(&[]), Err(ListError::MissingItem { offset: 0 }));
        assert_eq!(string(&[0xc0]), Err(ListError::NotAString { offset: 0 }));
        assert_eq!(string(&[0x81, 0x80]), Ok(vec![0x80]));
    }

    #[test]
    fn integers_have_no_leading_zero_and_keep_to_their_width() {
        assert_eq!(Cursor::new(&[0]).u64(), Err(ListError::LeadingZero { offset: 0 }));
        assert_eq!(Cursor::new(&[0x80]).u64(), Ok(0));
        assert_eq!(Cursor::new(&[0x82, 1, 2]).u32(), Ok(0x102));
        let wide = [0x85, 1, 0, 0, 0, 0];
        let error = ListError::WideInteger { offset: 0, max_bytes: 4 };
        assert_eq!(Cursor::new(&wide).u32(), Err(error));
        let mut padded = [0xff; 33];
        padded[..2].copy_from_slice(&[0xa0, 0]);
        assert_eq!(Cursor::new(&padded).u256(), Err(ListError::LeadingZero { offset: 0 }));
    }

    #[test]
    fn offsets_count_from_the_start_of_the_input() {
        let mut cursor = Cursor::new(&[0xc3, 0x01, 0xc1, 0x02]);
        let mut outer = cursor.list().unwrap();
        assert_eq!(outer.u64(), Ok(1));
        let inner = outer.list().unwrap();
        assert_eq!(inner.offset(), 3);
        assert_eq!(inner.finish(), Err(ListError::SurplusField { offset: 3 }));
        assert!(outer.is_empty() && cursor.is_empty());
    }
}
