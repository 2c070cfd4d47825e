//! `stress new`: a scenario to start from.

use std::{fs::File, io::Write, path::PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;

use crate::{
    exit::{Code, Failure, OrExit},
    terminal,
};

/// Arguments of `stress new`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stress new my-storm                     writes my-storm.toml
  stress new my-token --kind erc20
  stress new my-day --kind transfers,erc20,amm    a block of three loads
  stress my-token.toml                    runs it, in seconds")]
pub struct NewArgs {
    /// The scenario's name; its file is NAME.toml, here
    pub name: String,
    /// The kind of its load, or the kinds of several that share a block, with commas between
    #[arg(
        long = "kind",
        value_name = "KIND",
        value_delimiter = ',',
        default_value = "sload-storm"
    )]
    pub kinds: Vec<String>,
}

/// Writes a commented scenario into the current directory.
pub fn new(args: &NewArgs) -> Result<Code, Failure> {
    let kinds: Vec<&str> = args.kinds.iter().map(String::as_str).collect();
    let text = spec::starter(&args.name, &kinds).or_exit(Code::Usage)?;
    let path = PathBuf::from(format!("{}.toml", args.name));
    let name = path.display();
    let file = File::create_new(&path);
    if file.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::AlreadyExists) {
        let error = anyhow!("{name} is there already: remove it, or choose another name");
        return Err(error).or_exit(Code::Usage);
    }
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write {name}")).or_exit(Code::Io)?;
    terminal::out(&format!(
        "wrote {name}\n  stress describe {name}      its keys, conflicts and list sizes\n  \
         stress {name}               run it\n"
    ));
    Ok(Code::Fine)
}
