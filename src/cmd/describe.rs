//! `stress describe`: what a workload holds, before it runs.

use std::{fs, path::PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;

use crate::{
    args::WorkArgs,
    describe::{self, Figures, kinds},
    exit::{Code, Failure, OrExit},
    prepare::{self, Size},
    progress::Progress,
    terminal,
};

const DESCRIBE_EXAMPLES: &str = "\
Examples:
  stress describe one-slot --gas 100M
  stress describe my.toml --set block.order=phases --svg my.svg
  stress describe --workload block.workload --json
  stress describe --table > table.md            every shipped scenario, in small, with its rates

docs/describe.md says what the figures mean.";

/// Arguments of `stress describe`.
#[derive(Debug, Args)]
#[command(after_help = DESCRIBE_EXAMPLES)]
pub struct DescribeArgs {
    /// A shipped scenario's name, or the path of a scenario file
    #[arg(
        value_name = "NAME|FILE",
        required_unless_present_any = ["workload", "table"],
        conflicts_with_all = ["workload", "table"]
    )]
    pub scenario: Option<String>,
    /// A workload file that `stress generate` or `stress import` wrote
    #[arg(long, value_name = "FILE", conflicts_with = "table")]
    pub workload: Option<PathBuf>,
    /// All shipped scenarios in Markdown: gas and list of an operation, and rates, measured now;
    /// 30M gas, 200k slots and the memory store where nothing else is said
    #[arg(long, conflicts_with_all = ["json", "svg", "threads"])]
    pub table: bool,
    /// Numbers of threads that the ideal speed-up is given for
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_values_t = [2, 4, 8, 16, 64],
        value_parser = clap::value_parser!(u32).range(1..=1024)
    )]
    pub threads: Vec<u32>,
    /// Print all figures as JSON
    #[arg(long)]
    pub json: bool,
    /// Also write the components of the conflict graph as a picture
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// What the workload is
    #[command(flatten)]
    pub work: WorkArgs,
}

/// Describes what the arguments name.
pub fn describe(args: &DescribeArgs) -> Result<Code, Failure> {
    let progress = Progress::new(terminal::look());
    if args.table {
        return table(&args.work, &progress);
    }
    let Figures { described, components } = figures(args, &progress)?;
    progress.clear();
    if let Some(path) = &args.svg {
        let written = fs::write(path, report::picture(&described, &components));
        written
            .with_context(|| format!("cannot write --svg {}", path.display()))
            .or_exit(Code::Io)?;
        terminal::note(&format!("wrote {}", path.display()));
    }
    terminal::out(&match args.json {
        true => report::json(&described).or_exit(Code::Io)?,
        false => report::describe(&described, terminal::width(), terminal::paint()),
    });
    Ok(Code::Fine)
}

fn figures(args: &DescribeArgs, progress: &Progress) -> Result<Figures, Failure> {
    let overrides = args.work.overrides().or_exit(Code::Usage)?;
    let threads: Vec<usize> = args.threads.iter().map(|count| *count as usize).collect();
    match (&args.scenario, &args.workload) {
        (None, Some(path)) => {
            if let Some(given) = overrides.first() {
                let error = anyhow!(
                    "{}: the work of a workload file is fixed; generate another",
                    given.origin
                );
                return Err(error).or_exit(Code::Usage);
            }
            let workload = prepare::read_workload(path, progress)?;
            describe::of_workload(&workload, &threads, progress)
        }
        (name, _) => {
            let name = name.as_deref().unwrap_or_default();
            let scenario = prepare::scenario(name, overrides, Size::Stated)?;
            let (figures, _) = describe::of_scenario(&scenario, &threads, progress)?;
            Ok(figures)
        }
    }
}

/// Prints the table of all shipped scenarios.
fn table(work: &WorkArgs, progress: &Progress) -> Result<Code, Failure> {
    let overrides = work.overrides().or_exit(Code::Usage)?;
    let Some(rows) = kinds::rows(overrides, progress)? else { return Ok(Code::Interrupted) };
    progress.clear();
    terminal::out(&report::kinds(&rows));
    Ok(Code::Fine)
}
