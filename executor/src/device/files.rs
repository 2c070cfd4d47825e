//! Opens files of a state for reads past the page cache, and numbers their blocks of 4 KiB in one
//! sequence. Detects file systems in memory, which have no device.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rustix::fs::fstatfs;

use super::error::MeasureError;

/// Size of a block in bytes. A random read is of one block; memory for reads has this alignment.
pub const BLOCK_BYTES: usize = 4096;

/// Maximal number of open files. The number of file descriptors is limited, and a state has only
/// few large files.
const FILE_COUNT_MAX: usize = 256;

/// Memory for a block, aligned for `O_DIRECT`.
#[derive(Clone)]
#[repr(C, align(4096))]
pub(crate) struct Block(pub(crate) [u8; BLOCK_BYTES]);

impl Block {
    /// Zeros.
    pub(crate) const ZERO: Self = Self([0; BLOCK_BYTES]);
}

/// A range of bytes of a file that one request reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Index of the file among the open files.
    pub file: u32,
    /// Offset in the file, a multiple of the alignment of `O_DIRECT`.
    pub offset: u64,
    /// Length in bytes, a multiple of the same alignment.
    pub byte_count: u32,
    /// Number of blocks that a read of the extent counts for.
    pub block_count: u32,
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    path: PathBuf,
    byte_count: u64,
    /// Number of blocks of this file and of all files before it.
    blocks_end: u64,
}

/// Files that are opened with `O_DIRECT` for reading. They stay readable after a store deletes
/// them.
#[derive(Debug)]
pub struct DirectFiles {
    /// The files, in the order of their block numbers.
    files: Vec<OpenFile>,
    pub(super) access: Access,
}

/// Way in which files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Reads past the page cache.
    Direct,
    /// Reads through the page cache, without readahead. A test uses it as a stand-in for a host's
    /// cache.
    #[cfg(test)]
    Cached,
}

impl DirectFiles {
    /// Opens the 256 largest files of `paths`, or all files if there are fewer. Leaves out files
    /// that are shorter than a block. The bytes after a file's last whole block are never read.
    ///
    /// # Errors
    /// [`MeasureError`]: a file cannot be opened, a file is on a file system in memory, or there is
    /// no block.
    pub fn open<P: AsRef<Path>>(paths: &[P]) -> Result<Self, MeasureError> {
        Self::open_as(paths, Access::Direct)
    }

    /// Opens `paths` as [`Self::open`] does, to be read by `access`.
    pub(super) fn open_as<P: AsRef<Path>>(
        paths: &[P],
        access: Access,
    ) -> Result<Self, MeasureError> {
        let mut sized = with_sizes(paths)?;
        sized.retain(|(byte_count, _)| *byte_count >= BLOCK_BYTES as u64);
        sized.sort_by(|a, b| b.cmp(a));
        sized.truncate(FILE_COUNT_MAX);
        Self::open_all(&sized, access)
    }

    /// Opens all of `paths`, at most 256, in their order. They are read by extents, which name a
    /// file by its index.
    ///
    /// # Errors
    /// The errors of [`Self::open`].
    pub fn open_in_order<P: AsRef<Path>>(paths: &[P]) -> Result<Self, MeasureError> {
        let sized = with_sizes(paths)?;
        match sized.len() {
            0..=FILE_COUNT_MAX => Self::open_all(&sized, Access::Direct),
            count => Err(MeasureError::TooManyFiles { count }),
        }
    }

    fn open_all(sized: &[(u64, &Path)], access: Access) -> Result<Self, MeasureError> {
        let mut files = Vec::with_capacity(sized.len());
        let mut blocks_end = 0;
        for (byte_count, path) in sized {
            blocks_end += byte_count / BLOCK_BYTES as u64;
            let file = open(path, access)?;
            let (path, byte_count) = (path.to_path_buf(), *byte_count);
            files.push(OpenFile { file, path, byte_count, blocks_end });
        }
        if blocks_end == 0 {
            return Err(MeasureError::TooSmall { block_count: 0 });
        }
        Ok(Self { files, access })
    }

    /// Returns the number of whole blocks in all files.
    pub fn block_count(&self) -> u64 {
        self.files.last().map_or(0, |file| file.blocks_end)
    }

    /// Returns the extent of block number `block`.
    pub(super) fn extent(&self, block: u64) -> Extent {
        let index = self.files.partition_point(|file| file.blocks_end <= block);
        let start = index.checked_sub(1).map_or(0, |before| self.files[before].blocks_end);
        Extent {
            file: u32::try_from(index).unwrap_or(u32::MAX),
            offset: (block - start) * BLOCK_BYTES as u64,
            byte_count: BLOCK_BYTES as u32,
            block_count: 1,
        }
    }

    /// Returns the extents at other offsets: each is shifted within its file by a distance that
    /// `seed` decides. After the end of the file comes its beginning. So lengths, order and most
    /// distances between extents stay.
    pub(crate) fn moved(&self, extents: &[Extent], seed: u64) -> Vec<Extent> {
        let moved = extents.iter().map(|extent| {
            let byte_count = self.files[extent.file as usize].byte_count;
            let block_count = byte_count / BLOCK_BYTES as u64;
            let length = u64::from(extent.byte_count).div_ceil(BLOCK_BYTES as u64);
            let Some(last) = block_count.checked_sub(length) else { return *extent };
            let shift = 1 + seed % block_count.saturating_sub(1).max(1);
            let block = (extent.offset / BLOCK_BYTES as u64 + shift) % block_count;
            // An extent that would cross the end of the file is moved back to the end.
            Extent { offset: block.min(last) * BLOCK_BYTES as u64, ..*extent }
        });
        moved.collect()
    }

    /// Reads `extent` into `into`, which must be large enough, by one system call.
    pub(super) fn read(&self, extent: &Extent, into: &mut [Block]) -> Result<(), MeasureError> {
        let file = &self.files[extent.file as usize].file;
        let mut remaining = extent.byte_count as usize;
        let mut parts: Vec<_> = Vec::with_capacity(into.len());
        for block in into {
            parts.push(io::IoSliceMut::new(&mut block.0[..remaining.min(BLOCK_BYTES)]));
            remaining = remaining.saturating_sub(BLOCK_BYTES);
        }
        let result = loop {
            match rustix::io::preadv(file, &mut parts, extent.offset) {
                Err(rustix::io::Errno::INTR) => {}
                result => break result.map_err(io::Error::from),
            }
        };
        self.check_read(extent, result)
    }

    /// Checks that all of `extent` was read.
    pub(super) fn check_read(
        &self,
        extent: &Extent,
        result: io::Result<usize>,
    ) -> Result<(), MeasureError> {
        let OpenFile { path, byte_count: file_end, .. } = &self.files[extent.file as usize];
        match result {
            Ok(byte_count) if byte_count == extent.byte_count as usize => Ok(()),
            // The end of a file need not be the end of a block.
            Ok(byte_count) if extent.offset + byte_count as u64 == *file_end => Ok(()),
            Ok(short) => {
                let wanted = extent.byte_count;
                let reason = format!("{short} of {wanted} bytes: the file was truncated");
                Err(failed(path, io::Error::new(io::ErrorKind::UnexpectedEof, reason)))
            }
            Err(source) => Err(failed(path, source)),
        }
    }

    /// Returns the descriptors of the files, in their order.
    #[cfg(feature = "io-uring")]
    pub(super) fn descriptors(&self) -> Vec<std::os::fd::RawFd> {
        self.files.iter().map(|file| std::os::fd::AsRawFd::as_raw_fd(&file.file)).collect()
    }

    /// Makes the error of a read whose file is not known. It names the first file.
    #[cfg(feature = "io-uring")]
    pub(super) fn failed(&self, source: io::Error) -> MeasureError {
        failed(&self.files[0].path, source)
    }
}

/// Returns the size in bytes of each of `paths`, with the path.
fn with_sizes<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<(u64, &Path)>, MeasureError> {
    let mut sized = Vec::with_capacity(paths.len());
    for path in paths.iter().map(AsRef::as_ref) {
        let metadata = path.metadata().map_err(|source| failed(path, source))?;
        sized.push((metadata.len(), path));
    }
    Ok(sized)
}

fn failed(path: &Path, source: io::Error) -> MeasureError {
    MeasureError::Failed { path: path.into(), source }
}

#[cfg(test)]
fn open(path: &Path, access: Access) -> Result<File, MeasureError> {
    match access {
        Access::Direct => open_direct(path),
        Access::Cached => super::cache::open_without_readahead(path).map_err(|e| failed(path, e)),
    }
}

#[cfg(not(test))]
fn open(path: &Path, Access::Direct: Access) -> Result<File, MeasureError> {
    open_direct(path)
}

fn open_direct(path: &Path) -> Result<File, MeasureError> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path).map_err(
        |source| match source.raw_os_error() {
            Some(libc::EINVAL | libc::EOPNOTSUPP) => {
                MeasureError::DirectRefused { path: path.into(), source }
            }
            _ => failed(path, source),
        },
    )?;
    match memory_file_system(&file).map_err(|source| failed(path, source))? {
        Some(file_system) => Err(MeasureError::InMemory { path: path.into(), file_system }),
        None => Ok(file),
    }
}

/// Type of the file system `tmpfs`, from `linux/magic.h`.
const TMPFS_MAGIC: u32 = 0x0102_1994;
/// Type of the file system `ramfs`, from `linux/magic.h`.
const RAMFS_MAGIC: u32 = 0x8584_58f6;

/// Returns the reason why samples that read files in `dir` cannot be cold; `None` if they can be.
///
/// # Errors
/// The directory cannot be opened.
pub(crate) fn never_cold_reason(dir: &Path) -> io::Result<Option<&'static str>> {
    let file_system = memory_file_system(&File::open(dir)?)?;
    Ok(file_system.map(|_| "the state lies on a file system in memory (tmpfs or ramfs)"))
}

/// Returns the name of the file system of `file` if it is in memory, else `None`. Since Linux 6.6
/// tmpfs accepts `O_DIRECT`, so opening a file does not detect it.
fn memory_file_system(file: &File) -> io::Result<Option<&'static str>> {
    // The field's type depends on the architecture; the magic numbers have 32 bits.
    Ok(match fstatfs(file)?.f_type as u32 {
        TMPFS_MAGIC => Some("tmpfs"),
        RAMFS_MAGIC => Some("ramfs"),
        _ => None,
    })
}
