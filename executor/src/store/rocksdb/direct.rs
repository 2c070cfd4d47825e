//! Finds out how a state's table files can be read: past the page cache (`O_DIRECT`) or through it,
//! and whether samples can be cold. The store asks when it is opened; a scan asks, too.

use std::{
    io,
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags, open};

use super::settings::failed_io;
use crate::{device, error::StoreError};
use variant::FileAccess;

/// Access to the table files of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    kind: Kind,
    /// Reason why samples cannot be cold; `None` if they can be.
    pub(super) never_cold_reason: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Direct,
    /// `O_DIRECT` was requested and refused.
    Refused,
    /// `O_DIRECT` was not requested.
    Buffered,
}

impl Access {
    /// Tests whether the first file of `tables` can be opened for direct reads, if `wanted` says
    /// so. Asks the kernel whether the file system of `dir` is in memory.
    pub(super) fn probe(
        dir: &Path,
        tables: &[PathBuf],
        wanted: FileAccess,
    ) -> Result<Self, StoreError> {
        let action = format!("look at the file system of {}", dir.display());
        let never_cold_reason =
            device::never_cold_reason(dir).map_err(failed_io(action.clone()))?;
        let kind = match (wanted, tables.first()) {
            (FileAccess::Buffered, _) => Kind::Buffered,
            (FileAccess::Direct, None) => Kind::Direct,
            (FileAccess::Direct, Some(file)) => {
                let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
                match open(file, flags, Mode::empty()) {
                    Ok(_) => Kind::Direct,
                    Err(rustix::io::Errno::INVAL) => Kind::Refused,
                    Err(errno) => return Err(failed_io(action)(io::Error::from(errno))),
                }
            }
        };
        Ok(Self { kind, never_cold_reason })
    }

    pub(super) fn is_direct(self) -> bool {
        self.kind == Kind::Direct
    }

    pub(super) fn describe(self) -> String {
        match self.kind {
            Kind::Direct => "direct (O_DIRECT)",
            Kind::Refused => "buffered: the file system refuses O_DIRECT",
            Kind::Buffered => "buffered",
        }
        .to_owned()
    }
}
