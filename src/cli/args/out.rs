//! The files that a verb writes, and the consent to replace them.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use clap::Args;
use report::{Existing, WholeFile};

use crate::terminal::{self, Code, Failure, WithExitCode};

/// Consent to replace the files that options name.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ForceArgs {
    /// Replace an output file that is there already
    #[arg(long)]
    force: bool,
}

impl ForceArgs {
    /// Returns the treatment of an existing file.
    pub const fn existing(self) -> Existing {
        if self.force { Existing::Replace } else { Existing::Refuse }
    }

    /// Checks the file that `option` names, if it names one.
    ///
    /// # Errors
    /// The file exists and must stay, or cannot be written.
    pub fn file(
        self,
        option: &'static str,
        path: Option<&Path>,
    ) -> Result<Option<WholeFile>, Failure> {
        Ok(path.map(|path| WholeFile::at(path, option, self.existing())).transpose()?)
    }

    /// Writes the `files` of `--out`, each a name and its content, into `dir`. Makes `dir` if it
    /// does not exist; `context` begins the error if that fails.
    ///
    /// # Errors
    /// A file exists and must stay, or cannot be written.
    pub fn write_all(
        self,
        dir: &Path,
        files: &[(OsString, Vec<u8>)],
        context: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        fs::create_dir_all(dir).with_context(context).with_exit_code(Code::Io)?;
        // All files are checked before the first file is written.
        let tried = files.iter().map(|(name, content)| {
            Ok((WholeFile::at(&dir.join(name), "--out", self.existing())?, content))
        });
        for (file, content) in tried.collect::<Result<Vec<_>, Failure>>()? {
            file.write(|out| out.write_all(content))?;
        }
        Ok(())
    }
}

/// Writes a file, and prints a note.
///
/// # Errors
/// The file cannot be written.
pub fn write(file: WholeFile, text: &str) -> Result<(), Failure> {
    let path = file.write(|out| out.write_all(text.as_bytes()))?;
    terminal::note(&format!("wrote {}", path.display()));
    Ok(())
}

/// The workload file of a verb that makes one.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// The workload file to write
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,
    /// Whether it is replaced
    #[command(flatten)]
    pub force: ForceArgs,
}

impl OutputArgs {
    /// Returns the workload file, after a check that it can be written.
    ///
    /// # Errors
    /// The file exists and must stay, or cannot be written.
    pub fn file(&self) -> Result<WholeFile, Failure> {
        Ok(WholeFile::at(&self.out, "--out", self.force.existing())?)
    }
}
