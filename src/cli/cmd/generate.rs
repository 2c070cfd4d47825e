//! `stress generate`: a scenario becomes a workload file.

use clap::Args;

use crate::{
    cli::args::{OutputArgs, WorkArgs},
    run::prepare::{self, Size},
    terminal::{self, Code, Failure, Progress, WithExitCode},
};

/// Arguments of `stress generate`.
#[derive(Debug, Args)]
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

/// Generates a workload and writes it.
pub fn generate(args: &GenerateArgs) -> Result<Code, Failure> {
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
        args.to.output.display(),
        workload.tx_count(),
        workload.gas_used(),
        workload.digest()
    ));
    Ok(Code::Fine)
}
