//! The files that a verb writes, and the consent to replace them.

use std::path::PathBuf;

use clap::Args;
use report::{Existing, WholeFile};

use crate::terminal::exit::Failure;

/// Consent to replace the files that options name.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct ForceArgs {
    /// Replace an output file that is there already
    #[arg(long)]
    force: bool,
}

impl ForceArgs {
    /// Treatment of a file that exists already.
    pub const fn existing(self) -> Existing {
        if self.force { Existing::Replace } else { Existing::Refuse }
    }
}

/// The workload file of a verb that makes one.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// The workload file to write
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Whether it is replaced
    #[command(flatten)]
    pub force: ForceArgs,
}

impl OutputArgs {
    /// The file.
    ///
    /// # Errors
    /// It is there already and stays, or cannot be written.
    pub fn file(&self) -> Result<WholeFile, Failure> {
        Ok(WholeFile::at(&self.output, "--output", self.force.existing())?)
    }
}
