//! `stress generate new`: writes a scenario to start from.

use std::{
    env,
    path::{Path, PathBuf},
};

use clap::Args;
use report::WholeFile;

use crate::{
    cli::args::ForceArgs,
    terminal::{self, Code, Failure, WithExitCode, exit::fail},
};

/// Default kind of a load.
const DEFAULT_KIND: &str = "sload-storm";
/// Ending of a scenario's file.
const ENDING: &str = "toml";

/// Arguments of `stress generate new`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stress generate new my-storm                     writes my-storm.toml
  stress generate new my-token erc20
  stress generate new my-day transfers erc20 amm   a block of three loads
  stress my-token.toml                    runs it, in seconds")]
pub struct NewArgs {
    /// The scenario's name; its file is NAME.toml, here
    pub name: String,
    /// The kind of its load, or the kinds of several that share a block
    #[arg(value_name = "KIND", default_value = DEFAULT_KIND)]
    pub kinds: Vec<String>,
    /// Whether the file is replaced
    #[command(flatten)]
    pub force: ForceArgs,
}

/// Writes a commented scenario into the current directory.
pub fn new(args: &NewArgs) -> Result<Code, Failure> {
    check_is_no_path(&args.name)?;
    let kinds: Vec<&str> = args.kinds.iter().map(String::as_str).collect();
    let text = spec::starter(&args.name, &kinds).with_exit_code(Code::Usage)?;
    let path = PathBuf::from(format!("{}.{ENDING}", args.name));
    let file = WholeFile::at(&path, "NAME", args.force.existing())?;
    file.write(|out| out.write_all(text.as_bytes()))?;
    let name = path.display();
    terminal::out(&format!(
        "wrote {name}\n  stress describe {name}      its keys, conflicts and list sizes\n  \
         stress {name}               run it\n"
    ));
    Ok(Code::Fine)
}

/// Refuses a path in the place of a name if its file name could be a scenario's name.
/// `spec::starter` refuses any other path later.
fn check_is_no_path(given: &str) -> Result<(), Failure> {
    let path = Path::new(given);
    let is_path = given.contains('/') || path.extension().is_some_and(|own| own == ENDING);
    // A name that begins with a hyphen would be an option.
    let is_name =
        |stem: &&str| !stem.starts_with('-') && spec::starter(stem, &[DEFAULT_KIND]).is_ok();
    let stem = path.file_stem().and_then(|stem| stem.to_str()).filter(is_name);
    let Some(stem) = stem.filter(|_| is_path && !given.ends_with('/')) else { return Ok(()) };
    let here = env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let parent = path.parent().filter(|parent| !matches!(parent.to_str(), Some("" | ".")));
    let elsewhere = parent.map_or_else(String::new, |parent| {
        format!("\n           (for {} change to that directory first)", parent.display())
    });
    fail!(
        Code::Usage,
        "{given}: this is a path, and a name is wanted\n   = help: write `stress generate new {stem}`, which makes \
         {stem}.{ENDING} in {}{elsewhere}",
        here.display()
    )
}
