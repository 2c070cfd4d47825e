//! Verifies the stored nodes of a state against its rows. The stored nodes must equal the nodes
//! that are built again from the rows. The root must also equal the root of
//! `alloy_trie::HashBuilder`.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufReader, Read},
};

use workload::Table;

use super::{
    block::Block,
    files::{Files, open_to_scan},
    nodes::{NodeFile, NodeIndex, each_node},
    settings::NAME,
};
use crate::{
    error::StoreError,
    state::{BuiltTries, ScanInput, StateError, Watch},
    store::trie_stream::{self, NodeRow, SameNodes, StoredNodes},
};

/// Returns facts of the tries if all nodes are correct.
///
/// # Errors
/// [`StateError::Untrusted`] naming the first wrong node or the damaged file.
pub(super) fn verify(
    input: &ScanInput<'_>,
    watch: &Watch<'_>,
    files: &Files,
    nodes: &NodeFile,
) -> Result<BuiltTries, StateError> {
    let stored =
        Stored::new(nodes).map_err(|error| StateError::from(error).of_check(input.name))?;
    trie_stream::verify(input, watch, nodes.format, SameNodes(stored), |table, sink| {
        let file = if table == Table::Slots { &files.slots } else { &files.accounts };
        file.each_row(|error| damaged(error).into(), &mut |_, key, value| sink(key, value))
    })
}

fn damaged(error: io::Error) -> StoreError {
    StoreError::damaged(NAME, "a trie", error)
}

/// Reads the nodes of a file in order, block by block.
struct Stored<'f> {
    nodes: &'f NodeFile,
    reader: BufReader<File>,
    block: Box<Block>,
    /// First keys of the blocks that were read, to compare with the file's index.
    first_keys: NodeIndex,
    /// Nodes of the last block that `next` has not returned yet.
    pending: VecDeque<NodeRow>,
}

impl<'f> Stored<'f> {
    fn new(nodes: &'f NodeFile) -> Result<Self, StoreError> {
        let (block, first_keys) = (Box::new(Block::ZERO), NodeIndex::default());
        let reader = open_to_scan(nodes.file.path()).map_err(damaged)?;
        Ok(Self { nodes, reader, block, first_keys, pending: VecDeque::new() })
    }

    /// Reads the next block.
    fn fill(&mut self) -> io::Result<()> {
        let number = self.first_keys.block_count() as u64;
        self.reader.read_exact(&mut self.block.0)?;
        each_node(&self.block, number, &mut |key, node| {
            self.pending.push_back((key.into(), node.into()));
        })?;
        // Every block has a node: the writer never writes an empty block, and the checksum is
        // correct.
        if let Some((first, _)) = self.pending.front() {
            self.first_keys.push(first);
        }
        Ok(())
    }

    /// After the last block, checks that the file ends, and that the stored index equals the first
    /// keys of the blocks.
    fn end(&mut self) -> io::Result<()> {
        let reason = match self.reader.read(&mut [0])? {
            0 if self.first_keys == self.nodes.index => return Ok(()),
            0 => "the index of nodes does not fit their file",
            _ => "the file of nodes has more blocks than its index",
        };
        Err(io::Error::new(io::ErrorKind::InvalidData, reason))
    }
}

impl StoredNodes for Stored<'_> {
    const STORE: &'static str = NAME;

    fn next(&mut self) -> Result<Option<NodeRow>, StoreError> {
        if self.pending.is_empty() {
            if self.first_keys.block_count() == self.nodes.index.block_count() {
                self.end().map_err(damaged)?;
                return Ok(None);
            }
            self.fill().map_err(damaged)?;
        }
        Ok(self.pending.pop_front())
    }
}
