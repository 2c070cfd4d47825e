//! `stress completions` and `stress man`: the command line, as it is, for shells and for man.

use std::{ffi::OsString, fs, io, path::PathBuf};

use anyhow::Context;
use clap::{Args, Command};

use crate::{
    cli::args::ForceArgs,
    terminal::{self, Code, Failure, WithExitCode},
};

const COMPLETIONS: &str = "\
Examples:
  stress completions bash > ~/.local/share/bash-completion/completions/stress
  stress completions zsh > \"${fpath[1]}/_stress\"
  stress completions fish > ~/.config/fish/completions/stress.fish";

/// Arguments of `stress completions`.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// Arguments of `stress man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The directory; `man -l DIR/stress.1` shows the first
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Whether its files are replaced
    #[command(flatten)]
    pub force: ForceArgs,
}

/// Prints the completion script of a shell for the command line `line`.
pub fn completions(args: &CompletionsArgs, mut line: Command) -> Result<Code, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut line, "stress", &mut script);
    terminal::out(&String::from_utf8_lossy(&script));
    Ok(Code::Fine)
}

/// Writes the manual pages of the command line `line` into a directory, which is made where it is
/// missing.
pub fn man(args: &ManArgs, line: Command) -> Result<Code, Failure> {
    let dir = args.out.display();
    let cannot = format!("cannot write manual pages to {dir}, named by --out");
    let pages = pages(line).with_context(|| cannot.clone()).with_exit_code(Code::Io)?;
    args.force.write_all(&args.out, &pages, || cannot)?;
    terminal::note(&format!("wrote manual pages to {dir}"));
    Ok(Code::Fine)
}

/// The names and texts of the manual pages.
fn pages(line: Command) -> io::Result<Vec<(OsString, Vec<u8>)>> {
    let made = tempfile::tempdir()?;
    clap_mangen::generate_to(line, made.path())?;
    let mut pages = Vec::new();
    for page in fs::read_dir(made.path())? {
        let page = page?;
        pages.push((page.file_name(), fs::read(page.path())?));
    }
    Ok(pages)
}
