//! The files of a state, opened past the kernel's cache, seen as one row of 4-KiB blocks, and
//! which of these blocks to read next.

use std::{
    collections::HashSet,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use super::{error::Unmeasured, file_system::memory_file_system};

/// Size and alignment of every read.
pub const BLOCK_BYTES: usize = 4096;

/// More files are not opened: a state has few large ones, and descriptors are limited.
const FILE_COUNT_MAX: usize = 256;

/// Memory that `O_DIRECT` can read a block into.
#[derive(Clone)]
#[repr(C, align(4096))]
pub(super) struct Block(pub(super) [u8; BLOCK_BYTES]);

impl Block {
    /// Zeros.
    pub(super) const ZERO: Self = Self([0; BLOCK_BYTES]);
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    path: PathBuf,
    /// Blocks of this file and of those before it.
    blocks_end: u64,
}

/// Files opened with `O_DIRECT` for reading. They stay readable when a store deletes them.
#[derive(Debug)]
pub struct DirectFiles {
    /// Sorted by `blocks_end`; each has at least one block.
    files: Vec<OpenFile>,
}

impl DirectFiles {
    /// Opens the 256 largest of `paths`; those shorter than a block are left out, and the part
    /// behind a file's last whole block is never read.
    ///
    /// # Errors
    /// [`Unmeasured`]: a file cannot be opened, lies in memory, or there is no block at all.
    pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Self, Unmeasured> {
        let mut sized = Vec::with_capacity(paths.len());
        for path in paths.iter().map(AsRef::as_ref) {
            let metadata = path.metadata().map_err(|source| failed(path, source))?;
            sized.push((metadata.len() / BLOCK_BYTES as u64, path));
        }
        sized.retain(|(block_count, _)| *block_count > 0);
        sized.sort_by(|a, b| b.cmp(a));
        sized.truncate(FILE_COUNT_MAX);

        let mut files = Vec::with_capacity(sized.len());
        let mut blocks_end = 0;
        for (block_count, path) in sized {
            blocks_end += block_count;
            files.push(OpenFile { file: open_direct(path)?, path: path.into(), blocks_end });
        }
        if blocks_end == 0 {
            return Err(Unmeasured::TooSmall { block_count: 0 });
        }
        Ok(Self { files })
    }

    /// Whole blocks in all files.
    pub fn block_count(&self) -> u64 {
        self.files.last().map_or(0, |file| file.blocks_end)
    }

    /// The file that holds block number `block`, and the block's offset in it, in bytes.
    pub(super) fn place(&self, block: u64) -> (usize, u64) {
        let index = self.files.partition_point(|file| file.blocks_end <= block);
        let start = index.checked_sub(1).map_or(0, |before| self.files[before].blocks_end);
        (index, (block - start) * BLOCK_BYTES as u64)
    }

    /// Reads one block and waits for it.
    pub(super) fn read(&self, block: u64, into: &mut Block) -> Result<(), Unmeasured> {
        let (index, offset) = self.place(block);
        let result = loop {
            match self.files[index].file.read_at(&mut into.0, offset) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                result => break result,
            }
        };
        match result {
            Ok(BLOCK_BYTES) => Ok(()),
            Ok(short) => Err(self.short_read(block, short)),
            Err(source) => Err(self.failed(block, source)),
        }
    }

    /// The files' descriptors, in the order of [`Self::place`].
    #[cfg(feature = "io-uring")]
    pub(super) fn descriptors(&self) -> Vec<std::os::fd::RawFd> {
        self.files.iter().map(|file| std::os::fd::AsRawFd::as_raw_fd(&file.file)).collect()
    }

    pub(super) fn failed(&self, block: u64, source: io::Error) -> Unmeasured {
        failed(&self.files[self.place(block).0].path, source)
    }

    pub(super) fn short_read(&self, block: u64, byte_count: usize) -> Unmeasured {
        let reason = format!("{byte_count} of {BLOCK_BYTES} bytes: the file was cut meanwhile");
        self.failed(block, io::Error::new(io::ErrorKind::UnexpectedEof, reason))
    }

    /// `count` different blocks in random order; at most half of all, or it takes long.
    pub(super) fn sample_distinct(&self, rng: &mut SplitMix64, count: usize) -> Vec<u64> {
        let count = count.min(usize::try_from(self.block_count()).unwrap_or(usize::MAX));
        let mut seen = HashSet::with_capacity(count);
        let mut blocks = Vec::with_capacity(count);
        while blocks.len() < count {
            let block = rng.below(self.block_count());
            if seen.insert(block) {
                blocks.push(block);
            }
        }
        blocks
    }
}

fn failed(path: &Path, source: io::Error) -> Unmeasured {
    Unmeasured::Failed { path: path.into(), source }
}

fn open_direct(path: &Path) -> Result<File, Unmeasured> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path).map_err(
        |source| match source.raw_os_error() {
            Some(libc::EINVAL | libc::EOPNOTSUPP) => {
                Unmeasured::DirectRefused { path: path.into(), source }
            }
            _ => failed(path, source),
        },
    )?;
    match memory_file_system(&file).map_err(|source| failed(path, source))? {
        Some(file_system) => Err(Unmeasured::InMemory { path: path.into(), file_system }),
        None => Ok(file),
    }
}

/// One worker's blocks, one after another.
pub(super) enum Draw<'a> {
    /// Uniform over all blocks, so over the files by their size.
    Random { rng: SplitMix64, block_count: u64 },
    /// The next of a list that all workers share.
    Listed { blocks: &'a [u64], cursor: &'a AtomicUsize },
}

impl Draw<'_> {
    /// The next block, or `None` at a list's end.
    pub(super) fn next(&mut self) -> Option<u64> {
        match self {
            Self::Random { rng, block_count } => Some(rng.below(*block_count)),
            Self::Listed { blocks, cursor } => {
                blocks.get(cursor.fetch_add(1, Ordering::Relaxed)).copied()
            }
        }
    }
}

/// Steele, Lea and Flood's generator (OOPSLA 2014): a nanosecond a number, and good enough for
/// offsets.
#[derive(Clone, Debug)]
pub(super) struct SplitMix64(u64);

impl SplitMix64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    /// From a seed.
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// One of many generators from one seed.
    pub(super) const fn stream(seed: u64, number: u64) -> Self {
        let mut start = Self(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
        Self(start.next())
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::STEP);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `0..end` (up to 2^-40 for a state of 64 GB).
    pub(super) const fn below(&mut self, end: u64) -> u64 {
        ((self.next() as u128 * end as u128) >> 64) as u64
    }
}
