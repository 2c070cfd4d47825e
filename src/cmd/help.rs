//! `stress completions` and `stress man`: the command line, as it is, for shells and for man.

use std::{fs, path::Path};

use anyhow::Context;
use clap::CommandFactory;

use crate::{
    cli::Cli,
    exit::{Code, Failure, OrExit},
    terminal,
};

/// Prints the completion script of a shell.
pub fn completions(shell: clap_complete::Shell) -> Result<Code, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "stress", &mut script);
    terminal::out(&String::from_utf8_lossy(&script));
    Ok(Code::Fine)
}

/// Writes the manual pages into `dir`, which is made where it is missing.
pub fn man(dir: &Path) -> Result<Code, Failure> {
    let cannot = || format!("cannot write manual pages to {}, named by --out", dir.display());
    fs::create_dir_all(dir).with_context(cannot).or_exit(Code::Io)?;
    clap_mangen::generate_to(Cli::command(), dir).with_context(cannot).or_exit(Code::Io)?;
    terminal::note(&format!("wrote manual pages to {}", dir.display()));
    Ok(Code::Fine)
}
