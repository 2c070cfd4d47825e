//! A state in RocksDB, open for one sample: a database in a directory of its own, with hard links
//! to the base's table files. The directory is removed with the sample. `reader.rs` and `tries.rs`
//! have its reads, `writes.rs` its background work.

use std::{fmt, fs, io, path::Path, sync::OnceLock};

use ::rocksdb::{
    Cache, ColumnFamily, DB, Options, ReadOptions, WriteBatch, WriteOptions,
    properties::{self, PropName},
};
use trie::Format;
use workload::{
    Layout, NetChanges,
    layout::{encode_account, encode_slot},
};

use super::{
    direct::Access,
    format::RocksFormat,
    options,
    places::Blocks,
    settings::{NAME, RocksSettings, TABLE_EXTENSION, failed, failed_io},
};
use crate::{
    error::StoreError,
    place::AccountKeys,
    state::{BuiltState, SampleDir},
    tries::NodeChanges,
};
use variant::{CacheFill, CacheMode, Checksums, Compaction, Durability};

/// A state open for one sample.
pub struct RocksSample<'s> {
    input: SampleInput<'s>,
    // Declared before `dir`: the database must be closed before its directory is removed.
    db: DB,
    pub(super) dir: SampleDir,
    cache: Cache,
    mode: CacheMode,
    /// The database's options, which hold its statistics; `None` if the sample does not compact.
    pub(super) statistics: Option<Options>,
}

impl fmt::Debug for RocksSample<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RocksSample").field("dir", &self.dir.path()).finish_non_exhaustive()
    }
}

/// The parts of a store that a sample needs.
#[derive(Clone, Copy)]
pub(super) struct SampleInput<'s> {
    pub(super) state: &'s BuiltState,
    pub(super) settings: &'s RocksSettings,
    pub(super) format: &'s RocksFormat,
    pub(super) access: Access,
    pub(super) blocks: &'s OnceLock<Result<Blocks, String>>,
}

impl<'s> RocksSample<'s> {
    pub(super) fn open(
        input: SampleInput<'s>,
        cache: Cache,
        mode: CacheMode,
    ) -> Result<Self, StoreError> {
        let SampleInput { state, settings, format, access, .. } = input;
        let dir = state.sample_dir_of(NAME)?;
        link_files(state.dir(), dir.path())?;
        let options = options::of_sample(settings, access)
            .map_err(failed(format!("set the options {}", settings.options)))?;
        let families = match settings.compaction {
            Compaction::Off => options::families(&options, &cache, format),
            Compaction::On => options::families_that_compact(&options, &cache, format)
                .map_err(failed("set the options of tables"))?,
        };
        let db = DB::open_cf_descriptors(&options, dir.path(), families)
            .map_err(failed(format!("open a sample of {}", state.name())))?;
        let statistics = (settings.compaction == Compaction::On).then_some(options);
        Ok(Self { input, db, dir, cache, mode, statistics })
    }

    /// Returns the memory of indices and filters, in bytes.
    pub(super) fn table_memory_bytes(&self) -> Result<u64, StoreError> {
        self.sum_over_families(properties::ESTIMATE_TABLE_READERS_MEM)
    }

    /// Returns the sum of a property over the families with rows. Fails if a family lacks the
    /// property, since the sum would be too small.
    pub(super) fn sum_over_families(&self, property: &PropName) -> Result<u64, StoreError> {
        let value_of = |name| {
            let action = || format!("read {property} of {name}");
            let value = self.db.property_int_value_cf(self.family(name)?, property);
            value.map_err(|error| failed(action())(error))?.ok_or_else(|| {
                StoreError::failed(NAME, action(), "this RocksDB has no such property")
            })
        };
        self.families().map(value_of).sum()
    }

    /// Names of the families with rows.
    pub(super) fn families(&self) -> impl Iterator<Item = &'static str> + use<> {
        let families = [options::ACCOUNTS, options::STORAGE, options::CODE];
        families.into_iter().chain(self.trie_format().map(|_| options::TRIES))
    }

    /// Returns the bytes of data blocks in the cache now.
    pub fn cached_bytes(&self) -> usize {
        self.cache.get_usage()
    }

    /// Writes the changes of a batch, and the changes of nodes of tries, in one write.
    pub(super) fn write(
        &self,
        changes: &NetChanges,
        nodes: &[NodeChanges],
    ) -> Result<(), StoreError> {
        let mut batch = self.batch(changes)?;
        if !nodes.is_empty() {
            let tries = self.family(options::TRIES)?;
            for NodeChanges { trie, put, deleted } in nodes {
                deleted.iter().for_each(|key| batch.delete_cf(tries, trie.row_key(key)));
                put.iter().for_each(|(key, node)| batch.put_cf(tries, trie.row_key(key), node));
            }
        }
        let mut write = WriteOptions::default();
        match self.settings().durability {
            Durability::Synced => write.set_sync(true),
            Durability::Logged => {}
            Durability::Unlogged => write.disable_wal(true),
        }
        self.db.write_opt(batch, &write).map_err(failed("commit"))
    }

    /// Waits until the write-ahead log is on the device.
    pub(super) fn sync_commits(&self) -> Result<(), StoreError> {
        self.db.flush_wal(true).map_err(failed("make the commits durable"))
    }

    /// Ends the sample, and checks that the state is as at its start.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn close(self) -> Result<(), StoreError> {
        let Self { input, db, dir, .. } = self;
        drop(db);
        dir.close(NAME)?;
        input.state.verify_restored(NAME)
    }

    /// Returns the blocks of the state's rows, which are found on first use.
    pub(super) fn blocks(&self) -> Result<&'s Blocks, String> {
        if let Some(reason) = self.settings().rows_move_reason() {
            return Err(reason.to_owned());
        }
        let SampleInput { state, format, blocks, .. } = self.input;
        let blocks = blocks.get_or_init(|| Blocks::of(state, format, &self.db));
        blocks.as_ref().map_err(Clone::clone)
    }

    pub(super) const fn db(&self) -> &DB {
        &self.db
    }

    pub(super) const fn layout(&self) -> Layout {
        self.input.state.manifest().layout
    }

    pub(super) const fn settings(&self) -> &'s RocksSettings {
        self.input.settings
    }

    /// Format that decides which nodes of tries are stored.
    pub(super) const fn trie_format(&self) -> Option<Format> {
        self.input.format.tries
    }

    /// Returns the options of reads of one key, and of reads of many keys.
    pub(super) fn read_options(&self) -> (ReadOptions, ReadOptions) {
        let (mut single, mut many) = (options::point_reads(), options::point_reads());
        if self.settings().checksums == Checksums::Skipped {
            single.set_verify_checksums(false);
            many.set_verify_checksums(false);
        }
        if (self.mode, self.settings().cache_fill) == (CacheMode::Cold, CacheFill::SingleReads) {
            many.fill_cache(false);
        }
        (single, many)
    }

    pub(super) fn family(&self, name: &'static str) -> Result<&ColumnFamily, StoreError> {
        family(&self.db, name)
    }

    fn batch(&self, changes: &NetChanges) -> Result<WriteBatch, StoreError> {
        let accounts = self.family(options::ACCOUNTS)?;
        let storage = self.family(options::STORAGE)?;
        let code = self.family(options::CODE)?;
        let mut batch = WriteBatch::default();
        for (address, account) in &changes.accounts {
            let key = self.layout().account_key(address);
            match account {
                Some(account) => batch.put_cf(accounts, key, encode_account(account)),
                None => batch.delete_cf(accounts, key),
            }
        }
        let (layout, mut account_keys) = (self.layout(), AccountKeys::default());
        for (address, slot, value) in &changes.slots {
            let key = layout.slot_key(&account_keys.key(layout, address), slot);
            if value.is_zero() {
                batch.delete_cf(storage, key);
            } else {
                batch.put_cf(storage, key, encode_slot(value));
            }
        }
        for (hash, bytes) in &changes.codes {
            batch.put_cf(code, hash, bytes);
        }
        Ok(batch)
    }
}

/// Returns the column family `name` of `db`.
pub(super) fn family<'a>(db: &'a DB, name: &'static str) -> Result<&'a ColumnFamily, StoreError> {
    db.cf_handle(name)
        .ok_or_else(|| StoreError::damaged(NAME, format!("column family {name}"), "it is missing"))
}

/// Makes `to` a database with the content of `from`. Table files are hard-linked, since RocksDB
/// never writes to them again; other files are copied.
pub(super) fn link_files(from: &Path, to: &Path) -> Result<(), StoreError> {
    let action = format!("link the files of {} into {}", from.display(), to.display());
    try_link_files(from, to).map_err(failed_io(action))
}

fn try_link_files(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        match path.extension() {
            Some(extension) if extension == TABLE_EXTENSION => fs::hard_link(&path, &target)?,
            Some(extension) if extension == "json" => {}
            _ => drop(fs::copy(&path, &target)?),
        }
    }
    Ok(())
}
