//! The stored nodes of a state against its rows: each is the one that the rows make, there is no
//! other, and the root is that of `alloy_trie::HashBuilder` too.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufReader, Read},
};

use super::{
    block::Block,
    files::{Files, RowFile},
    nodes::{NodeFile, NodeIndex, each_node},
    settings::NAME,
};
use crate::{
    error::StoreError,
    state::{BuildPhase, BuiltTries, ScanInput, StateError, Watch},
    store::trie_stream::{Hashing, NodeRow, SameNodes, StoredNodes, StreamOf, TrieStream},
};

/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 1 << 20;
/// Blocks between two looks at the cancel flag.
const REPORT_BLOCKS: usize = 1 << 10;

/// The tries, if all nodes are right.
///
/// # Errors
/// [`StateError::Untrusted`] naming the first wrong node.
pub(super) fn verify(
    input: &ScanInput<'_>,
    files: &Files,
    nodes: &NodeFile,
    watch: &Watch<'_>,
) -> Result<BuiltTries, StateError> {
    let rows = &input.manifest.rows;
    watch.progress.begin(BuildPhase::Tries, rows.accounts + rows.slots);
    compare(files, nodes, watch).map_err(|error| error.of_check(input.name))
}

fn compare(files: &Files, nodes: &NodeFile, watch: &Watch<'_>) -> Result<BuiltTries, StateError> {
    let stored = SameNodes { store: NAME, stored: Stored::new(nodes)? };
    let of = StreamOf { store: NAME, format: nodes.format, hashing: Hashing::Twice };
    let mut tries = TrieStream::new(of, stored);
    each_row(&files.slots, watch, &mut |key, value| tries.slot(key, value))?;
    each_row(&files.accounts, watch, &mut |key, value| tries.account(key, value))?;
    let (built, stored) = tries.finish()?;
    stored.end()?;
    Ok(built)
}

/// Takes a row: its key and its value.
type RowSink<'s> = dyn FnMut(&[u8], &[u8]) -> Result<(), StateError> + 's;

/// Hands over all rows of a file.
fn each_row(file: &RowFile, watch: &Watch<'_>, sink: &mut RowSink<'_>) -> Result<(), StateError> {
    let mut reader = open(file.file.path()).map_err(damaged)?;
    let mut block = Box::new(Block::ZERO);
    let mut row_count = 0;
    for number in 0..file.index.block_count() {
        reader.read_exact(&mut block.0).map_err(damaged)?;
        for (key, value) in file.rows(&block, number as u64).map_err(damaged)?.iter() {
            sink(key, value)?;
            row_count += 1;
        }
        if number.is_multiple_of(REPORT_BLOCKS) {
            watch.progress.advance(std::mem::take(&mut row_count));
            watch.check()?;
        }
    }
    watch.progress.advance(row_count);
    Ok(())
}

fn open(path: &std::path::Path) -> io::Result<BufReader<File>> {
    Ok(BufReader::with_capacity(BUFFER_BYTES, File::open(path)?))
}

fn damaged(error: io::Error) -> StoreError {
    let reason = error.to_string();
    StoreError::Damaged { store: NAME, what: "a trie".to_owned(), reason }
}

/// The nodes of a file, one block after the other.
struct Stored<'f> {
    nodes: &'f NodeFile,
    reader: BufReader<File>,
    block: Box<Block>,
    /// Blocks that were read, and their first keys.
    read: NodeIndex,
    /// Of the last block.
    left: VecDeque<NodeRow>,
}

impl<'f> Stored<'f> {
    fn new(nodes: &'f NodeFile) -> Result<Self, StoreError> {
        let (block, read) = (Box::new(Block::ZERO), NodeIndex::default());
        let reader = open(nodes.file.path()).map_err(damaged)?;
        Ok(Self { nodes, reader, block, read, left: VecDeque::new() })
    }

    /// Reads the next block.
    fn fill(&mut self) -> io::Result<()> {
        let number = self.read.block_count() as u64;
        self.reader.read_exact(&mut self.block.0)?;
        let left = &mut self.left;
        each_node(&self.block, number, &mut |key, node| left.push_back((key.into(), node.into())))?;
        if let Some((first, _)) = self.left.front() {
            self.read.push(first);
        }
        Ok(())
    }

    /// After the last block: the file ends, and its index is that of its blocks.
    fn end(&mut self) -> io::Result<()> {
        let reason = match self.reader.read(&mut [0])? {
            0 if self.read == self.nodes.index => return Ok(()),
            0 => "the index of nodes does not fit their file",
            _ => "the file of nodes has more blocks than its index",
        };
        Err(io::Error::new(io::ErrorKind::InvalidData, reason))
    }
}

impl StoredNodes for Stored<'_> {
    fn next(&mut self) -> Result<Option<NodeRow>, StoreError> {
        if self.left.is_empty() {
            if self.read.block_count() == self.nodes.index.block_count() {
                self.end().map_err(damaged)?;
                return Ok(None);
            }
            self.fill().map_err(damaged)?;
        }
        Ok(self.left.pop_front())
    }
}
