//! Decides whether a state's files are read past the page cache (`O_DIRECT`), and whether samples
//! can be cold.

use std::{
    fs::File,
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
    in_memory: bool,
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
    /// Tests whether the first file of `tables` can be opened for direct reads, if these are
    /// wanted. Asks the kernel whether the file system of `dir` is in memory.
    pub(super) fn probe(
        dir: &Path,
        tables: &[PathBuf],
        wanted: FileAccess,
    ) -> Result<Self, StoreError> {
        let action = format!("look at the file system of {}", dir.display());
        let file_system = File::open(dir).and_then(|dir| device::memory_file_system(&dir));
        let in_memory = file_system.map_err(failed_io(action.clone()))?.is_some();
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
        Ok(Self { kind, in_memory })
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

    pub(super) fn never_cold(self) -> Option<&'static str> {
        self.in_memory.then_some("the state lies on a file system in memory (tmpfs or ramfs)")
    }
}
