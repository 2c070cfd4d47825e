//! State in MDBX: one memory-mapped file, with tables for accounts, slots and codes. A state with
//! tries has a table for their nodes, too.
//!
//! The table of slots has one of two forms. In the first, as in `RocksDB`, a row has the key and
//! the value of one slot, and a read is one search. In the second, as in reth, slots are sorted
//! duplicates (DUPSORT) of their account's key. That key is then stored once, which saves about 32
//! bytes per slot. But a read searches a second tree within the table's tree (`slots.rs`).
//!
//! Each sample maps the file anew. A cold sample begins with only the index pages (`branches.rs`)
//! in the page cache, since a running client has these pages in memory. Each reader has its own
//! transaction, and fetches leaves (pages of rows) by page faults, without readahead.
//!
//! **Invariant**: a sample's commits are undone before the next sample; see `base.rs`.
//!
//! MDBX has no checksums. Only a scan, which compares the digest of all rows, detects a changed
//! byte in a value. Changed meta pages are restored from a copy before MDBX reads them. A page that
//! MDBX finds invalid is an error. A damaged page can still make MDBX read beyond the end of the
//! file, which kills the process.

mod account_trees;
mod append;
mod base;
mod branches;
mod environment;
mod format;
mod leaves;
mod nodes;
mod page;
mod ranges;
mod reader;
mod sample;
mod slots;
mod tables;
mod trie_verify;
mod tries;
mod used;

use std::{
    io,
    path::Path,
    sync::Mutex,
    time::{Duration, Instant},
};

use signet_libmdbx::Stat;
use trie::NodeKey;
use workload::{Layout, NetChanges, Table};

use super::{Background, Reader, Sample, Store};
use crate::{
    device,
    error::StoreError,
    lock::lock,
    place::{self, BlockPlace, Places, RequestedRow, RowPages},
    state::BuiltState,
    tries::{StateTries, TrieId, Tries},
};
use variant::{CacheMode, SlotTable, StoreKind};

use base::{Base, RESIDENT_SHARE_MAX};
pub use environment::MdbxSettings;
use environment::{NAME, failed_io};
pub use format::MdbxFormat;
use leaves::LeafPath;
use reader::MdbxReader;
use sample::MdbxSample;
use tries::MdbxTries;

/// Facts of the last opened sample.
#[derive(Clone, Copy, Debug)]
struct Opened {
    /// Time to open the sample.
    duration: Duration,
    /// Statistics of the tables of accounts, slots and codes.
    statistics: [Stat; 3],
    /// Statistics of the table of nodes, if the state has tries.
    nodes: Option<Stat>,
    /// Share of the file's pages that stayed in memory when the last cold sample dropped them.
    resident_share: Option<f64>,
}

/// A state in MDBX, open for samples.
#[derive(Debug)]
pub struct MdbxStore {
    state: BuiltState,
    format: MdbxFormat,
    settings: MdbxSettings,
    base: Base,
    never_cold_reason: Option<&'static str>,
    opened: Mutex<Option<Opened>>,
}

impl MdbxStore {
    /// Opens the store over `state`.
    ///
    /// # Errors
    /// [`StoreError::Failed`] if the state's files cannot be read or have an unknown shape.
    pub fn open(state: BuiltState, settings: MdbxSettings) -> Result<Self, StoreError> {
        let format = MdbxFormat::of_shape(&state.manifest().shape)
            .ok_or_else(|| state.unknown_shape(NAME))?;
        let base = Base::read(state.dir())
            .and_then(|base| Ok((never_cold_reason(state.dir(), &base)?, base)));
        let (never_cold_reason, base) =
            base.map_err(failed_io(format!("look at {}", state.dir().display())))?;
        Ok(Self { state, format, settings, base, never_cold_reason, opened: Mutex::new(None) })
    }

    fn opened(&self) -> Option<Opened> {
        *lock(&self.opened)
    }

    /// Counts the leaf pages that reads of `keys` visit. Each key has the name of its table before
    /// it. Returns the number of these pages, and how many of them are in memory.
    fn pages_of(&self, keys: &[(&str, &[u8])]) -> Result<[u64; 2], String> {
        let leaves = self.base.leaves_in(keys).map_err(|error| error.to_string())?;
        let mut pages: Vec<u32> = leaves.iter().flat_map(LeafPath::pages).collect();
        pages.sort_unstable();
        pages.dedup();
        let resident_count = self.base.resident_count(&pages);
        let resident_count = resident_count
            .ok_or_else(|| "the kernel does not tell which pages are in memory".to_owned())?;
        Ok([pages.len() as u64, resident_count])
    }

    /// Prepares a cold sample: drops all pages of the file from memory, and loads the index pages.
    /// Returns the share of pages that stayed in memory; `None` if the kernel does not tell.
    fn cool(&self) -> Result<Option<f64>, StoreError> {
        let dropping = format!("drop {} from the page cache", self.state.name());
        let resident = self.base.drop_pages().map_err(failed_io(dropping.as_str()))?;
        if let (None, Some(share)) = (self.never_cold_reason, resident)
            && share > RESIDENT_SHARE_MAX
        {
            let reason = format!(
                "{share:.3} of its pages stayed, so the sample would not be cold; end what else \
                 reads the file, or take run.cache = \"warm\""
            );
            return Err(StoreError::failed(NAME, dropping, reason));
        }
        self.base.load_index_pages().map_err(failed_io("load the index pages"))?;
        Ok(resident)
    }
}

impl Store for MdbxStore {
    fn kind(&self) -> StoreKind {
        StoreKind::Mdbx
    }

    fn open_sample(&self, cache: CacheMode) -> Result<Box<dyn Sample + '_>, StoreError> {
        let start = Instant::now();
        // A sample that ended by a panic has not restored the state.
        self.base.restore().map_err(failed_io("put the state back"))?;
        let cooled = match cache {
            CacheMode::Cold => self.cool()?,
            CacheMode::Warm => None,
        };
        let sync_mode = self.settings.sync_mode().0;
        let sample = MdbxSample::open(&self.state, &self.base, self.format, sync_mode)?;
        let [accounts, slots, codes] = Table::ALL.map(|table| sample.statistics(table));
        let statistics = [accounts?, slots?, codes?];
        let nodes = sample.node_statistics()?;
        let duration = start.elapsed();
        let mut opened = lock(&self.opened);
        let resident_share = cooled.or(opened.and_then(|opened| opened.resident_share));
        *opened = Some(Opened { duration, statistics, nodes, resident_share });
        drop(opened);
        Ok(Box::new(sample))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let manifest = self.state.manifest();
        let opened = self.opened();
        let resident = opened.and_then(|opened| opened.resident_share);
        let open_ns = opened.map(|opened| opened.duration.as_nanos().to_string());
        let mut facts: Vec<(&str, String)> = vec![
            ("state", self.state.name().to_owned()),
            ("mdbx", manifest.store_version.clone()),
            ("shape", manifest.shape.clone()),
            ("slots", self.format.slots.name().to_owned()),
            ("file_bytes", self.base.byte_count.to_string()),
            ("page_bytes", environment::PAGE_BYTES.to_string()),
            ("reads", "mapped, without readahead; a transaction for each thread".to_owned()),
            ("reader_count_max", environment::READER_COUNT_MAX.to_string()),
            ("index_pages", self.base.index_pages.len().to_string()),
            ("cold", "index pages are loaded before the clock, leaves are not".to_owned()),
            ("page_cache_resident", or_unknown(resident.map(|share| format!("{share:.4}")))),
            ("commit", self.settings.sync_mode().1.to_owned()),
            ("open_sample_ns", or_unknown(open_ns)),
        ];
        if self.format.slots == SlotTable::DupSort {
            let trees = &self.base.account_trees;
            let text = format!("{}, depth up to {}", trees.count(), trees.height_max());
            facts.push(("account_trees", text));
        }
        for (index, table) in Table::ALL.into_iter().enumerate() {
            let described = opened.map(|opened| describe(&opened.statistics[index]));
            facts.push((tables::table_name(table), or_unknown(described)));
        }
        let tries = Store::tries(self);
        if tries.is_some() {
            let nodes = opened.and_then(|opened| opened.nodes);
            facts.push(("nodes", or_unknown(nodes.map(|nodes| describe(&nodes)))));
        }
        let facts = facts.into_iter().map(|(name, value)| (name.to_owned(), value));
        facts.chain(tries.map(|tries| tries.fact())).collect()
    }

    fn never_cold_reason(&self) -> Option<&'static str> {
        self.never_cold_reason
    }

    fn tries(&self) -> Option<StateTries> {
        let format = self.format.tries?;
        Some(StateTries { format, root: self.state.manifest().state_root? })
    }

    fn built_state(&self) -> Option<&BuiltState> {
        Some(&self.state)
    }

    fn row_pages(
        &self,
        rows: &[RequestedRow],
        nodes: &[(TrieId, NodeKey)],
    ) -> Option<Result<RowPages, String>> {
        let keys = place::keys(rows, self.state.manifest().layout);
        let rows = keys.iter().map(|(table, key)| (tables::table_name(*table), key.as_slice()));
        let nodes: Vec<_> = nodes.iter().map(|(trie, key)| trie.slots_first_key(key)).collect();
        let nodes = nodes.iter().map(|key| (tables::NODES, key.as_slice()));
        let rows = self.pages_of(&rows.collect::<Vec<_>>());
        let counted = rows.and_then(|[page_count, resident_count]| {
            let [node_page_count, resident_node_count] =
                self.pages_of(&nodes.collect::<Vec<_>>())?;
            Ok(RowPages { page_count, resident_count, node_page_count, resident_node_count })
        });
        Some(counted)
    }

    fn slots_per_block(&self) -> Option<f64> {
        let slots = self.opened()?.statistics[1];
        (slots.leaf_pages() > 0).then(|| slots.entries() as f64 / slots.leaf_pages() as f64)
    }
}

impl Sample for MdbxSample<'_> {
    fn reader(&self) -> Result<Box<dyn Reader + '_>, StoreError> {
        Ok(Box::new(MdbxReader::new(self)?))
    }

    fn row_layout(&self) -> Option<Layout> {
        Some(self.layout())
    }

    fn commit(&self, changes: &NetChanges) -> Result<(), StoreError> {
        self.write(changes, &[])
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.sync_commits()
    }

    fn tries(&self) -> Option<Box<dyn Tries + '_>> {
        let format = self.tables().form().tries?;
        Some(Box::new(MdbxTries { sample: self, format }))
    }

    fn background(&self) -> Option<&dyn Background> {
        None
    }

    fn file_bytes(&self) -> Option<u64> {
        self.length()
    }

    fn locate(&self, rows: &[RequestedRow]) -> Result<Places, String> {
        let leaves = self.base.leaves(&place::keys(rows, self.layout()));
        let mut places = Places { files: vec![self.base.path.clone()], ..Places::default() };
        for (row, path) in leaves.map_err(|error| error.to_string())?.iter().enumerate() {
            let mut pages = path.pages().map(|page| BlockPlace {
                file: 0,
                offset: u64::from(page) * environment::PAGE_BYTES as u64,
                byte_count: environment::PAGE_BYTES as u32,
                block_count: 1,
            });
            places.blocks.push(pages.next_back());
            places.before.extend(pages.map(|block| (row, block)));
        }
        Ok(places)
    }

    fn close(self: Box<Self>) -> Result<(), StoreError> {
        (*self).close()
    }
}

/// Returns the reason why the state in `dir` cannot be cold; `None` if it can.
fn never_cold_reason(dir: &Path, base: &Base) -> io::Result<Option<&'static str>> {
    if let Some(reason) = device::never_cold_reason(dir)? {
        return Ok(Some(reason));
    }
    Ok(match base.drop_pages()? {
        Some(share) if share <= RESIDENT_SHARE_MAX => None,
        Some(_) => Some("the kernel keeps the file in its cache although asked to drop it"),
        None => Some("the kernel does not tell what of the file is in its cache"),
    })
}

/// Returns a fact of the last sample, or its absence as text.
fn or_unknown(value: Option<String>) -> String {
    value.unwrap_or_else(|| "unknown before the first sample".to_owned())
}

fn describe(table: &Stat) -> String {
    format!(
        "{} rows, depth {}, {} branch, {} leaf and {} overflow pages",
        table.entries(),
        table.depth(),
        table.branch_pages(),
        table.leaf_pages(),
        table.overflow_pages()
    )
}
