//! Writing the nodes of all tries to table files, once the rows are in the database: a pass of its
//! own over the rows, which reads them again.

use std::path::{Path, PathBuf};

use ::rocksdb::{DB, Options, SstFileWriter};
use trie::{Format, NodeKey, NodeSink, StoreError as SinkError};
use workload::Genesis;

use super::{
    format::RocksFormat,
    options,
    settings::{TABLE_EXTENSION, failed},
    trie_rows::{NodeTarget, TrieRows},
};
use crate::{
    error::StoreError,
    state::{BuildInput, BuildPhase, BuiltTries, NodeTotals, RowCounts, StateError, Watch},
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

/// A database whose rows are to get their tries.
pub(super) struct TrieBuild<'a> {
    pub(super) format: Format,
    pub(super) rocks: &'a RocksFormat,
    pub(super) input: &'a BuildInput<'a>,
    pub(super) watch: &'a Watch<'a>,
    /// Where table files are written.
    pub(super) files: &'a Path,
    pub(super) db: &'a DB,
}

impl TrieBuild<'_> {
    /// The nodes of all tries, and the files that they are in.
    pub(super) fn build(&self, rows: &RowCounts) -> Result<(BuiltTries, Vec<PathBuf>), StateError> {
        self.watch.progress.begin(BuildPhase::Tries, rows.accounts + rows.slots);
        let writer =
            options::writer(self.rocks).map_err(failed("set the options of table files"))?;
        let rows = TrieRows {
            db: self.db,
            format: self.format,
            genesis: self.input.genesis,
            watch: self.watch,
            threads: self.input.threads,
        };
        let (root, written) = rows.hash(|range| {
            Ok(NodeFiles {
                name: format!("{}-{:06}", options::TRIES, range.index),
                files: self.files,
                file_bytes: self.rocks.file_bytes,
                options: &writer,
                open: None,
                trie: TrieId::Accounts,
                paths: Vec::new(),
                nodes: NodeTotals::default(),
            })
        })?;
        let (mut paths, mut nodes) = (Vec::new(), NodeTotals::default());
        for mut files in written {
            files.close()?;
            nodes.merge(&files.nodes);
            paths.append(&mut files.paths);
        }
        Ok((BuiltTries { root, nodes }, paths))
    }
}

/// Table files that nodes are written to, in the order of their keys.
struct NodeFiles<'a> {
    name: String,
    files: &'a Path,
    file_bytes: u64,
    options: &'a Options,
    /// The last file, and its bytes so far.
    open: Option<(SstFileWriter<'a>, u64)>,
    trie: TrieId,
    paths: Vec<PathBuf>,
    nodes: NodeTotals,
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
            self.nodes.add(&row, node);
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
