//! `stress describe`: describes the keys, conflicts and list sizes of a workload before it runs.

use std::path::PathBuf;

use clap::Args;
use partition::Hypergraph;
use report::units;

use crate::{
    cli::args::{ForceArgs, Format, NamedWork, ScenarioArgs, WorkArgs, write},
    describe::{self, Figures, Requested},
    run::prepare,
    terminal::{self, Code, Failure, Progress, WithExitCode, exit::fail},
};

const DESCRIBE_EXAMPLES: &str = "\
Examples:
  stress describe one-slot --gas 100M
  stress describe my.toml --set block.order=phases --out my.svg
  stress describe --workload block.workload --json
  stress describe dapps --shards 2,4            partitions over shards of execution
  stress describe --table > table.md            every shipped scenario, in small, with its rates

docs/workloads.md explains the figures.";

/// Default thread counts for which the ideal speed-up is computed.
const IDEAL_THREADS: [usize; 5] = [2, 4, 8, 16, 64];

/// Arguments of `stress describe`.
#[derive(Debug, Args)]
#[command(after_help = DESCRIBE_EXAMPLES)]
pub struct DescribeArgs {
    /// The scenario. Its `--threads` are the thread counts of the ideal speed-up [default: 2, 4, 8,
    /// 16 and 64]
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// A workload file that `stress generate` or `stress import` wrote
    #[arg(long, value_name = "FILE", conflicts_with = "table")]
    pub workload: Option<PathBuf>,
    /// All shipped scenarios in Markdown: gas and list of an operation, and rates, measured now;
    /// 30M gas, 200k slots and the memory store where nothing else is said
    #[arg(
        long,
        conflicts_with_all = ["json", "out", "HowArgs", "words", "scenario", "quick"]
    )]
    pub table: bool,
    /// Print all figures as JSON
    #[arg(long)]
    pub json: bool,
    /// Also write the components of the conflict graph as a picture (SVG). A file that ends in .hgr
    /// gets the hypergraph of transactions and keys for hMETIS; of several batches the first
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Whether the file of --out may be replaced
    #[command(flatten)]
    pub force: ForceArgs,
}

/// Describes the workload of the arguments.
pub fn describe(args: &DescribeArgs) -> Result<Code, Failure> {
    let progress = Progress::new(terminal::progress_form());
    if args.table {
        return table(&args.scenario.work, &progress);
    }
    let is_hypergraph = is_hypergraph(args)?;
    // Thread counts and numbers of shards are inputs of the description. All else is of a run.
    let mut unused = args.scenario.how.overrides();
    unused.retain(|given| !["run.threads", "run.shards"].contains(&given.key.as_str()));
    for given in unused {
        terminal::note(&format!("note: nothing is run: {} does not apply", given.origin));
    }
    let file = args.force.file("--out", args.out.as_deref())?;
    let Figures { described, components, first_batch } = figures(args, &progress)?;
    progress.clear();
    match (file, &first_batch) {
        (Some(file), Some(first)) if is_hypergraph => {
            write(file, &Hypergraph::new(first).to_hmetis())?;
            let batch_count = described.workload.batch_count;
            if batch_count > 1 {
                terminal::note(&format!("it has the first of {batch_count} batches"));
            }
        }
        (Some(file), _) => write(file, &report::conflict_picture(&described, &components))?,
        (None, _) => {}
    }
    let format = if args.json { Format::Json } else { Format::Table };
    format.print(&described, report::describe)?;
    Ok(Code::Fine)
}

/// Whether the file of `--out` is a hypergraph, and not a picture.
fn is_hypergraph(args: &DescribeArgs) -> Result<bool, Failure> {
    let is_hgr = args.out.as_ref().is_some_and(|path| path.extension() == Some("hgr".as_ref()));
    if is_hgr && args.scenario.how.shards.is_none() {
        fail!(Code::Usage, "--out FILE.hgr: a hypergraph is of shards: add --shards 2");
    }
    Ok(is_hgr)
}

fn figures(args: &DescribeArgs, progress: &Progress) -> Result<Figures, Failure> {
    let Some(work) = args.scenario.work(args.workload.as_deref())? else {
        fail!(
            Code::Usage,
            "nothing to describe: name a scenario (NAME|FILE) or a file (--workload FILE), or all \
             shipped scenarios (--table)"
        );
    };
    let run = work.run();
    let threads = match args.scenario.how.threads {
        Some(_) => run.thread_counts.iter().map(|count| *count as usize).collect(),
        None => IDEAL_THREADS.to_vec(),
    };
    let requested = Requested { threads: &threads, shards: &run.shards.counts };
    match &work {
        NamedWork::Scenario(scenario) => {
            Ok(describe::of_scenario(scenario, requested, progress)?.0)
        }
        NamedWork::File(path, _) => {
            let workload = prepare::read_workload(path, progress)?;
            describe::of_workload(&workload, None, requested, progress)
        }
    }
}

/// Prints the table of all shipped scenarios.
fn table(work: &WorkArgs, progress: &Progress) -> Result<Code, Failure> {
    let overrides = work.overrides().with_exit_code(Code::Usage)?;
    let Some(rows) = describe::table::rows(overrides, progress)? else {
        return Ok(Code::Interrupted);
    };
    progress.clear();
    terminal::out(&report::scenario_table(&rows.made));
    if rows.refused.is_empty() {
        return Ok(Code::Fine);
    }
    let reasons: Vec<String> = rows.refused.iter().map(ToString::to_string).collect();
    let scenarios = units::things(reasons.len() as u64, "scenario");
    fail!(Code::Usage, "the table lacks {scenarios}: {}", reasons.join("; "))
}
