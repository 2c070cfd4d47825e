//! A file that cold samples read past the page cache, if the file system allows it, and that warm
//! samples read through the page cache.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use variant::CacheMode;

/// A file that is opened twice: for direct reads, and for reads through the page cache.
#[derive(Debug)]
pub(super) struct DualFile {
    path: PathBuf,
    /// The file opened with `O_DIRECT`; `None` if the file system refuses `O_DIRECT`.
    direct: Option<File>,
    buffered: File,
}

impl DualFile {
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        let mut direct = OpenOptions::new();
        let direct = match direct.read(true).custom_flags(libc::O_DIRECT).open(&path) {
            Ok(file) => Some(file),
            Err(e) if matches!(e.raw_os_error(), Some(libc::EINVAL | libc::EOPNOTSUPP)) => None,
            Err(e) => return Err(e),
        };
        Ok(Self { buffered: File::open(&path)?, direct, path })
    }

    /// Returns the file to read in a sample with this cache mode. Warm samples read through the
    /// page cache, which is their cache.
    pub(super) fn for_cache(&self, cache: CacheMode) -> &File {
        match (cache, &self.direct) {
            (CacheMode::Cold, Some(direct)) => direct,
            _ => &self.buffered,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) const fn is_direct(&self) -> bool {
        self.direct.is_some()
    }
}
