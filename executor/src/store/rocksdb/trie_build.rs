//! Writing the nodes of all tries to table files. Slots are hashed as their rows are written; the accounts,
//! once all rows are in the database.

use std::path::{Path, PathBuf};

use ::rocksdb::{DB, Options, SstFileWriter};
use trie::{Format, NodeKey, NodeSink, StoreError as SinkError};
use workload::Genesis;

use super::{
    format::RocksFormat,
    options,
    settings::{TABLE_EXTENSION, failed},
    trie_rows::{self, Hashed, NodeRange, NodeTarget, Part, PartTries, TrieRows},
};
use crate::{
    error::StoreError,
    state::{BuildInput, BuildPhase, BuiltTries, NodeCounts, RowCounts, StateError, Watch},
    tries::{self, TrieId},
};

/// Bytes of a node beside its own: the end of its key, whose beginning it shares with the nodes beside it,
/// lengths, a sequence number, its part of filter and index.
const HEADER_BYTES: u64 = 30;
/// The used share of blocks, which hold whole nodes.
const FILL: f64 = 0.93;

/// Bytes of the key of a trie's first node that the node before it does not share: the hash of an address.
const TRIE_KEY_BYTES: u64 = 32;

/// Upper estimate of the bytes of the tables of nodes.
pub(super) fn node_bytes(format: Format, genesis: &Genesis) -> u64 {
    let nodes = tries::byte_estimate(tries::expected_nodes(format, genesis), HEADER_BYTES, FILL);
    nodes.saturating_add(tries::slot_trie_count(genesis).saturating_mul(TRIE_KEY_BYTES))
}

/// Tries whose rows are being written.
pub(super) struct TrieBuild<'a> {
    format: Format,
    input: &'a BuildInput<'a>,
    watch: &'a Watch<'a>,
    /// Where table files are written.
    files: &'a Path,
    file_bytes: u64,
    options: Options,
    /// Of the slots, in the order of their keys.
    pub(super) parts: Vec<Part>,
}

/// A part whose nodes are in files.
pub(super) type WrittenPart<'a> = Hashed<NodeFiles<'a>>;

impl<'a> TrieBuild<'a> {
    /// Before all rows; none for a state without tries.
    pub(super) fn new(
        rocks: &RocksFormat,
        input: &'a BuildInput<'a>,
        watch: &'a Watch<'a>,
        files: &'a Path,
    ) -> Result<Option<Self>, StateError> {
        let Some(format) = rocks.tries else { return Ok(None) };
        let options = options::writer(rocks).map_err(failed("set the options of table files"))?;
        let parts = trie_rows::parts(input.genesis);
        let file_bytes = rocks.file_bytes;
        Ok(Some(Self { format, input, watch, files, file_bytes, options, parts }))
    }

    /// The tries of a part, by its index, which takes its rows.
    pub(super) fn part(&self, index: usize) -> PartTries<NodeFiles<'_>> {
        let part = &self.parts[index];
        PartTries::new(self.format, part, self.node_files(&part.nodes(index)))
    }

    fn node_files(&self, range: &NodeRange) -> NodeFiles<'_> {
        NodeFiles {
            name: format!("{}-{:06}", options::TRIES, range.index),
            files: self.files,
            file_bytes: self.file_bytes,
            options: &self.options,
            open: None,
            trie: TrieId::Accounts,
            paths: Vec::new(),
            nodes: NodeCounts::default(),
        }
    }

    /// The tries of all rows, which are in the database, and the files of their nodes. `hashed` has all
    /// parts.
    pub(super) fn finish(
        &self,
        db: &DB,
        rows: &RowCounts,
        hashed: Vec<WrittenPart<'_>>,
    ) -> Result<(BuiltTries, Vec<PathBuf>), StateError> {
        self.watch.progress.begin(BuildPhase::Tries, rows.accounts);
        let rows = TrieRows {
            db,
            format: self.format,
            genesis: self.input.genesis,
            watch: self.watch,
            threads: self.input.threads,
        };
        let (root, written) = rows.join(hashed, |range| Ok(self.node_files(&range)))?;
        let (mut paths, mut nodes) = (Vec::new(), NodeCounts::default());
        for mut files in written {
            files.close()?;
            nodes.merge(&files.nodes);
            paths.append(&mut files.paths);
        }
        Ok((BuiltTries { root, nodes }, paths))
    }
}

/// Table files that nodes are written to, in the order of their keys.
pub(super) struct NodeFiles<'a> {
    name: String,
    files: &'a Path,
    file_bytes: u64,
    options: &'a Options,
    /// The last file, and its bytes so far.
    open: Option<(SstFileWriter<'a>, u64)>,
    trie: TrieId,
    paths: Vec<PathBuf>,
    nodes: NodeCounts,
}

impl NodeFiles<'_> {
    fn write(&mut self, key: &NodeKey, node: &[u8]) -> Result<(), StoreError> {
        if self.open.as_ref().is_some_and(|(_, bytes)| *bytes >= self.file_bytes) {
            self.close()?;
        }
        if self.open.is_none() {
            let name = format!("{}-{:06}.{TABLE_EXTENSION}", self.name, self.paths.len());
            let path = self.files.join(name);
            let writer = SstFileWriter::create(self.options);
            writer.open(&path).map_err(failed("begin a table file"))?;
            self.paths.push(path);
            self.open = Some((writer, 0));
        }
        if let Some((writer, bytes)) = &mut self.open {
            let row = self.trie.row_key(key);
            *bytes += (row.len() + node.len()) as u64;
            self.nodes.add(&self.trie, key, &row, node);
            writer.put(row, node).map_err(failed("write a table file"))?;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), StoreError> {
        let Some((mut writer, _)) = self.open.take() else { return Ok(()) };
        writer.finish().map_err(failed("finish a table file"))
    }
}

impl NodeSink for NodeFiles<'_> {
    fn put(&mut self, key: &NodeKey, node: &[u8]) -> Result<(), SinkError> {
        Ok(self.write(key, node)?)
    }
}

impl NodeTarget for NodeFiles<'_> {
    fn begin(&mut self, trie: TrieId) {
        self.trie = trie;
    }
}
