//! Passes the nodes that a format stores from the builder to the sink. A closed branch waits here
//! until its children are hashed, since its record has their references.

use super::open::OpenBranch;
use crate::{
    error::Error,
    fold::Fold,
    format::{Child, Format, Weight},
    path::Path,
    record,
    reference::Reference,
    sink::{NodeKey, NodeSink},
};

#[derive(Debug)]
pub(super) struct Emitter {
    /// `None` if no node is stored.
    format: Option<Format>,
    /// Closed branches that are stored, except in [`Format::All`], with their paths.
    closed: Vec<(Path, OpenBranch)>,
    /// The record that is being written.
    record: Vec<u8>,
}

impl Emitter {
    pub(super) const fn new(format: Option<Format>) -> Self {
        Self { format, closed: Vec::new(), record: Vec::new() }
    }

    /// Takes a branch that has all its children. Returns the branch's weight.
    pub(super) fn close(&mut self, path: Path, branch: OpenBranch) -> Weight {
        match self.format {
            None => Weight::Small(u8::MAX),
            Some(Format::All) => Weight::Stored,
            Some(format) if format.is_stored(branch.weights()) => {
                self.closed.push((path, branch));
                Weight::Stored
            }
            Some(_) => Weight::sum(branch.weights()),
        }
    }

    /// Hands the records of all closed branches to the sink, or all nodes in [`Format::All`]. Their
    /// children must be hashed.
    pub(super) fn emit(&mut self, fold: &mut Fold, sink: &mut impl NodeSink) -> Result<(), Error> {
        let Some(format) = self.format else { return Ok(()) };
        for (path, branch) in self.closed.drain(..) {
            self.record.clear();
            self.record.extend_from_slice(&branch.mask().to_be_bytes());
            for nibble in branch.nibbles() {
                let own = (branch.node(nibble), Path::ROOT);
                let (node, extension) =
                    branch.extension(nibble).map_or(own, |child| (child.branch, child.extension));
                let reference = *fold.reference(node);
                let child = match branch.weight(nibble) {
                    Weight::Small(rows) => Child::Small { rows, reference: Some(reference) },
                    Weight::Stored => Child::Stored { extension, reference },
                };
                record::write_child(format, &child, &mut self.record);
            }
            put(sink, NodeKey::Node(path), &self.record)?;
        }
        fold.take_rlp(|path, rlp| put(sink, NodeKey::Node(*path), rlp))
    }

    /// Hands the record of the trie's top to the sink; `below` is its topmost stored branch.
    pub(super) fn emit_top(
        &mut self,
        root: &Reference,
        weight: Weight,
        below: Option<(Path, Reference)>,
        sink: &mut impl NodeSink,
    ) -> Result<(), Error> {
        let child = match (self.format, weight, below) {
            (None, ..) => return Ok(()),
            (Some(Format::All), ..) => {
                // Other nodes of less than 32 bytes are in their parents; a root has no parent.
                let inline = root.inline().map(|rlp| put(sink, NodeKey::Node(Path::ROOT), rlp));
                return inline.unwrap_or(Ok(()));
            }
            (_, Weight::Small(rows), _) => Child::Small { rows, reference: Some(*root) },
            (_, Weight::Stored, below) => {
                let (extension, reference) = below.unwrap_or((Path::ROOT, *root));
                Child::Stored { extension, reference }
            }
        };
        self.record.clear();
        record::write_top(&child, &mut self.record);
        put(sink, NodeKey::Top, &self.record)
    }
}

fn put(sink: &mut impl NodeSink, key: NodeKey, node: &[u8]) -> Result<(), Error> {
    sink.put(&key, node).map_err(|source| Error::Sink { path: key.path(), source })
}
