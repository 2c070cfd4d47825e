//! `stress generate`: a scenario becomes a workload file.

use std::path::PathBuf;

use clap::Args;
use workload::file;

use crate::{
    args::WorkArgs,
    exit::{Code, Failure, OrExit},
    prepare::{self, Size},
    progress::Progress,
    terminal,
};

/// Arguments of `stress generate`.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    /// A shipped scenario's name, or the path of a scenario file
    #[arg(value_name = "NAME|FILE")]
    pub scenario: String,
    /// The workload file to write
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// The workload
    #[command(flatten)]
    pub work: WorkArgs,
}

/// Generates a workload and writes it.
pub fn generate(args: &GenerateArgs) -> Result<Code, Failure> {
    let overrides = args.work.overrides().or_exit(Code::Usage)?;
    let scenario = prepare::scenario(&args.scenario, overrides, Size::Stated)?;
    let progress = Progress::new(terminal::look());
    let workload = prepare::generate(&scenario, &progress)?;
    file::write(&args.output, &workload).or_exit(Code::Io)?;
    terminal::out(&format!(
        "{}: {} transactions, {} gas, digest {}\n",
        args.output.display(),
        workload.tx_count(),
        workload.gas_used(),
        workload.digest()
    ));
    Ok(Code::Fine)
}
