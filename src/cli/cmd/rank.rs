//! `stress client rank`: compares the ranks of workloads on a client with their ranks in our
//! designs. Such a comparison is called a calibration.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;
use spec::Override;

use crate::{
    cli::args::{DatabaseArgs, HowArgs, key_value},
    client::{CalibrateInput, StartFile},
    machine::child,
    run::minimal,
    terminal::{self, Code, Failure, WithExitCode, exit::fail},
};

const EXAMPLES: &str = "\
Examples:
  stress client rank geth --out against/        all twins and storms
  stress client rank geth sload-storm test_sload_bloated --gas 60M --out two/
  stress client rank new.toml --cache warm --samples 4 --out warm/

The same command again goes on where it ended. Each scenario has its result in --out
(NAME/result.json); calibration.html there is the page. Exit codes: 0 fine, 2 usage, 3 a client
finds a block invalid or designs disagree, 6 a scenario has no result, 130 interrupted.";

/// Arguments of `stress client rank`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RankArgs {
    /// The client: a shipped start file's name (geth), or the path of a start file
    #[arg(value_name = "CLIENT")]
    pub client: String,
    /// Shipped scenarios [default: all twins of official tests and all storms]
    #[arg(value_name = "SCENARIO")]
    pub scenarios: Vec<String>,
    /// Where results and the page are kept: a directory of this calibration alone
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// The client's program [default: that of its start file]
    #[arg(long, value_name = "PATH")]
    pub program: Option<PathBuf>,
    /// Gas per block
    #[arg(long, value_name = "GAS", default_value = "30M")]
    pub gas: String,
    /// Slots of each state, where a scenario has them
    #[arg(long, value_name = "COUNT", default_value = "250k")]
    pub slots: String,
    /// Override another key of the work, or of our designs' run: --set fork=osaka
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// How long a client may take for an answer
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub timeout: String,
    /// Samples and cache state, for the client and our designs [default: 3 samples, cold]; our
    /// designs [default: sequential,batched-io]
    #[command(flatten)]
    pub how: HowArgs,
    /// Where the states of our designs are
    #[command(flatten)]
    pub databases: DatabaseArgs,
}

/// Default number of samples of each scenario.
const SAMPLE_COUNT: u64 = 3;

/// Compares our designs with a client on many scenarios.
pub fn rank(args: &RankArgs) -> Result<Code, Failure> {
    let input = input(args)?;
    let finished = input.run()?;
    let (width, paint) = (terminal::width(), terminal::paint());
    terminal::out(&report::calibration_table(&finished.calibrated(), width, paint));
    if finished.page.exists() {
        terminal::note(&format!("wrote {}", finished.page.display()));
    }
    Ok(finished.code)
}

fn input(args: &RankArgs) -> Result<CalibrateInput, Failure> {
    let start = StartFile::load(&args.client).with_exit_code(Code::Usage)?;
    let program = args.program.as_ref().unwrap_or(&start.program);
    if child::find_program(program).is_none() {
        fail!(Code::Usage, "{}: no such program; name it by --program", program.display());
    }
    // `stress client` gets the text of the options. A wrong one is refused before the first export.
    spec::duration("--timeout", &args.timeout).with_exit_code(Code::Usage)?;
    let run = minimal::default_run(&args.how.overrides()).with_exit_code(Code::Usage)?;
    let mut work = vec![
        Override::new("block.gas", &args.gas, format!("--gas {}", args.gas)),
        Override::new("state.slots", &args.slots, format!("--slots {}", args.slots)),
    ];
    // The scenario is made to check --gas and --slots; the first export checks each --set.
    minimal::scenario("the options", &work).with_exit_code(Code::Usage)?;
    for set in args.set.iter().filter(|set| !is_of_run(set)) {
        work.push(key_value("--set", set, "fork=osaka").with_exit_code(Code::Usage)?);
    }
    let sample_count = run.sample_count.map_or(SAMPLE_COUNT, u64::from);
    Ok(CalibrateInput {
        scenarios: args.scenarios.clone(),
        work,
        start: StartFile { program: program.clone(), ..start.clone() },
        // Each sample needs a sibling of the block: the same work with another hash. A warm client
        // needs one more sibling, for its warm-up.
        sibling_count: sample_count + 1,
        client: client_words(args, sample_count)?,
        out: args.out.clone(),
    })
}

/// Whether a `--set` is for our designs' run, and not for the work.
fn is_of_run(set: &str) -> bool {
    set.starts_with("run.")
}

/// Returns the options of `stress client` for every scenario.
fn client_words(args: &RankArgs, sample_count: u64) -> Result<Vec<OsString>, Failure> {
    let how = &args.how;
    if how.budget.is_some() || how.databases.is_some() {
        fail!(
            Code::Usage,
            "--budget, --databases: a calibration takes the same number of --samples of each \
             scenario, on one database; run `stress client` with them on an export of one scenario"
        );
    }
    let mut words = Vec::new();
    for (option, value) in [
        ("--client", Some(args.client.clone().into())),
        ("--program", args.program.clone().map(OsString::from)),
        ("--data-dir", args.databases.data_dir.asked().map(OsString::from)),
        ("--timeout", Some(args.timeout.clone().into())),
    ] {
        words.extend(value.into_iter().flat_map(|value| [option.into(), value]));
    }
    let how = HowArgs {
        samples: Some(sample_count.to_string()),
        design: Some(how.design.clone().unwrap_or_else(|| "sequential,batched-io".to_owned())),
        cache: Some(how.cache.clone().unwrap_or_else(|| "cold".to_owned())),
        ..how.clone()
    };
    for given in how.overrides() {
        // The origin of an override is its option and its value.
        if let Some((option, value)) = given.origin.split_once(' ') {
            words.extend([option.into(), value.into()]);
        }
    }
    for set in args.set.iter().filter(|set| is_of_run(set)) {
        words.extend(["--set".into(), set.into()]);
    }
    words.extend(args.databases.wait.then(|| "--wait".into()));
    Ok(words)
}
