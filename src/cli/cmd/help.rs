//! `stress completions` and `stress man`: the command line, as it is, for shells and for man.

use std::{fs, path::PathBuf};

use anyhow::Context;
use clap::{Args, Command};

use crate::{
    cli::args::ForceArgs,
    terminal::{
        self,
        exit::{Code, Failure, OrExit},
    },
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
    let dir = &args.out;
    let cannot = || format!("cannot write manual pages to {}, named by --out", dir.display());
    let made = tempfile::tempdir().with_context(cannot).or_exit(Code::Io)?;
    clap_mangen::generate_to(line, made.path()).with_context(cannot).or_exit(Code::Io)?;
    let pages = fs::read_dir(made.path()).and_then(|pages| {
        let pages =
            pages.map(|page| page.and_then(|page| Ok((page.file_name(), fs::read(page.path())?))));
        pages.collect::<Result<Vec<_>, _>>()
    });
    let pages = pages.with_context(cannot).or_exit(Code::Io)?;
    args.force.write_all(dir, &pages, cannot)?;
    terminal::note(&format!("wrote manual pages to {}", dir.display()));
    Ok(Code::Fine)
}
