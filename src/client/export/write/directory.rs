//! The directory of an export while it is filled, with the names of its files.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufWriter, Write},
    path::Path,
};

use anyhow::Context;
use generator::{export::ExportError, reference::ReferenceError};
use workload::RowError;

use crate::terminal::{Code, Failure, WithExitCode};

/// File of the calls that send the blocks that grow the state.
pub const GROWTH: &str = "grow.txt";

pub(super) struct Directory<'a> {
    path: &'a Path,
    files: Vec<String>,
}

impl<'a> Directory<'a> {
    pub(super) const fn new(path: &'a Path) -> Self {
        Self { path, files: Vec::new() }
    }

    /// Returns the files so far, in the order in which they were begun.
    pub(super) fn files(&self) -> &[String] {
        &self.files
    }

    /// Writes to the end of a file, and makes the file if it does not exist. The blocks that grow
    /// the state come before the sampled blocks in the same file.
    pub(super) fn file(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<File>) -> Result<(), ExportError>,
    ) -> Result<(), Failure> {
        let mut out = self.create(name)?;
        write(&mut out).map_err(|error| {
            let Failure { code, error } = failure(error);
            match code {
                Code::Io => Failure { code, error: error.context(format!("cannot write {name}")) },
                code => Failure { code, error },
            }
        })?;
        out.flush().with_context(|| format!("cannot write {name}")).with_exit_code(Code::Io)
    }

    /// Opens a file for writing at its end, and makes the file if it does not exist.
    pub(super) fn create(&mut self, name: &str) -> Result<BufWriter<File>, Failure> {
        if !self.files.iter().any(|known| known == name) {
            self.files.push(name.to_owned());
        }
        let path = self.path.join(name);
        let parents = path.parent().map_or(Ok(()), fs::create_dir_all);
        let file = parents.and_then(|()| OpenOptions::new().create(true).append(true).open(&path));
        let file = file.with_context(|| format!("cannot write {name}")).with_exit_code(Code::Io)?;
        Ok(BufWriter::with_capacity(1 << 20, file))
    }
}

/// Adds the exit code to an error of the export.
pub(super) fn failure(error: ExportError) -> Failure {
    let code = match &error {
        ExportError::Reference(ReferenceError::Cancelled)
        | ExportError::Rows(RowError::Cancelled) => Code::Interrupted,
        ExportError::Reference(_) | ExportError::Trie(_) => Code::Disagree,
        ExportError::Rows(_) | ExportError::Io(_) => Code::Io,
        _ => Code::Usage,
    };
    Failure { code, error: error.into() }
}
