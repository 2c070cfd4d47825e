//! `stress doctor`: is this machine fit for figures that can be believed?

use std::{path::Path, thread, time::Duration};

use clap::Args;
use result::{
    doctor::{DoctorResult, SCHEMA},
    environment::Status,
};

use crate::{
    cli::args::{DataDirArgs, Format},
    machine::environment,
    run::prepare,
    terminal::{
        self,
        exit::{Code, Failure, OrExit},
    },
};

/// How long stolen time is watched: it is counted in steps of 10 ms.
const WATCH: Duration = Duration::from_secs(1);

/// Arguments of `stress doctor`.
#[derive(Debug, Args)]
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

/// Checks the machine, subject by subject.
pub fn doctor(args: &DoctorArgs) -> Result<Code, Failure> {
    let data_path = prepare::data_path(args.data_dir.asked());
    let environment = environment::probe(data_path.as_deref().unwrap_or(Path::new(".")));
    thread::sleep(WATCH);
    let checks = environment::checks(&environment);
    let doubtful = checks.iter().any(|check| check.status == Status::Warning);
    match args.format {
        Format::Table => {
            let (width, paint) = (terminal::width(), terminal::paint());
            terminal::out(&report::checks(&checks, width, paint));
        }
        Format::Json => {
            let result = DoctorResult { schema: SCHEMA, checks, environment };
            terminal::out(&report::json(&result).or_exit(Code::Io)?);
        }
    }
    Ok(if doubtful && args.strict { Code::Untrusted } else { Code::Fine })
}
