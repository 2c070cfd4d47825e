//! Drops pages of files from the kernel's page cache, and counts pages of files in it. Stores
//! prepare cold samples with it. The kernel may ignore the advice of `fadvise`, so the callers
//! count with `mincore` what stayed.

use std::{
    fs::{File, OpenOptions},
    io,
    os::{fd::AsRawFd, unix::fs::MetadataExt},
    path::Path,
    ptr,
};

use rustix::{
    fs::{Advice, fadvise},
    process::geteuid,
};

/// Number of bytes of a file that are mapped at a time, so that the result of `mincore` is at most
/// 256 KiB.
const WINDOW_BYTES: u64 = 1 << 30;

/// Asks the kernel to drop the pages of the files at `paths` from its cache. Each file is synced
/// first, since dirty pages cannot be dropped. Pages that a process has mapped stay.
///
/// # Errors
/// A file cannot be opened or synced, or the kernel refuses the advice.
pub fn fadvise_dontneed<P: AsRef<Path>>(paths: &[P]) -> io::Result<()> {
    for path in paths {
        let file = File::open(path)?;
        file.sync_data()?;
        fadvise(&file, 0, None, Advice::DontNeed)?;
    }
    Ok(())
}

/// Opens a file without readahead: a read brings no neighbouring pages into the cache.
///
/// # Errors
/// The file cannot be opened, or the kernel refuses the advice.
pub fn open_without_readahead(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    fadvise(&file, 0, None, Advice::Random)?;
    Ok(file)
}

/// Returns the share of the pages of the files at `paths` that are in the page cache, from 0 to 1.
///
/// `None` if the share is unknown: there are no pages, a file cannot be opened, or a file is
/// neither of this user nor writable. Of such a file the kernel reports all pages as resident.
pub fn resident_fraction<P: AsRef<Path>>(paths: &[P]) -> Option<f64> {
    let mut resident_count = 0;
    let mut page_count = 0;
    for path in paths.iter().map(AsRef::as_ref) {
        let (file, byte_count) = open_with_known_pages(path)?;
        for start in (0..byte_count).step_by(usize::try_from(WINDOW_BYTES).ok()?) {
            let length = usize::try_from(WINDOW_BYTES.min(byte_count - start)).ok()?;
            let pages = resident_pages(&file, start, length).ok()?;
            page_count += pages.len();
            resident_count += pages.iter().filter(|page| *page & 1 == 1).count();
        }
    }
    (page_count > 0).then(|| resident_count as f64 / page_count as f64)
}

/// Returns the number of pages that are in the page cache, among the pages of the file at `path`
/// with the indices `pages`. `None` if the number is unknown, for the same reasons as in
/// [`resident_fraction`].
pub fn resident_count(path: &Path, pages: impl IntoIterator<Item = u64>) -> Option<u64> {
    let (file, byte_count) = open_with_known_pages(path)?;
    let page_bytes = page_bytes().ok()? as u64;
    let pages_in_window = WINDOW_BYTES / page_bytes;
    let mut window: Option<(u64, Vec<u8>)> = None;
    let mut resident_count = 0;
    for page in pages {
        let number = page / pages_in_window;
        if window.as_ref().is_none_or(|(known, _)| *known != number) {
            let start = number * WINDOW_BYTES;
            let length = WINDOW_BYTES.min(byte_count.checked_sub(start)?);
            let length = usize::try_from(length).ok()?;
            window = Some((number, resident_pages(&file, start, length).ok()?));
        }
        let (_, bytes) = window.as_ref()?;
        let byte = bytes.get(usize::try_from(page % pages_in_window).ok()?)?;
        resident_count += u64::from(byte & 1);
    }
    Some(resident_count)
}

/// Opens a file, and returns it with its size in bytes. `None` if the kernel does not report its
/// real resident pages.
fn open_with_known_pages(path: &Path) -> Option<(File, u64)> {
    let file = File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let is_known =
        metadata.uid() == geteuid().as_raw() || OpenOptions::new().write(true).open(path).is_ok();
    is_known.then_some((file, metadata.len()))
}

/// Returns a byte for each page. Its lowest bit is 1 if the page is in the cache.
#[expect(unsafe_code, reason = "mincore asks about a mapping")]
fn resident_pages(file: &File, start: u64, length: usize) -> io::Result<Vec<u8>> {
    let offset = libc::off_t::try_from(start).map_err(io::Error::other)?;
    let mut pages = vec![0; length.div_ceil(page_bytes()?)];
    // SAFETY: a fresh mapping at an address that the kernel chooses, never read through, and
    // unmapped below; `pages` has a byte for each of its pages.
    let code = unsafe {
        let fd = file.as_raw_fd();
        let map =
            libc::mmap(ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, fd, offset);
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let code = libc::mincore(map, length, pages.as_mut_ptr());
        libc::munmap(map, length);
        code
    };
    if code == 0 { Ok(pages) } else { Err(io::Error::last_os_error()) }
}

#[expect(unsafe_code, reason = "sysconf has no safe wrapper in std")]
fn page_bytes() -> io::Result<usize> {
    // SAFETY: takes and returns plain integers.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).map_err(io::Error::other)
}
