//! `stress help`: prints the help of the command line, makes completion scripts for shells, and
//! writes manual pages.

use std::{ffi::OsString, fs, io, path::PathBuf};

use anyhow::Context;
use clap::{Args, Command, Subcommand};

use crate::{
    cli::args::{ArgsOrVerb, ForceArgs, print_help},
    terminal::{self, Code, Failure, WithExitCode, exit::fail},
};

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  stress help completions fish > ~/.config/fish/completions/stress.fish
  stress help completions zsh > \"${fpath[1]}/_stress\"
  stress help completions bash > ~/.local/share/bash-completion/completions/stress";

const EXAMPLES: &str = "\
Examples:
  stress help gate calibrate
  stress help man --out man/                    manual pages, one for each verb";

const MAN_EXAMPLES: &str = "\
Examples:
  stress help man --out man/
  stress help man --out man/ --force";

/// Arguments of `stress help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct HelpArgs {
    /// The verb, and a verb of its own: gate calibrate
    #[arg(value_name = "VERB")]
    words: Vec<String>,
}

/// Verbs of `stress help`.
#[derive(Debug, Subcommand)]
pub enum HelpCommand {
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write manual pages, one for each verb
    Man(ManArgs),
}

/// Arguments of `stress help man`.
#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub struct ManArgs {
    /// The directory; `man -l DIR/stress.1` shows the first
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Whether its files are replaced
    #[command(flatten)]
    force: ForceArgs,
}

/// Prints help of the command line `line`, or makes its completion script or manual pages.
pub fn help(verb: &ArgsOrVerb<HelpArgs, HelpCommand>, line: Command) -> Result<Code, Failure> {
    match verb {
        ArgsOrVerb::Args(args) => print_verb(&args.words, line),
        ArgsOrVerb::Verb(HelpCommand::Completions { shell }) => Ok(completions(*shell, line)),
        ArgsOrVerb::Verb(HelpCommand::Man(args)) => man(args, line),
    }
}

/// Prints the help of a verb, or of the program.
fn print_verb(words: &[String], mut line: Command) -> Result<Code, Failure> {
    line.build();
    let mut verb = &mut line;
    for word in words {
        let name = verb.get_name().to_owned();
        let Some(own) = verb.find_subcommand_mut(word) else {
            fail!(Code::Usage, "{word}: {name} has no such verb; `stress --help` shows all verbs");
        };
        verb = own;
    }
    print_help(&verb.render_long_help());
    Ok(Code::Fine)
}

/// Prints the completion script of a shell for the command line `line`.
fn completions(shell: clap_complete::Shell, mut line: Command) -> Code {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut line, "stress", &mut script);
    terminal::out(&String::from_utf8_lossy(&script));
    Code::Fine
}

/// Writes the manual pages of the command line `line` into a directory. Makes the directory if it
/// does not exist.
fn man(args: &ManArgs, line: Command) -> Result<Code, Failure> {
    let dir = args.out.display();
    let context = format!("cannot write manual pages to {dir}, named by --out");
    let pages = pages(line).with_context(|| context.clone()).with_exit_code(Code::Io)?;
    args.force.write_all(&args.out, &pages, || context)?;
    terminal::note(&format!("wrote manual pages to {dir}"));
    Ok(Code::Fine)
}

/// Returns the names and texts of the manual pages.
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
