//! The command line of `stress report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  stress report results/ --out report.html           a page that needs no network
  stress report monday/ tuesday/ sweep/ --out all.html
  stress report results/ >> $GITHUB_STEP_SUMMARY     Markdown, at most a screen
  stress report sweep/ --out cells.csv               a row for each cell
  stress report results/ --format bigger-is-better --out benchmark.json

A directory stands for its result.json, or else for all results in it and below it.
Where the designs of a result disagree, the page says so and shows no figure of it;
the exit code is 3 then. docs/report.md says more.";

/// Arguments of `stress report`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ReportArgs {
    /// Result files, or directories with results
    #[arg(value_name = "RESULT", required = true)]
    pub results: Vec<PathBuf>,
    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// What to write [default: by the ending of --out: .html, .md, .csv; else markdown]
    #[arg(long, value_enum)]
    pub format: Option<ReportFormat>,
}

/// Forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One self-contained page with figures
    Html,
    /// A summary of at most a screen
    Markdown,
    /// A row for each cell
    Csv,
    /// MGas/s as github-action-benchmark's customBiggerIsBetter
    BiggerIsBetter,
    /// Milliseconds a batch as github-action-benchmark's customSmallerIsBetter
    SmallerIsBetter,
}
