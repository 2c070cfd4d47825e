//! Tests the directory of the state databases: direct reads, dropping pages from the page cache,
//! `io_uring`, free space. The test uses a small file, and removes it.

use std::{fs, io::Write, path::Path};

use executor::{
    device::{self, DirectFiles},
    store::rocksdb::{IoUring, io_uring_state},
};
use result::environment::Abilities;

/// Size of the test file in bytes.
const TRIAL_BYTES: usize = 1 << 20;

/// Tests `dir`, which must exist. A file system in memory has no direct reads, and drops no pages.
pub(super) fn probe(dir: &Path) -> Abilities {
    let trial = trial_file(dir).ok();
    let path = trial.as_ref().map(tempfile::NamedTempFile::path);
    Abilities {
        has_direct_reads: path.map(|path| DirectFiles::open(&[path]).is_ok()),
        can_drop_pages: path.and_then(|path| {
            device::fadvise_dontneed(&[path]).ok()?;
            Some(device::resident_fraction(&[path])? == 0.0)
        }),
        has_io_uring: io_uring_state() == IoUring::Available,
        free_bytes: rustix::fs::statvfs(dir)
            .ok()
            .map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize)),
    }
}

fn trial_file(dir: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix(".stress-doctor-").tempfile_in(dir)?;
    file.write_all(&vec![0x5a; TRIAL_BYTES])?;
    file.as_file().sync_data()?;
    // A read makes sure that the written bytes are in the page cache.
    fs::read(file.path())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trying_leaves_nothing_behind() {
        let dir = tempfile::tempdir().expect("a directory");
        let ground = probe(dir.path());
        assert!(ground.has_direct_reads.is_some() && ground.free_bytes.is_some(), "{ground:?}");
        assert_eq!(fs::read_dir(dir.path()).expect("is there").count(), 0);
    }

    #[test]
    fn where_nothing_can_be_written_nothing_is_known() {
        let ground = probe(Path::new("/proc"));
        assert_eq!((ground.has_direct_reads, ground.can_drop_pages), (None, None));
    }
}
