//! Builds the tries of a new state, and writes their nodes to table files. Tries of slots are
//! hashed while the rows are written (`trie_rows.rs`). Then this file joins the parts of large
//! tries, and hashes the accounts.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use ::rocksdb::{DB, Options};
use alloy_primitives::B256;
use trie::{Builder, EMPTY_ROOT, Format};
use workload::{Genesis, layout::decode_account};

use super::{
    format::RocksFormat,
    options,
    rows::Rows,
    sample,
    settings::failed,
    trie_rows::{self, Hashed, NodeFiles, Part, PartTries, trie_error, wrong_value},
};
use crate::{
    leaves,
    state::{BuildInput, BuildPhase, BuiltTries, NodeCounts, RowCounts, StateError, Watch},
    tries::{self, TrieId},
};

/// Number of bytes of a node's row beside the node. They hold the end of the node's key, lengths, a
/// sequence number, and a part of filter and index. The beginning of the key is shared with
/// neighbouring nodes.
const HEADER_BYTES: u64 = 30;
/// Share of the bytes of a block that are used, since a block holds whole nodes.
const FILL: f64 = 0.93;

/// Number of additional bytes in the key of a trie's first node: the hash of an address. The node
/// before does not share this hash.
const TRIE_KEY_BYTES: u64 = 32;

/// Returns an upper estimate of the bytes of the table files of nodes.
pub(super) fn node_bytes(format: Format, genesis: &Genesis) -> u64 {
    let nodes = tries::byte_estimate(tries::expected_nodes(format, genesis), HEADER_BYTES, FILL);
    nodes.saturating_add(tries::slot_trie_count(genesis).saturating_mul(TRIE_KEY_BYTES))
}

/// The tries of a state whose rows are being written.
pub(super) struct TrieBuild<'a> {
    format: Format,
    watch: &'a Watch<'a>,
    /// Directory of the table files.
    table_dir: &'a Path,
    file_bytes: u64,
    options: Options,
    /// Parts of the slots, in the order of their keys.
    pub(super) parts: Vec<Part>,
}

impl<'a> TrieBuild<'a> {
    /// Prepares the tries before any row is written; `None` for a state without tries.
    pub(super) fn new(
        rocks: &RocksFormat,
        input: &BuildInput<'_>,
        watch: &'a Watch<'a>,
        table_dir: &'a Path,
    ) -> Result<Option<Self>, StateError> {
        let Some(format) = rocks.tries else { return Ok(None) };
        let options = options::writer(rocks).map_err(failed("set the options of table files"))?;
        let parts = trie_rows::parts(input.genesis);
        Ok(Some(Self { format, watch, table_dir, file_bytes: rocks.file_bytes, options, parts }))
    }

    /// Begins the tries of the part with this index.
    pub(super) fn part(&self, index: usize) -> PartTries<'_> {
        // The next index is for the files of a joined trie, which follow those of its last part.
        PartTries::new(self.format, &self.parts[index], self.node_files(2 * index + 1))
    }

    fn node_files(&self, index: usize) -> NodeFiles<'_> {
        NodeFiles::new(index, self.table_dir, self.file_bytes, &self.options)
    }

    /// Finishes the tries once all rows are in the database. Joins the shards of large tries and
    /// hashes the accounts. `hashed` has the results of all parts, in order. Returns facts of the
    /// tries, and the files of their nodes in the order of the keys.
    pub(super) fn finish<'s>(
        &'s self,
        db: &DB,
        rows: &RowCounts,
        hashed: Vec<Hashed<'s>>,
    ) -> Result<(BuiltTries, Vec<PathBuf>), StateError> {
        self.watch.progress.begin(BuildPhase::Tries, rows.accounts);
        let (mut written, mut roots) = (Vec::new(), BTreeMap::new());
        let mut shards = Vec::new();
        for (index, hashed) in hashed.into_iter().enumerate() {
            written.push(hashed.nodes);
            roots.extend(hashed.roots);
            let Some((account, floating)) = hashed.floating else { continue };
            shards.push(floating);
            if shards.len() == 16 {
                // The keys of the joined nodes follow those of the trie's last shard.
                let mut nodes = self.node_files(2 * index + 2);
                nodes.begin(TrieId::Slots(account));
                let mut builder = Builder::new(self.format, nodes);
                for floating in shards.drain(..) {
                    builder.push_floating(&floating).map_err(trie_error)?;
                }
                let built = builder.finish().map_err(trie_error)?;
                roots.insert(account, built.root);
                written.push(built.sink);
            }
        }
        // The keys of account nodes are before those of slot nodes.
        let (root, accounts) = self.hash_accounts(db, &roots)?;
        written.insert(0, accounts);
        let (mut paths, mut nodes) = (Vec::new(), NodeCounts::default());
        for mut files in written {
            files.close()?;
            nodes.merge(&files.counts);
            paths.append(&mut files.paths);
        }
        Ok((BuiltTries { root, nodes }, paths))
    }

    fn hash_accounts(
        &self,
        db: &DB,
        roots: &BTreeMap<B256, B256>,
    ) -> Result<(B256, NodeFiles<'_>), StateError> {
        let mut builder = Builder::new(self.format, self.node_files(0));
        let (mut leaf, mut watched) = (Vec::new(), self.watch.rows());
        let accounts = sample::family(db, options::ACCOUNTS)?;
        let mut rows = Rows::new(db, accounts, options::scan_reads());
        while let Some((key, value)) = rows.next().map_err(failed("read the rows of tries"))? {
            let state = decode_account(value).ok_or_else(|| wrong_value(key))?;
            let root = roots.get(key).copied().unwrap_or(EMPTY_ROOT);
            leaves::encode_account(&state, root, &mut leaf);
            builder.push(key, &leaf).map_err(trie_error)?;
            watched.add_one()?;
        }
        let built = builder.finish().map_err(trie_error)?;
        Ok((built.root, built.sink))
    }
}
