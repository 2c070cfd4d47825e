//! The base: the database file of a state as it was built. Undoes a sample's commits. Drops the
//! file from the page cache before a cold sample, and loads its index pages. Finds the leaf pages
//! of rows.
//!
//! MDBX copies on write: it overwrites no page of a snapshot while a reader holds the snapshot. A
//! sample holds a snapshot of the base from before its first commit to after its last. So commits
//! change only the three meta pages, pages that were free, and the file's length. To undo them, it
//! is enough to restore the meta pages and the length. Copies of both are in the state's directory
//! since its build, so any process can undo the commits of a process that died.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use workload::{Table, layout::RowKey};

use super::{
    account_trees::AccountTrees,
    branches,
    environment::PAGE_BYTES,
    leaves::{LeafPath, Leaves},
    tables::table_name,
};
use crate::{device, store::sealed};

/// Name of the database file.
pub(super) const DATA: &str = "state.mdbx";
/// Name of the file with the first pages and the length of [`DATA`].
const UNDO: &str = "undo";
/// Name of the file with the numbers of the index pages of [`DATA`], four bytes each,
/// little-endian.
const BRANCHES: &str = "branches";
/// Name of the file with the accounts' own trees, if a table of [`DATA`] has sorted duplicates.
const ACCOUNT_TREES: &str = "account-trees";

/// Number of bytes of the three meta pages, which MDBX uses in turn.
pub(super) const META_BYTES: usize = 3 * PAGE_BYTES;
/// Number of threads that load index pages, each with one read in flight: enough to keep a disk
/// busy.
const LOADING_THREADS: usize = 16;
/// Number of index pages that a loading thread takes at a time.
const LOADING_CHUNK: usize = 16;
/// Maximal share of the file's pages that may stay in the page cache before a cold sample.
pub(super) const RESIDENT_SHARE_MAX: f64 = 0.01;

/// A state's database file as it was built.
#[derive(Debug)]
pub(super) struct Base {
    pub(super) path: PathBuf,
    metas: Vec<u8>,
    pub(super) byte_count: u64,
    /// Numbers of the index pages, ascending.
    pub(super) index_pages: Vec<u32>,
    pub(super) account_trees: AccountTrees,
}

impl Base {
    /// Writes the files that [`Self::read`] needs, beside the database file in `dir`. The database
    /// must not be open.
    ///
    /// # Errors
    /// The number of branch pages found differs from `branch_count`, which MDBX has counted. Or a
    /// file cannot be read or written.
    pub(super) fn write(dir: &Path, branch_count: u64) -> io::Result<()> {
        let file = File::open(dir.join(DATA))?;
        let mut undo = vec![0; META_BYTES];
        file.read_exact_at(&mut undo, 0)?;
        let index = branches::find(&file, &undo)?;
        if index.branch_count != branch_count {
            let reason =
                format!("{} branch pages were found, MDBX has {branch_count}", index.branch_count);
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        undo.extend(file.metadata()?.len().to_le_bytes());
        sealed::write(&dir.join(UNDO), undo)?;
        let numbers = index.pages.iter().flat_map(|number| number.to_le_bytes()).collect();
        sealed::write(&dir.join(BRANCHES), numbers)?;
        if let Some(trees) = index.account_trees {
            sealed::write(&dir.join(ACCOUNT_TREES), trees.to_bytes())?;
        }
        Ok(())
    }

    /// Reads the base in `dir`.
    ///
    /// # Errors
    /// A file cannot be read, or does not have its checksum.
    pub(super) fn read(dir: &Path) -> io::Result<Self> {
        let mut metas = sealed::read(&dir.join(UNDO))?;
        let length = metas.split_off(META_BYTES.min(metas.len()));
        let length = length.try_into().map_err(|_| sealed::damaged(&dir.join(UNDO)))?;
        let numbers = sealed::read(&dir.join(BRANCHES))?;
        let index_pages =
            numbers.chunks_exact(4).map(|n| u32::from_le_bytes([n[0], n[1], n[2], n[3]]));
        // Only a table of sorted duplicates has this file. If it was lost, the check of the
        // manifest finds that.
        let trees = match sealed::read(&dir.join(ACCOUNT_TREES)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(AccountTrees::default()),
            bytes => AccountTrees::from_bytes(&bytes?),
        };
        Ok(Self {
            path: dir.join(DATA),
            metas,
            byte_count: u64::from_le_bytes(length),
            index_pages: index_pages.collect(),
            account_trees: trees.ok_or_else(|| sealed::damaged(&dir.join(ACCOUNT_TREES)))?,
        })
    }

    /// Returns whether the meta pages and the length of the file are as built. A sample changes no
    /// other page that the base uses.
    pub(super) fn is_unchanged(&self) -> io::Result<bool> {
        let file = File::open(&self.path)?;
        let mut metas = vec![0; META_BYTES];
        file.read_exact_at(&mut metas, 0)?;
        Ok(metas == self.metas && file.metadata()?.len() == self.byte_count)
    }

    /// Restores the file, which must not be open as a database. If a call is interrupted, the next
    /// call completes its work. Returns whether the file was changed.
    ///
    /// # Errors
    /// The file is too short to hold the base, or cannot be written.
    pub(super) fn restore(&self) -> io::Result<bool> {
        if self.is_unchanged()? {
            return Ok(false);
        }
        let file = OpenOptions::new().read(true).write(true).open(&self.path)?;
        if file.metadata()?.len() < self.byte_count {
            let reason = format!("it has fewer than {} bytes", self.byte_count);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, reason));
        }
        file.write_all_at(&self.metas, 0)?;
        file.set_len(self.byte_count)?;
        file.sync_all()?;
        Ok(true)
    }

    /// Drops the file from the page cache; no process may have it mapped. Returns the share of its
    /// pages that stay; `None` if the kernel does not tell.
    pub(super) fn drop_pages(&self) -> io::Result<Option<f64>> {
        device::fadvise_dontneed(&[&self.path])?;
        Ok(device::resident_fraction(&[&self.path]))
    }

    /// Returns the leaf pages that a read of each row in `keys` visits, in the order of `keys`.
    /// Reads only index pages.
    ///
    /// # Errors
    /// The file cannot be read, or differs from MDBX's format.
    pub(super) fn leaves(&self, keys: &[(Table, RowKey)]) -> io::Result<Vec<LeafPath>> {
        let named = keys.iter().map(|(table, key)| (table_name(*table), key.as_slice()));
        self.leaves_in(&named.collect::<Vec<_>>())
    }

    /// Returns the leaf pages as [`Self::leaves`], for rows in the named tables.
    ///
    /// # Errors
    /// The errors of [`Self::leaves`].
    pub(super) fn leaves_in(&self, keys: &[(&str, &[u8])]) -> io::Result<Vec<LeafPath>> {
        let file = device::open_without_readahead(&self.path)?;
        let mut leaves = Leaves::new(&file, &self.metas, &self.index_pages, &self.account_trees)?;
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_unstable_by_key(|index| keys[*index]);
        let mut found = vec![LeafPath::default(); keys.len()];
        for index in order {
            let (table, key) = &keys[index];
            found[index] = leaves.find(table, key)?;
        }
        Ok(found)
    }

    /// Returns the number of those of `pages` that are in the page cache; `None` if the kernel does
    /// not tell. The page numbers in `pages` ascend.
    pub(super) fn resident_count(&self, pages: &[u32]) -> Option<u64> {
        device::resident_count(&self.path, pages.iter().map(|page| u64::from(*page)))
    }

    /// Reads index pages, chunk by chunk, until none is left. `next` is the index of the next page,
    /// which all loading threads share.
    fn load(&self, file: &File, next: &AtomicUsize) -> io::Result<()> {
        let mut page = vec![0; PAGE_BYTES];
        loop {
            let first = next.fetch_add(LOADING_CHUNK, Ordering::Relaxed);
            let Some(rest) = self.index_pages.get(first..).filter(|rest| !rest.is_empty()) else {
                return Ok(());
            };
            for number in rest.iter().take(LOADING_CHUNK) {
                file.read_exact_at(&mut page, u64::from(*number) * PAGE_BYTES as u64)?;
            }
        }
    }

    /// Reads the meta pages and all index pages into the page cache, and no other page. If the meta
    /// pages were not in the cache, MDBX would read them with the kernel's readahead, which would
    /// load leaves, too.
    pub(super) fn load_index_pages(&self) -> io::Result<()> {
        let file = device::open_without_readahead(&self.path)?;
        file.read_exact_at(&mut [0; META_BYTES], 0)?;
        let next = AtomicUsize::new(0);
        let threads = self.index_pages.len().div_ceil(LOADING_CHUNK).clamp(1, LOADING_THREADS);
        // New threads, since threads of a pool should not wait for the device.
        thread::scope(|scope| {
            let workers: Vec<_> =
                (0..threads).map(|_| scope.spawn(|| self.load(&file, &next))).collect();
            workers.into_iter().try_for_each(|worker| {
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })
    }
}
