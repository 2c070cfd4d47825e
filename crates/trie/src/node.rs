//! Decodes and encodes stored nodes: records (`record.rs`), and the RLP of [`Format::All`]. Updates
//! and checks of a store read nodes here.

use alloy_rlp::Header;

use crate::{
    error::NodeError,
    format::{Child, Format},
    path::{NIBBLES_MAX, Path},
    record,
    reference::Reference,
    rlp,
    sink::NodeKey,
};

const EMPTY_STRING: u8 = 0x80;

/// A stored node, checked: it encodes to the bytes that it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredNode(pub(crate) Node);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Top(Child),
    Branch(Box<Children>),
    Leaf { suffix: Path, value: Vec<u8> },
    Extension { suffix: Path, child: Reference },
}

/// The children of a branch by nibble.
pub(crate) type Children = [Option<Child>; 16];

impl StoredNode {
    /// Decodes the bytes that a store has under a key.
    ///
    /// # Errors
    /// The bytes are not a node of the format, or not the node's only valid encoding.
    pub fn decode(format: Format, key: &NodeKey, bytes: &[u8]) -> Result<Self, NodeError> {
        match (format, key) {
            (Format::All, NodeKey::Top) => Err(NodeError::Kind),
            (Format::All, NodeKey::Node(path)) => read_rlp(bytes, path.len()).map(Self),
            (_, NodeKey::Top) => {
                let child = record::read_top(format, bytes)?;
                check_depth(&child, 0)?;
                Ok(Self(Node::Top(child)))
            }
            (_, NodeKey::Node(path)) => {
                let children = read_branch(format, bytes, path.len())?;
                Ok(Self(Node::Branch(Box::new(children))))
            }
        }
    }

    /// The node's bytes in a store.
    pub fn encode(&self, format: Format) -> Vec<u8> {
        let mut out = Vec::new();
        match &self.0 {
            Node::Top(child) => record::write_top(child, &mut out),
            Node::Branch(children) if format == Format::All => {
                // All children of such a branch are of the kind `Child::Node`.
                let branch = rlp::Branch::new(mask(children), |nibble| {
                    match &children[usize::from(nibble)] {
                        Some(Child::Node(reference)) => reference,
                        _ => &Reference::PENDING,
                    }
                });
                out.resize(branch.len(), 0);
                branch.write(&mut out);
            }
            Node::Branch(children) => {
                out.extend_from_slice(&mask(children).to_be_bytes());
                let children = children.iter().flatten();
                children.for_each(|child| record::write_child(format, child, &mut out));
            }
            Node::Leaf { suffix, value } => {
                let leaf = rlp::Leaf { path: suffix, from: 0, value };
                out.resize(leaf.len(), 0);
                leaf.write(&mut out);
            }
            Node::Extension { suffix, child } => {
                let extension = rlp::Extension { path: suffix, from: 0, child };
                out.resize(extension.len(), 0);
                extension.write(&mut out);
            }
        }
        out
    }

    /// Number of children of a branch; `None` for other nodes.
    pub fn child_count(&self) -> Option<usize> {
        match &self.0 {
            Node::Branch(children) => Some(children.iter().flatten().count()),
            Node::Top(_) | Node::Leaf { .. } | Node::Extension { .. } => None,
        }
    }
}

fn mask(children: &Children) -> u16 {
    let present = children.iter().enumerate().filter(|(_, child)| child.is_some());
    present.fold(0, |mask, (nibble, _)| mask | 1 << nibble)
}

/// Checks that the path of a child's stored branch is shorter than a key. The child's own path has
/// `depth` nibbles.
fn check_depth(child: &Child, depth: usize) -> Result<(), NodeError> {
    match child {
        Child::Stored { extension, .. } if depth + extension.len() >= NIBBLES_MAX => {
            Err(NodeError::Path)
        }
        _ => Ok(()),
    }
}

/// Reads the children of a stored branch whose path has `depth` nibbles.
pub(crate) fn read_branch(
    format: Format,
    bytes: &[u8],
    depth: usize,
) -> Result<Children, NodeError> {
    if format == Format::All {
        return match read_rlp(bytes, depth)? {
            Node::Branch(children) => Ok(*children),
            _ => Err(NodeError::Shape),
        };
    }
    let mut children = Children::default();
    let mut depth_check = if depth < NIBBLES_MAX { Ok(()) } else { Err(NodeError::Path) };
    record::read_branch(format, bytes, |nibble, child| {
        depth_check = depth_check.and_then(|()| check_depth(&child, depth + 1));
        children[usize::from(nibble)] = Some(child);
    })?;
    depth_check.map(|()| children)
}

/// Reads a node whose path has `depth` nibbles.
pub(crate) fn read_rlp(bytes: &[u8], depth: usize) -> Result<Node, NodeError> {
    let mut rest = bytes;
    let header = Header::decode(&mut rest).map_err(|_| NodeError::Rlp)?;
    if !header.list {
        return Err(NodeError::Rlp);
    }
    if rest.len() != header.payload_length {
        return Err(if rest.len() < header.payload_length {
            NodeError::Short
        } else {
            NodeError::Long
        });
    }
    if depth > NIBBLES_MAX {
        return Err(NodeError::Path);
    }
    match item_count(rest)? {
        2 => read_short(rest, depth),
        17 => read_full(rest, depth),
        _ => Err(NodeError::ItemCount),
    }
}

/// Returns the number of items of a list. Stops counting at 18.
fn item_count(mut payload: &[u8]) -> Result<usize, NodeError> {
    let mut count = 0;
    while !payload.is_empty() && count < 18 {
        let header = Header::decode(&mut payload).map_err(|_| NodeError::Rlp)?;
        payload = payload.get(header.payload_length..).ok_or(NodeError::Short)?;
        count += 1;
    }
    Ok(count)
}

fn split_string<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], NodeError> {
    Header::decode_bytes(bytes, false).map_err(|_| NodeError::Rlp)
}

/// Reads a leaf or an extension.
fn read_short(mut payload: &[u8], depth: usize) -> Result<Node, NodeError> {
    let compact = split_string(&mut payload)?;
    let (flags, whole) = compact.split_first().ok_or(NodeError::Path)?;
    // Hex prefix (yellow paper, appendix C): kind, oddness, and the first nibble of an odd number.
    let (kind, odd, low) = (flags >> 5, flags >> 4 & 1 == 1, flags & 15);
    if kind > 1 || !odd && low != 0 {
        return Err(NodeError::Path);
    }
    let pairs = whole.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let suffix = Path::of_nibbles(odd.then_some(low).into_iter().chain(pairs));
    let suffix = suffix.ok_or(NodeError::Path)?;
    let end = depth + suffix.len();
    if kind == 1 {
        let value = split_string(&mut payload)?;
        if value.is_empty() {
            return Err(NodeError::Shape);
        }
        if end != NIBBLES_MAX {
            return Err(NodeError::Path);
        }
        return Ok(Node::Leaf { suffix, value: value.to_vec() });
    }
    if suffix.is_empty() || end >= NIBBLES_MAX {
        return Err(NodeError::Path);
    }
    let (child, rest) = Reference::split(payload)?;
    if rest.is_empty() { Ok(Node::Extension { suffix, child }) } else { Err(NodeError::Long) }
}

fn read_full(mut payload: &[u8], depth: usize) -> Result<Node, NodeError> {
    if depth >= NIBBLES_MAX {
        return Err(NodeError::Path);
    }
    let mut children = Box::<Children>::default();
    for child in children.iter_mut() {
        if payload.first() == Some(&EMPTY_STRING) {
            payload = &payload[1..];
        } else {
            let (reference, rest) = Reference::split(payload)?;
            *child = Some(Child::Node(reference));
            payload = rest;
        }
    }
    if payload != [EMPTY_STRING] || mask(&children).count_ones() < 2 {
        return Err(NodeError::Shape);
    }
    Ok(Node::Branch(children))
}
