//! RLP of nodes (yellow paper, appendix D), in two steps: computes the length of a node, then
//! writes its bytes into memory of that length. So nodes are encoded right where they are hashed.

use crate::{path::Path, reference::Reference};

const EMPTY_STRING: u8 = 0x80;
/// Flags of a node's kind in the first byte of its path. A flag of 0x10 means an odd number of
/// nibbles (yellow paper, appendix C).
const LEAF: u8 = 0x20;
const EXTENSION: u8 = 0;

/// A path as nodes have it ("hex prefix"): flags, then the nibbles from index `from` on.
struct Compact<'a> {
    path: &'a Path,
    from: usize,
    flags: u8,
}

impl Compact<'_> {
    const fn len(&self) -> usize {
        (self.path.len() - self.from) / 2 + 1
    }

    fn write(&self, out: &mut [u8]) {
        let odd = (self.path.len() - self.from) % 2;
        out[0] =
            if odd == 1 { self.flags | 0x10 | self.path.nibble(self.from) } else { self.flags };
        let first = self.from + odd;
        if first.is_multiple_of(2) {
            let whole = first / 2;
            out[1..].copy_from_slice(&self.path.bytes()[whole..whole + self.len() - 1]);
        } else {
            for (index, byte) in out[1..].iter_mut().enumerate() {
                let high = first + 2 * index;
                *byte = self.path.nibble(high) << 4 | self.path.nibble(high + 1);
            }
        }
    }
}

/// Number of bytes that a length takes in a long header.
fn length_bytes(len: usize) -> usize {
    (usize::BITS as usize - len.leading_zeros() as usize).div_ceil(8)
}

fn header_len(payload: usize) -> usize {
    if payload < 56 { 1 } else { 1 + length_bytes(payload) }
}

/// Writes a header for a payload, and returns the rest of `out`. `short` is 0x80 for a string and
/// 0xc0 for a list.
fn write_header(out: &mut [u8], short: u8, payload: usize) -> &mut [u8] {
    let len = header_len(payload);
    let (own, rest) = out.split_at_mut(len);
    if len == 1 {
        own[0] = short + payload as u8;
    } else {
        own[0] = short + 55 + (len - 1) as u8;
        own[1..].copy_from_slice(&payload.to_be_bytes()[size_of::<usize>() + 1 - len..]);
    }
    rest
}

fn string_len(len: usize, first: Option<u8>) -> usize {
    if len == 1 && first < Some(EMPTY_STRING) { 1 } else { header_len(len) + len }
}

fn write_string<'a>(out: &'a mut [u8], bytes: &[u8]) -> &'a mut [u8] {
    let out = if bytes.len() == 1 && bytes[0] < EMPTY_STRING {
        out
    } else {
        write_header(out, EMPTY_STRING, bytes.len())
    };
    let (own, rest) = out.split_at_mut(bytes.len());
    own.copy_from_slice(bytes);
    rest
}

fn compact_len(compact: &Compact<'_>) -> usize {
    // One byte of flags is below 0x40, so it is its own RLP.
    if compact.len() == 1 { 1 } else { 1 + compact.len() }
}

fn write_compact<'a>(out: &'a mut [u8], compact: &Compact<'_>) -> &'a mut [u8] {
    let len = compact.len();
    let out = if len == 1 { out } else { write_header(out, EMPTY_STRING, len) };
    let (own, rest) = out.split_at_mut(len);
    compact.write(own);
    rest
}

/// A leaf: the nibbles of `path` from `from` on, and its value.
pub(crate) struct Leaf<'a> {
    pub(crate) path: &'a Path,
    pub(crate) from: usize,
    pub(crate) value: &'a [u8],
}

impl Leaf<'_> {
    fn compact(&self) -> Compact<'_> {
        Compact { path: self.path, from: self.from, flags: LEAF }
    }

    fn payload_len(&self) -> usize {
        compact_len(&self.compact()) + string_len(self.value.len(), self.value.first().copied())
    }

    pub(crate) fn len(&self) -> usize {
        let payload_len = self.payload_len();
        header_len(payload_len) + payload_len
    }

    /// Fills all of `out`.
    pub(crate) fn write(&self, out: &mut [u8]) {
        let out = write_header(out, 0xc0, self.payload_len());
        write_string(write_compact(out, &self.compact()), self.value);
    }
}

/// An extension: the nibbles of `path` from `from` on, and the branch below.
pub(crate) struct Extension<'a> {
    pub(crate) path: &'a Path,
    pub(crate) from: usize,
    pub(crate) child: &'a Reference,
}

impl Extension<'_> {
    fn compact(&self) -> Compact<'_> {
        Compact { path: self.path, from: self.from, flags: EXTENSION }
    }

    fn payload_len(&self) -> usize {
        compact_len(&self.compact()) + self.child.as_slice().len()
    }

    pub(crate) fn len(&self) -> usize {
        let payload_len = self.payload_len();
        header_len(payload_len) + payload_len
    }

    /// Fills all of `out`.
    pub(crate) fn write(&self, out: &mut [u8]) {
        let out = write_header(out, 0xc0, self.payload_len());
        write_compact(out, &self.compact()).copy_from_slice(self.child.as_slice());
    }
}

/// A branch without a value: its children by nibble.
pub(crate) struct Branch<F> {
    /// Bit n: there is a child at nibble n.
    mask: u16,
    child: F,
    payload: usize,
}

impl<'a, F: Fn(u8) -> &'a Reference> Branch<F> {
    /// The branch whose children are at the nibbles of `mask`.
    pub(crate) fn new(mask: u16, child: F) -> Self {
        // A byte for each nibble without a child, and one for the value.
        let mut payload = 17 - mask.count_ones() as usize;
        for nibble in nibbles(mask) {
            payload += child(nibble).as_slice().len();
        }
        Self { mask, child, payload }
    }

    pub(crate) fn len(&self) -> usize {
        header_len(self.payload) + self.payload
    }

    /// Fills all of `out`.
    pub(crate) fn write(&self, out: &mut [u8]) {
        let out = write_header(out, 0xc0, self.payload);
        let mut at = 0;
        let mut next = 0;
        for nibble in nibbles(self.mask) {
            let empty = usize::from(nibble - next);
            out[at..at + empty].fill(EMPTY_STRING);
            at += empty;
            at += (self.child)(nibble).write(&mut out[at..]);
            next = nibble + 1;
        }
        out[at..].fill(EMPTY_STRING);
    }
}

/// Nibbles whose bit is set, ascending.
pub(crate) fn nibbles(mut mask: u16) -> impl Iterator<Item = u8> + Clone {
    std::iter::from_fn(move || {
        let nibble = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (nibble < 16).then_some(nibble as u8)
    })
}
