//! `stress generate`: turns a scenario into a workload file.

use clap::{Args, Subcommand};

use super::new::{self, NewArgs};
use crate::{
    cli::args::{ArgsOrVerb, OutputArgs, WorkArgs},
    run::prepare::{self, Size},
    terminal::{self, Code, Failure, Progress, WithExitCode},
};

/// Verbs of `stress generate`.
#[derive(Debug, Subcommand)]
pub enum GenerateCommand {
    /// Write a commented scenario to start from
    New(NewArgs),
}

const EXAMPLES: &str = "\
Examples:
  stress generate sload-storm --gas 64M --out storm.workload
  stress generate new my-storm                  a scenario to start from";

/// Arguments of `stress generate`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct GenerateArgs {
    /// A shipped scenario's name, or the path of a scenario file
    #[arg(value_name = "NAME|FILE")]
    pub scenario: String,
    /// The file
    #[command(flatten)]
    pub to: OutputArgs,
    /// The workload
    #[command(flatten)]
    pub work: WorkArgs,
}

/// Writes the workload, or the scenario, of the arguments.
pub fn generate(verb: &ArgsOrVerb<GenerateArgs, GenerateCommand>) -> Result<Code, Failure> {
    match verb {
        ArgsOrVerb::Args(args) => workload(args),
        ArgsOrVerb::Verb(GenerateCommand::New(args)) => new::new(args),
    }
}

fn workload(args: &GenerateArgs) -> Result<Code, Failure> {
    let overrides = args.work.overrides().with_exit_code(Code::Usage)?;
    let file = args.to.file()?;
    let scenario = prepare::scenario(&args.scenario, overrides, Size::Stated)?;
    let progress = Progress::new(terminal::progress_form());
    let workload = prepare::generate(&scenario, &progress)?;
    prepare::write_workload(file, &workload)?;
    if let Some(reason) = prepare::too_long(&workload) {
        terminal::note(&format!("{reason}: it is for execution alone"));
    }
    terminal::out(&format!(
        "{}: {} transactions, {} gas, digest {}\n",
        args.to.out.display(),
        workload.tx_count(),
        workload.gas_used(),
        workload.digest()
    ));
    Ok(Code::Fine)
}
