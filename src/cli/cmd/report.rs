//! `stress report`: writes results as a page, a summary, a table, or figures for other tools. It
//! also writes the history of results: the times of the same work, and where they change.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::anyhow;
use clap::{Args, ValueEnum};

use report::{
    WholeFile,
    formats::{self, Better},
    html,
};
use result::{
    Content, Shown,
    stored::{StoredLimit, StoredLoad},
};

use crate::{
    cli::args::{ForceArgs, write},
    terminal::{self, Code, Failure, WithExitCode, exit::fail},
};

const EXAMPLES: &str = "\
Examples:
  stress report results/ --out report.html      a page that needs no network
  stress report monday/ tuesday/ sweep/ --out all.html
  stress report results/ >> $GITHUB_STEP_SUMMARY     Markdown, at most a screen
  stress report sweep/ --out cells.csv               a row for each cell
  stress report results/ --format bigger-is-better --out benchmark.json
  stress report nightly/ --history                   all results in it and below it
  stress report nightly/ today/result.json --history --out history.html

A directory stands for the newest run or gate in it, or for all loads on live nodes in it (stress
send), or else for all results below it.
With --history a variant of a work on a machine is a series, in the order in which its results
began, by the commit of their program.
Where the designs of a result disagree, the page says so and shows no figure of it;
the exit code is 3 then. More: docs/result.md";

/// Arguments of `stress report`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_arg("force", |force| force.requires("out")))]
pub struct ReportArgs {
    /// Result files, or directories with results
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<PathBuf>,
    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Whether it is replaced
    #[command(flatten)]
    pub force: ForceArgs,
    /// Format of the report [default: by the ending of --out: .html, .md, .csv; else markdown]
    #[arg(long, value_enum)]
    pub format: Option<ReportFormat>,
    /// Show results over time, commit by commit, and where their times change; --out is a page then
    #[arg(long, conflicts_with = "format")]
    pub history: bool,
}

/// Forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One self-contained page with figures
    Html,
    /// A summary of at most a screen
    Markdown,
    /// A row for each cell, or load
    Csv,
    /// MGas/s (of loads: transactions/s) as github-action-benchmark's customBiggerIsBetter
    BiggerIsBetter,
    /// Milliseconds a batch (of loads: to inclusion) as github-action-benchmark's
    /// customSmallerIsBetter
    SmallerIsBetter,
}

/// Reads the results and writes the report. A result whose designs disagree has no figure in the
/// report, and gives the program its exit code.
pub fn report(args: &ReportArgs) -> Result<Code, Failure> {
    if args.history {
        return history(args);
    }
    let format = format(args)?;
    let file = args.force.file("--out", args.out.as_deref())?;
    let limits = limits(&args.results)?;
    if !limits.is_empty() {
        deliver(&limit_report(&limits, format)?, file)?;
        return Ok(Code::Fine);
    }
    let (mut results, mut loads) = (Vec::new(), Vec::new());
    for path in &args.results {
        match StoredLoad::read_all(path).with_input_code()? {
            none if none.is_empty() => results.extend(Shown::read_all(path).with_input_code()?),
            found => loads.extend(found),
        }
    }
    if let (Some(load), Some(shown)) = (loads.first(), results.first()) {
        return Err(mixed_kinds(load, &shown.path));
    }
    let text = match loads.is_empty() {
        true => run_report(&results, format)?,
        false => load_report(&loads, format)?,
    };
    deliver(&text, file)?;
    Ok(code(&results))
}

/// Writes a report to its file, or without a file to standard output.
fn deliver(text: &str, file: Option<WholeFile>) -> Result<(), Failure> {
    match file {
        Some(file) => write(file, text)?,
        None => terminal::out(text),
    }
    Ok(())
}

/// Returns the gas limits that `stress limit` found; empty if no result is of `stress limit`.
fn limits(paths: &[PathBuf]) -> Result<Vec<StoredLimit>, Failure> {
    let mut limits = Vec::new();
    for path in paths {
        limits.extend(StoredLimit::read(path).with_input_code()?);
    }
    match limits.first() {
        Some(limit) if limits.len() < paths.len() => fail!(
            Code::Usage,
            "{} is of `stress limit`, and other results are not: give limits apart",
            limit.path.display()
        ),
        _ => Ok(limits),
    }
}

/// Returns the text of the report of gas limits.
fn limit_report(limits: &[StoredLimit], format: ReportFormat) -> Result<String, Failure> {
    Ok(match format {
        ReportFormat::Html => html::page_of_limits(limits),
        ReportFormat::Markdown => {
            let texts = limits.iter().map(|limit| report::limit_markdown(&limit.result));
            texts.collect::<Vec<_>>().join("\n")
        }
        ReportFormat::Csv | ReportFormat::BiggerIsBetter | ReportFormat::SmallerIsBetter => fail!(
            Code::Usage,
            "{}: limits are written as HTML or Markdown: end --out in .html or .md",
            limits[0].path.display()
        ),
    })
}

/// Returns the text of the report of runs and gates.
fn run_report(results: &[Shown], format: ReportFormat) -> Result<String, Failure> {
    Ok(match format {
        ReportFormat::Html => html::page(results),
        ReportFormat::Markdown => formats::markdown(results),
        ReportFormat::Csv => formats::csv(results),
        ReportFormat::BiggerIsBetter => {
            formats::benchmark(results, Better::Bigger).with_exit_code(Code::Io)?
        }
        ReportFormat::SmallerIsBetter => {
            formats::benchmark(results, Better::Smaller).with_exit_code(Code::Io)?
        }
    })
}

/// Returns the exit code for these results.
fn code(results: &[Shown]) -> Code {
    let disagrees = results.iter().any(|shown| shown.agrees() == Some(false));
    if disagrees { Code::Disagree } else { Code::Fine }
}

/// Prints the history of the results, and writes it as a page.
fn history(args: &ReportArgs) -> Result<Code, Failure> {
    let file = args.force.file("--out", args.out.as_deref())?;
    let results = report::sorted_by_time(read_each_once(&args.results)?);
    terminal::out(&report::history_table(&results, terminal::width(), terminal::paint()));
    if let Some(file) = file {
        write(file, &html::history(&results))?;
    }
    Ok(code(&results))
}

/// Reads the results, each once, even if several paths name it.
fn read_each_once(paths: &[PathBuf]) -> Result<Vec<Shown>, Failure> {
    let (mut results, mut known) = (Vec::new(), BTreeSet::new());
    for path in paths {
        for shown in Shown::read_every(path).with_input_code()? {
            if let Content::Gate(_) = shown.content {
                let file = shown.path.display();
                fail!(
                    Code::Usage,
                    "{file} is the verdict of a gate, and has no times of a run; `stress report {file}` \
                     shows it"
                );
            }
            // A cell of joined results is no file. Its name is the same each time that it is read.
            let real = fs::canonicalize(&shown.path).unwrap_or_else(|_| shown.path.clone());
            if known.insert(real) {
                results.push(shown);
            }
        }
    }
    Ok(results)
}

/// Returns the text of the report of loads on live nodes.
fn load_report(loads: &[StoredLoad], format: ReportFormat) -> Result<String, Failure> {
    Ok(match format {
        ReportFormat::Html => html::page_of_loads(loads),
        ReportFormat::Markdown => formats::markdown_of_loads(loads),
        ReportFormat::Csv => formats::csv_of_loads(loads),
        ReportFormat::BiggerIsBetter => {
            formats::benchmark_of_loads(loads, Better::Bigger).with_exit_code(Code::Io)?
        }
        ReportFormat::SmallerIsBetter => {
            formats::benchmark_of_loads(loads, Better::Smaller).with_exit_code(Code::Io)?
        }
    })
}

/// Makes the error for a load on a live node beside another result.
pub(super) fn mixed_kinds(load: &StoredLoad, other: &Path) -> Failure {
    let (load, other) = (load.path.display(), other.display());
    let error = anyhow!(
        "{load} is of a load on a live node, and {other} is not: they have no figure in common; give loads \
         and other results apart"
    );
    Failure { code: Code::Usage, error }
}

/// Returns the format of `--format`, or else the format of the ending of `--out`.
fn format(args: &ReportArgs) -> Result<ReportFormat, Failure> {
    let ending = args.out.as_deref().and_then(Path::extension).and_then(|ending| ending.to_str());
    match (args.format, ending, &args.out) {
        (Some(format), _, _) => Ok(format),
        (None, Some("html" | "htm"), _) => Ok(ReportFormat::Html),
        (None, Some("md"), _) | (None, None, None) => Ok(ReportFormat::Markdown),
        (None, Some("csv"), _) => Ok(ReportFormat::Csv),
        (None, _, _) => {
            let path = args.out.as_deref().unwrap_or(Path::new("")).display();
            fail!(
                Code::Usage,
                "--out {path}: its ending names no format; end it in .html, .md or .csv, or for JSON \
                 give --format bigger-is-better or --format smaller-is-better"
            )
        }
    }
}
