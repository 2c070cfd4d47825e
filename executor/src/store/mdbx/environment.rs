//! Opens MDBX environments over a state's file. This file also has the settings, name and errors of
//! a store in MDBX.

use std::{fs, io, path::Path};

use signet_libmdbx::{
    Environment, EnvironmentFlags, Geometry, MdbxError, Mode, ReadError, SyncMode, ffi,
    sys::PageSize,
};
use variant::Durability;
use workload::Table;

use crate::error::StoreError;

/// The store's name in variants and errors.
pub(super) const NAME: &str = "mdbx";

/// Settings of commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MdbxSettings {
    /// Durability of a batch at the end of its commit. `Synced`: data and meta page are on the
    /// device. `Logged`: the kernel has data and meta page, and MDBX keeps its last durable
    /// snapshot (`SAFE_NOSYNC`). `Unlogged`: the kernel has them, and MDBX keeps no durable
    /// snapshot (`UTTERLY_NOSYNC`). MDBX cannot keep a commit only in the memory of its process.
    pub durability: Durability,
}

impl MdbxSettings {
    /// Returns MDBX's mode for this durability, and its name as a fact of the store.
    pub(super) const fn sync_mode(self) -> (SyncMode, &'static str) {
        match self.durability {
            Durability::Synced => (SyncMode::Durable, "synced (SYNC_DURABLE)"),
            Durability::Logged => (SyncMode::SafeNoSync, "logged (SAFE_NOSYNC)"),
            Durability::Unlogged => (SyncMode::UtterlyNoSync, "unlogged (UTTERLY_NOSYNC)"),
        }
    }
}

/// Page size in bytes, equal to the machine's page size and to that of clients on MDBX.
pub(super) const PAGE_BYTES: usize = 4096;

/// Number of bytes by which the file grows. So the unused end of a built file is shorter than this.
const GROWTH_BYTES: isize = 1 << 20;

/// Number of bytes of address space for a sample's additions to a state: several times the leaves
/// that a block can write.
const ROOM_BYTES: u64 = 256 << 30;

/// Maximal number of readers. Each reading and executing thread has one transaction, and a scenario
/// may request 1,024 of each.
pub(super) const READER_COUNT_MAX: u64 = 4096;

/// Purpose of an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Filling the environment with about this many bytes.
    Build { byte_estimate: u64 },
    /// Reads and writes of a sample.
    Sample(SyncMode),
    /// Reading all rows in the order of their keys, with a check of each page. Nothing is written,
    /// but MDBX allows the check only in a writable environment.
    Scan,
    /// Single reads, without writes.
    Check,
}

/// Opens the environment in the file `path`; its lock file lies beside it.
pub(super) fn open(path: &Path, purpose: Purpose) -> Result<Environment, StoreError> {
    let mut builder = Environment::builder();
    let mode = match purpose {
        Purpose::Build { .. } => Mode::ReadWrite { sync_mode: SyncMode::UtterlyNoSync },
        Purpose::Sample(sync_mode) => Mode::ReadWrite { sync_mode },
        Purpose::Scan => Mode::ReadWrite { sync_mode: SyncMode::Durable },
        Purpose::Check => Mode::ReadOnly,
    };
    builder.set_flags(EnvironmentFlags {
        no_sub_dir: true,
        no_rdahead: purpose != Purpose::Scan,
        mode,
        ..EnvironmentFlags::default()
    });
    // One table more than those of rows, for the nodes of tries.
    builder.set_max_dbs(Table::ALL.len() + 1).set_max_readers(READER_COUNT_MAX);
    if let Purpose::Build { byte_estimate } = purpose {
        let limit = usize::try_from(byte_estimate.saturating_add(ROOM_BYTES)).unwrap_or(usize::MAX);
        builder.set_geometry(Geometry {
            size: Some(0..limit),
            growth_step: Some(GROWTH_BYTES),
            shrink_threshold: Some(0),
            page_size: Some(PageSize::Set(PAGE_BYTES)),
        });
    }
    builder.open(path).map_err(failed(format!("open {}", path.display())))
}

/// Lets MDBX check the structure of each page that it reads; by default it does not.
#[expect(unsafe_code, reason = "signet-libmdbx has no setter for this flag")]
pub(super) fn check_pages(environment: &Environment) -> Result<(), StoreError> {
    // SAFETY: the environment is open, and MDBX_VALIDATION may be set at any time.
    let code = environment.with_raw_env_ptr(|raw| unsafe {
        ffi::mdbx_env_set_flags(raw, ffi::MDBX_VALIDATION, true)
    });
    match code {
        ffi::MDBX_SUCCESS => Ok(()),
        code => Err(failed("ask for checks of pages")(MdbxError::from_err_code(code))),
    }
}

/// Version of the linked library.
#[expect(unsafe_code, reason = "a constant of the library")]
pub(super) fn library_version() -> String {
    // SAFETY: a constant that the library defines, never written.
    let version = unsafe { &ffi::mdbx_version };
    format!("{}.{}.{}", version.major, version.minor, version.patch)
}

/// Removes the lock file beside `path`, once all environments over `path` are closed.
pub(super) fn remove_lock_file(path: &Path) -> Result<(), StoreError> {
    let mut lock = path.as_os_str().to_owned();
    lock.push("-lck");
    match fs::remove_file(&lock) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(failed_io("remove a lock file")),
    }
}

/// Returns a function for `map_err` that makes the error of a call of MDBX.
pub(super) fn failed(action: impl Into<String>) -> impl FnOnce(MdbxError) -> StoreError {
    // The text is made only after an error, since this closure is made for each row that is
    // written.
    move |error| match error {
        MdbxError::Corrupted
        | MdbxError::PageNotFound
        | MdbxError::Invalid
        | MdbxError::VersionMismatch
        | MdbxError::CursorFull
        | MdbxError::PageFull
        | MdbxError::Problem
        | MdbxError::Panic => StoreError::damaged(NAME, action, error),
        MdbxError::ReadersFull => {
            let reason =
                format!("{READER_COUNT_MAX} threads read already; take fewer (run.threads)");
            StoreError::failed(NAME, action, reason)
        }
        // An error code of the operating system, whose text tells more: for example, that the
        // device is full.
        MdbxError::Other(code) => {
            StoreError::failed(NAME, action, io::Error::from_raw_os_error(code))
        }
        error => StoreError::failed(NAME, action, error),
    }
}

/// Returns a function for `map_err` that makes the error of a read.
pub(super) fn failed_read(what: impl Into<String>) -> impl FnOnce(ReadError) -> StoreError {
    move |error| match error {
        ReadError::Mdbx(error) => failed(what)(error),
        ReadError::Decoding(error) => StoreError::damaged(NAME, what, error),
    }
}

/// Returns a function for `map_err` that makes the error of a file operation.
pub(super) fn failed_io(action: impl Into<String>) -> impl FnOnce(io::Error) -> StoreError {
    move |error| StoreError::failed(NAME, action, error)
}
