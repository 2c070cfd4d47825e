//! `stress doctor`: is this machine fit for figures that can be believed?

use std::{
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use clap::Args;
use result::{
    doctor::{DoctorResult, SCHEMA},
    environment::Status,
};

use crate::{
    args::{DATA_DIR_HELP, Format, data_dir_parser},
    environment,
    exit::{Code, Failure, OrExit},
    prepare, terminal,
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
    /// Where state databases are kept.
    #[arg(
        long,
        value_name = "DIR",
        env = "STRESS_DATA_DIR",
        value_parser = data_dir_parser(),
        help = DATA_DIR_HELP
    )]
    pub data_dir: Option<PathBuf>,
}

/// Looks at the machine and says of each subject whether it is as it should be.
pub fn doctor(args: &DoctorArgs) -> Result<Code, Failure> {
    let data_path = prepare::data_path(args.data_dir.as_deref());
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
