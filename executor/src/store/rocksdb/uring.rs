//! `io_uring`: RocksDB's `MultiGet` reads with it when it is built in and the kernel agrees.
//! Without it a `MultiGet` reads one block after another, and says nothing.
//!
//! RocksDB also asks the program, through a function that the program exports
//! (`RocksDbIOUringEnable`). `librocksdb-sys` 0.19 exports one that says yes; earlier versions
//! did not. A second definition would not link, so the test `io_uring` watches over
//! the truth: by system calls, not by names.

use std::fmt;

/// Whether `MultiGet` reads through `io_uring`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IoUring {
    /// Built without the feature `io-uring`.
    NotBuilt,
    /// The kernel, or a sandbox around this process, refuses it.
    Refused,
    /// In use.
    Available,
}

impl fmt::Display for IoUring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotBuilt => "not built in (feature io-uring)",
            Self::Refused => "refused by the kernel",
            Self::Available => "in use by MultiGet",
        })
    }
}

/// Whether `MultiGet` reads through `io_uring` in this process; asked of the kernel once.
pub fn io_uring_state() -> IoUring {
    #[cfg(feature = "io-uring")]
    {
        static STATE: std::sync::OnceLock<IoUring> = std::sync::OnceLock::new();
        *STATE.get_or_init(probe)
    }
    #[cfg(not(feature = "io-uring"))]
    IoUring::NotBuilt
}

/// A ring like those RocksDB makes.
#[cfg(feature = "io-uring")]
fn probe() -> IoUring {
    let mut builder = io_uring::IoUring::<io_uring::squeue::Entry>::builder();
    builder.setup_single_issuer().setup_defer_taskrun();
    match builder.build(256) {
        Ok(_) => IoUring::Available,
        Err(_) => IoUring::Refused,
    }
}
