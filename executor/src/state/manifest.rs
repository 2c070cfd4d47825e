//! The manifest of a state directory, which describes the state and lists its files. The build
//! writes it last. It is checked each time the state is opened.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use alloy_primitives::B256;
use serde::{Deserialize, Serialize};
use trie::NodeKey;
use workload::{Genesis, Layout, Table};

use super::{error::StateError, names::MARK};
use crate::tries::TrieId;

/// Name of the manifest in a state directory.
pub(super) const MANIFEST: &str = "manifest.json";

/// Extension of the file of an MDBX state. Samples append to the file, and the store truncates it
/// after each sample. During a sample, or after a killed sample, the file is longer than the
/// manifest says.
pub const GROWING_EXTENSION: &str = "mdbx";

/// Version of the manifest and of a state directory's files. It is hashed into a state's name.
pub(super) const FORMAT_VERSION: u32 = 1;

/// Number of rows of each table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowCounts {
    /// Number of accounts.
    pub accounts: u64,
    /// Number of slots of all accounts.
    pub slots: u64,
    /// Number of codes.
    pub codes: u64,
}

impl RowCounts {
    /// Adds `count` rows of `table`.
    pub(crate) const fn add(&mut self, table: Table, count: u64) {
        match table {
            Table::Accounts => self.accounts += count,
            Table::Slots => self.slots += count,
            Table::Codes => self.codes += count,
        }
    }

    /// Returns the number of rows of all tables.
    pub const fn total(&self) -> u64 {
        self.accounts + self.slots + self.codes
    }
}

/// Number and bytes of stored nodes of tries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeTotals {
    /// Number of nodes.
    pub count: u64,
    /// Number of bytes of keys and nodes, without the store's overhead.
    pub bytes: u64,
}

impl NodeTotals {
    /// Adds a node.
    pub(crate) const fn add(&mut self, key: &[u8], node: &[u8]) {
        self.count += 1;
        self.bytes += (key.len() + node.len()) as u64;
    }

    /// Adds the counts of other nodes.
    pub const fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes += other.bytes;
    }
}

/// Counts of the stored nodes of a state's tries: in total, and by depth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeCounts {
    /// All nodes. These include the records of the tops of tries, which have no depth.
    pub totals: NodeTotals,
    /// Nodes of the trie of accounts by depth: the number of nibbles in their path.
    pub accounts: Vec<NodeTotals>,
    /// Nodes of all tries of slots together, by depth in the trie.
    pub slots: Vec<NodeTotals>,
}

impl NodeCounts {
    /// Adds a node of `trie`; `row` is the node's key in the store.
    pub(crate) fn add(&mut self, trie: &TrieId, key: &NodeKey, row: &[u8], node: &[u8]) {
        self.totals.add(row, node);
        let NodeKey::Node(path) = key else { return };
        let depths = match trie {
            TrieId::Accounts => &mut self.accounts,
            TrieId::Slots(_) => &mut self.slots,
        };
        at_depth(depths, path.len()).add(row, node);
    }

    /// Adds the counts of other nodes.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.totals.merge(&other.totals);
        for (depths, others) in
            [(&mut self.accounts, &other.accounts), (&mut self.slots, &other.slots)]
        {
            for (depth, totals) in others.iter().enumerate() {
                at_depth(depths, depth).merge(totals);
            }
        }
    }
}

/// Returns the totals of a depth, for a change.
fn at_depth(depths: &mut Vec<NodeTotals>, depth: usize) -> &mut NodeTotals {
    if depths.len() <= depth {
        depths.resize(depth + 1, NodeTotals::default());
    }
    &mut depths[depth]
}

/// A file of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Name in the state directory.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Hash of all bytes that a reader of the state uses; `None` in states of older builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<B256>,
}

/// Description of a state, in its directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the manifest's format.
    pub format_version: u32,
    /// Version of the tool that built the state.
    pub tool_version: String,
    /// Name of the store.
    pub store: String,
    /// Version of the store's library.
    pub store_version: String,
    /// Settings of the store that decide the content of its files.
    pub shape: String,
    /// Layout of the keys of rows.
    pub layout: Layout,
    /// Digest of the recipe.
    pub recipe_digest: B256,
    /// Digest of the rows, computed while the row stream made them.
    pub content_digest: B256,
    /// The state root; `None` for a state without tries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state_root: Option<B256>,
    /// Stored nodes of tries; `None` for a state without tries, and in states of older builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeTotals>,
    /// Name of the scenario that first requested the state. It is only a label, since several
    /// scenarios may share a state.
    pub scenario: String,
    /// Number of rows of each table.
    pub rows: RowCounts,
    /// All files in the directory except the manifest, sorted by name.
    pub files: Vec<FileEntry>,
    /// Time of the end of the build, in seconds since 1970.
    pub created_unix_s: u64,
    /// Duration of the build, in milliseconds.
    pub build_ms: u64,
    /// Number of rows per second during the build.
    pub rows_per_s: u64,
    /// The recipe of the state.
    pub recipe: Genesis,
}

impl Manifest {
    /// Returns the sum of the files' sizes in bytes.
    pub fn byte_count(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Returns the paths in `dir` of the files with `extension`, sorted by name.
    pub(crate) fn files_with(&self, extension: &str, dir: &Path) -> Vec<PathBuf> {
        let mut paths: Vec<_> = self.files.iter().map(|file| dir.join(&file.name)).collect();
        paths.retain(|path| path.extension().is_some_and(|found| found == extension));
        paths
    }

    /// Returns the modification time of each file of [`Self::files`].
    pub(super) fn modification_times(&self, dir: &Path) -> Result<Vec<SystemTime>, StateError> {
        let times = self.files.iter().map(|file| {
            let path = dir.join(&file.name);
            let modified = fs::metadata(&path).and_then(|metadata| metadata.modified());
            modified.map_err(StateError::io("look at", path))
        });
        times.collect()
    }

    /// Reads the manifest of state `name` in `dir`.
    pub(super) fn read(dir: &Path, name: &str) -> Result<Self, StateError> {
        let text = fs::read(dir.join(MANIFEST)).map_err(|error| {
            StateError::untrusted(name, format!("{MANIFEST} cannot be read: {error}"))
        })?;
        // The version is read first, since a manifest of a later format may not parse.
        #[derive(Deserialize)]
        struct Version {
            format_version: u32,
        }
        let damaged = |error: serde_json::Error| {
            StateError::untrusted(name, format!("{MANIFEST} is damaged: {error}"))
        };
        let version: Version = serde_json::from_slice(&text).map_err(damaged)?;
        if version.format_version != FORMAT_VERSION {
            let found = version.format_version;
            let reason =
                format!("its format is version {found}, this build reads version {FORMAT_VERSION}");
            return Err(StateError::untrusted(name, reason));
        }
        let manifest: Self = serde_json::from_slice(&text).map_err(damaged)?;
        if manifest.recipe.digest() != manifest.recipe_digest {
            let reason = format!("{MANIFEST} is damaged: recipe and digest disagree");
            return Err(StateError::untrusted(name, reason));
        }
        Ok(manifest)
    }

    /// Returns whether `dir` has a manifest of a state, which may be of another version or
    /// contradict the files.
    pub(super) fn is_in(dir: &Path) -> bool {
        #[derive(Deserialize)]
        #[expect(dead_code, reason = "only their presence counts")]
        struct Required {
            format_version: u64,
            recipe_digest: String,
            store: String,
        }
        let text = fs::read(dir.join(MANIFEST)).unwrap_or_default();
        serde_json::from_slice::<Required>(&text).is_ok()
    }

    pub(super) fn write(&self, dir: &Path) -> Result<(), StateError> {
        let path = dir.join(MANIFEST);
        let text = serde_json::to_vec_pretty(self).map_err(|error| StateError::Io {
            action: "encode",
            path: path.clone(),
            source: error.into(),
        })?;
        fs::write(&path, text).map_err(StateError::io("write", &path))
    }

    /// Checks that `dir` has exactly the files of the manifest, with their sizes.
    ///
    /// # Errors
    /// [`StateError::Untrusted`] with the first difference.
    pub(super) fn check_files(&self, dir: &Path, name: &str) -> Result<(), StateError> {
        match self.difference(&files_of(dir)?) {
            Some(reason) => Err(StateError::untrusted(name, reason)),
            None => Ok(()),
        }
    }

    /// Returns the first difference between the files `found` and the files of the manifest; `None`
    /// if they agree.
    fn difference(&self, found: &[FileEntry]) -> Option<String> {
        for want in &self.files {
            let Some(file) = found.iter().find(|file| file.name == want.name) else {
                return Some(format!("file {} is missing", want.name));
            };
            if !has_size(file, want.bytes) {
                let (name, bytes) = (&want.name, file.bytes);
                return Some(format!(
                    "file {name} has {bytes} bytes and should have {}",
                    want.bytes
                ));
            }
        }
        let mut strays =
            found.iter().filter(|file| !self.files.iter().any(|want| want.name == file.name));
        let stray = strays.next()?;
        Some(format!("file {} does not belong there", stray.name))
    }
}

/// Returns whether the size of `file` agrees with `bytes`. A file that samples append to may be
/// larger.
fn has_size(file: &FileEntry, bytes: u64) -> bool {
    let grows = Path::new(&file.name).extension().is_some_and(|found| found == GROWING_EXTENSION);
    file.bytes == bytes || (grows && file.bytes > bytes)
}

/// Returns all files in `dir` except the manifest and the mark, sorted by name.
pub(super) fn files_of(dir: &Path) -> Result<Vec<FileEntry>, StateError> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(StateError::io("list", dir))? {
        let entry = entry.map_err(StateError::io("list", dir))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let metadata = entry.metadata().map_err(StateError::io("look at", entry.path()))?;
        if name != MANIFEST && name != MARK {
            files.push(FileEntry { name, bytes: metadata.len(), hash: None });
        }
    }
    files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}
