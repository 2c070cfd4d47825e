//! `stress describe`: keys, conflicts and list sizes of a workload, before it runs.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use partition::Hypergraph;
use report::{WholeFile, units};
use spec::RunSpec;

use crate::{
    cli::args::{ForceArgs, ScenarioArgs, Which, WorkArgs},
    describe::{self, Asked, Figures, kinds},
    run::{minimal, prepare},
    terminal::{
        self,
        exit::{Code, Failure, OrExit},
        progress::Progress,
    },
};

const DESCRIBE_EXAMPLES: &str = "\
Examples:
  stress describe one-slot --gas 100M
  stress describe my.toml --set block.order=phases --svg my.svg
  stress describe --workload block.workload --json
  stress describe dapps --shards 2,4            partitions over shards of execution
  stress describe --table > table.md            every shipped scenario, in small, with its rates

docs/workloads.md explains the figures.";

/// Threads that the ideal speed-up is given for where nothing is said.
const IDEAL_THREADS: [usize; 5] = [2, 4, 8, 16, 64];

/// Arguments of `stress describe`.
#[derive(Debug, Args)]
#[command(after_help = DESCRIBE_EXAMPLES)]
pub struct DescribeArgs {
    /// The scenario; its threads are those that the ideal speed-up is given for [default: 2, 4, 8,
    /// 16 and 64]
    #[command(flatten)]
    pub of: ScenarioArgs,
    /// A workload file that `stress generate` or `stress import` wrote
    #[arg(long, value_name = "FILE", conflicts_with = "table")]
    pub workload: Option<PathBuf>,
    /// All shipped scenarios in Markdown: gas and list of an operation, and rates, measured now;
    /// 30M gas, 200k slots and the memory store where nothing else is said
    #[arg(
        long,
        conflicts_with_all = ["json", "svg", "HowArgs", "words", "scenario", "quick"]
    )]
    pub table: bool,
    /// Print all figures as JSON
    #[arg(long)]
    pub json: bool,
    /// Also write the components of the conflict graph as a picture
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Also write the hypergraph of transactions and keys in the format of hMETIS, for other
    /// partitioners; of several batches the first
    #[arg(long, value_name = "FILE", requires = "shards")]
    pub hmetis: Option<PathBuf>,
    /// Whether these are replaced
    #[command(flatten)]
    pub force: ForceArgs,
}

/// Describes the workload of the arguments.
pub fn describe(args: &DescribeArgs) -> Result<Code, Failure> {
    let progress = Progress::new(terminal::look());
    if args.table {
        return table(&args.of.work, &progress);
    }
    let at = |option, path: &Option<PathBuf>| {
        let path = path.as_deref();
        path.map(|path| WholeFile::at(path, option, args.force.existing())).transpose()
    };
    let (svg, hmetis) = (at("--svg", &args.svg)?, at("--hmetis", &args.hmetis)?);
    let Figures { described, components, first_batch } = figures(args, &progress)?;
    progress.clear();
    if let Some(file) = svg {
        write(file, &report::picture(&described, &components))?;
    }
    if let (Some(file), Some(first)) = (hmetis, &first_batch) {
        write(file, &Hypergraph::new(first).to_hmetis())?;
        let batch_count = described.workload.batch_count;
        if batch_count > 1 {
            terminal::note(&format!("it has the first of {batch_count} batches"));
        }
    }
    terminal::out(&match args.json {
        true => report::json(&described).or_exit(Code::Io)?,
        false => report::describe(&described, terminal::width(), terminal::paint()),
    });
    Ok(Code::Fine)
}

/// Writes the file of an option.
fn write(file: WholeFile, text: &str) -> Result<(), Failure> {
    let path = file.write(|out| out.write_all(text.as_bytes()))?;
    terminal::note(&format!("wrote {}", path.display()));
    Ok(())
}

fn figures(args: &DescribeArgs, progress: &Progress) -> Result<Figures, Failure> {
    let threads = |run: &RunSpec| match (&args.of.how.threads, run.thread_counts.as_slice()) {
        (Some(_), given) => given.iter().map(|count| *count as usize).collect(),
        (None, _) => IDEAL_THREADS.to_vec(),
    };
    match args.of.which(args.workload.as_deref()).or_exit(Code::Usage)? {
        Some(Which::Workload(path)) => {
            let mut how = args.of.how.overrides();
            how.extend(args.of.work.beside_file().or_exit(Code::Usage)?);
            let run = minimal::default_run(&how).or_exit(Code::Usage)?;
            let workload = prepare::read_workload(&path, progress)?;
            let asked = Asked { threads: &threads(&run), shards: &run.shards.counts };
            describe::of_workload(&workload, asked, progress)
        }
        Some(Which::Scenario(name)) => {
            let scenario = args.of.load_by_name(&name)?;
            let run = &scenario.run;
            let asked = Asked { threads: &threads(run), shards: &run.shards.counts };
            Ok(describe::of_scenario(&scenario, asked, progress)?.0)
        }
        None => {
            let error = anyhow!(
                "nothing to describe: name a scenario (NAME|FILE) or a file (--workload FILE), or all \
                 shipped scenarios (--table)"
            );
            Err(error).or_exit(Code::Usage)
        }
    }
}

/// Prints the table of all shipped scenarios.
fn table(work: &WorkArgs, progress: &Progress) -> Result<Code, Failure> {
    let overrides = work.overrides().or_exit(Code::Usage)?;
    let Some(rows) = kinds::rows(overrides, progress)? else { return Ok(Code::Interrupted) };
    progress.clear();
    terminal::out(&report::kinds(&rows.made));
    if rows.refused.is_empty() {
        return Ok(Code::Fine);
    }
    let reasons: Vec<String> = rows.refused.iter().map(ToString::to_string).collect();
    let scenarios = units::things(reasons.len() as u64, "scenario");
    let error = anyhow!("the table lacks {scenarios}: {}", reasons.join("; "));
    Err(error).or_exit(Code::Usage)
}
