//! `stress generate`: a scenario becomes a workload file.

use clap::{Args, Subcommand};

use super::new::{self, NewArgs};
use crate::{
    cli::args::{OutputArgs, WorkArgs},
    run::prepare::{self, Size},
    terminal::{self, Code, Failure, Progress, WithExitCode},
};

/// `stress generate` and its verb.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct GenerateVerb {
    /// The workload
    #[command(flatten)]
    own: Option<GenerateArgs>,
    /// The verb
    #[command(subcommand)]
    command: Option<GenerateCommand>,
}

/// Verbs of `stress generate`.
#[derive(Debug, Subcommand)]
enum GenerateCommand {
    /// Write a commented scenario to start from
    New(NewArgs),
}

impl GenerateVerb {
    /// Writes the file of the arguments.
    pub fn run(&self) -> Result<Code, Failure> {
        match (&self.command, &self.own) {
            (Some(GenerateCommand::New(args)), _) => new::new(args),
            (None, Some(args)) => generate(args),
            (None, None) => unreachable!("a scenario is required"),
        }
    }
}

/// Arguments of `stress generate`.
#[derive(Debug, Args)]
struct GenerateArgs {
    /// A shipped scenario's name, or the path of a scenario file
    #[arg(value_name = "NAME|FILE")]
    scenario: String,
    /// The file
    #[command(flatten)]
    to: OutputArgs,
    /// The workload
    #[command(flatten)]
    work: WorkArgs,
}

/// Generates a workload and writes it.
fn generate(args: &GenerateArgs) -> Result<Code, Failure> {
    let overrides = args.work.overrides().with_exit_code(Code::Usage)?;
    let file = args.to.file()?;
    let scenario = prepare::scenario(&args.scenario, overrides, Size::Stated)?;
    let progress = Progress::new(terminal::look());
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
