//! Pass 1: the records of a source, scattered into buckets by the leading bits of their keys.
//! Records of a bucket are in no order; pass 2 sorts them.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};

use crate::rows::{
    RowSettings,
    error::RowError,
    sort::{bin_of, prefix},
    source::{Record, Source},
};

/// Number of rows that a worker takes at a time.
const TAKE_ROWS: u64 = 4096;
/// Maximum bytes of the unwritten blocks of all workers together, unless [`BLOCK_BYTES_MIN`] for
/// each block is more.
const UNWRITTEN_BYTES: usize = 64 << 20;
const BLOCK_BYTES_MIN: usize = 4 << 10;
const BLOCK_BYTES_MAX: usize = 64 << 10;

/// The place that keeps the blocks of records between the two passes.
#[derive(Debug)]
pub(super) enum Scratch {
    /// In memory, if the records fit in the settings' `memory_bytes_max`.
    Memory,
    /// In a file without a name. The system deletes the file when the process ends for any reason.
    File { file: File, end: AtomicU64, needed_bytes: u64 },
}

/// A run of records of one bucket.
#[derive(Debug)]
enum Block {
    Memory(Box<[u8]>),
    File { offset: u64, bytes: usize },
}

impl Scratch {
    /// Prepares a place for `needed_bytes` bytes of records.
    pub(super) fn new(needed_bytes: u64, settings: &RowSettings<'_>) -> Result<Self, RowError> {
        if needed_bytes <= settings.memory_bytes_max {
            return Ok(Self::Memory);
        }
        let error = scratch_error("create", needed_bytes, settings);
        std::fs::create_dir_all(&settings.scratch).map_err(error)?;
        let file = tempfile::tempfile_in(&settings.scratch).map_err(error)?;
        Ok(Self::File { file, end: AtomicU64::new(0), needed_bytes })
    }

    /// Stores the records in `bytes` as a block, and empties `bytes`.
    fn store_block(
        &self,
        bytes: &mut Vec<u8>,
        settings: &RowSettings<'_>,
    ) -> Result<Block, RowError> {
        let Self::File { file, end, needed_bytes } = self else {
            return Ok(Block::Memory(std::mem::take(bytes).into_boxed_slice()));
        };
        let offset = end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let error = scratch_error("write", *needed_bytes, settings);
        file.write_all_at(bytes, offset).map_err(error)?;
        let block = Block::File { offset, bytes: bytes.len() };
        bytes.clear();
        Ok(block)
    }

    fn read(
        &self,
        block: &Block,
        bytes: &mut Vec<u8>,
        settings: &RowSettings<'_>,
    ) -> Result<(), RowError> {
        bytes.clear();
        match (block, self) {
            (Block::File { offset, bytes: len }, Self::File { file, needed_bytes, .. }) => {
                bytes.resize(*len, 0);
                let error = scratch_error("read", *needed_bytes, settings);
                file.read_exact_at(bytes, *offset).map_err(error)
            }
            (Block::Memory(kept), _) => {
                bytes.extend_from_slice(kept);
                Ok(())
            }
            (Block::File { .. }, Self::Memory) => panic!("a block in a file that is not there"),
        }
    }
}

/// Makes the error of a failed `action` on the scratch file.
fn scratch_error(
    action: &'static str,
    needed_bytes: u64,
    settings: &RowSettings<'_>,
) -> impl Fn(io::Error) -> RowError + Copy {
    let path = &settings.scratch;
    move |source| RowError::Scratch { action, path: path.clone(), needed_bytes, source }
}

/// The buckets of one source, filled by pass 1.
#[derive(Debug)]
pub(super) struct Buckets {
    buckets: Vec<Bucket>,
}

/// Blocks of records whose keys share their leading bits.
#[derive(Debug, Default)]
struct Bucket {
    row_count: u64,
    blocks: Vec<Block>,
}

impl Buckets {
    /// Scatters all rows of `source` into `bucket_count` buckets. After each portion of at most
    /// [`TAKE_ROWS`] rows, calls `scanned` with the portion's number of rows.
    pub(super) fn scatter<S: Source>(
        source: &S,
        bucket_count: u64,
        scratch: &Scratch,
        settings: &RowSettings<'_>,
        scanned: &(dyn Fn(u64) + Sync),
    ) -> Result<Self, RowError> {
        let threads = settings.threads.max(1);
        let pass = Pass {
            source,
            bucket_count,
            scratch,
            settings,
            scanned,
            block_bytes: block_bytes::<S::Record>(threads * bucket_count as usize),
            next: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        };
        let results: Vec<_> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| pass.work())).collect();
            let joined = workers.into_iter().map(|worker| worker.join());
            joined.map(|result| result.unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
        });
        let mut buckets: Vec<Bucket> = (0..bucket_count).map(|_| Bucket::default()).collect();
        for result in results {
            for (all, one) in buckets.iter_mut().zip(result?) {
                all.row_count += one.row_count;
                all.blocks.extend(one.blocks);
            }
        }
        Ok(Self { buckets })
    }

    pub(super) fn row_counts(&self) -> impl Iterator<Item = u64> + '_ {
        self.buckets.iter().map(|bucket| bucket.row_count)
    }

    /// Number of buckets.
    pub(super) fn count(&self) -> u64 {
        self.buckets.len() as u64
    }

    /// Appends the records of `bucket` to `records`.
    pub(super) fn read<R: Record>(
        &self,
        bucket: usize,
        scratch: &Scratch,
        settings: &RowSettings<'_>,
        records: &mut Vec<R>,
    ) -> Result<(), RowError> {
        let mut bytes = Vec::new();
        for block in &self.buckets[bucket].blocks {
            scratch.read(block, &mut bytes, settings)?;
            records.extend(bytes.chunks_exact(R::BYTES).map(R::get));
        }
        Ok(())
    }
}

/// Length of a block in bytes: whole records, within the bounds of memory.
fn block_bytes<R: Record>(block_count: usize) -> usize {
    let bytes = (UNWRITTEN_BYTES / block_count).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX);
    bytes / R::BYTES * R::BYTES
}

/// State that the workers of pass 1 share.
struct Pass<'a, S> {
    source: &'a S,
    bucket_count: u64,
    scratch: &'a Scratch,
    settings: &'a RowSettings<'a>,
    scanned: &'a (dyn Fn(u64) + Sync),
    block_bytes: usize,
    /// Index of the first row that no worker has taken.
    next: AtomicU64,
    /// Set by a worker that fails or panics.
    stop: AtomicBool,
}

impl<S: Source> Pass<'_, S> {
    /// Scatters rows until none are left. Stops the other workers on failure.
    fn work(&self) -> Result<Vec<Bucket>, RowError> {
        let peers = StopPeers { stop: &self.stop, done: false };
        let buckets = self.scatter_taken()?;
        peers.finish();
        Ok(buckets)
    }

    /// Scatters the rows that this worker takes, and returns its part of each bucket.
    fn scatter_taken(&self) -> Result<Vec<Bucket>, RowError> {
        let mut buckets: Vec<Bucket> = (0..self.bucket_count).map(|_| Bucket::default()).collect();
        let mut unwritten: Vec<Vec<u8>> = vec![Vec::new(); buckets.len()];
        let mut records = Vec::with_capacity(TAKE_ROWS as usize);
        let mut key_parts = vec![[0; 32]; TAKE_ROWS as usize];
        let row_count = self.source.row_count();
        loop {
            let first = self.next.fetch_add(TAKE_ROWS, Ordering::Relaxed);
            if first >= row_count || self.stop.load(Ordering::Relaxed) {
                break;
            }
            self.settings.check_cancel()?;
            records.clear();
            self.source.records(first..row_count.min(first + TAKE_ROWS), &mut records)?;
            let key_parts = &mut key_parts[..records.len()];
            self.source.parts(&records, key_parts);
            for (record, key_part) in records.iter().zip(&*key_parts) {
                let index = bin_of(prefix(key_part), self.bucket_count) as usize;
                let block = &mut unwritten[index];
                if block.capacity() == 0 {
                    block.reserve_exact(self.block_bytes);
                }
                record.put(block);
                if block.len() >= self.block_bytes {
                    buckets[index].add_block(block, self)?;
                }
            }
            (self.scanned)(records.len() as u64);
        }
        for (bucket, block) in buckets.iter_mut().zip(&mut unwritten) {
            if !block.is_empty() {
                bucket.add_block(block, self)?;
            }
        }
        Ok(buckets)
    }
}

impl Bucket {
    fn add_block<S: Source>(
        &mut self,
        block: &mut Vec<u8>,
        pass: &Pass<'_, S>,
    ) -> Result<(), RowError> {
        self.row_count += (block.len() / S::Record::BYTES) as u64;
        self.blocks.push(pass.scratch.store_block(block, pass.settings)?);
        Ok(())
    }
}

/// Stops the other workers when a worker returns early or unwinds.
struct StopPeers<'a> {
    stop: &'a AtomicBool,
    done: bool,
}

impl StopPeers<'_> {
    fn finish(mut self) {
        self.done = true;
    }
}

impl Drop for StopPeers<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}
