//! `stress doctor`: checks whether this machine is fit for benchmarking.

use std::{thread, time::Duration};

use clap::{Args, Subcommand};
use result::environment::{DOCTOR_SCHEMA, DoctorResult, Status};

use super::io::{self, IoArgs};
use crate::{
    cli::args::{ArgsOrVerb, DataDirArgs, Format},
    machine::environment,
    terminal::{Code, Failure},
};

/// Time for which the CPU time that the hypervisor takes (stolen time) is watched. The kernel
/// counts stolen time in steps of 10 ms.
const WATCH: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "\
Examples:
  stress doctor --strict                        5 where there is a warning
  stress doctor io --read multi-get --depth 16,256";

/// Arguments of `stress doctor`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct DoctorArgs {
    /// Exit with 5 where there is a warning
    #[arg(long)]
    pub strict: bool,
    /// Format of standard output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Where state databases and baselines are
    #[command(flatten)]
    pub data_dir: DataDirArgs,
}

/// Verbs of `stress doctor`.
#[derive(Debug, Subcommand)]
pub enum DoctorCommand {
    /// Measure raw random reads of the stores, beside the device's rate
    Io(IoArgs),
}

/// Checks the machine, subject by subject.
pub fn doctor(verb: &ArgsOrVerb<DoctorArgs, DoctorCommand>) -> Result<Code, Failure> {
    let args = match verb {
        ArgsOrVerb::Args(args) => args,
        ArgsOrVerb::Verb(DoctorCommand::Io(args)) => return io::io(args),
    };
    let environment = args.data_dir.environment();
    thread::sleep(WATCH);
    let checks = environment::checks(&environment);
    let doubtful = checks.iter().any(|check| check.status == Status::Warning);
    let result = DoctorResult { schema: DOCTOR_SCHEMA, checks, environment };
    args.format
        .print(&result, |result, width, paint| report::checks(&result.checks, width, paint))?;
    Ok(if doubtful && args.strict { Code::Untrusted } else { Code::Fine })
}
