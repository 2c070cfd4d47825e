//! The file of `--out`, where that names a file.

use std::path::Path;

use anyhow::anyhow;
use clap::Args;
use report::WholeFile;

use crate::exit::{Code, Failure, OrExit};

/// Consent to replace the file of `--out`.
#[derive(Debug, Default, Args)]
pub struct ForceArgs {
    /// Replace the file of --out where it is there already
    #[arg(long, requires = "out")]
    pub force: bool,
}

impl ForceArgs {
    /// The file at `out`, where one is asked for.
    ///
    /// # Errors
    /// It is there already, or cannot be written.
    pub fn file(&self, out: Option<&Path>) -> Result<Option<WholeFile>, Failure> {
        let Some(path) = out else { return Ok(None) };
        if path.is_file() && !self.force {
            let path = path.display();
            let error = anyhow!(
                "--out {path}: this file is there already; name another, or add --force to replace it"
            );
            return Err(error).or_exit(Code::Usage);
        }
        WholeFile::at(path, "--out").map(Some).or_exit(Code::Io)
    }
}
