//! `stress state baseline`: lists and removes baselines, which are results of runs that were saved
//! by name.

use std::path::Path;

use clap::Subcommand;
use report::units;

use crate::{
    gate::baselines::{Baseline, Baselines},
    run::prepare,
    terminal::{
        self, Code, Failure, WithExitCode,
        progress::{self, visible},
    },
};

/// Number of characters of a workload's digest that the list of baselines shows.
const SHOWN_DIGEST_CHARS: usize = 12;

/// Help of `stress state baseline`.
pub const HELP: &str = "\
Examples:
  stress state baseline list
  stress state baseline rm main
  stress run my.toml --samples 10 --save-baseline main    once, or six times for --absolute
  stress gate --baseline main --scenario my.toml --samples 10
  stress compare main results/

A baseline has the results of one build on one machine, of one work with one set of
settings. The same run again adds a result; any other run replaces all. More: docs/gate.md";

const LIST_EXAMPLES: &str = "\
Examples:
  stress state baseline list
  stress state baseline list --data-dir /data/stress";

const RM_EXAMPLES: &str = "\
Examples:
  stress state baseline rm main
  stress state baseline rm main release-1.2";

/// Verbs of `stress state baseline`.
#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// List the baselines: name, results, size, newest result, build and work
    #[command(visible_alias = "ls", after_help = LIST_EXAMPLES)]
    List,
    /// Remove baselines
    #[command(after_help = RM_EXAMPLES)]
    Rm {
        /// Their names, as `stress state baseline list` shows them
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
    },
}

impl BaselineCommand {
    /// Lists or removes the baselines in the data directory `data_dir`.
    pub fn run(&self, data_dir: Option<&Path>) -> Result<Code, Failure> {
        let baselines = Baselines::below(&prepare::known_data_path(data_dir)?);
        match self {
            Self::List => {
                let all = baselines.list().with_exit_code(Code::Io)?;
                for baseline in &all {
                    terminal::out(&(visible(&format_line(baseline)) + "\n"));
                }
                let count = units::things(all.len() as u64, "baseline");
                terminal::note(&format!("{count}, in {}", baselines.dir().display()));
            }
            Self::Rm { names } => {
                for name in names {
                    baselines.remove(name).with_input_code()?;
                    terminal::out(&format!("removed {name}\n"));
                }
            }
        }
        Ok(Code::Fine)
    }
}

/// Formats a baseline's line of the list.
fn format_line(baseline: &Baseline) -> String {
    let Baseline { name, byte_count, results } = baseline;
    let results = match results {
        Ok(results) => results,
        Err(error) => return format!("{name}  cannot be read: {error:#}"),
    };
    let count = units::things(results.len() as u64, "result");
    let size = progress::bytes(*byte_count);
    let newest = results.iter().max_by_key(|stored| stored.result.started_unix_s);
    let Some(newest) = newest.map(|stored| &stored.result) else {
        return format!("{name}  {count}  {size}");
    };
    let digest: String = newest.workload.digest.chars().take(SHOWN_DIGEST_CHARS).collect();
    format!(
        "{name}  {count}  {size}  {}  stress {}  {} {digest}",
        units::moment(newest.started_unix_s),
        newest.tool.program.name(),
        newest.workload.scenario
    )
}
