//! The file of the nodes of tries: nodes of many sizes in blocks of 4 KiB, in the order of their
//! keys. The first key of each block is in memory.
//!
//! ```text
//! checksum 8 ‖ node count 2 ‖ zeros 6 ‖ nodes ‖ zeros
//! node: length of shared prefix 1 ‖ length of rest 1 ‖ length of node 2 ‖ rest of the key ‖ node
//! ```
//!
//! The numbers above are sizes in bytes. An entry stores the length of the prefix that its key
//! shares with the key before, and the rest of the key. The first key of a block is stored whole.
//! [`TrieId::slots_first_key`](crate::tries::TrieId::slots_first_key) makes the keys.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use trie::{Format, StoreError as SinkError};

use super::{
    block::{BLOCK_BYTES, Block, HEADER_BYTES, seal_nodes, sealed_nodes},
    dual_file::DualFile,
    settings::{NAME, failed_io},
};
use crate::{
    state::StateError,
    store::{sealed, trie_stream::NodeRows},
};

/// Name of the file of nodes.
pub(super) const NODES: &str = "tries.flat";
/// Name of the file with the index of nodes.
pub(super) const NODES_INDEX: &str = "tries.index";
/// Number of bytes of the three lengths at the beginning of an entry.
const ENTRY_HEADER_BYTES: usize = 4;
/// Buffer size of a file that is written.
const BUFFER_BYTES: usize = 1 << 20;

/// The first key of each block.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NodeIndex {
    /// All keys, concatenated.
    keys: Vec<u8>,
    /// End of each key in `keys`.
    ends: Vec<u64>,
}

impl NodeIndex {
    /// Adds the first key of the next block.
    pub(super) fn push(&mut self, key: &[u8]) {
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len() as u64);
    }

    pub(super) const fn block_count(&self) -> usize {
        self.ends.len()
    }

    /// Returns the memory of the index, in bytes.
    pub(super) const fn byte_count(&self) -> usize {
        self.keys.len() + self.ends.len() * size_of::<u64>()
    }

    /// Returns the number of the block that holds the node with `key`, if the node exists. `None`
    /// if the key is before all nodes.
    pub(super) fn locate(&self, key: &[u8]) -> Option<usize> {
        let (mut from, mut to) = (0, self.block_count());
        while from < to {
            let middle = from.midpoint(to);
            if self.first_key(middle) <= key { from = middle + 1 } else { to = middle }
        }
        from.checked_sub(1)
    }

    fn first_key(&self, block: usize) -> &[u8] {
        let start = block.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.keys[start as usize..self.ends[block] as usize]
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(self.keys.len() + self.block_count());
        for block in 0..self.block_count() {
            let key = self.first_key(block);
            bytes.push(key.len() as u8);
            bytes.extend_from_slice(key);
        }
        sealed::write(path, bytes)
    }

    fn read(path: &Path) -> io::Result<Self> {
        let bytes = sealed::read(path)?;
        let mut index = Self::default();
        let mut rest = bytes.as_slice();
        while let Some((len, after)) = rest.split_first() {
            let split = after.split_at_checked(usize::from(*len));
            let (key, after) = split.ok_or_else(|| sealed::damaged(path))?;
            index.push(key);
            rest = after;
        }
        Ok(index)
    }
}

/// The file of nodes, open for reads, with its index.
#[derive(Debug)]
pub(super) struct NodeFile {
    pub(super) file: DualFile,
    pub(super) index: NodeIndex,
    /// Format that decides which nodes are stored.
    pub(super) format: Format,
}

impl NodeFile {
    /// Opens the file of nodes of a state in `dir`.
    pub(super) fn open(dir: &Path, format: Format) -> io::Result<Self> {
        let index = NodeIndex::read(&dir.join(NODES_INDEX))?;
        Ok(Self { file: DualFile::open(dir.join(NODES))?, index, format })
    }
}

fn damaged(number: u64, reason: &str) -> io::Error {
    let reason = format!("block {number} of {NODES} {reason}");
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// A node as its block stores it.
struct Entry<'b> {
    /// Length of the prefix that the key shares with the key before.
    shared_bytes: usize,
    /// The rest of the key.
    key_rest: &'b [u8],
    node: &'b [u8],
}

/// Splits off the first of `entries`.
fn split_first(entries: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    let (&[shared, key_bytes, low, high], after) =
        entries.split_first_chunk::<ENTRY_HEADER_BYTES>()?;
    let (key_rest, after) = after.split_at_checked(usize::from(key_bytes))?;
    let (node, after) = after.split_at_checked(usize::from(u16::from_le_bytes([low, high])))?;
    Some((Entry { shared_bytes: usize::from(shared), key_rest, node }, after))
}

/// Passes each node of `block`, which was read as block `number`, to `sink`: first the key, then
/// the node.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] if the block is damaged.
pub(super) fn each_node(
    block: &Block,
    number: u64,
    sink: &mut dyn FnMut(&[u8], &[u8]),
) -> io::Result<()> {
    let (count, mut rest) =
        sealed_nodes(block, number).ok_or_else(|| damaged(number, "does not have its checksum"))?;
    let mut key = Vec::new();
    for _ in 0..count {
        let (entry, after) =
            split_first(rest).ok_or_else(|| damaged(number, "has a node beyond its end"))?;
        if entry.shared_bytes > key.len() {
            return Err(damaged(number, "has a key that shares more than the previous key"));
        }
        key.truncate(entry.shared_bytes);
        key.extend_from_slice(entry.key_rest);
        sink(&key, entry.node);
        rest = after;
    }
    Ok(())
}

/// Writes the file of nodes of a new state.
pub(super) struct NodeWriter {
    file: BufWriter<File>,
    index: NodeIndex,
    block: Box<Block>,
    /// Number of nodes in the open block.
    count: u16,
    /// Number of used bytes of the open block.
    len: usize,
    /// The last key of the open block; empty for an empty block.
    last: Vec<u8>,
    index_path: PathBuf,
}

impl NodeWriter {
    /// Creates the file of nodes in `dir`.
    pub(super) fn create(dir: &Path) -> io::Result<Self> {
        Ok(Self {
            file: BufWriter::with_capacity(BUFFER_BYTES, File::create(dir.join(NODES))?),
            index: NodeIndex::default(),
            block: Box::new(Block::ZERO),
            count: 0,
            len: HEADER_BYTES,
            last: Vec::new(),
            index_path: dir.join(NODES_INDEX),
        })
    }

    /// Writes the last block, and the index.
    fn finish(mut self) -> io::Result<()> {
        self.end_block()?;
        self.file.flush()?;
        self.index.write(&self.index_path)
    }

    fn end_block(&mut self) -> io::Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let number = self.index.block_count() as u64 - 1;
        seal_nodes(&mut self.block, number, self.count);
        self.file.write_all(&self.block.0)?;
        *self.block = Block::ZERO;
        (self.count, self.len) = (0, HEADER_BYTES);
        self.last.clear();
        Ok(())
    }

    fn add(&mut self, key: &[u8], node: &[u8]) -> io::Result<()> {
        let mut shared = key.iter().zip(&self.last).take_while(|(a, b)| a == b).count();
        if self.len + ENTRY_HEADER_BYTES + key.len() - shared + node.len() > BLOCK_BYTES {
            self.end_block()?;
            shared = 0;
        }
        let rest = &key[shared..];
        let sizes = (u8::try_from(shared), u8::try_from(rest.len()), u16::try_from(node.len()));
        let end = self.len + ENTRY_HEADER_BYTES + rest.len() + node.len();
        let (Ok(shared), Ok(key_bytes), Ok(node_bytes), true) =
            (sizes.0, sizes.1, sizes.2, end <= BLOCK_BYTES)
        else {
            let reason = format!("a node of {} bytes does not fit in a block", node.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        };
        if self.count == 0 {
            self.index.push(key);
        }
        let [low, high] = node_bytes.to_le_bytes();
        let mut at = self.len;
        for part in [&[shared, key_bytes, low, high], rest, node] {
            self.block.0[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        (self.count, self.len) = (self.count + 1, end);
        self.last.clear();
        self.last.extend_from_slice(key);
        Ok(())
    }
}

impl NodeRows for NodeWriter {
    const STORE: &'static str = NAME;

    fn node(&mut self, key: &[u8], node: &[u8]) -> Result<(), SinkError> {
        Ok(self.add(key, node).map_err(failed_io("write nodes of tries"))?)
    }

    fn end(self) -> Result<(), StateError> {
        Ok(self.finish().map_err(failed_io("write nodes of tries"))?)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;
    use variant::CacheMode;

    type Row = (Vec<u8>, Vec<u8>);

    /// Returns keys of two tries with common prefixes, and nodes of up to 600 bytes.
    fn rows() -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for (trie, count) in [(vec![0; 33], 400_usize), (vec![1], 90)] {
            rows.extend((0..count).map(|i| {
                let path = [(i / 30) as u8, 7, (i % 30) as u8, 0x10];
                ([&trie[..], &path].concat(), vec![i as u8; 1 + (i * 97) % 600])
            }));
        }
        rows
    }

    fn written(dir: &Path, rows: &[Row]) -> NodeFile {
        let mut writer = NodeWriter::create(dir).unwrap();
        rows.iter().for_each(|(key, node)| writer.node(key, node).unwrap());
        writer.finish().unwrap();
        NodeFile::open(dir, Format::All).unwrap()
    }

    #[test]
    fn every_node_lies_in_the_block_that_the_index_names() {
        let (dir, rows) = (tempfile::tempdir().unwrap(), rows());
        let nodes = written(dir.path(), &rows);
        assert!(nodes.index.block_count() > 30, "{}", nodes.index.block_count());
        let mut all = Vec::new();
        for number in 0..nodes.index.block_count() {
            let mut block = Block::ZERO;
            let file = nodes.file.for_cache(CacheMode::Warm);
            file.read_exact_at(&mut block.0, (number * BLOCK_BYTES) as u64).unwrap();
            each_node(&block, number as u64, &mut |key, node| {
                assert_eq!(nodes.index.locate(key), Some(number));
                all.push((key.to_vec(), node.to_vec()));
            })
            .unwrap();
            assert!(each_node(&block, number as u64 + 1, &mut |_, _| ()).is_err());
        }
        assert_eq!(all, rows);
        assert_eq!(nodes.index.locate(&[0; 20]), None);
        assert_eq!(nodes.index.locate(&[9]), Some(nodes.index.block_count() - 1));
    }

    #[test]
    fn tries_without_nodes_are_an_empty_file() {
        let dir = tempfile::tempdir().unwrap();
        let nodes = written(dir.path(), &[]);
        assert_eq!((nodes.index.block_count(), nodes.index.locate(&[1])), (0, None));
        assert_eq!(std::fs::metadata(dir.path().join(NODES)).unwrap().len(), 0);
    }

    #[test]
    fn a_node_that_no_block_holds_and_a_changed_index_are_errors() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = NodeWriter::create(dir.path()).unwrap();
        let error = writer.node(&[1], &[0; BLOCK_BYTES]).unwrap_err();
        assert!(error.to_string().contains("does not fit"), "{error}");
        written(dir.path(), &rows());
        let path = dir.path().join(NODES_INDEX);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[3] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert!(NodeFile::open(dir.path(), Format::All).is_err());
    }
}
