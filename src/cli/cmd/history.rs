//! `stress history`: results of the same work over time, and where their times change.

use std::{collections::BTreeSet, fs, path::PathBuf};

use clap::Args;

use report::html;
use result::{Content, Shown};

use crate::{
    cli::args::{ForceArgs, write},
    terminal::{self, Code, Failure, WithExitCode, exit::fail},
};

/// Arguments of `stress history`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stress history nightly/                          all results in it and below it
  stress history nightly/ today/result.json --out history.html
  stress history nightly/ --out history.html --force    in place of an older page

A variant of a work on a machine is a series, in the order in which its results began,
by the commit of their program. Results of other work or of another machine are series
of their own. The exit code is 3 where the designs of a result disagree; it has no
point then. More: docs/result.md", mut_arg("force", |force| force.requires("out")))]
pub struct HistoryArgs {
    /// Result files, or directories: all results in them and below them
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<PathBuf>,
    /// The page to write, for a browser
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Whether it is replaced
    #[command(flatten)]
    pub force: ForceArgs,
}

/// Reads the results, prints their history, and writes it as a page.
pub fn history(args: &HistoryArgs) -> Result<Code, Failure> {
    let file = args.force.file("--out", args.out.as_deref())?;
    let results = report::by_time(read(&args.results)?);
    terminal::out(&report::history_table(&results, terminal::width(), terminal::paint()));
    if let Some(file) = file {
        write(file, &html::history(&results))?;
    }
    let disagrees = results.iter().any(|shown| shown.agrees() == Some(false));
    Ok(if disagrees { Code::Disagree } else { Code::Fine })
}

/// The results, each once, however often and by which name it was given.
fn read(paths: &[PathBuf]) -> Result<Vec<Shown>, Failure> {
    let (mut results, mut known) = (Vec::new(), BTreeSet::new());
    for path in paths {
        for shown in Shown::read_every(path).with_exit_code(Code::Io)? {
            if let Content::Gate(_) = shown.content {
                let file = shown.path.display();
                fail!(
                    Code::Usage,
                    "{file} is the verdict of a gate, and has no times of a run; `stress report {file}` \
                     shows it"
                );
            }
            // A cell of joined results is no file: its name is the same each time.
            let real = fs::canonicalize(&shown.path).unwrap_or_else(|_| shown.path.clone());
            if known.insert(real) {
                results.push(shown);
            }
        }
    }
    Ok(results)
}
