//! Arguments of `stress sweep`, and options of a run as keys that can be varied.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::{Args, CommandFactory, Parser};
use spec::Override;

use super::{DATA_DIR_HELP, Format, HowArgs, WorkArgs};

const EXAMPLES: &str = "Examples:
  stress sweep --scenario sload-storm threads=1,2,4,8 io_threads=16,64 \\
         gas=64M,640M --design batched-io --samples 8 --out sweep/
  stress sweep --scenario sload-storm run.rocksdb.block=4KiB,16KiB --out blocks/
  stress sweep … --list                 the cells, without running them
  stress sweep … --out sweep/ --cell 7  one of them
  stress sweep --merge sweep/           all results as one, and the knees

The same command again goes on where it was ended or killed. On a fleet each cell is
a task of an array: fleet/slurm.sbatch, fleet/kubernetes.yaml. More: docs/sweep.md";

const CELL_HELP: &str = "Run this cell alone [default: SLURM_ARRAY_TASK_ID or \
    JOB_COMPLETION_INDEX, where one is set]";

/// Arguments of `stress sweep`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SweepArgs {
    /// What is varied: an option of a run (threads=1,2,4) or any key (state.slots=1M,10M)
    #[arg(value_name = "KEY=VALUES", required_unless_present = "merge")]
    pub axes: Vec<String>,
    /// A shipped scenario's name, or the path of a scenario file
    #[arg(long, value_name = "NAME|FILE", required_unless_present = "merge")]
    pub scenario: Option<String>,
    /// A small state and block where nothing else is said
    #[arg(long)]
    pub quick: bool,
    /// Where the results go: a directory of this sweep alone
    #[arg(long, value_name = "DIR", required_unless_present_any = ["merge", "list"])]
    pub out: Option<PathBuf>,
    /// Print the cells, one a line, and run none
    #[arg(long, conflicts_with_all = ["cell", "merge"])]
    pub list: bool,
    /// Run this cell alone.
    #[arg(long, value_name = "INDEX", help = CELL_HELP)]
    pub cell: Option<String>,
    /// Join the results of a sweep into DIR/merged.json, and show them
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["axes", "scenario", "quick", "out", "cell", "WorkArgs", "HowArgs"]
    )]
    pub merge: Option<PathBuf>,
    /// The work of all cells
    #[command(flatten)]
    pub work: WorkArgs,
    /// How all cells are run
    #[command(flatten)]
    pub how: HowArgs,
    /// Where state databases are kept.
    #[arg(long, value_name = "DIR", env = "STRESS_DATA_DIR", help = DATA_DIR_HELP)]
    pub data_dir: Option<PathBuf>,
    /// What goes to standard output
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// The process that runs the sweep: when it ends, so does this cell.
    #[arg(long, hide = true, value_name = "PID", requires = "cell")]
    pub parent: Option<u32>,
}

/// The options of a run alone.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Options {
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    how: HowArgs,
}

/// The override that the option `name` with this value stands for; `None` where there is no such
/// option, or it has no value or no key of its own.
///
/// # Errors
/// None that the caller can cause: a value is not looked at here.
pub fn as_option(name: &str, value: &str) -> Result<Option<Override>> {
    let name = name.replace('_', "-");
    let command = Options::command();
    let mut options = command.get_arguments().filter(|option| option.get_action().takes_values());
    if name == "set" || !options.any(|option| option.get_long() == Some(name.as_str())) {
        return Ok(None);
    }
    let given = Options::try_parse_from([format!("--{name}={value}")]);
    let given = given.map_err(|error| anyhow!("--{name}={value}: {error}"))?;
    let mut overrides = given.work.overrides()?;
    overrides.extend(given.how.overrides());
    Ok(overrides.pop())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Option<String> {
        as_option(name, "7").unwrap().map(|given| format!("{}={}", given.key, given.value))
    }

    #[test]
    fn an_option_is_the_key_that_it_sets_and_nothing_else_is_one() {
        assert_eq!(key("threads").as_deref(), Some("run.threads=7"));
        assert_eq!(key("io_threads").as_deref(), Some("run.io_threads=7"));
        assert_eq!(key("io-threads").as_deref(), Some("run.io_threads=7"));
        assert_eq!(key("gas").as_deref(), Some("block.gas=7"));
        for none in ["set", "state.slots", "recover_senders", "help", "scenario", "", "-"] {
            assert_eq!(key(none), None, "{none}");
        }
    }

    #[test]
    fn every_option_with_a_value_has_a_key() {
        let command = Options::command();
        let options = command.get_arguments().filter(|option| option.get_action().takes_values());
        let names = options.filter_map(|option| option.get_long()).filter(|name| *name != "set");
        let names: Vec<_> = names.collect();
        assert!(names.len() > 12, "{names:?}");
        assert!(names.iter().all(|name| key(name).is_some()), "{names:?}");
    }
}
