//! Reasons why a device could not be measured.

use std::{io, path::PathBuf};

/// Reason why a device could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The files have too few blocks.
    #[error("{block_count} blocks of 4 KiB are too few to read at random")]
    TooSmall {
        /// Number of whole blocks in all files.
        block_count: u64,
    },
    /// There are more files than may be open at a time.
    #[error("{count} files are more than are opened at a time")]
    TooManyFiles {
        /// Number of the files.
        count: usize,
    },
    /// The file system is in memory, without a device.
    #[error("{} lies in memory ({file_system}): no device to measure", path.display())]
    InMemory {
        /// The first file that is in memory.
        path: PathBuf,
        /// `tmpfs` or `ramfs`.
        file_system: &'static str,
    },
    /// The file system refuses `O_DIRECT`.
    #[error("{} cannot be opened with O_DIRECT: {source}", path.display())]
    DirectRefused {
        /// The first file that is refused.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// A file could not be opened or read.
    #[error("cannot read {}: {source}", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// There is no ring: the kernel, seccomp or a sysctl refuses `io_uring`, or this build has no
    /// support for it.
    #[error("no io_uring: {reason}")]
    RingRefused {
        /// The kernel's error.
        reason: String,
    },
    /// Threads could not be started.
    #[error("cannot start {count} reading threads: {source}")]
    NoThreads {
        /// Number of threads that were requested.
        count: usize,
        /// The kernel's error.
        source: io::Error,
    },
    /// The reads were answered before they reached a device: holes, or a file system that
    /// caches in spite of `O_DIRECT`.
    #[error(
        "{read_bytes} bytes were read and only {device_read_bytes} came from a block device: \
         holes in the files, or a file system that caches in spite of O_DIRECT"
    )]
    NotFromDevice {
        /// Number of bytes read.
        read_bytes: u64,
        /// Number of bytes that the block layer fetched for this process during the reads.
        device_read_bytes: u64,
    },
    /// The cancel flag was set.
    #[error("cancelled")]
    Cancelled,
}
