//! File systems without a device.

use std::{io, os::fd::AsFd};

use rustix::fs::fstatfs;

/// `linux/magic.h`, of 32 bits.
const TMPFS_MAGIC: u32 = 0x0102_1994;
/// See [`TMPFS_MAGIC`].
const RAMFS_MAGIC: u32 = 0x8584_58f6;

/// The name of the file system of `file` if it lies in memory: since Linux 6.6 tmpfs takes
/// `O_DIRECT` too.
///
/// # Errors
/// The kernel's error.
pub(crate) fn memory_file_system(file: &impl AsFd) -> io::Result<Option<&'static str>> {
    // Its type differs from one architecture to the other; the magic numbers have 32 bits.
    Ok(match fstatfs(file)?.f_type as u32 {
        TMPFS_MAGIC => Some("tmpfs"),
        RAMFS_MAGIC => Some("ramfs"),
        _ => None,
    })
}
