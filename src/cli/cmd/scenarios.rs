//! `stress list`, `stress show` and `stress validate`: print and check scenarios, workload files
//! and lists.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use spec::{Diagnostic, Scenario, ScenarioError, shipped};

use super::{
    bal::{self, BalArgs},
    schema::{self, SchemaArgs},
};
use crate::{
    cli::args::{ArgsOrVerb, Format, ScenarioArgs, WorkName},
    run::prepare,
    terminal::{self, Code, Failure, Progress, WithExitCode, exit::fail},
};

const SHOW_EXAMPLES: &str = "\
Examples:
  stress show sload-storm --gas 64M             every key of a scenario
  stress show storm.workload                    the keys that made it
  stress show --workload storm.workload --json | jq '.batches[0].blocks[0].env'
  stress show --bal payload.json --address 0x00000961ef480eb55e80d19ad83579a64c007002
  stress show --bal correct.rlp --bal wrong.json            how the second list differs
  stress show --bal list.hex --block test.json#2            against the reference's list

Exit codes: 0 fine, 2 a file is wrong, 3 lists differ or break a rule of EIP-7928, 6 input or output.
docs/contributing.md has the keys of the JSON, docs/lists.md more on lists.";

/// Help of `stress list`.
pub const LIST_EXAMPLES: &str = "\
Examples:
  stress list
  stress list | grep erc20";

const VALIDATE_EXAMPLES: &str = "\
Examples:
  stress validate my.toml
  stress validate my.toml --gas 640M --design full";

/// Lines that `stress validate` prints below the name of a valid scenario.
const CHECKED: &str = "  checked: every key and value, and the rules between keys\n  \
                       not done: no block was generated, nothing was run\n";

/// Arguments of `stress show`.
#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub struct ShowArgs {
    /// The scenario
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// A workload file that `stress generate` or `stress import` wrote
    #[arg(long, value_name = "FILE")]
    pub workload: Option<PathBuf>,
    /// Print all of a workload file as JSON: state, blocks, lists, expected outcome
    #[arg(long)]
    pub json: bool,
    /// A block-level access list
    #[command(flatten)]
    pub list: BalArgs,
}

/// Verbs of `stress show`.
#[derive(Debug, Subcommand)]
pub enum ShowCommand {
    /// Print the JSON Schema of scenarios, results, gates or sweeps
    Schema(SchemaArgs),
}

/// Arguments of `stress validate`.
#[derive(Debug, Args)]
#[command(after_help = VALIDATE_EXAMPLES)]
pub struct ValidateArgs {
    /// The scenario
    #[command(flatten)]
    pub scenario: ScenarioArgs,
}

/// Width in columns of the names that `stress list` prints on a terminal. A name of this width or
/// more has its own line.
const NAME_WIDTH: usize = 24;

/// A shipped scenario in the output of `stress list`.
struct Listed {
    name: &'static str,
    description: String,
}

/// Prints the shipped scenarios, name first: on a terminal in its width, elsewhere one line each.
pub fn list() -> Result<Code, Failure> {
    let all = all_shipped().with_exit_code(Code::Usage)?;
    terminal::out(&match terminal::list_width() {
        Some(width) => in_columns(&all, width),
        None => one_a_line(&all),
    });
    Ok(Code::Fine)
}

fn all_shipped() -> Result<Vec<Listed>, ScenarioError> {
    let all = shipped::all().iter().map(|&(name, text)| {
        let scenario = Scenario::parse(name, text, &[]);
        scenario.map(|scenario| Listed { name, description: scenario.description })
    });
    all.collect()
}

fn one_a_line(all: &[Listed]) -> String {
    let width = all.iter().map(|listed| listed.name.len()).max().unwrap_or(0);
    all.iter().map(|listed| format!("{:width$}  {}\n", listed.name, listed.description)).collect()
}

/// Formats names, and beside them descriptions, in lines of at most `width` columns.
fn in_columns(all: &[Listed], width: usize) -> String {
    let mut out = String::new();
    for Listed { name, description } in all {
        let mut label = *name;
        if name.len() >= NAME_WIDTH {
            out.push_str(name);
            out.push('\n');
            label = "";
        }
        for line in report::wrap(description, width.saturating_sub(NAME_WIDTH)) {
            out.push_str(&format!("{label:NAME_WIDTH$}{line}\n"));
            label = "";
        }
    }
    out
}

/// Prints a scenario with every key resolved, a workload file, or a list.
pub fn show(verb: &ArgsOrVerb<ShowArgs, ShowCommand>) -> Result<Code, Failure> {
    let args = match verb {
        ArgsOrVerb::Args(args) => args,
        ArgsOrVerb::Verb(ShowCommand::Schema(args)) => return schema::schema(args),
    };
    let format = if args.json { Format::Json } else { args.list.format };
    if !args.list.bal.is_empty() {
        return bal::show(&args.list, format);
    }
    match args.scenario.work_name(args.workload.as_deref()).with_exit_code(Code::Usage)? {
        Some(WorkName::Workload(path)) => show_workload(args, &path, format),
        _ if format == Format::Json => {
            fail!(
                Code::Usage,
                "--json prints a workload file: write one by `stress generate` and name it \
                 (--workload FILE); the JSON Schema of scenarios is `stress show schema`"
            )
        }
        _ => {
            terminal::out(&args.scenario.load()?.to_toml());
            Ok(Code::Fine)
        }
    }
}

fn show_workload(args: &ShowArgs, path: &Path, format: Format) -> Result<Code, Failure> {
    let of_work = args.scenario.work.overrides().with_exit_code(Code::Usage)?.into_iter();
    let mut given = of_work.chain(args.scenario.how.overrides()).map(|given| given.origin);
    let quick = args.scenario.quick.then(|| "--quick".to_owned());
    if let Some(origin) = given.next().or(quick) {
        fail!(Code::Usage, "{origin}: a workload file is shown as it is; leave {origin} out");
    }
    let progress = Progress::new(terminal::progress_form());
    let workload = prepare::read_workload(path, &progress)?;
    progress.clear();
    if format == Format::Table {
        if workload.work.is_empty() {
            terminal::note(
                "the file was made from given blocks, without a scenario; --json prints the file",
            );
        }
        terminal::out(&workload.work);
        return Ok(Code::Fine);
    }
    // The program reports a failed write to standard output at its end.
    drop(prepare::write_json(&workload, terminal::stream()));
    Ok(Code::Fine)
}

/// Checks a scenario: says first whether it is valid, then warns of claims that no run of it can
/// judge.
pub fn validate(args: &ValidateArgs) -> Result<Code, Failure> {
    let word = args.scenario.words.first().map(|word| word.to_string_lossy().into_owned());
    let name = word.or_else(|| args.scenario.scenario.clone());
    let scenario = args.scenario.load().inspect_err(|failure| {
        let error = failure.error.downcast_ref::<ScenarioError>();
        let mut mistakes = error.iter().flat_map(|error| error.diagnostics());
        if let (Some(name), true) = (&name, mistakes.any(Diagnostic::is_of_file)) {
            terminal::error(&format!("{name} is NOT valid"));
        }
    })?;
    let name = name.unwrap_or_else(|| scenario.name.clone());
    terminal::out(&format!("{name} is valid\n{CHECKED}"));
    if let Some(words) = prepare::claim_not_run(&scenario) {
        terminal::error(&format!("warning: {words}"));
    }
    Ok(Code::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_on_a_terminal_is_not_wider_than_it_and_loses_no_word() {
        let all = all_shipped().unwrap();
        for width in [80, 100, 200] {
            let text = in_columns(&all, width);
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{text}");
            let words: Vec<&str> = text.split_whitespace().collect();
            let told = one_a_line(&all);
            assert_eq!(words, told.split_whitespace().collect::<Vec<_>>());
            let names = text.lines().filter(|line| !line.starts_with(' ')).count();
            assert_eq!(names, all.len(), "{text}");
        }
        assert_eq!(one_a_line(&all).lines().count(), all.len());
    }
}
