//! Encoding of stored nodes in all formats except [`Format::All`]: the top of a trie, and branches.
//!
//! ```text
//! top    = child                       of the root
//! branch = mask (2 bytes, big-endian; bit n: a child at nibble n) child…
//! child  = rows (1 to 250) reference?          no stored branch below; see `Format`
//!        | 0x00 reference                      a stored branch at the child's own path
//!        | 0xff nibbles path reference         a stored branch below: `path` from the child to it,
//!                                              of `nibbles` nibbles, padded to whole bytes
//! reference = 0xa0 hash | RLP of a node of fewer than 32 bytes
//! ```

use crate::{
    error::NodeError,
    format::{Child, Format, Weight},
    path::{NIBBLES_MAX, Path},
    reference::Reference,
    rlp::nibbles,
};

const STORED: u8 = 0;
const STORED_BELOW: u8 = 0xff;

/// Appends a child to a record.
pub(crate) fn write_child(format: Format, child: &Child, out: &mut Vec<u8>) {
    match child {
        Child::Small { rows, reference } => {
            out.push(*rows);
            if let Some(reference) = reference.filter(|_| format.keeps_reference(*rows)) {
                out.extend_from_slice(reference.as_slice());
            }
        }
        Child::Stored { extension, reference } => {
            if extension.is_empty() {
                out.push(STORED);
            } else {
                out.extend_from_slice(&[STORED_BELOW, extension.len() as u8]);
                out.extend_from_slice(&extension.bytes()[..extension.len().div_ceil(2)]);
            }
            out.extend_from_slice(reference.as_slice());
        }
        Child::Node(reference) => out.extend_from_slice(reference.as_slice()),
    }
}

/// Takes a child from the beginning of `bytes`.
fn split_child(format: Format, bytes: &[u8]) -> Result<(Child, &[u8]), NodeError> {
    let (kind, rest) = bytes.split_first().ok_or(NodeError::Short)?;
    match *kind {
        STORED => {
            let (reference, rest) = Reference::split(rest)?;
            Ok((Child::Stored { extension: Path::ROOT, reference }, rest))
        }
        STORED_BELOW => {
            let (len, rest) = rest.split_first().ok_or(NodeError::Short)?;
            let len = usize::from(*len);
            if len == 0 || len >= NIBBLES_MAX {
                return Err(NodeError::Path);
            }
            let (bytes, rest) = rest.split_at_checked(len.div_ceil(2)).ok_or(NodeError::Short)?;
            let whole = Path::of_bytes(bytes).ok_or(NodeError::Path)?;
            let extension = whole.prefix(len);
            if extension.bytes() != whole.bytes() {
                return Err(NodeError::Path);
            }
            let (reference, rest) = Reference::split(rest)?;
            Ok((Child::Stored { extension, reference }, rest))
        }
        rows if rows <= format.small_rows_max() => {
            if !format.keeps_reference(rows) {
                return Ok((Child::Small { rows, reference: None }, rest));
            }
            let (reference, rest) = Reference::split(rest)?;
            Ok((Child::Small { rows, reference: Some(reference) }, rest))
        }
        _ => Err(NodeError::Kind),
    }
}

/// Writes the record of a trie's top, always with the reference.
pub(crate) fn write_top(child: &Child, out: &mut Vec<u8>) {
    // The format `Branches` keeps the references of all children.
    write_child(Format::Branches, child, out);
}

/// Reads the record of a trie's top.
pub(crate) fn read_top(format: Format, bytes: &[u8]) -> Result<Child, NodeError> {
    let (kind, rest) = bytes.split_first().ok_or(NodeError::Short)?;
    let (child, rest) = match *kind {
        STORED | STORED_BELOW => split_child(format, bytes)?,
        rows if rows <= format.small_rows_max() => {
            let (reference, rest) = Reference::split(rest)?;
            (Child::Small { rows, reference: Some(reference) }, rest)
        }
        _ => return Err(NodeError::Kind),
    };
    if rest.is_empty() { Ok(child) } else { Err(NodeError::Long) }
}

/// Reads the record of a branch.
pub(crate) fn read_branch(
    format: Format,
    bytes: &[u8],
    mut each: impl FnMut(u8, Child),
) -> Result<(), NodeError> {
    let (mask, mut rest) = bytes.split_at_checked(2).ok_or(NodeError::Short)?;
    let mask = u16::from_be_bytes([mask[0], mask[1]]);
    if mask.count_ones() < 2 {
        return Err(NodeError::Shape);
    }
    let mut weights = [Weight::Small(0); 16];
    for nibble in nibbles(mask) {
        let (child, behind) = split_child(format, rest)?;
        rest = behind;
        weights[usize::from(nibble)] = child.weight();
        each(nibble, child);
    }
    if !format.is_stored(weights.into_iter()) {
        return Err(NodeError::Kind);
    }
    if rest.is_empty() { Ok(()) } else { Err(NodeError::Long) }
}
